//! Writing: appends to a vector that the caller owns.

use alloc::vec::Vec;

/// Writes the presentation language of RFC 8446 §3.
pub trait Writer {
    /// A uint8.
    fn u8(&mut self, value: u8);
    /// A uint16.
    fn u16(&mut self, value: u16);
    /// A uint24, of a number below 2^24.
    fn u24(&mut self, value: usize);
    /// A uint32.
    fn u32(&mut self, value: u32);
    /// Bytes as they are.
    fn bytes(&mut self, bytes: &[u8]);
    /// A vector with a length of one byte, its contents written by `contents`.
    fn vec8(&mut self, contents: impl FnOnce(&mut Self));
    /// A vector with a length of two bytes.
    fn vec16(&mut self, contents: impl FnOnce(&mut Self));
    /// A vector with a length of three bytes.
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

/// Everything written here is bounded by the configuration (which is checked when it is built), so
/// a length that doesn't fit its prefix is a bug of ours, not something a peer can cause.
fn prefixed<const N: usize>(out: &mut Vec<u8>, contents: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; N]);
    contents(out);
    let len = (out.len() - start - N) as u64;
    debug_assert!(len < 1 << (8 * N), "a vector is longer than its length prefix can say");
    out[start..start + N].copy_from_slice(&len.to_be_bytes()[8 - N..]);
}
