//! Why a private key can't be loaded.

/// A private key could not be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRejected {
    /// The bytes are not DER of any kind of key that AWS-LC can read, or the parts of the key do not
    /// belong together.
    Malformed,
    /// TLS 1.3 or this provider does not use keys of this kind, curve or size, or not for this.
    Unsupported,
}

impl core::fmt::Display for KeyRejected {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the private key is malformed",
            Self::Unsupported => "private keys of this kind or size are not supported",
        })
    }
}

impl core::error::Error for KeyRejected {}
