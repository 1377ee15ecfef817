//! Received bytes that the engine has not consumed, and the plaintext among them.

use core::ops::Range;

use zeroize::Zeroize;

/// The lent input: whole records, or the beginning of one.
pub(crate) struct Input<'b> {
    bytes: &'b mut [u8],
    filled: Range<usize>,
    /// Decrypted but not handed out. It lies before `filled`, and nothing moves meanwhile.
    plain: Range<usize>,
}

impl<'b> Input<'b> {
    pub(crate) fn new(bytes: &'b mut [u8]) -> Self {
        Self { bytes, filled: 0..0, plain: 0..0 }
    }

    /// Returns the bytes that the engine reads, decrypting in place.
    pub(crate) fn filled(&mut self) -> &mut [u8] {
        &mut self.bytes[self.filled.clone()]
    }

    /// Drops what the engine consumed. `plain` lies in it, counted from the beginning of
    /// [`filled`](Self::filled).
    pub(crate) fn consume(&mut self, count: usize, plain: Range<usize>) {
        let start = self.filled.start;
        self.plain = start + plain.start..start + plain.end;
        self.filled.start += count;
    }

    /// Returns plaintext that waits to be read.
    pub(crate) fn plain(&self) -> &[u8] {
        &self.bytes[self.plain.clone()]
    }

    /// Moves plaintext to the reader; returns how much.
    pub(crate) fn take_plain(&mut self, to: &mut [u8]) -> usize {
        let count = to.len().min(self.plain.len());
        to[..count].copy_from_slice(&self.bytes[self.plain.clone()][..count]);
        self.plain.start += count;
        count
    }

    /// Returns how many bytes the record lacks whose beginning is here, because the buffer is too small for it.
    pub(crate) fn missing(&self) -> usize {
        match self.bytes[self.filled.clone()] {
            [_, _, _, high, low, ..] => {
                let record = 5 + usize::from(u16::from_be_bytes([high, low]));
                record.saturating_sub(self.bytes.len())
            }
            _ => 0,
        }
    }

    /// Returns room to receive into. Call it only while no plaintext waits.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        debug_assert!(self.plain.is_empty(), "plaintext would be moved");
        if self.filled.start > 0 {
            self.bytes.copy_within(self.filled.clone(), 0);
            self.filled = 0..self.filled.len();
        }
        &mut self.bytes[self.filled.end..]
    }

    /// Marks the first `count` bytes of [`room`](Self::room) as received.
    pub(crate) fn received(&mut self, count: usize) {
        self.filled.end = self.bytes.len().min(self.filled.end + count);
    }
}

impl Drop for Input<'_> {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}
