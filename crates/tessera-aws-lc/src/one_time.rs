//! One-time keys for forward-secret 0-RTT, derived from seeds.

use aws_lc_rs::agreement::{PrivateKey, PublicKey};
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
        let key = dh::X25519.key_from_scalar(seed)?;
        let public = dh::public_half(&key)?;
        Ok(Box::new(X25519Key { key, public }))
    }
}

struct X25519Key {
    key: PrivateKey,
    public: PublicKey,
}

impl OneTimeKey for X25519Key {
    fn public(&self) -> &[u8] {
        self.public.as_ref()
    }

    fn open(self: Box<Self>, encapsulated: &[u8]) -> Result<SharedSecret, AgreementError> {
        dh::X25519.agree(&self.key, encapsulated)
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
        let public = key.encapsulation_key().to_bytes();
        Ok(Box::new(MlKem768Key { key, public: public.to_vec() }))
    }
}

/// AWS-LC's Rust interface generates ML-KEM keys from its own randomness only, so the `ml-kem`
/// crate derives them from seeds. AWS-LC opens them: its vector code takes a fifth of the time,
/// which more than pays for handing over the expanded key.
struct MlKem768Key {
    key: DecapsulationKey768,
    public: Vec<u8>,
}

impl OneTimeKey for MlKem768Key {
    fn public(&self) -> &[u8] {
        &self.public
    }

    fn open(self: Box<Self>, encapsulated: &[u8]) -> Result<SharedSecret, AgreementError> {
        let expanded = Zeroizing::new(expand(&self.key));
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
