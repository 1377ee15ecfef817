//! One-time keys for forward-secret 0-RTT, derived from seeds.

use aws_lc_rs::agreement::PrivateKey;
use aws_lc_rs::kem::{DecapsulationKey, ML_KEM_768};
use ml_kem::kem::KeyExport;
use ml_kem::{DecapsulationKey768, Seed};
use tessera::crypto::{AgreementError, OneTimeKey, OneTimeKeys, SharedSecret};
use tessera::wire::NamedGroup;
use zeroize::{Zeroize, Zeroizing};

use crate::{dh, kem};

/// X25519; the seed is the private scalar (RFC 7748 §5 clamps it at every use).
pub(crate) struct X25519;

impl OneTimeKeys for X25519 {
    fn kind(&self) -> NamedGroup {
        NamedGroup::X25519
    }

    fn seed_len(&self) -> usize {
        32
    }

    fn public_len(&self) -> usize {
        32
    }

    fn from_seed(&self, seed: &[u8]) -> Result<Box<dyn OneTimeKey>, AgreementError> {
        let scalar = seed.try_into().map_err(|_| AgreementError::Provider)?;
        Ok(Box::new(X25519Key(Zeroizing::new(scalar))))
    }
}

struct X25519Key(Zeroizing<[u8; 32]>);

impl X25519Key {
    /// AWS-LC's Rust interface computes the public half whenever it reads a private key.
    fn with_public(&self) -> Result<PrivateKey, AgreementError> {
        dh::X25519.key_from_scalar(&*self.0)
    }
}

impl OneTimeKey for X25519Key {
    fn public(&self) -> Result<Vec<u8>, AgreementError> {
        Ok(dh::public_half(&self.with_public()?)?.as_ref().to_vec())
    }

    /// A take comes with every flight, so it is worth sparing the public half that nobody asks for.
    fn open(self: Box<Self>, encapsulated: &[u8]) -> Result<SharedSecret, AgreementError> {
        #[cfg(all(feature = "graviola", any(target_arch = "x86_64", target_arch = "aarch64")))]
        if let Some(agreed) = crate::scalar_mult::x25519(&self.0, encapsulated) {
            return agreed;
        }
        dh::X25519.agree(&self.with_public()?, encapsulated)
    }
}

/// ML-KEM-768; the seed is d || z, the input of ML-KEM.KeyGen_internal (FIPS 203 §6.1).
pub(crate) struct MlKem768;

impl OneTimeKeys for MlKem768 {
    fn kind(&self) -> NamedGroup {
        NamedGroup::MLKEM768
    }

    fn seed_len(&self) -> usize {
        64
    }

    fn public_len(&self) -> usize {
        kem::ENCAPSULATION_KEY_LEN
    }

    fn from_seed(&self, seed: &[u8]) -> Result<Box<dyn OneTimeKey>, AgreementError> {
        let mut seed = Seed::try_from(seed).map_err(|_| AgreementError::Provider)?;
        let key = DecapsulationKey768::from_seed(seed);
        seed.zeroize();
        Ok(Box::new(MlKem768Key(key)))
    }
}

/// AWS-LC's Rust interface generates ML-KEM keys from its own randomness only, so the `ml-kem`
/// crate derives them from seeds. AWS-LC opens them: its vector code takes a fifth of the time,
/// which more than pays for handing over the expanded key.
struct MlKem768Key(DecapsulationKey768);

impl OneTimeKey for MlKem768Key {
    fn public(&self) -> Result<Vec<u8>, AgreementError> {
        Ok(self.0.encapsulation_key().to_bytes().to_vec())
    }

    fn open(self: Box<Self>, encapsulated: &[u8]) -> Result<SharedSecret, AgreementError> {
        let expanded = Zeroizing::new(expand(&self.0));
        let key = DecapsulationKey::new(&ML_KEM_768, expanded.as_slice())
            .map_err(|_| AgreementError::Provider)?;
        kem::decapsulate(&key, kem::CIPHERTEXT_LEN, encapsulated)
    }
}

/// The decapsulation key as FIPS 203 §6.1 encodes it, the one form that AWS-LC reads. It is
/// deprecated for storage in favour of the seed; here it lives for one call.
#[allow(deprecated)]
fn expand(key: &DecapsulationKey768) -> ml_kem::ml_kem_768::ExpandedDecapsulationKey {
    use ml_kem::ExpandedKeyEncoding;
    key.to_expanded_bytes()
}
