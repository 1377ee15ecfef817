//! Decapsulating with the private key of a certificate (docs/kem-auth.md).

use super::agreement::AgreementError;
use super::secret::SharedSecret;
use crate::wire::SignatureScheme;

/// A local private key that decapsulates again and again. For a key elsewhere (an HSM, another process) the driver answers
/// the `Decapsulate` question later.
pub trait Decapsulator: Send + Sync {
    /// Returns the KEM of the key.
    fn scheme(&self) -> &SignatureScheme;

    /// Returns the public key, for clients that know it (docs/kem-auth.md §9); `None`, the default, if it isn't at hand: such
    /// clients then make a full handshake.
    fn public_key(&self) -> Option<&[u8]> {
        None
    }

    /// Decapsulates what a peer encapsulated, of the KEM's length. The result of a wrong one is another secret (FIPS 203
    /// §6.3), or [`AgreementError::InvalidShare`].
    fn decapsulate(&self, encapsulation: &[u8]) -> Result<SharedSecret, AgreementError>;
}
