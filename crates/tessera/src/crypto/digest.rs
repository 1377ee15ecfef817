//! The output of a hash.

/// The longest hash output that any suite of TLS 1.3 uses, in bytes: that of SHA-384.
pub const MAX_HASH_LEN: usize = 48;

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
    /// If it is longer than [`MAX_HASH_LEN`], which no implementation of [`Hash`](super::Hash) may return.
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
