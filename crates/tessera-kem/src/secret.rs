//! The secret on which both ends agree.

use core::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// A shared secret of 32 bytes, wiped when it is dropped. Its owner wipes the stack through which it was moved.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct SharedSecret([u8; 32]);

impl SharedSecret {
    /// Returns the bytes.
    #[must_use]
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<Zeroizing<[u8; 32]>> for SharedSecret {
    fn from(bytes: Zeroizing<[u8; 32]>) -> Self {
        Self(*bytes)
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret")
    }
}
