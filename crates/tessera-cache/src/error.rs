//! Why a cache can't be made.

use core::fmt;

/// The provider lacks what a cache needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotMade {
    /// It has no cipher suite with SHA-256, by which chains are named.
    NoSha256,
    /// Its random number generator failed.
    NoRandom,
}

impl fmt::Display for NotMade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSha256 => {
                "cached certificates are named by SHA-256: give a provider with a suite that has it"
            }
            Self::NoRandom => "the random number generator failed: no cache without its numbers",
        })
    }
}

impl core::error::Error for NotMade {}
