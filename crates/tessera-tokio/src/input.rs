//! Received bytes that the engine has not consumed, and the plaintext that lies among them.

use std::ops::Range;

/// Grows while a record is partial, and holds no memory while the connection is idle.
#[derive(Default)]
pub(crate) struct Input {
    /// All of it is initialised, so that it can be read into; `filled` of it means something.
    bytes: Vec<u8>,
    filled: Range<usize>,
    /// Decrypted, and not handed out. It lies before `filled`, and nothing moves while it is there.
    plain: Range<usize>,
}

impl Input {
    /// What the engine reads, decrypting in place.
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

    /// Plaintext that waits to be read.
    pub(crate) fn plain(&self) -> &[u8] {
        &self.bytes[self.plain.clone()]
    }

    pub(crate) fn consume_plain(&mut self, count: usize) {
        self.plain.start += count;
    }

    /// Room to receive into, never empty. Only while no plaintext waits.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        debug_assert!(self.plain.is_empty(), "plaintext would be moved");
        if self.filled.start > 0 {
            self.bytes.copy_within(self.filled.clone(), 0);
            self.filled = 0..self.filled.len();
            self.plain = 0..0;
        }
        // A buffer that one read filled is too small: a bulk transfer gets a large one, whoever
        // sends little keeps a small one.
        if self.filled.end == self.bytes.len() {
            let len = (4 * self.bytes.len()).clamp(SMALL, LARGE.max(self.filled.end + SMALL));
            self.bytes.resize(len, 0);
        }
        &mut self.bytes[self.filled.end..]
    }

    /// Says that the first `count` bytes of [`room`](Self::room) were received.
    pub(crate) fn received(&mut self, count: usize) {
        self.filled.end += count;
    }

    /// Gives the memory back, if nothing is in it.
    pub(crate) fn release(&mut self) {
        if self.filled.is_empty() && self.plain.is_empty() {
            *self = Self::default();
        }
    }
}

/// Requests and acknowledgements fit.
const SMALL: usize = 4 * 1024;

/// Two of the largest records fit (RFC 8446 §5.2).
const LARGE: usize = 2 * (5 + (1 << 14) + 256);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_buffer_holds_no_memory() {
        let mut input = Input::default();
        let room = input.room().len();
        assert_eq!(room, SMALL);
        input.received(10);
        input.consume(10, 2..8);
        input.release();
        assert_eq!(input.plain().len(), 6, "plaintext is never released");
        input.consume_plain(6);
        input.release();
        assert_eq!(input.bytes.capacity(), 0);
    }

    #[test]
    fn a_partial_record_makes_it_grow_to_its_bound() {
        let mut input = Input::default();
        let mut total = 0;
        while total < LARGE {
            let room = input.room().len();
            input.received(room);
            total += room;
        }
        assert_eq!(total, LARGE);
        input.consume(LARGE - 3, 0..0);
        assert_eq!(input.room().len(), LARGE - 3, "what is left moves to the front");
    }
}
