//! The certificates of both ends: their keys, and the lengths of the chains.

use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, PublicKeyData, RsaKeySize,
};
use serde::{Deserialize, Serialize};
use tessera::Role;
use tessera::auth::PrivateKey;
use tessera::wire::SignatureScheme;
use tessera_aws_lc::{KemKey, SigningKey};
use tessera_kit::x509;
use tessera_reports::KeyExchange;

use crate::endpoint::{self, Result};
use crate::pki::{Identity, SERVER_NAME};

const CLIENT_NAME: &str = "client.example";

/// The keys of all certificates, authorities' included if they sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Certificates {
    /// RSA with 2048 bits.
    #[serde(rename = "rsa-2048")]
    Rsa2048,
    /// RSA with 4096 bits.
    #[serde(rename = "rsa-4096")]
    Rsa4096,
    /// ECDSA on P-256.
    #[serde(rename = "p-256")]
    P256,
    /// ML-DSA-44.
    #[serde(rename = "ml-dsa-44")]
    MlDsa44,
    /// ML-DSA-65.
    #[serde(rename = "ml-dsa-65")]
    MlDsa65,
    /// ML-DSA-87.
    #[serde(rename = "ml-dsa-87")]
    MlDsa87,
    /// ML-KEM-768, which both ends authenticate with (KEM authentication); the keys of authorities are ML-DSA-65's.
    #[serde(rename = "ml-kem-768")]
    MlKem768,
}

impl Certificates {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Rsa2048,
        Self::Rsa4096,
        Self::P256,
        Self::MlDsa44,
        Self::MlDsa65,
        Self::MlDsa87,
        Self::MlKem768,
    ];

    /// Its name in options, tables and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rsa2048 => "rsa-2048",
            Self::Rsa4096 => "rsa-4096",
            Self::P256 => "p-256",
            Self::MlDsa44 => "ml-dsa-44",
            Self::MlDsa65 => "ml-dsa-65",
            Self::MlDsa87 => "ml-dsa-87",
            Self::MlKem768 => "ml-kem-768",
        }
    }

    /// Returns the key exchange of handshakes with them: post-quantum signatures go with post-quantum key exchange.
    pub(crate) fn agreement(self) -> KeyExchange {
        match self {
            Self::Rsa2048 | Self::Rsa4096 | Self::P256 => KeyExchange::X25519,
            Self::MlDsa44 | Self::MlDsa65 | Self::MlDsa87 | Self::MlKem768 => {
                KeyExchange::X25519MlKem768
            }
        }
    }

    /// Returns the KEM of both ends' certificates.
    pub(crate) fn kem(self) -> Option<SignatureScheme> {
        (self == Self::MlKem768).then_some(SignatureScheme::KEM_MLKEM768)
    }

    /// Makes a key that signs.
    fn key(self) -> std::result::Result<KeyPair, rcgen::Error> {
        let rsa = |size| KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, size);
        match self {
            Self::Rsa2048 => rsa(RsaKeySize::_2048),
            Self::Rsa4096 => rsa(RsaKeySize::_4096),
            Self::P256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
            Self::MlDsa44 => KeyPair::generate_for(&rcgen::PKCS_ML_DSA_44),
            Self::MlDsa65 | Self::MlKem768 => KeyPair::generate_for(&rcgen::PKCS_ML_DSA_65),
            Self::MlDsa87 => KeyPair::generate_for(&rcgen::PKCS_ML_DSA_87),
        }
    }
}

impl fmt::Display for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Certificates {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let known = Self::ALL.into_iter().find(|it| it.name() == text);
        known.ok_or_else(|| {
            format!("certificates are one of {}", Self::ALL.map(Self::name).join(", "))
        })
    }
}

/// The credentials of one end, and its trust anchor.
#[derive(Clone)]
pub(crate) struct Party {
    /// As sent: its own certificate, then authorities; without the root.
    pub(crate) chain: Vec<Vec<u8>>,
    /// Its public key alone: a SubjectPublicKeyInfo.
    pub(crate) public_key: Vec<u8>,
    pub(crate) identity: Identity,
    /// Its private key, shared by all configurations, since its first signature takes longer than the others.
    pub(crate) key: PrivateKey,
    /// Its name for peers.
    pub(crate) name: String,
}

/// Both ends, each with its own chain under one root.
pub(crate) struct Parties {
    pub(crate) certificates: Certificates,
    pub(crate) client: Party,
    pub(crate) server: Party,
    of_clients: Authorities,
    of_servers: Authorities,
    before: OnceCell<Party>,
}

impl Parties {
    /// Creates ends that each send this many certificates, at least one.
    pub(crate) fn new(certificates: Certificates, chain: usize) -> Result<Self> {
        let root =
            CertifiedIssuer::self_signed(authority("Tessera lab root"), certificates.key()?)?;
        let root = Rc::new(root);
        let of_clients = Authorities::new(certificates, Role::Client, root.clone(), chain)?;
        let of_servers = Authorities::new(certificates, Role::Server, root, chain)?;
        Ok(Self {
            certificates,
            client: of_clients.party(CLIENT_NAME)?,
            server: of_servers.party(SERVER_NAME)?,
            of_clients,
            of_servers,
            before: OnceCell::new(),
        })
    }

    /// Returns the same with other ends of these names.
    pub(crate) fn others(
        &self,
        role: Role,
        names: impl Iterator<Item = String>,
    ) -> Result<Vec<Party>> {
        let authorities = match role {
            Role::Client => &self.of_clients,
            Role::Server => &self.of_servers,
        };
        names.map(|name| authorities.party(&name)).collect()
    }

