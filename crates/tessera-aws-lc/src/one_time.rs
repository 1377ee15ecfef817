//! One-time keys for forward-secret 0-RTT.

use aws_lc_rs::agreement::PrivateKey;
use aws_lc_rs::kem::{DecapsulationKey, ML_KEM_768};
use ml_kem::DecapsulationKey768;
use ml_kem::kem::KeyExport;
use tessera::crypto::{AgreementError, OneTimeKey, OneTimeKeys, Random, SharedSecret};
use tessera::wire::NamedGroup;
use zeroize::Zeroizing;

use crate::{dh, expanded, kem};

/// X25519; the seed is the private scalar (RFC 7748 §5 clamps it at every use).
pub(crate) struct X25519;

impl OneTimeKeys for X25519 {
    fn kind(&self) -> NamedGroup {
        NamedGroup::X25519
    }

    fn public_len(&self) -> usize {
        32
    }

    fn seed_len(&self) -> usize {
        32
    }

    fn from_seed(&self, seed: &[u8]) -> Result<Box<dyn OneTimeKey>, AgreementError> {
        let scalar = seed.try_into().map_err(|_| AgreementError::Provider)?;
        Ok(Box::new(X25519Key(Zeroizing::new(scalar))))
    }
}

struct X25519Key(Zeroizing<[u8; 32]>);

impl X25519Key {
    /// Reads the key; AWS-LC's Rust interface then always computes the public half.
    fn with_public(&self) -> Result<PrivateKey, AgreementError> {
        dh::X25519.key_from_scalar(&*self.0)
    }
}

impl OneTimeKey for X25519Key {
    fn public(&self) -> Result<Vec<u8>, AgreementError> {
        Ok(dh::public_half(&self.with_public()?)?.as_ref().to_vec())
    }

    /// Every flight has a take, so it is worth avoiding the unused public half.
    fn open(self: Box<Self>, encapsulated: &[u8]) -> Result<SharedSecret, AgreementError> {
        #[cfg(all(feature = "graviola", any(target_arch = "x86_64", target_arch = "aarch64")))]
        if let Some(agreed) = crate::scalar_mult::x25519(&self.0, encapsulated) {
            return agreed;
        }
        dh::X25519.agree(&self.with_public()?, encapsulated)
    }
}

/// ML-KEM-768; the seed is d || z, the input of ML-KEM.KeyGen_internal, and the expanded form its output, the
/// decapsulation key (FIPS 203 §6.1). AWS-LC generates and reads the latter.
pub(crate) struct MlKem768;

/// Length of a decapsulation key of ML-KEM-768 in bytes (FIPS 203 §8, table 3).
const DECAPSULATION_KEY_LEN: usize = 2400;

impl OneTimeKeys for MlKem768 {
    fn kind(&self) -> NamedGroup {
        NamedGroup::MLKEM768
    }

    fn public_len(&self) -> usize {
        kem::ENCAPSULATION_KEY_LEN
    }

    fn seed_len(&self) -> usize {
        64
    }

    fn from_seed(&self, seed: &[u8]) -> Result<Box<dyn OneTimeKey>, AgreementError> {
        let key = expanded::key_of(seed).ok_or(AgreementError::Provider)?;
        Ok(Box::new(SeededMlKem768Key(key)))
    }

    fn expanded_len(&self) -> Option<usize> {
        Some(DECAPSULATION_KEY_LEN)
    }

    fn generate_expanded(
        &self,
        _: &dyn Random,
        private: &mut [u8],
    ) -> Result<Vec<u8>, AgreementError> {
        let key = DecapsulationKey::generate(&ML_KEM_768).map_err(|_| AgreementError::Provider)?;
        let bytes = key.key_bytes().map_err(|_| AgreementError::Provider)?;
        let bytes = bytes.as_ref();
        if bytes.len() != private.len() {
            return Err(AgreementError::Provider);
        }
        private.copy_from_slice(bytes);
        public_half(bytes)
    }

    fn from_expanded(&self, private: &[u8]) -> Result<Box<dyn OneTimeKey>, AgreementError> {
        Ok(Box::new(MlKem768Key(kem::ML_KEM_768.read(private)?)))
    }
}

fn public_half(expanded: &[u8]) -> Result<Vec<u8>, AgreementError> {
    let public = kem::ML_KEM_768.public_half(expanded).ok_or(AgreementError::Provider)?;
    Ok(public.to_vec())
}

fn open(key: &DecapsulationKey, encapsulated: &[u8]) -> Result<SharedSecret, AgreementError> {
    kem::decapsulate(key, kem::CIPHERTEXT_LEN, encapsulated)
}

/// A key generated or read by AWS-LC.
struct MlKem768Key(DecapsulationKey);

impl OneTimeKey for MlKem768Key {
    fn public(&self) -> Result<Vec<u8>, AgreementError> {
        public_half(self.0.key_bytes().map_err(|_| AgreementError::Provider)?.as_ref())
    }

    fn open(self: Box<Self>, encapsulated: &[u8]) -> Result<SharedSecret, AgreementError> {
        open(&self.0, encapsulated)
    }
}

/// AWS-LC decapsulates: its vector code takes a fifth of the time of the crate `ml-kem`, which more than pays for passing it
/// the expanded key.
struct SeededMlKem768Key(DecapsulationKey768);

impl OneTimeKey for SeededMlKem768Key {
    fn public(&self) -> Result<Vec<u8>, AgreementError> {
        Ok(self.0.encapsulation_key().to_bytes().to_vec())
    }

    fn open(self: Box<Self>, encapsulated: &[u8]) -> Result<SharedSecret, AgreementError> {
        let expanded = expanded::expand(&self.0);
        open(&kem::ML_KEM_768.read(&expanded)?, encapsulated)
    }
}
