//! Handshake messages out of records: one record may hold several, and one message several records.

use alloc::vec::Vec;

/// The part of a handshake message that came before the rest of it, and whole messages that wait for
/// the answer to a question.
#[derive(Default)]
pub(crate) struct Joiner {
    bytes: Vec<u8>,
    /// Whether bytes follow the message that is being handled: then the keys may not change.
    pub(crate) has_more: bool,
}

impl Joiner {
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes everything out; what isn't used is put back by [`restore`](Self::restore).
    pub(crate) fn take(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.bytes)
    }

    /// Puts back what [`take`](Self::take) gave, without the first `used` bytes.
    pub(crate) fn restore(&mut self, mut bytes: Vec<u8>, used: usize) {
        bytes.drain(..used);
        self.bytes = bytes;
    }

    pub(crate) fn release(&mut self) {
        self.bytes.shrink_to_fit();
    }
}
