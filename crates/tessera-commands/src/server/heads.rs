//! The heads of requests, as they come out of what was received.

use std::ops::Range;

use crate::receive::{ROOM, wipe};

/// What was received of requests that were not answered yet; wiped when it is dropped.
#[derive(Default)]
pub(super) struct Heads {
    /// Never grows: a vector that does leaves a copy behind. Nothing while nothing waits.
    bytes: Vec<u8>,
    /// What comes before was taken.
    start: usize,
    /// No head ends before.
    searched: usize,
}

impl Heads {
    /// Adds what was received, at most [`ROOM`]; only while no head is complete or too long.
    pub(super) fn add(&mut self, received: &[u8]) {
        if self.bytes.capacity() == 0 {
            self.bytes.reserve_exact(LONGEST + ROOM);
        }
        if self.start > 0 {
            let len = self.bytes.len() - self.start;
            self.bytes.copy_within(self.start.., 0);
            wipe(self.bytes.get_mut(len..).unwrap_or_default());
            self.bytes.truncate(len);
            self.searched = self.searched.saturating_sub(self.start);
            self.start = 0;
        }
        debug_assert!(self.bytes.len() + received.len() <= self.bytes.capacity());
        self.bytes.extend_from_slice(received);
    }

    /// Takes the next head, if it is complete; [`head`](Self::head) has its bytes.
    pub(super) fn take(&mut self) -> Option<Range<usize>> {
        let end = self.searched + end(self.bytes.get(self.searched..).unwrap_or_default())?;
        let head = self.start..end;
        (self.start, self.searched) = (end, end);
        Some(head)
    }

    /// The bytes of a head that was taken, until more is added.
    pub(super) fn head(&self, head: Range<usize>) -> &[u8] {
        self.bytes.get(head).unwrap_or_default()
    }

    /// Whether the next head is longer than heads may be.
    pub(super) fn is_too_long(&self) -> bool {
        self.bytes.len() - self.start > LONGEST
    }

    /// Says that nothing more is complete: what was searched is not searched again, and an idle
    /// connection holds no memory.
    pub(super) fn wait(&mut self) {
        if self.bytes.len() == self.start {
            wipe(&mut self.bytes);
            *self = Self::default();
        } else {
            // The last two may be the beginning of an end.
            self.searched = self.bytes.len().saturating_sub(2).max(self.start);
        }
    }
}

impl Drop for Heads {
    fn drop(&mut self) {
        wipe(&mut self.bytes);
    }
}

/// Where the first empty line ends. A bare line feed ends a line too (RFC 9112 §2.2).
fn end(bytes: &[u8]) -> Option<usize> {
    let feeds = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    feeds.into_iter().find_map(|(at, _)| match bytes.get(at + 1..)? {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

const LONGEST: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// All heads that come out, each piece received for itself.
    fn heads(pieces: &[&[u8]]) -> (Vec<String>, Heads) {
        let (mut heads, mut all) = (Heads::default(), Vec::new());
        for piece in pieces {
            heads.add(piece);
            while let Some(head) = heads.take() {
                all.push(String::from_utf8(heads.head(head).to_vec()).unwrap());
            }
            heads.wait();
        }
        (all, heads)
    }

    #[test]
    fn heads_are_found_however_they_are_received() {
        let text = b"GET / HTTP/1.1\r\nA: b\r\n\r\nGET /two\n\nGET /three\n\r\nrest";
        let expected = ["GET / HTTP/1.1\r\nA: b\r\n\r\n", "GET /two\n\n", "GET /three\n\r\n"];
        for size in 1..=text.len() {
            let pieces: Vec<&[u8]> = text.chunks(size).collect();
            let (found, rest) = heads(&pieces);
            assert_eq!(found, expected, "{size}");
            assert_eq!(&rest.bytes[rest.start..], b"rest");
        }
    }

    #[test]
    fn a_byte_at_a_time_is_searched_once() {
        let mut heads = Heads::default();
        let mut searched = 0;
        while !heads.is_too_long() {
            heads.add(b"x");
            searched += heads.bytes.len() - heads.searched;
            assert!(heads.take().is_none());
            heads.wait();
        }
        assert!(searched <= 3 * (LONGEST + 1), "{searched}");
    }

    #[test]
    fn a_buffer_of_heads_never_moves_and_goes_when_nothing_waits() {
        let mut heads = Heads::default();
        heads.add(b"G");
        let place = heads.bytes.as_ptr();
        heads.wait();
        heads.add(&[b'x'; LONGEST - 1]);
        heads.wait();
        assert!(!heads.is_too_long());
        heads.add(&[b'\n'; ROOM]);
        assert_eq!(heads.bytes.as_ptr(), place);
        while heads.take().is_some() {}
        heads.wait();
        assert_eq!(heads.bytes.capacity(), 0);
    }
}
