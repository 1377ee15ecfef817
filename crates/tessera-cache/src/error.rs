//! Why a cache can't be made or imported.

use core::fmt;

/// The provider lacks what a cache needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProviderError {
    /// It has no cipher suite with SHA-256, which names chains.
    NoSha256,
    /// Its random number generator failed.
    NoRandom,
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSha256 => {
                "cached certificates are named by SHA-256: use a provider with a suite that has it"
            }
            Self::NoRandom => "the random number generator failed, and the cache needs its numbers",
        })
    }
}

impl core::error::Error for ProviderError {}

/// Why an export can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportError {
    /// It was truncated or changed, or is something else.
    Damaged,
    /// It was written by a newer version.
    Newer {
        /// The version of its format.
        version: u8,
    },
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged => f.write_str(
                "cut off, changed, or not a cache of certificates; start with an empty cache",
            ),
            Self::Newer { version } => {
                write!(f, "a newer version of this program wrote it (form {version})")
            }
        }
    }
}

impl core::error::Error for ImportError {}
