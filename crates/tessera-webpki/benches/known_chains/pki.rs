//! Certificates.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, Issuer, KeyPair,
    PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, date_time_ymd,
};
use tessera::auth::{Credential, PrivateKey};
use tessera_aws_lc::SigningKey;

/// The keys of all certificates.
#[derive(Clone, Copy, PartialEq)]
pub enum Keys {
    P256,
    Rsa2048,
}

/// A root; and two servers and two clients below the same intermediates.
pub struct Pki {
    pub root: Vec<u8>,
    pub servers: [Credential; 2],
    pub clients: [Credential; 2],
}

impl Pki {
    /// Chains of so many certificates, the root not among them.
    pub fn new(keys: Keys, len: usize) -> Self {
        let mut issuers = vec![authority(keys, None, 0)];
        for number in 1..len {
            issuers.push(authority(keys, issuers.last().map(|issuer| &**issuer), number));
        }
        let ends = |name: &str| {
            [(); 2].map(|()| {
                let key = keys.generate();
                let params = CertificateParams::new([name.to_owned()]).unwrap();
                let leaf = params.signed_by(&key, issuers.last().unwrap()).unwrap();
                let mut chain = vec![leaf.der().to_vec()];
                chain.extend(issuers[1..].iter().rev().map(|issuer| issuer.der().to_vec()));
                let key = SigningKey::from_pkcs8(key.serialized_der()).unwrap();
                Credential::new(chain, PrivateKey::Signs(Arc::new(key)))
            })
        };
        let (servers, clients) = (ends("server.example"), ends("client.example"));
        Self { root: issuers[0].der().to_vec(), servers, clients }
    }
}

fn authority(
    keys: Keys,
    issuer: Option<&Issuer<'_, KeyPair>>,
    number: usize,
) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_after = date_time_ymd(2999, 1, 1);
    params.distinguished_name.push(DnType::CommonName, format!("authority {number}"));
    match issuer {
        Some(issuer) => CertifiedIssuer::signed_by(params, keys.generate(), issuer).unwrap(),
        None => CertifiedIssuer::self_signed(params, keys.generate()).unwrap(),
    }
}

impl Keys {
    fn generate(self) -> KeyPair {
        let algorithm = if self == Self::P256 { &PKCS_ECDSA_P256_SHA256 } else { &PKCS_RSA_SHA256 };
        KeyPair::generate_for(algorithm).unwrap()
    }
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if *self == Self::P256 { "P-256" } else { "RSA-2048" })
    }
}

impl FromStr for Keys {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let keys = [Self::P256, Self::Rsa2048].into_iter().find(|it| it.to_string() == text);
        keys.ok_or_else(|| "KEYS: P-256 or RSA-2048".to_owned())
    }
}
