//! Secret byte strings: wiped when dropped, never printed, compared in constant time.

use alloc::boxed::Box;
use alloc::vec::Vec;

use zeroize::{DefaultIsZeroes, Zeroize, ZeroizeOnDrop, Zeroizing};

use super::digest::{Digest, MAX_HASH_LEN};
use super::equal;

/// A secret of at most one hash output (48 bytes): a step of the key schedule, or a PSK.
///
/// Boxed, so that a move copies only the pointer: a secret stored inline would leave a copy at every place
/// from which it was moved. The box is wiped when dropped.
pub struct Secret {
    bytes: Box<SecretBlock>,
    len: u8,
}

/// The storage of a secret, wiped in one piece: an array would be wiped byte by byte.
#[derive(Clone, Copy)]
pub(crate) struct SecretBlock(pub(crate) [u8; MAX_HASH_LEN]);

impl Default for SecretBlock {
    fn default() -> Self {
        Self([0; MAX_HASH_LEN])
    }
}

impl DefaultIsZeroes for SecretBlock {}

impl SecretBlock {
    /// Not zeros, for which compilers call calloc: in glibc before 2.41 it bypasses the cache of freed blocks.
    pub(crate) const UNFILLED: Self = Self([1; MAX_HASH_LEN]);
}

impl Secret {
    /// Creates a secret of `len` bytes, which `fill` overwrites in place.
    ///
    /// # Panics
    /// If `len` is larger than [`MAX_HASH_LEN`]; lengths come from the suite, never from the network.
    pub fn filled_by(len: usize, fill: impl FnOnce(&mut [u8])) -> Self {
        assert!(len <= MAX_HASH_LEN, "a secret is at most one hash output long");
        let mut secret = Self { bytes: Box::new(SecretBlock::UNFILLED), len: len as u8 };
        fill(&mut secret.bytes.0[..len]);
        secret
    }

    /// Copies `bytes` into a secret; `None` if they are longer than [`MAX_HASH_LEN`].
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        (bytes.len() <= MAX_HASH_LEN)
            .then(|| Self::filled_by(bytes.len(), |out| out.copy_from_slice(bytes)))
    }

    /// Returns the bytes, for a provider or for sealed storage.
    pub fn expose(&self) -> &[u8] {
        &self.bytes.0[..self.len as usize]
    }

    /// Copies the secret. An explicit name, so that every copy can be found.
    pub fn duplicate(&self) -> Self {
        Self::filled_by(self.len as usize, |out| out.copy_from_slice(self.expose()))
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

impl ZeroizeOnDrop for Secret {}

/// Passes a secret of `len` bytes, filled by `fill`, to `each`, and wipes it afterwards. For keys that are
/// not kept: never moved, it needs no box.
///
/// # Panics
/// If `len` is larger than [`MAX_HASH_LEN`].
pub(crate) fn for_one_call<R>(
    len: usize,
    fill: impl FnOnce(&mut [u8]),
    each: impl FnOnce(&[u8]) -> R,
) -> R {
    let mut block = Zeroizing::new(SecretBlock::default());
    fill(&mut block.0[..len]);
    each(&block.0[..len])
}

impl From<&Digest> for Secret {
    fn from(digest: &Digest) -> Self {
        Self::filled_by(digest.as_ref().len(), |out| out.copy_from_slice(digest.as_ref()))
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        equal(self.expose(), other.expose())
    }
}

impl Eq for Secret {}

impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Secret({} bytes)", self.len)
    }
}

/// The result of a key agreement: 32 bytes (X25519, P-256, ML-KEM), 48 (P-384), 66 (P-521) or 64 (hybrid);
/// empty if a one-time PSK takes its place.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct SharedSecret(Vec<u8>);

impl SharedSecret {
    /// Takes ownership of the bytes, which are wiped when this value is dropped.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Concatenates two secrets, in order, as the hybrid groups do.
    pub fn concatenate(first: &Self, second: &Self) -> Self {
        let mut bytes = Vec::with_capacity(first.0.len() + second.0.len());
        bytes.extend_from_slice(&first.0);
        bytes.extend_from_slice(&second.0);
        Self(bytes)
    }

    /// Returns the bytes.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl core::fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "SharedSecret({} bytes)", self.0.len())
    }
}
