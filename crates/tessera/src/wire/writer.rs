//! Appends to a vector that the caller owns.

use alloc::vec::Vec;

/// Writes the presentation language of RFC 8446 §3.
pub trait Writer {
    /// Writes a uint8.
    fn u8(&mut self, value: u8);
    /// Writes a uint16.
    fn u16(&mut self, value: u16);
    /// Writes a uint24, of a number below 2^24.
    fn u24(&mut self, value: usize);
    /// Writes a uint32.
    fn u32(&mut self, value: u32);
    /// Writes a uint64.
    fn u64(&mut self, value: u64);
    /// Writes bytes unchanged.
    fn bytes(&mut self, bytes: &[u8]);
    /// Writes a vector with a one-byte length; `contents` writes its contents.
    fn vec8(&mut self, contents: impl FnOnce(&mut Self));
    /// Writes a vector with a two-byte length.
    fn vec16(&mut self, contents: impl FnOnce(&mut Self));
    /// Writes a vector with a three-byte length.
    fn vec24(&mut self, contents: impl FnOnce(&mut Self));
}

impl Writer for Vec<u8> {
    fn u8(&mut self, value: u8) {
        self.push(value);
    }

    fn u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn u24(&mut self, value: usize) {
        let [.., a, b, c] = (value as u64).to_be_bytes();
        self.extend_from_slice(&[a, b, c]);
    }

    fn u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn vec8(&mut self, contents: impl FnOnce(&mut Self)) {
        prefixed::<1>(self, contents);
    }

    fn vec16(&mut self, contents: impl FnOnce(&mut Self)) {
        prefixed::<2>(self, contents);
    }

    fn vec24(&mut self, contents: impl FnOnce(&mut Self)) {
        prefixed::<3>(self, contents);
    }
}

/// Writes contents with their length.
///
/// The checked configuration bounds everything written here, so a length that doesn't fit its prefix
/// is a bug in this crate, not something that a peer can cause.
fn prefixed<const N: usize>(out: &mut Vec<u8>, contents: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(&[0; N]);
    let start = out.len();
    contents(out);
    write_len(out, start, N);
}

/// Writes the length of what comes after `start` into the bytes before it. Not generic, so that it is linked once.
fn write_len(out: &mut [u8], start: usize, width: usize) {
    let mut len = out.len() - start;
    for byte in out[start - width..start].iter_mut().rev() {
        *byte = len as u8;
        len >>= 8;
    }
    debug_assert_eq!(len, 0, "a vector is longer than its length prefix can express");
}