    /// Returns another server of the same name, with another chain of the same length: as before a renewal.
    pub(crate) fn server_before(&self) -> Result<&Party> {
        if let Some(before) = self.before.get() {
            return Ok(before);
        }
        let made = self.of_servers.party(SERVER_NAME)?;
        Ok(self.before.get_or_init(|| made))
    }
}

/// The authorities for ends of one role: the root, and those below it.
struct Authorities {
    certificates: Certificates,
    role: Role,
    root: Rc<CertifiedIssuer<'static, KeyPair>>,
    below: Vec<CertifiedIssuer<'static, KeyPair>>,
}

impl Authorities {
    /// Creates authorities for chains of this many certificates.
    fn new(
        certificates: Certificates,
        role: Role,
        root: Rc<CertifiedIssuer<'static, KeyPair>>,
        chain: usize,
    ) -> Result<Self> {
        let mut below: Vec<CertifiedIssuer<'static, KeyPair>> = Vec::new();
        for number in 1..chain {
            let params = authority(&format!("Tessera lab authority {number} of {role:?}s"));
            let issuer = below.last().unwrap_or(&root);
            let made = CertifiedIssuer::signed_by(params, certificates.key()?, issuer)?;
            below.push(made);
        }
        Ok(Self { certificates, role, root, below })
    }

    fn party(&self, name: &str) -> Result<Party> {
        let issuer = self.below.last().unwrap_or(&self.root);
        let Leaf { certificate, public_key, private_key } = match self.certificates.kem() {
            Some(kem) => self.leaf_with_kem(kem, name, issuer)?,
            None => self.leaf(name, issuer)?,
        };
        let above = self.below.iter().rev().map(|authority| authority.der().to_vec());
        Ok(Party {
            chain: [certificate.clone()].into_iter().chain(above).collect(),
            public_key,
            key: endpoint::private_key(&private_key)?,
            identity: Identity { certificate, private_key, root: self.root.der().to_vec() },
            name: name.to_owned(),
        })
    }

    fn leaf(&self, name: &str, issuer: &CertifiedIssuer<'_, KeyPair>) -> Result<Leaf> {
        let mut params = CertificateParams::new(vec![name.to_owned()])?;
        params.distinguished_name.push(DnType::OrganizationName, "Tessera");
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![match self.role {
            Role::Server => ExtendedKeyUsagePurpose::ServerAuth,
            Role::Client => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        params.use_authority_key_identifier_extension = true;
        let [not_before, not_after] = validity();
        (params.not_before, params.not_after) = (not_before.into(), not_after.into());
        let key = self.certificates.key()?;
        Ok(Leaf {
            certificate: params.signed_by(&key, issuer)?.der().to_vec(),
            public_key: key.subject_public_key_info(),
            private_key: key.serialize_der(),
        })
    }

    /// The same with a key of this KEM, which rcgen doesn't know.
    fn leaf_with_kem(
        &self,
        kem: SignatureScheme,
        name: &str,
        issuer: &CertifiedIssuer<'_, KeyPair>,
    ) -> Result<Leaf> {
        let private_key = KemKey::generate_pkcs8(kem)?.to_vec();
        let public_key = KemKey::from_pkcs8(&private_key)?.public_key_info().to_vec();
        let is_client = self.role == Role::Client;
        let contents = x509::Contents {
            subject: x509::common_name(name)?,
            public_key_info: &public_key,
            validity: validity().map(unix_seconds),
            purpose: x509::Purpose::EndEntity { names: &[name.to_owned()], is_client },
        };
        let key = SigningKey::from_pkcs8(&issuer.key().serialize_der())?;
        let issuer = x509::Issuer {
            name: x509::subject_of(issuer.der())?,
            public_key_info: &issuer.key().subject_public_key_info(),
            key: &key,
        };
        let certificate = x509::issue(contents, issuer, &tessera_aws_lc::provider())?;
        Ok(Leaf { certificate, public_key, private_key })
    }
}

/// The certificate of an end, with its key. All as DER.
struct Leaf {
    certificate: Vec<u8>,
    public_key: Vec<u8>,
    private_key: Vec<u8>,
}

fn unix_seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::OrganizationName, "Tessera");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.use_authority_key_identifier_extension = true;
    let [not_before, not_after] = validity();
    (params.not_before, params.not_after) = (not_before.into(), not_after.into());
    params
}

/// Returns the validity of all certificates: a year around now.
fn validity() -> [SystemTime; 2] {
    const HALF_A_YEAR: Duration = Duration::from_secs(183 * 24 * 3600);
    let now = SystemTime::now();
    [now - HALF_A_YEAR, now + HALF_A_YEAR]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_certificate_has_one_name() {
        for certificates in Certificates::ALL {
            let name = certificates.name();
            assert_eq!(name.parse(), Ok(certificates));
            assert_eq!(serde_json::to_value(certificates).unwrap(), name);
        }
        assert!("rsa".parse::<Certificates>().unwrap_err().contains("rsa-2048, rsa-4096"));
    }

    #[test]
    fn chains_have_the_length_that_was_asked_for() {
        for length in 1..=4 {
            let parties = Parties::new(Certificates::P256, length).unwrap();
            for party in [&parties.client, &parties.server] {
                assert_eq!(party.chain.len(), length);
                assert_eq!(party.chain[0], party.identity.certificate);
                assert!(
                    party.chain[0]
                        .windows(party.public_key.len())
                        .any(|part| part == party.public_key)
                );
            }
        }
    }
}
