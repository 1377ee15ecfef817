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
    /// The first credential whose key can sign what the peer can check, and with which scheme.
    pub(crate) fn first_fitting(
        credentials: &[Self],
        peer_accepts: impl Fn(SignatureScheme) -> bool,
    ) -> Option<(&Self, SignatureScheme)> {
        credentials.iter().find_map(|credential| {
            let schemes = match &credential.key {
                PrivateKey::Here(signer) => signer.schemes(),
                PrivateKey::Elsewhere(schemes) => schemes,
            };
            let fits =
                |scheme: &SignatureScheme| scheme.signs_handshakes() && peer_accepts(*scheme);
            Some((credential, schemes.iter().copied().find(fits)?))
        })
    }

    pub(crate) fn sign(&self, question: &Sign) -> Reply<Result<Vec<u8>, SigningError>> {
        match &self.key {
            PrivateKey::Here(signer) => Reply::Now(signer.sign(question.scheme, &question.message)),
            PrivateKey::Elsewhere(_) => Reply::Later,
        }
    }
}
