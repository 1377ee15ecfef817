//! What can be wrong with keys and ciphertexts.

use core::fmt;

/// An input was refused (FIPS 203 §7.2 and §7.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A key, a ciphertext, or the room for one has another length than the parameter set's.
    Length,
    /// An encapsulation key has a coefficient that is not modulo q.
    Modulus,
    /// A decapsulation key has another hash of its encapsulation key than it should.
    Hash,
    /// A seed and an expanded decapsulation key are not the same key.
    SeedMismatch,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "the length is not the parameter set's",
            Self::Modulus => "the encapsulation key has a coefficient that is not modulo q",
            Self::Hash => "the decapsulation key has a wrong hash of its encapsulation key",
            Self::SeedMismatch => "the seed and the expanded decapsulation key are different keys",
        })
    }
}

impl core::error::Error for Error {}
