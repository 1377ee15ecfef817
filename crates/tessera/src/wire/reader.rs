//! A cursor over borrowed bytes.

use crate::error::{Error, decode_error};

/// Reads the presentation language of RFC 8446 §3 from borrowed bytes.
#[derive(Clone, Copy)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads `bytes` from their beginning.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads the next `len` bytes.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads everything that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.0)
    }

    /// Reads the next `N` bytes as an array.
    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Error> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads a uint8.
    pub fn u8(&mut self) -> Result<u8, Error> {
        self.array::<1>().map(|[byte]| *byte)
    }

    /// Reads a uint16.
    pub fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(|bytes| u16::from_be_bytes(*bytes))
    }

    /// Reads a uint24.
    pub fn u24(&mut self) -> Result<usize, Error> {
        self.array::<3>().map(|&[a, b, c]| u32::from_be_bytes([0, a, b, c]) as usize)
    }

    /// Reads a uint32.
    pub fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(|bytes| u32::from_be_bytes(*bytes))
    }

    /// Reads a uint64.
    pub fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(|bytes| u64::from_be_bytes(*bytes))
    }

    /// Reads a vector with a one-byte length.
    pub fn vec8(&mut self) -> Result<&'a [u8], Error> {
        let len = self.u8()?;
        self.take(len.into())
    }

    /// Reads a vector with a two-byte length.
    pub fn vec16(&mut self) -> Result<&'a [u8], Error> {
        let len = self.u16()?;
        self.take(len.into())
    }

    /// Reads a vector with a three-byte length.
    pub fn vec24(&mut self) -> Result<&'a [u8], Error> {
        let len = self.u24()?;
        self.take(len)
    }

    /// Checks that nothing is left.
    pub fn finish(self) -> Result<(), Error> {
        if self.is_empty() {
            Ok(())
        } else {
            Err(decode_error("bytes left over after a structure"))
        }
    }
}

const SHORT: Error = decode_error("a structure ends too early");

/// A non-empty list of two-byte code points, read in place.
#[derive(Clone, Copy)]
pub struct CodePoints<'a>(&'a [u8]);

impl<'a> CodePoints<'a> {
    /// Checks the contents of a vector: a non-zero number of pairs.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        if bytes.is_empty() || !bytes.len().is_multiple_of(2) {
            return Err(decode_error("a list of code points is empty or has half an entry"));
        }
        Ok(Self(bytes))
    }

    /// Iterates over the code points in the peer's order.
    pub fn iter(self) -> impl Iterator<Item = u16> + 'a {
        self.0.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
    }

    /// Returns whether `code_point` is in the list.
    pub fn contains(self, code_point: u16) -> bool {
        self.iter().any(|listed| listed == code_point)
    }
}
