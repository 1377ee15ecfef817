//! The hash of a suite, and the HMAC and HKDF built on it.

use alloc::boxed::Box;

use super::secret::Secret;

/// The longest hash output that any suite of TLS 1.3 uses, in bytes: that of SHA-384.
pub const MAX_HASH_LEN: usize = 48;

/// A hash function with its HMAC (RFC 2104) and HKDF (RFC 5869).
#[expect(clippy::len_without_is_empty, reason = "the length of the output, never zero")]
pub trait Hash: Send + Sync {
    /// Output length in bytes: 32 for SHA-256, 48 for SHA-384; at most [`MAX_HASH_LEN`].
    fn len(&self) -> usize;

    /// Starts a running hash, as the transcript needs.
    fn start(&self) -> Box<dyn RunningHash>;

    /// Hashes `input` at once.
    fn hash(&self, input: &[u8]) -> Digest;

    /// HMAC over one message.
    fn hmac(&self, key: &[u8], message: &[u8]) -> Digest;

    /// HKDF-Extract(salt, input keying material).
    fn extract(&self, salt: &[u8], input: &[u8]) -> Secret;

    /// HKDF-Expand(PRK, info) into `out`, which is at most 255 hash outputs long.
    fn expand(&self, prk: &[u8], info: &[u8], out: &mut [u8]);
}

/// A hash that is fed piece by piece and can be read on the way.
pub trait RunningHash: Send + Sync {
    /// Adds bytes.
    fn update(&mut self, bytes: &[u8]);

    /// The hash of everything so far; the running hash goes on.
    fn current(&self) -> Digest;
}

/// A hash output.
#[derive(Clone, Copy)]
pub struct Digest {
    bytes: [u8; MAX_HASH_LEN],
    len: u8,
}

impl Digest {
    /// Copies a hash output.
    ///
    /// # Panics
    /// If it is longer than [`MAX_HASH_LEN`], which no hash of a [`Hash`] implementation may be.
    pub fn new(output: &[u8]) -> Self {
        let mut bytes = [0; MAX_HASH_LEN];
        bytes[..output.len()].copy_from_slice(output);
        Self { bytes, len: output.len() as u8 }
    }
}

impl AsRef<[u8]> for Digest {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len as usize]
    }
}
