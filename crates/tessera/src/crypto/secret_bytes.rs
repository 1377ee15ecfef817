//! Secrets of any length.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, DerefMut};

use zeroize::{Zeroize, ZeroizeOnDrop, optimization_barrier};

/// A secret of any length, such as a private key: one allocation that never grows and is wiped as a
/// whole when dropped. A move copies only the pointer.
pub struct SecretBytes(Box<[u8]>);

impl SecretBytes {
    /// Creates a secret of `len` zero bytes, to be filled in place.
    pub fn zeros(len: usize) -> Self {
        Self(vec![0; len].into_boxed_slice())
    }
}

impl Drop for SecretBytes {
    /// Not byte by byte, as `zeroize` wipes slices: a private key of ML-KEM has 2,400 bytes.
    fn drop(&mut self) {
        self.0.fill(0);
        optimization_barrier(&*self.0);
    }
}

impl ZeroizeOnDrop for SecretBytes {}

impl Deref for SecretBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for SecretBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl From<&[u8]> for SecretBytes {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

/// Takes over the vector if it is full to its capacity; otherwise copies and wipes it.
impl From<Vec<u8>> for SecretBytes {
    fn from(mut bytes: Vec<u8>) -> Self {
        if bytes.len() == bytes.capacity() {
            return Self(bytes.into_boxed_slice());
        }
        let copy = Self::from(bytes.as_slice());
        bytes.zeroize();
        copy
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretBytes({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn secret_bytes_are_those_of_their_vector_and_are_not_shown() {
        for spare in [0, 100] {
            let mut bytes = Vec::with_capacity(3 + spare);
            bytes.extend([0xab, 2, 3]);
            let at = bytes.as_ptr();
            let secret = SecretBytes::from(bytes);
            assert_eq!(*secret, [0xab, 2, 3]);
            assert_eq!(secret.as_ptr() == at, spare == 0);
            assert_eq!(format!("{secret:?}"), "SecretBytes(3 bytes)");
        }
        assert_eq!(*SecretBytes::zeros(2), [0, 0]);
    }
}
