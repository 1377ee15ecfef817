//! What can be wrong with keys and ciphertexts.

use core::fmt;

/// An input was refused (FIPS 203 §7.2 and §7.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A key, a ciphertext, or the buffer for one doesn't have the parameter set's length.
    Length,
    /// A coefficient of an encapsulation key is not below q.
    Modulus,
    /// The hash in a decapsulation key is not that of its encapsulation key.
    Hash,
    /// A seed and an expanded decapsulation key are not the same key.
    SeedMismatch,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => {
                "a key, a ciphertext or its buffer does not have the parameter set's length"
            }
            Self::Modulus => "a coefficient of the encapsulation key is not below q",
            Self::Hash => "the hash in the decapsulation key is not that of its encapsulation key",
            Self::SeedMismatch => "the seed and the expanded decapsulation key are different keys",
        })
    }
}

impl core::error::Error for Error {}
