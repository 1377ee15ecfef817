//! Certificates.

use std::fmt;
use std::str::FromStr;

use tessera::auth::Credential;
use tessera_pki::Authority;
use tessera_pki::rcgen::{
    CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, SignatureAlgorithm,
    date_time_ymd,
};

/// The keys of all certificates.
#[derive(Clone, Copy, PartialEq)]
pub enum Keys {
    P256,
    Rsa2048,
}

/// A root, and two servers and two clients below the same intermediates.
pub struct Pki {
    pub root: Vec<u8>,
    pub servers: [Credential; 2],
    pub clients: [Credential; 2],
}

impl Pki {
    /// Makes chains of this many certificates, without the root.
    pub fn new(keys: Keys, len: usize) -> Self {
        let algorithm = keys.algorithm();
        let mut issuers = vec![Authority::with("authority 0", algorithm, until_2999)];
        for number in 1..len {
            let above = issuers.last().unwrap();
            let below = above.below_with(&format!("authority {number}"), algorithm, until_2999);
            issuers.push(below);
        }
        let ends = |name: &str| {
            [(); 2].map(|()| {
                let key = KeyPair::generate_for(algorithm).unwrap();
                issuers.last().unwrap().issue_for(key, &[name], |_| ()).credential()
            })
        };
        let (servers, clients) = (ends("server.example"), ends("client.example"));
        Self { root: issuers[0].der(), servers, clients }
    }
}

fn until_2999(params: &mut CertificateParams) {
    params.not_after = date_time_ymd(2999, 1, 1);
}

impl Keys {
    fn algorithm(self) -> &'static SignatureAlgorithm {
        if self == Self::P256 { &PKCS_ECDSA_P256_SHA256 } else { &PKCS_RSA_SHA256 }
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
