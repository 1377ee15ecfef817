//! A key that a signer holds, as the server knows it: by its certificate.

use std::fmt;

use tessera::Role;
use tessera::auth::{Credential, PrivateKey, Proof, VerifyPeer};
use tessera::handshake::Sign;
use tessera::wire::SignatureScheme;
use tessera_webpki::{Algorithms, ConfigError};

use crate::wire::MAX_NAME;

/// A certificate whose private key a signer holds under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteKey {
    name: String,
    certificate: Vec<u8>,
    chain: Vec<Vec<u8>>,
    schemes: Vec<SignatureScheme>,
}

/// The key can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteKeyError {
    /// There is no certificate.
    NoCertificate,
    /// The end entity's certificate can't be parsed.
    Certificate(ConfigError),
    /// The certificate's key signs with no scheme that this side verifies.
    NoScheme,
    /// The name is empty, or has more than 255 bytes.
    Name,
}

impl RemoteKey {
    /// Creates it from a chain (DER), the end entity first, and the name of the key at the signer: up to 255 bytes.
    ///
    /// # Errors
    /// If a signature can't be verified with the certificate, or the name is invalid.
    pub fn new(chain: Vec<Vec<u8>>, name: &str) -> Result<Self, RemoteKeyError> {
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(RemoteKeyError::Name);
        }
        let certificate = chain.first().cloned().ok_or(RemoteKeyError::NoCertificate)?;
        let schemes = Algorithms::AWS_LC.schemes_for(&certificate);
        let schemes = schemes.map_err(RemoteKeyError::Certificate)?;
        if schemes.is_empty() {
            return Err(RemoteKeyError::NoScheme);
        }
        Ok(Self { name: name.to_owned(), certificate, chain, schemes })
    }

    /// Returns the credential of a configuration, whose handshakes ask for each signature.
    pub fn credential(&self) -> Credential {
        Credential::new(self.chain.clone(), PrivateKey::Elsewhere(self.schemes.clone()))
    }

    /// Returns the name of the key at the signer.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the schemes that it signs with, by its certificate.
    pub fn schemes(&self) -> &[SignatureScheme] {
        &self.schemes
    }

    pub(super) fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Whether this is the signature that was asked for.
    pub(super) fn verifies(&self, question: &Sign, signature: &[u8]) -> bool {
        let proof = Proof::Signature {
            scheme: question.scheme,
            signed: question.message.clone(),
            signature: signature.to_vec(),
        };
        let question = VerifyPeer::new(Role::Server, vec![self.certificate.clone()], proof);
        Algorithms::AWS_LC.verify_signature(&question).is_ok()
    }
}

impl fmt::Display for RemoteKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCertificate => f.write_str("there is no certificate"),
            Self::Certificate(error) => write!(f, "the first certificate: {error}"),
            Self::NoScheme => f.write_str(
                "the certificate's key can't be verified here; use ECDSA, Ed25519, RSA from 2048 bits, ML-DSA-44 or ML-DSA-65",
            ),
            Self::Name => f.write_str("the name of the key must have 1 to 255 bytes"),
        }
    }
}

impl std::error::Error for RemoteKeyError {}
