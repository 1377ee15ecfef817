//! Why a store can't be made.

use core::fmt;

/// Why a store can't be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// The provider has no suite with SHA-256, which identifies known chains.
    NoSha256,
    /// The provider has no randomness.
    NoRandom,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSha256 => "the provider has no suite with SHA-256",
            Self::NoRandom => "the provider's random number generator failed: try again",
        })
    }
}

impl core::error::Error for StoreError {}
