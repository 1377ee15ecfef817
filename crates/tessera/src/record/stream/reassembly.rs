//! Handshake messages out of records: one record may hold several, and one message several records.

use alloc::vec::Vec;

use crate::error::{Error, decode_error};
use crate::wire::HandshakeMessage;

/// The part of a handshake message that came before the rest of it, and whole messages that wait for
/// the answer to a question.
#[derive(Default)]
pub(crate) struct Reassembly {
    kept: Vec<u8>,
    /// Whether bytes follow the message that is being handled: then the keys may not change.
    more_follows: bool,
}

/// What there is to read now: a record's content where it lies, or behind what was kept.
pub(crate) struct Batch<'r> {
    record: &'r [u8],
    joined: Vec<u8>,
    used: usize,
}

impl Reassembly {
    /// Whether anything is kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Whether bytes follow the message that is being handled.
    pub(crate) fn more_follows(&self) -> bool {
        self.more_follows
    }

    /// Begins to read what was kept, and then a record's content.
    pub(crate) fn begin<'r>(&mut self, record: &'r [u8]) -> Batch<'r> {
        if self.kept.is_empty() {
            return Batch { record, joined: Vec::new(), used: 0 };
        }
        let mut joined = core::mem::take(&mut self.kept);
        joined.extend_from_slice(record);
        Batch { record: &[], joined, used: 0 }
    }

    /// The next whole message. One that announces more than `longest` bytes is an error as soon as its
    /// frame is there.
    pub(crate) fn next<'b>(
        &mut self,
        batch: &'b mut Batch<'_>,
        longest: usize,
    ) -> Result<Option<HandshakeMessage<'b>>, Error> {
        let rest = batch.bytes().get(batch.used..).unwrap_or_default();
        let Some(len) = HandshakeMessage::len_of(rest) else { return Ok(None) };
        if len > longest {
            // RFC 8446 §6.2: its length is incorrect.
            return Err(decode_error("a handshake message is longer than any sane one"));
        }
        if len > rest.len() {
            return Ok(None);
        }
        let begin = batch.used;
        batch.used += len;
        let bytes = batch.bytes();
        self.more_follows = batch.used < bytes.len();
        Ok(bytes.get(begin..).and_then(HandshakeMessage::split_from))
    }

    /// Keeps what was not read; returns whether anything was.
    pub(crate) fn end(&mut self, batch: Batch<'_>) -> bool {
        let Batch { record, mut joined, used } = batch;
        if joined.is_empty() {
            self.kept.extend_from_slice(record.get(used..).unwrap_or_default());
        } else {
            joined.drain(..used);
            self.kept = joined;
        }
        used > 0
    }

    pub(crate) fn release(&mut self) {
        self.kept.shrink_to_fit();
    }
}

impl Batch<'_> {
    fn bytes(&self) -> &[u8] {
        if self.joined.is_empty() { self.record } else { &self.joined }
    }
}
