//! Handshake messages from records or packets: one may hold several, and one message may span several.

use alloc::vec::Vec;

use crate::error::{Error, decode_error, unexpected_message};
use crate::wire::HandshakeMessage;

/// Joins the parts of handshake messages, which arrive in order, and keeps what can't be handled yet: the first part
/// of a message, and whole messages that wait for the answer to a question.
///
/// For each arrival, [`begin`](Self::begin) a batch, take its messages with [`next`](Self::next), and
/// [`end`](Self::end) it. An empty batch returns messages kept for an answer.
#[derive(Default)]
pub struct Reassembly {
    kept: Vec<u8>,
    /// Whether bytes follow the message being handled: the keys may not change then.
    more_follows: bool,
}

/// What there is to read now: the arrival in place, or joined to what was kept.
pub struct Batch<'r> {
    record: &'r [u8],
    joined: Vec<u8>,
    used: usize,
}

impl Reassembly {
    /// Returns whether nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Checks that nothing follows the last message read, as
    /// [`Below::flight_ended`](crate::face::Below::flight_ended) requires, and every change of read keys
    /// (RFC 8446 §5.1).
    ///
    /// # Errors
    /// The peer sent more: unexpected_message.
    pub fn flight_ended(&self) -> Result<(), Error> {
        if self.more_follows {
            return Err(unexpected_message("a message where the peer must wait"));
        }
        Ok(())
    }

    /// Begins to read what was kept, followed by `record`.
    pub fn begin<'r>(&mut self, record: &'r [u8]) -> Batch<'r> {
        if self.kept.is_empty() {
            return Batch { record, joined: Vec::new(), used: 0 };
        }
        let mut joined = core::mem::take(&mut self.kept);
        joined.extend_from_slice(record);
        Batch { record: &[], joined, used: 0 }
    }

    /// Returns the next whole message.
    ///
    /// # Errors
    /// A message announces more than `longest` bytes: decode_error, as soon as its header has arrived.
    pub fn next<'b>(
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

    /// Keeps what was not read; returns whether anything was read.
    pub fn end(&mut self, batch: Batch<'_>) -> bool {
        let Batch { record, mut joined, used } = batch;
        if joined.is_empty() {
            self.kept.extend_from_slice(record.get(used..).unwrap_or_default());
        } else {
            joined.drain(..used);
            self.kept = joined;
        }
        used > 0
    }

    /// Frees unused memory.
    pub fn release(&mut self) {
        self.kept.shrink_to_fit();
    }
}

impl Batch<'_> {
    fn bytes(&self) -> &[u8] {
        if self.joined.is_empty() { self.record } else { &self.joined }
    }
}
