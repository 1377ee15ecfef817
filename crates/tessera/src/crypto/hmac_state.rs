//! HMAC keyed with a secret, in the form that a provider keeps.

use alloc::boxed::Box;

use zeroize::{DefaultIsZeroes, Zeroize, ZeroizeOnDrop};

use super::digest::MAX_HASH_LEN;

/// HMAC keyed with a secret, which a provider computes once and uses for every expansion of the secret
/// ([`Hash::key_hmac`](super::Hash::key_hmac)).
///
/// The bytes are the provider's own. They are filled in place, wiped when dropped, and never moved once they are
/// filled: a move would leave a copy.
#[derive(Default)]
pub struct HmacState(Bytes);

/// Wiped in one piece: an array would be wiped byte by byte.
#[derive(Clone, Copy)]
struct Bytes([u8; HmacState::LEN]);

impl Default for Bytes {
    fn default() -> Self {
        Self([0; HmacState::LEN])
    }
}

impl DefaultIsZeroes for Bytes {}

impl HmacState {
    /// Creates one in a box.
    pub fn boxed() -> Box<Self> {
        let mut state = Box::new(Self(Bytes([1; Self::LEN])));
        // Zeroed only now: see `SecretBlock::UNFILLED`.
        state.0.zeroize();
        state
    }

    /// How many bytes it has: the two chaining values of HMAC-SHA-384, 64 bytes each.
    pub const LEN: usize = 128;

    /// Returns what the provider wrote.
    pub fn bytes(&self) -> &[u8; Self::LEN] {
        &self.0.0
    }

    /// Returns the bytes, for the provider to write.
    pub fn bytes_mut(&mut self) -> &mut [u8; Self::LEN] {
        &mut self.0.0
    }

    /// Keeps the secret as it is, for providers without a better form.
    ///
    /// # Panics
    /// If it is longer than [`MAX_HASH_LEN`], which no step of the key schedule is.
    pub fn keep(&mut self, secret: &[u8]) {
        assert!(secret.len() <= MAX_HASH_LEN, "a secret is at most one hash output long");
        let [len, bytes @ ..] = self.bytes_mut();
        *len = secret.len() as u8;
        bytes[..secret.len()].copy_from_slice(secret);
    }

    /// Returns the secret that [`keep`](Self::keep) was called with.
    pub fn kept(&self) -> &[u8] {
        let [len, bytes @ ..] = self.bytes();
        &bytes[..usize::from(*len).min(MAX_HASH_LEN)]
    }
}

impl Drop for HmacState {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for HmacState {}
