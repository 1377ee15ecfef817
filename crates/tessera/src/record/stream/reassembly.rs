//! Handshake messages out of records or packets: one may hold several, and one message may need several.

use alloc::vec::Vec;

use crate::error::{Error, decode_error, unexpected_message};
use crate::wire::HandshakeMessage;

/// Puts handshake messages together whose parts come in order, and keeps what can't be read yet: the part of a message
/// that came before the rest of it, and whole messages that wait for the answer to a question.
///
/// Each time something came, [`begin`](Self::begin) a batch, take its messages with [`next`](Self::next), and
/// [`end`](Self::end) it. Where messages were kept for an answer, an empty batch has them.
#[derive(Default)]
pub struct Reassembly {
    kept: Vec<u8>,
    /// Whether bytes follow the message that is being handled: then the keys may not change.
    more_follows: bool,
}

/// What there is to read now: what came, where it lies, or behind what was kept.
pub struct Batch<'r> {
    record: &'r [u8],
    joined: Vec<u8>,
    used: usize,
}

impl Reassembly {
    /// Whether nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Whether nothing follows the message that was read last: what
    /// [`Below::flight_ended`](crate::face::Below::flight_ended) asks, and what has to hold where keys to read with
    /// change (RFC 8446 §5.1).
    ///
    /// # Errors
    /// The peer sent more: unexpected_message.
    pub fn flight_ended(&self) -> Result<(), Error> {
        if self.more_follows {
            return Err(unexpected_message("a message where the peer has to wait"));
        }
        Ok(())
    }

    /// Begins to read what was kept, and then what came.
    pub fn begin<'r>(&mut self, record: &'r [u8]) -> Batch<'r> {
        if self.kept.is_empty() {
            return Batch { record, joined: Vec::new(), used: 0 };
        }
        let mut joined = core::mem::take(&mut self.kept);
        joined.extend_from_slice(record);
        Batch { record: &[], joined, used: 0 }
    }

    /// The next whole message.
    ///
    /// # Errors
    /// One announces more than `longest` bytes: decode_error, as soon as its frame is there.
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

    /// Gives back memory that nothing is kept in.
    pub fn release(&mut self) {
        self.kept.shrink_to_fit();
    }
}

impl Batch<'_> {
    fn bytes(&self) -> &[u8] {
        if self.joined.is_empty() { self.record } else { &self.joined }
    }
}
