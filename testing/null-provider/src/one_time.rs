//! One-time keys whose secrets anyone can compute from what is on the wire.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use tessera::crypto::{AgreementError, OneTimeKey, OneTimeKeys, SharedSecret};
use tessera::wire::NamedGroup;

use crate::agreement::{self, DISTINCT_LEN, NullAgreement};
use crate::mix::Mix;

/// One-time keys with seeds of the length that the real ones have.
pub(crate) struct NullOneTimeKeys {
    agreement: &'static NullAgreement,
    seed_len: usize,
}

/// Stands in for X25519.
pub(crate) static X25519: NullOneTimeKeys =
    NullOneTimeKeys { agreement: &agreement::X25519, seed_len: 32 };

/// Stands in for X25519MLKEM768.
pub(crate) static X25519_ML_KEM_768: NullOneTimeKeys =
    NullOneTimeKeys { agreement: &agreement::X25519_ML_KEM_768, seed_len: 96 };

const SEED: u64 = 5;

impl OneTimeKeys for NullOneTimeKeys {
    fn kind(&self) -> NamedGroup {
        self.agreement.group
    }

    fn seed_len(&self) -> usize {
        self.seed_len
    }

    fn public_len(&self) -> usize {
        self.agreement.share_len
    }

    fn from_seed(&self, seed: &[u8]) -> Result<Box<dyn OneTimeKey>, AgreementError> {
        if seed.len() != self.seed_len {
            return Err(AgreementError::Provider);
        }
        let mut public = vec![0; self.agreement.share_len];
        let mut mix = Mix::new(SEED);
        mix.add(seed);
        mix.fill(&mut public[..DISTINCT_LEN]);
        Ok(Box::new(NullOneTimeKey { agreement: self.agreement, public }))
    }
}

struct NullOneTimeKey {
    agreement: &'static NullAgreement,
    public: Vec<u8>,
}

impl OneTimeKey for NullOneTimeKey {
    fn public(&self) -> Result<Vec<u8>, AgreementError> {
        Ok(self.public.clone())
    }

    fn open(self: Box<Self>, encapsulated: &[u8]) -> Result<SharedSecret, AgreementError> {
        self.agreement.secret(&self.public, encapsulated)
    }
}
