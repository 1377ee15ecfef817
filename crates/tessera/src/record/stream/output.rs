//! The output buffer of a connection.

use alloc::vec::Vec;

/// The bytes to send: owned by the caller, filled by the connection, bounded.
///
/// The bound applies to application data and to answers to the peer: a connection whose output is
/// full stops reading. A handshake's own flight is bounded by its messages, and always fits.
#[derive(Debug)]
pub struct Output {
    bytes: Vec<u8>,
    sent: usize,
    limit: usize,
}

impl Default for Output {
    fn default() -> Self {
        Self::new()
    }
}

impl Output {
    /// Creates an output that is full at about `limit` bytes; at least one whole record fits.
    pub fn with_limit(limit: usize) -> Self {
        Self { bytes: Vec::new(), sent: 0, limit: limit.max(Self::ONE_RECORD) }
    }

    /// Creates an output of 64 KiB.
    pub fn new() -> Self {
        Self::with_limit(64 * 1024)
    }

    /// Returns the bytes to send now.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// Reports that the first `count` bytes of [`as_slice`](Self::as_slice) were sent.
    pub fn consume(&mut self, count: usize) {
        self.sent = self.bytes.len().min(self.sent + count);
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
        }
    }

    /// Returns whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// Returns whether something must be sent before more is written.
    pub fn is_full(&self) -> bool {
        self.room() == 0
    }

    /// Frees unused memory.
    pub fn release(&mut self) {
        self.bytes.drain(..self.sent);
        self.sent = 0;
        self.bytes.shrink_to_fit();
    }

    pub(crate) fn room(&self) -> usize {
        self.limit.saturating_sub(self.bytes.len() - self.sent)
    }

    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        if self.sent > self.limit / 2 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        &mut self.bytes
    }

    /// Makes room for a record of a handshake's flight, and for `first` bytes of them where there is no room yet.
    pub(crate) fn reserve_for_flight(&mut self, record: usize, first: usize) {
        if self.bytes.is_empty() && self.bytes.capacity() < record {
            // Without a copy of what was sent.
            self.bytes = Vec::with_capacity(record.max(first));
        }
    }

    const ONE_RECORD: usize = 5 + (1 << 14) + 256;
}
