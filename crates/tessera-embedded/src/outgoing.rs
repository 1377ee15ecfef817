//! What is to be sent: the engine's messages, and one record of data in the lent output.

use core::ops::Range;

use tessera::{ClientConnection, Output};
use zeroize::Zeroize;

/// Data waits in `record`, behind the room for a header, until it is sealed there. It is sealed only when all that came
/// before is sent, and nothing is added to the messages until it is sent: what is sealed earlier goes first.
pub(crate) struct Outgoing<'b> {
    /// Flights, key updates and alerts; on the heap, which is freed as soon as they are sent.
    pub(crate) messages: Output,
    record: &'b mut [u8],
    /// How many bytes of data wait.
    data: usize,
    sealed: Range<usize>,
    /// Something was written and may sit in a buffer of the transport.
    pub(crate) unflushed: bool,
}

impl<'b> Outgoing<'b> {
    pub(crate) fn new(record: &'b mut [u8]) -> Self {
        Self { messages: Output::new(), record, data: 0, sealed: 0..0, unflushed: false }
    }

    pub(crate) fn has_to_send(&self) -> bool {
        !self.messages.is_empty() || !self.sealed.is_empty()
    }

    /// Returns the bytes to send now.
    pub(crate) fn to_send(&self) -> &[u8] {
        if self.messages.is_empty() {
            &self.record[self.sealed.clone()]
        } else {
            self.messages.as_slice()
        }
    }

    /// Marks the first `count` bytes of [`to_send`](Self::to_send) as sent.
    pub(crate) fn sent(&mut self, count: usize) {
        self.unflushed = true;
        if self.messages.is_empty() {
            self.sealed.start = self.sealed.end.min(self.sealed.start + count);
        } else {
            self.messages.consume(count);
            if self.messages.is_empty() {
                self.messages.release();
            }
        }
    }

    /// Drops what can't be sent any more.
    pub(crate) fn drop_unsent(&mut self) {
        self.messages.consume(self.messages.as_slice().len());
        (self.sealed, self.unflushed) = (0..0, false);
    }

    /// How many bytes of data wait.
    pub(crate) fn data(&self) -> usize {
        self.data
    }

    /// How long the buffer is.
    pub(crate) fn len(&self) -> usize {
        self.record.len()
    }

    /// Adds data to a record that may hold `room` bytes; returns how much was taken.
    pub(crate) fn add(&mut self, data: &[u8], room: usize) -> usize {
        let count = data.len().min(room.saturating_sub(self.data));
        let begin = ClientConnection::DATA_AT + self.data;
        self.record[begin..begin + count].copy_from_slice(&data[..count]);
        self.data += count;
        count
    }

    /// Seals what waits: `seal` gets the record, how much data is in it, and the messages, and returns the record's length,
    /// or 0 if that must wait.
    pub(crate) fn seal<E>(
        &mut self,
        seal: impl FnOnce(&mut [u8], usize, &mut Output) -> Result<usize, E>,
    ) -> Result<bool, E> {
        let len = seal(self.record, self.data, &mut self.messages)?;
        if len > 0 {
            (self.sealed, self.data) = (0..len, 0);
        }
        Ok(len > 0)
    }
}

impl Drop for Outgoing<'_> {
    fn drop(&mut self) {
        self.record.zeroize();
    }
}
