//! This side's certificate.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::crypto::{Signer, SigningError};
use crate::handshake::{Reply, Sign};
use crate::wire::SignatureScheme;

/// A certificate chain with its private key.
#[derive(Clone)]
pub struct Credential {
    /// The certificates as DER, the end entity first.
    pub chain: Vec<Vec<u8>>,
    /// The private key of the end entity.
    pub key: PrivateKey,
}

/// Where the private key of a certificate is.
#[derive(Clone)]
pub enum PrivateKey {
    /// Here: it signs at once.
    Here(Arc<dyn Signer>),
    /// Elsewhere: the `Sign` question is put to the driver of the connection. The schemes are those
    /// that the key can sign with, in order of preference.
    Elsewhere(Vec<SignatureScheme>),
}

impl Credential {
    /// The first scheme of this key that the peer can check, if any.
    pub(crate) fn scheme_for(
        &self,
        peer_accepts: impl Fn(SignatureScheme) -> bool,
    ) -> Option<SignatureScheme> {
        let schemes = match &self.key {
            PrivateKey::Here(signer) => signer.schemes(),
            PrivateKey::Elsewhere(schemes) => schemes,
        };
        schemes.iter().copied().find(|scheme| scheme.signs_handshakes() && peer_accepts(*scheme))
    }

    pub(crate) fn sign(&self, question: &Sign) -> Reply<Result<Vec<u8>, SigningError>> {
        match &self.key {
            PrivateKey::Here(signer) => Reply::Now(signer.sign(question.scheme, &question.message)),
            PrivateKey::Elsewhere(_) => Reply::Later,
        }
    }
}
