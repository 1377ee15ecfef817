//! Handshake messages from records or packets: one may hold several, and one message may span several.

use alloc::vec::Vec;

use crate::error::{Error, decode_error, unexpected_message};
use crate::limits::{MAX_SMALL_MESSAGE, reserve};
use crate::wire::{HANDSHAKE_HEADER_LEN, HandshakeMessage};

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

/// What there is to read now: what was kept, then the arrival in place. Of that only the rest of a message that has begun
/// is joined to it.
pub struct Batch<'r> {
    kept: Vec<u8>,
    /// How much of `kept` was read.
    used: usize,
    record: &'r [u8],
    /// How much memory the message that `record` begins with will take.
    room: usize,
    has_read: bool,
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
        let kept = core::mem::take(&mut self.kept);
        Batch { kept, used: 0, record, room: 0, has_read: false }
    }

    /// Returns the next whole message.
    ///
    /// # Errors
    /// A message announces more than `longest` bytes: decode_error, as soon as its header has arrived. There is no memory
    /// for it: [`Error::OutOfMemory`].
    #[inline]
    pub fn next<'b>(
        &mut self,
        batch: &'b mut Batch<'_>,
        longest: usize,
    ) -> Result<Option<HandshakeMessage<'b>>, Error> {
        if batch.used < batch.kept.len() {
            return self.next_kept(batch, longest);
        }
        let Some(len) = length(batch.record, longest)? else { return Ok(None) };
        let Some((message, rest)) = batch.record.split_at_checked(len) else {
            batch.room = at_once(len, longest);
            return Ok(None);
        };
        (batch.record, batch.has_read) = (rest, true);
        self.more_follows = !rest.is_empty();
        Ok(HandshakeMessage::split_from(message))
    }

    /// Most messages are whole in their record.
    #[cold]
    fn next_kept<'b>(
        &mut self,
        batch: &'b mut Batch<'_>,
        longest: usize,
    ) -> Result<Option<HandshakeMessage<'b>>, Error> {
        batch.join(HANDSHAKE_HEADER_LEN.saturating_sub(batch.bytes().len()), 0)?;
        let Some(len) = length(batch.bytes(), longest)? else { return Ok(None) };
        let missing = len.saturating_sub(batch.bytes().len());
        batch.join(missing, at_once(missing, longest))?;
        let Batch { kept, used, record, has_read, .. } = batch;
        let Some(message) = kept.get(*used..*used + len) else { return Ok(None) };
        (*used, *has_read) = (*used + len, true);
        self.more_follows = *used < kept.len() || !record.is_empty();
        Ok(HandshakeMessage::split_from(message))
    }

    /// Keeps what was not read; returns whether anything was.
    ///
    /// # Errors
    /// There is no memory for it: [`Error::OutOfMemory`].
    #[inline]
    pub fn end(&mut self, mut batch: Batch<'_>) -> Result<bool, Error> {
        if batch.used > 0 || !batch.record.is_empty() {
            batch.join(batch.record.len(), batch.room)?;
        }
        self.kept = batch.kept;
        Ok(batch.has_read)
    }

    /// Frees unused memory.
    pub fn release(&mut self) {
        self.kept.shrink_to_fit();
    }
}

impl<'r> Batch<'r> {
    /// Returns whether everything was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.used == self.kept.len() && self.record.is_empty()
    }

    /// Returns what was kept and not read.
    fn bytes(&self) -> &[u8] {
        &self.kept[self.used..]
    }

    /// Moves up to `len` bytes from the record to what is kept, which then has room for `room` more bytes.
    fn join(&mut self, len: usize, room: usize) -> Result<(), Error> {
        self.kept.drain(..core::mem::take(&mut self.used));
        let (moved, rest): (&'r [u8], _) = self.record.split_at(len.min(self.record.len()));
        if room > 0 {
            reserve(&mut self.kept, room)?;
        } else if self.kept.capacity() - self.kept.len() < moved.len() {
            // At least doubled, so that the parts of a long message are not copied with each record.
            let more = moved.len().max(self.kept.len());
            reserve(&mut self.kept, more)?;
        }
        self.kept.extend_from_slice(moved);
        self.record = rest;
        Ok(())
    }
}

/// Returns how much of a message's memory is reserved before it arrives. A device's buffer never grows. Where long messages
/// may come, an announcement must not cost memory.
fn at_once(len: usize, longest: usize) -> usize {
    if longest < MAX_SMALL_MESSAGE { len } else { 0 }
}

/// Returns the length of the message that begins here.
#[inline]
fn length(bytes: &[u8], longest: usize) -> Result<Option<usize>, Error> {
    let len = HandshakeMessage::len_of(bytes);
    if len.is_some_and(|len| len > longest) {
        // RFC 8446 §6.2: its length is incorrect.
        return Err(decode_error("a handshake message is longer than this side's limits"));
    }
    Ok(len)
}
