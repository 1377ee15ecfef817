//! Reads and writes vectors with their lengths (RFC 8446 §3).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Deref;

use tessera::auth::joined;

/// A cursor over bytes from a peer or a file. Methods return `None` if fewer bytes are left than requested.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// Reads a vector with a one-byte length.
    pub(crate) fn vec8(&mut self) -> Option<&'a [u8]> {
        let len = self.u8()?;
        self.take(len.into())
    }

    /// Reads a vector with a two-byte length.
    pub(crate) fn vec16(&mut self) -> Option<&'a [u8]> {
        let len = self.u16()?;
        self.take(len.into())
    }

    /// Reads a vector with a three-byte length.
    pub(crate) fn vec24(&mut self) -> Option<&'a [u8]> {
        let [a, b, c] = self.array()?;
        self.take(u32::from_be_bytes([0, a, b, c]) as usize)
    }
}

/// Bytes that clones share; nothing is allocated if there are none. A peer may size them: an `Arc<[u8]>` could not be
/// [made fallibly](Self::copied).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Shared(Option<Arc<Vec<u8>>>);

impl Shared {
    /// Copies bytes that a peer sent; `None` without memory for them.
    pub(crate) fn copied(bytes: &[u8]) -> Option<Self> {
        Some(joined(&[bytes]).ok()?.into())
    }

    /// Whether both share their bytes.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

impl Deref for Shared {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().map_or(&[], |bytes| bytes)
    }
}

impl From<Vec<u8>> for Shared {
    fn from(bytes: Vec<u8>) -> Self {
        Self((!bytes.is_empty()).then(|| Arc::new(bytes)))
    }
}

impl From<&[u8]> for Shared {
    fn from(bytes: &[u8]) -> Self {
        bytes.to_vec().into()
    }
}

#[cfg(test)]
impl<const N: usize> From<[u8; N]> for Shared {
    fn from(bytes: [u8; N]) -> Self {
        bytes.to_vec().into()
    }
}

/// Returns room for as many bytes, which a peer sizes; `None` without memory for them.
pub(crate) fn room(len: usize) -> Option<Vec<u8>> {
    let mut room = Vec::new();
    room.try_reserve_exact(len).ok()?;
    Some(room)
}

/// Encodes a three-byte length, below 2^24.
pub(crate) fn len24(len: usize) -> [u8; 3] {
    let [.., a, b, c] = (len as u64).to_be_bytes();
    [a, b, c]
}

/// Appends a vector with a one-byte length.
pub(crate) fn put8(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(bytes.len() as u8);
    out.extend_from_slice(bytes);
}

/// Appends a vector with a two-byte length.
pub(crate) fn put16(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Appends a vector with a three-byte length.
pub(crate) fn put24(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&len24(bytes.len()));
    out.extend_from_slice(bytes);
}
