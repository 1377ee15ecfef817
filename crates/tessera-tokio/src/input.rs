//! Received bytes that the engine has not consumed, and the plaintext among them.

use std::cell::Cell;
use std::ops::Range;

use zeroize::optimization_barrier;

/// Grows while a record is partial, and holds no memory while the connection is idle: the thread keeps one
/// wiped buffer for the next connection that receives something.
#[derive(Default)]
pub(crate) struct Input {
    /// Fully initialised, so that it can be read into; only `filled` of it is valid.
    bytes: Vec<u8>,
    filled: Range<usize>,
    /// Decrypted but not handed out. It lies before `filled`, and nothing moves meanwhile.
    plain: Range<usize>,
    /// High-water mark: everything beyond it is zero.
    used: usize,
}

impl Input {
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

    pub(crate) fn consume_plain(&mut self, count: usize) {
        self.plain.start += count;
    }

    /// Whether it is large enough for the largest flight and for bulk transfer.
    pub(crate) fn is_large(&self) -> bool {
        self.filled.len() >= LARGE
    }

    /// Returns room to receive into, never empty. Call it only while no plaintext waits.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        debug_assert!(self.plain.is_empty(), "plaintext would be moved");
        if self.filled.start > 0 {
            self.bytes.copy_within(self.filled.clone(), 0);
            self.filled = 0..self.filled.len();
            self.plain = 0..0;
        }
        // A buffer that one read filled is too small: bulk transfers get a large one, connections with
        // little traffic keep a small one.
        if self.filled.end == self.bytes.len() {
            let len = (4 * self.bytes.len()).clamp(SMALL, LARGE.max(self.filled.end + SMALL));
            self.grow(len);
        }
        &mut self.bytes[self.filled.end..]
    }

    /// Moves to a larger buffer. A vector that grows by itself leaves a copy behind.
    fn grow(&mut self, len: usize) {
        let spare = SPARE.try_with(Cell::take).unwrap_or_default();
        let mut larger = if spare.len() >= len { spare } else { vec![0; len] };
        larger[..self.filled.end].copy_from_slice(&self.bytes[..self.filled.end]);
        self.wipe();
        self.bytes = larger;
        self.used = self.filled.end;
    }

    /// Marks the first `count` bytes of [`room`](Self::room) as received.
    pub(crate) fn received(&mut self, count: usize) {
        self.filled.end += count;
        self.used = self.used.max(self.filled.end);
    }

    /// Releases the memory if the buffer is empty.
    pub(crate) fn release(&mut self) {
        if self.filled.is_empty() && self.plain.is_empty() && !self.bytes.is_empty() {
            self.wipe();
            (self.used, self.filled, self.plain) = (0, 0..0, 0..0);
            let bytes = std::mem::take(&mut self.bytes);
            if bytes.len() <= LARGE {
                // A thread that is exiting keeps nothing.
                let _ = SPARE.try_with(|spare| {
                    let other = spare.take();
                    spare.set(if other.len() > bytes.len() { other } else { bytes });
                });
            }
        }
    }

    /// Wipes the used part. `Zeroize` wipes a slice byte by byte, which would cost as much as decrypting.
    fn wipe(&mut self) {
        let used = &mut self.bytes[..self.used];
        used.fill(0);
        optimization_barrier(used);
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.wipe();
    }
}

thread_local! {
    /// A zeroed buffer that no connection is using. A connection that waits for data without holding any
    /// returns its buffer here, which saves the next receive an allocation and its initialisation.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Requests and acknowledgements fit.
const SMALL: usize = 4 * 1024;

/// Two of the largest records fit (RFC 8446 §5.2).
const LARGE: usize = 2 * (5 + (1 << 14) + 256);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_input_buffer_holds_no_memory() {
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
    fn the_next_connection_gets_a_wiped_input_buffer() {
        let mut input = Input::default();
        for _ in 0..2 {
            let room = input.room();
            room.fill(7);
            let len = room.len();
            input.received(len);
        }
        let all = input.filled().len();
        assert!(all > SMALL);
        input.consume(all, 0..all);
        input.consume_plain(all);
        input.release();
        assert_eq!(input.bytes.capacity(), 0);
        let mut next = Input::default();
        assert!(next.room().len() == all && next.room().iter().all(|byte| *byte == 0));
        assert_eq!(input.room().len(), SMALL, "there is one of them");
    }

    #[test]
    fn a_partial_record_makes_the_input_buffer_grow_to_its_bound() {
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
