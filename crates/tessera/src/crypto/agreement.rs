//! Key agreement in the shape of a KEM: Diffie-Hellman and ML-KEM alike.

use alloc::boxed::Box;
use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::secret::SharedSecret;
use super::secret_bytes::SecretBytes;
use super::{Random, RandomFailed};
use crate::error::{Error, illegal_parameter};
use crate::wire::NamedGroup;

/// A way to agree on a key: a group or a KEM.
pub trait KeyAgreement: Send + Sync {
    /// Returns its code point.
    fn group(&self) -> NamedGroup;

    /// Returns the length in bytes of the share that [`Ephemeral::share`] returns (client to server).
    fn share_len(&self) -> usize;

    /// Returns the length in bytes of the reply that [`encapsulate`](Self::encapsulate) returns (server to client).
    fn reply_len(&self) -> usize;

    /// Returns whether its ephemeral keys suit KEM authentication, whose proof asks for IND-1CCA (docs/kem-auth.md §10): `true`,
    /// the default, but for keys whose secret doesn't depend on the whole reply (docs/one-time-kem.md §6).
    fn suits_kem_authentication(&self) -> bool {
        true
    }

    /// Generates an ephemeral key (the client's side).
    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError>;

    /// Answers a peer's share: returns the reply and the shared secret (the server's side).
    ///
    /// The same operation serves the client of forward-secret 0-RTT, which answers the public half
    /// of a one-time key.
    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError>;
}

/// An ephemeral private key that agrees on exactly one secret. RFC 9846 §4.3.8 forbids reusing a share
/// in another connection; the type forbids using it twice in one.
pub trait Ephemeral: Send + Sync {
    /// Returns the public share.
    fn share(&self) -> &[u8];

    /// Agrees on the secret with the peer's reply.
    fn decapsulate(self: Box<Self>, reply: &[u8]) -> Result<SharedSecret, AgreementError>;
}

/// One kind of one-time key for forward-secret 0-RTT, kept in a vault and opened at most once.
///
/// Clients answer the public half with [`KeyAgreement::encapsulate`] of the same code point.
pub trait OneTimeKeys: Send + Sync {
    /// Returns the code point of the key agreement that answers these keys.
    fn kind(&self) -> NamedGroup;

    /// Returns the length of the public half in bytes.
    fn public_len(&self) -> usize;

    /// Returns the length of a seed in bytes.
    fn seed_len(&self) -> usize;

    /// Derives the key from its seed of [`seed_len`](Self::seed_len) random bytes.
    #[expect(clippy::wrong_self_convention, reason = "the trait is an object: a factory of keys")]
    fn from_seed(&self, seed: &[u8]) -> Result<Box<dyn OneTimeKey>, AgreementError>;

    /// Returns the length of the expanded form in bytes; `None`, the default, for keys that have only the seed.
    ///
    /// The form belongs to the kind, not to the provider, since another provider may have to read it. For
    /// X25519MLKEM768 it is the decapsulation key of FIPS 203 §6.1 followed by X25519's private key: 2,432
    /// bytes.
    fn expanded_len(&self) -> Option<usize> {
        None
    }

    /// Generates a key: writes its expanded form of [`expanded_len`](Self::expanded_len) bytes to `private`, and
    /// returns the public half. All randomness comes from `random`, except where the implementation has its own.
    fn generate_expanded(
        &self,
        random: &dyn Random,
        private: &mut [u8],
    ) -> Result<Vec<u8>, AgreementError> {
        let _ = (random, private);
        Err(AgreementError::Provider)
    }

    /// Generates a key in this form if its kind has it, otherwise in that of its seed, and fills `id`, the id of its
    /// ticket: generators have a cost per draw. A provider may have made the key before. The id and a seed have at most
    /// 256 bytes together.
    fn generate(
        &self,
        form: KeyForm,
        random: &dyn Random,
        id: &mut [u8],
    ) -> Result<NewOneTimeKey, AgreementError> {
        if let (KeyForm::Expanded, Some(len)) = (form, self.expanded_len()) {
            random.fill(id)?;
            let mut private = SecretBytes::zeros(len);
            let public = self.generate_expanded(random, &mut private)?;
            return Ok(NewOneTimeKey { form, private, public });
        }
        let mut drawn = Zeroizing::new([0; MAX_ID_AND_SEED]);
        let drawn = drawn.get_mut(..id.len() + self.seed_len()).ok_or(AgreementError::Provider)?;
        random.fill(drawn)?;
        let (for_id, for_seed) = drawn.split_at(id.len());
        id.copy_from_slice(for_id);
        let private = SecretBytes::from(for_seed);
        let public = self.from_seed(&private)?.public()?;
        Ok(NewOneTimeKey { form: KeyForm::Seed, private, public })
    }

    /// Reads the expanded form.
    #[expect(clippy::wrong_self_convention, reason = "the trait is an object: a factory of keys")]
    fn from_expanded(&self, private: &[u8]) -> Result<Box<dyn OneTimeKey>, AgreementError> {
        let _ = private;
        Err(AgreementError::Provider)
    }

    /// Reads a key in the form in which a vault kept it.
    #[expect(clippy::wrong_self_convention, reason = "the trait is an object: a factory of keys")]
    fn from_kept(&self, form: KeyForm, kept: &[u8]) -> Result<Box<dyn OneTimeKey>, AgreementError> {
        match form {
            KeyForm::Expanded => self.from_expanded(kept),
            KeyForm::Seed => self.from_seed(kept),
        }
    }
}

/// The longest id of a ticket and seed of a key together, in bytes.
const MAX_ID_AND_SEED: usize = 256;

/// The form in which a vault keeps the private half of a one-time key. Keys of X25519 always keep their
/// seed, whatever a vault prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyForm {
    /// Ready for use, if the kind has such a form: 2,432 bytes for X25519MLKEM768.
    #[default]
    Expanded,
    /// The seed, expanded once to issue the key and once to open it: 96 bytes for X25519MLKEM768, for
    /// more than twice the processor time of a handshake.
    Seed,
}

/// A newly generated one-time key.
#[derive(Debug)]
pub struct NewOneTimeKey {
    /// The form of the private half.
    pub form: KeyForm,
    /// What a vault keeps.
    pub private: SecretBytes,
    /// What a ticket brings to the client.
    pub public: Vec<u8>,
}

/// A one-time private key.
pub trait OneTimeKey: Send + Sync {
    /// Returns the public half, which travels in a ticket. Opening the key doesn't need it.
    fn public(&self) -> Result<Vec<u8>, AgreementError>;

    /// Opens what a client encapsulated to the public half, and consumes the key.
    fn open(self: Box<Self>, encapsulated: &[u8]) -> Result<SharedSecret, AgreementError>;
}

/// A key agreement failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgreementError {
    /// The peer's share or reply has a wrong length or encoding, is not on the curve, fails the
    /// check of FIPS 203 §7.2, or yields the all-zero secret (RFC 8446 §7.4.2).
    InvalidShare,
    /// The provider failed, for example because it has no randomness.
    Provider,
}

impl core::fmt::Display for AgreementError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::InvalidShare => "the peer's key share is not valid",
            Self::Provider => "this side's cryptography could not agree on a key",
        })
    }
}

impl core::error::Error for AgreementError {}

impl From<AgreementError> for Error {
    fn from(error: AgreementError) -> Self {
        match error {
            AgreementError::InvalidShare => illegal_parameter("a key share is not valid"),
            AgreementError::Provider => Self::Provider("key agreement"),
        }
    }
}

impl From<RandomFailed> for AgreementError {
    fn from(_: RandomFailed) -> Self {
        Self::Provider
    }
}
