//! The interface to cryptography: what a provider must implement.
//!
//! The engine contains no primitives. A [`Provider`] is a value made of static trait
//! objects; `tessera-aws-lc` is the one for servers and desktops, `tessera-rustcrypto` the one for devices.

mod aead;
mod agreement;
mod decapsulator;
mod digest;
mod hash;
mod hmac_state;
mod hybrid;
mod secret;
mod secret_bytes;
mod signature;
mod stack;
mod suite;

pub use aead::{
    Aead, AeadAlgorithm, HeaderKey, MASK_LEN, NONCE_LEN, Nonce, OpenFailed, SAMPLE_LEN, TAG_LEN,
};
pub use agreement::{
    AgreementError, Ephemeral, KeyAgreement, KeyForm, NewOneTimeKey, OneTimeKey, OneTimeKeys,
};
pub use decapsulator::Decapsulator;
pub use digest::{Digest, MAX_HASH_LEN};
pub use hash::{Hash, RunningHash};
pub use hmac_state::HmacState;
pub use hybrid::{Hybrid, HybridOneTimeKeys};
pub use secret::{Secret, SharedSecret};
pub(crate) use secret::{SecretBlock, for_one_call};
pub use secret_bytes::SecretBytes;
pub use signature::{Signer, SigningError};
pub use stack::{Depth, StackDepth, wipe_stack_below};
pub use suite::Suite;

use alloc::vec::Vec;

use subtle::ConstantTimeEq;

use crate::error::Error;
use crate::wire::{CipherSuite, NamedGroup, SignatureScheme};

/// All cryptography that the engine uses.
#[derive(Clone, Copy)]
pub struct Provider {
    /// The cipher suites, in order of preference.
    pub suites: &'static [&'static Suite],
    /// The key agreements for ephemeral shares, in order of preference.
    pub groups: &'static [&'static dyn KeyAgreement],
    /// The one-time key kinds for forward-secret 0-RTT, in order of preference.
    pub one_time_keys: &'static [&'static dyn OneTimeKeys],
    /// The KEMs with static keys, for authentication (docs/kem-auth.md), each with the code point of its group. Their share is
    /// the public key.
    pub kems: &'static [&'static dyn KeyAgreement],
    /// The random number generator.
    pub random: &'static dyn Random,
    /// How deep the stack is wiped after steps that handled secrets.
    pub stack_depth: StackDepth,
}

impl Provider {
    /// Returns the suite with this code point, if the provider has it.
    pub fn suite(&self, id: CipherSuite) -> Option<&'static Suite> {
        self.suites.iter().copied().find(|suite| suite.id == id)
    }

    /// Returns SHA-256, if one of the suites has it.
    pub fn sha256(&self) -> Option<&'static dyn Hash> {
        self.suites.iter().map(|suite| suite.hash).find(|hash| hash.len() == SHA256_LEN)
    }

    /// Returns the key agreement with this code point, if the provider has it.
    pub fn group(&self, id: NamedGroup) -> Option<&'static dyn KeyAgreement> {
        self.groups.iter().copied().find(|group| group.group() == id)
    }

    /// Returns the groups that a configuration has if it names none: all but experimental ones.
    pub(crate) fn default_groups(&self) -> Vec<NamedGroup> {
        let groups = self.groups.iter().map(|group| group.group());
        groups.filter(|group| !group.is_experimental()).collect()
    }

    /// Returns the KEM of this scheme, if it is one and the provider has it.
    pub fn kem(&self, scheme: SignatureScheme) -> Option<&'static dyn KeyAgreement> {
        let id = scheme.kem()?;
        self.kems.iter().copied().find(|kem| kem.group() == id)
    }

    /// Returns the one-time keys of this kind, if the provider has them.
    pub fn one_time(&self, kind: NamedGroup) -> Option<&'static dyn OneTimeKeys> {
        self.one_time_keys.iter().copied().find(|keys| keys.kind() == kind)
    }
}

/// Length of a SHA-256 hash in bytes. No other hash of a [`CipherSuite`] is as long.
pub(crate) const SHA256_LEN: usize = 32;

/// A source of cryptographically secure random bytes.
pub trait Random: Send + Sync {
    /// Fills `out` with random bytes.
    fn fill(&self, out: &mut [u8]) -> Result<(), RandomFailed>;
}

/// The random number generator failed; the handshake must not continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomFailed;

impl core::fmt::Display for RandomFailed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the random number generator failed")
    }
}

impl core::error::Error for RandomFailed {}

/// Compares in constant time.
pub(crate) fn equal(a: &[u8], b: &[u8]) -> bool {
    let (words_of_a, rest_of_a) = a.as_chunks();
    let (words_of_b, rest_of_b) = b.as_chunks();
    // `subtle` compares slices byte by byte. `&` on `Choice` doesn't short-circuit.
    let words = words_of_a.iter().zip(words_of_b);
    let equal = words.fold(rest_of_a.ct_eq(rest_of_b), |equal, (a, b)| {
        equal & u64::from_ne_bytes(*a).ct_eq(&u64::from_ne_bytes(*b))
    });
    (equal & a.len().ct_eq(&b.len())).into()
}

impl From<RandomFailed> for Error {
    fn from(_: RandomFailed) -> Self {
        Self::Provider("no random bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_equal_if_each_bit_is_and_neither_is_longer() {
        let bytes: [u8; 67] = core::array::from_fn(|at| at as u8);
        for len in 0..bytes.len() {
            let string = &bytes[..len];
            assert!(equal(string, &bytes[..len]));
            for shorter in 0..len {
                assert!(!equal(string, &string[..shorter]), "{shorter} bytes of {len}");
                assert!(!equal(&string[..shorter], string), "{shorter} bytes of {len}");
            }
            for bit in 0..8 * len {
                let mut other = bytes;
                other[bit / 8] ^= 1 << (bit % 8);
                assert!(!equal(string, &other[..len]), "bit {bit} of {len} bytes");
            }
        }
    }
}
