//! ML-KEM-512, ML-KEM-768 and ML-KEM-1024 (FIPS 203).

use aws_lc_rs::kem::{
    self, AlgorithmId, Ciphertext, DecapsulationKey, EncapsulationKey, ML_KEM_512 as KEM_512,
    ML_KEM_768 as KEM_768, ML_KEM_1024 as KEM_1024,
};
use tessera::crypto::{AgreementError, Ephemeral, KeyAgreement, SharedSecret};
use tessera::wire::NamedGroup;

/// Length of an encapsulation key of ML-KEM-768 in bytes (FIPS 203 §8, table 3).
pub(crate) const ENCAPSULATION_KEY_LEN: usize = 1184;

/// Length of a ciphertext of ML-KEM-768 in bytes (FIPS 203 §8, table 3).
pub(crate) const CIPHERTEXT_LEN: usize = 1088;

/// ML-KEM: the share is an encapsulation key, the reply a ciphertext.
#[derive(Clone, Copy)]
pub(crate) struct MlKem {
    group: NamedGroup,
    algorithm: &'static kem::Algorithm<AlgorithmId>,
    encapsulation_key_len: usize,
    ciphertext_len: usize,
}

pub(crate) static ML_KEM_512: MlKem = MlKem {
    group: NamedGroup::MLKEM512,
    algorithm: &KEM_512,
    encapsulation_key_len: 800,
    ciphertext_len: 768,
};

pub(crate) static ML_KEM_768: MlKem = MlKem {
    group: NamedGroup::MLKEM768,
    algorithm: &KEM_768,
    encapsulation_key_len: ENCAPSULATION_KEY_LEN,
    ciphertext_len: CIPHERTEXT_LEN,
};

pub(crate) static ML_KEM_1024: MlKem = MlKem {
    group: NamedGroup::MLKEM1024,
    algorithm: &KEM_1024,
    encapsulation_key_len: 1568,
    ciphertext_len: 1568,
};

impl MlKem {
    pub(crate) fn generate_ephemeral(&self) -> Result<EphemeralKey, AgreementError> {
        let key =
            DecapsulationKey::generate(self.algorithm).map_err(|_| AgreementError::Provider)?;
        let share = key
            .encapsulation_key()
            .and_then(|public| public.key_bytes())
            .map_err(|_| AgreementError::Provider)?
            .as_ref()
            .to_vec();
        Ok(EphemeralKey { key, share, ciphertext_len: self.ciphertext_len })
    }

    /// Returns the length of an expanded key: the private vector, and then what [`MlKem::public_half`] describes (FIPS 203
    /// §6.1, algorithm 16). The public half is such a vector and 32 bytes.
    pub(crate) fn expanded_len(&self) -> usize {
        2 * self.encapsulation_key_len + 32
    }

    /// Reads an expanded key. Refuses another length; a damaged key fails to decapsulate.
    pub(crate) fn read(&self, expanded: &[u8]) -> Result<DecapsulationKey, AgreementError> {
        DecapsulationKey::new(self.algorithm, expanded).map_err(|_| AgreementError::Provider)
    }

    /// Returns the encapsulation key in an expanded key, before its hash and the seed of implicit rejection (FIPS 203 §6.1,
    /// algorithm 16).
    pub(crate) fn public_half<'k>(&self, expanded: &'k [u8]) -> Option<&'k [u8]> {
        let end = expanded.len().checked_sub(32 + 32)?;
        expanded.get(end.checked_sub(self.encapsulation_key_len)?..end)
    }
}

impl KeyAgreement for MlKem {
    fn group(&self) -> NamedGroup {
        self.group
    }

    fn share_len(&self) -> usize {
        self.encapsulation_key_len
    }

    fn reply_len(&self) -> usize {
        self.ciphertext_len
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        Ok(Box::new(self.generate_ephemeral()?))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        // `new` checks the length and `encapsulate` the modulus (FIPS 203 §7.2: a key with a
        // coefficient of q or more is refused). The latter has no other reason to fail: AWS-LC
        // aborts without randomness.
        let (ciphertext, secret) = EncapsulationKey::new(self.algorithm, share)
            .map_err(|_| AgreementError::InvalidShare)?
            .encapsulate()
            .map_err(|_| AgreementError::InvalidShare)?;
        Ok((ciphertext.as_ref().to_vec(), SharedSecret::new(secret.as_ref().to_vec())))
    }
}

pub(crate) struct EphemeralKey {
    key: DecapsulationKey,
    share: Vec<u8>,
    ciphertext_len: usize,
}

impl Ephemeral for EphemeralKey {
    fn share(&self) -> &[u8] {
        &self.share
    }

    fn decapsulate(self: Box<Self>, reply: &[u8]) -> Result<SharedSecret, AgreementError> {
        decapsulate(&self.key, self.ciphertext_len, reply)
    }
}

/// Decapsulates a ciphertext. One of the right length that was not made for this key yields a secret that
/// the peer does not know (FIPS 203 §6.3, implicit rejection), never an error.
pub(crate) fn decapsulate(
    key: &DecapsulationKey,
    len: usize,
    ciphertext: &[u8],
) -> Result<SharedSecret, AgreementError> {
    if ciphertext.len() != len {
        return Err(AgreementError::InvalidShare);
    }
    key.decapsulate(Ciphertext::from(ciphertext))
        .map(|secret| SharedSecret::new(secret.as_ref().to_vec()))
        .map_err(|_| AgreementError::Provider)
}
