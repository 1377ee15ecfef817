//! ML-KEM-768 (FIPS 203).

use aws_lc_rs::kem::{Ciphertext, DecapsulationKey, EncapsulationKey, ML_KEM_768};
use tessera::crypto::{AgreementError, Ephemeral, KeyAgreement, SharedSecret};
use tessera::wire::NamedGroup;

/// Length of an encapsulation key in bytes (FIPS 203 §8, table 3).
pub(crate) const ENCAPSULATION_KEY_LEN: usize = 1184;

/// Length of a ciphertext in bytes (FIPS 203 §8, table 3).
pub(crate) const CIPHERTEXT_LEN: usize = 1088;

/// ML-KEM-768: the share is an encapsulation key, the reply a ciphertext.
pub(crate) struct MlKem768;

impl KeyAgreement for MlKem768 {
    fn group(&self) -> NamedGroup {
        NamedGroup::MLKEM768
    }

    fn share_len(&self) -> usize {
        ENCAPSULATION_KEY_LEN
    }

    fn reply_len(&self) -> usize {
        CIPHERTEXT_LEN
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        let key = DecapsulationKey::generate(&ML_KEM_768).map_err(|_| AgreementError::Provider)?;
        let share = key
            .encapsulation_key()
            .and_then(|public| public.key_bytes())
            .map_err(|_| AgreementError::Provider)?
            .as_ref()
            .to_vec();
        Ok(Box::new(EphemeralKey { key, share }))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        // `new` checks the length and `encapsulate` the modulus (FIPS 203 §7.2: a key with a
        // coefficient of q or more is refused). The latter has no other reason to fail: AWS-LC
        // aborts when it finds no randomness.
        let (ciphertext, secret) = EncapsulationKey::new(&ML_KEM_768, share)
            .map_err(|_| AgreementError::InvalidShare)?
            .encapsulate()
            .map_err(|_| AgreementError::InvalidShare)?;
        Ok((ciphertext.as_ref().to_vec(), SharedSecret::new(secret.as_ref().to_vec())))
    }
}

struct EphemeralKey {
    key: DecapsulationKey,
    share: Vec<u8>,
}

impl Ephemeral for EphemeralKey {
    fn share(&self) -> &[u8] {
        &self.share
    }

    fn decapsulate(self: Box<Self>, reply: &[u8]) -> Result<SharedSecret, AgreementError> {
        decapsulate(&self.key, reply)
    }
}

/// Opens a ciphertext. One of the right length that was not made for this key gives a secret that
/// the peer does not know (FIPS 203 §6.3, implicit rejection), never an error.
pub(crate) fn decapsulate(
    key: &DecapsulationKey,
    ciphertext: &[u8],
) -> Result<SharedSecret, AgreementError> {
    if ciphertext.len() != CIPHERTEXT_LEN {
        return Err(AgreementError::InvalidShare);
    }
    key.decapsulate(Ciphertext::from(ciphertext))
        .map(|secret| SharedSecret::new(secret.as_ref().to_vec()))
        .map_err(|_| AgreementError::Provider)
}
