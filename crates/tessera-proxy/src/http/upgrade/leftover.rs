//! Bytes that were read and not used.

use bytes::{Buf, Bytes};
use tessera_tokio::Tracker;
use tokio::io::ReadBuf;

/// Bytes that come before those of a stream.
#[derive(Default)]
pub(in crate::http) struct Leftover(Bytes);

impl Leftover {
    pub(in crate::http) fn new(bytes: Bytes) -> Self {
        // Empty ones may hold the buffer that they were read into.
        Self(if bytes.is_empty() { Bytes::new() } else { bytes })
    }

    /// Puts bytes before the others.
    pub(in crate::http) fn prepend(&mut self, bytes: Bytes) {
        self.0 = match (bytes.is_empty(), self.0.is_empty()) {
            (true, _) => return,
            (_, true) => bytes,
            _ => [&bytes[..], &self.0].concat().into(),
        };
    }

    /// Moves them into a reader's buffer; returns whether there were any.
    pub(in crate::http) fn read(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let count = self.0.len().min(buffer.remaining());
        buffer.put_slice(&self.0[..count]);
        self.0.advance(count);
        if self.0.is_empty() {
            self.0 = Bytes::new();
        }
        true
    }
}

impl<S> Tracker<S> for Leftover {
    fn precede(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        self.read(buffer)
    }
}
