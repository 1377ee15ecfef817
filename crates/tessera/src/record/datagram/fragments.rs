//! Handshake messages from fragments, which arrive in any order (RFC 9147 §5.2, §5.5).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::fragment::Fragment;
use super::partial_message::{FRAME_LEN, GAP_LEN, PartialMessage};
use crate::error::{Error, decode_error};

/// Joins fragments to messages, which it returns in order.
#[derive(Default)]
pub(crate) struct Fragments {
    /// The number of the next message to return; numbers end at 65,535.
    pub(super) next: u32,
    /// What has arrived of it and of those that follow.
    messages: VecDeque<Option<PartialMessage>>,
    /// How many bytes that takes.
    kept: usize,
}

/// What became of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It is kept, or was already.
    Kept,
    /// Of a message that was returned earlier.
    Old,
    /// There is no room for it: it must not be acknowledged.
    Dropped,
}

impl Fragments {
    /// Keeps a fragment. The next message may have `longest` bytes with its frame; it and those after it together may
    /// take [`MAX_AHEAD_LEN`].
    ///
    /// # Errors
    /// It contradicts an earlier one, or announces more than `longest` bytes. The caller drops it instead if anyone may
    /// have sent it.
    pub(crate) fn insert(
        &mut self,
        fragment: Fragment<'_>,
        epoch: u64,
        longest: usize,
    ) -> Result<Arrival, Error> {
        let Some(ahead) = u32::from(fragment.message_seq).checked_sub(self.next) else {
            return Ok(Arrival::Old);
        };
        let ahead = ahead as usize;
        if ahead == 0 && FRAME_LEN + fragment.message_len > longest {
            return Err(decode_error("a handshake message is longer than any sane one"));
        }
        if ahead >= MAX_AHEAD {
            return Ok(Arrival::Dropped);
        }
        let most = FRAME_LEN + fragment.bytes.len() + GAP_LEN;
        if ahead > 0 && self.kept + most > MAX_AHEAD_LEN {
            return Ok(Arrival::Dropped);
        }
        if self.messages.len() <= ahead {
            self.messages.resize_with(ahead + 1, || None);
        }
        let place = &mut self.messages[ahead];
        let before = place.as_ref().map_or(0, PartialMessage::kept);
        let message = place.get_or_insert_with(|| PartialMessage::new(&fragment, epoch));
        let is_kept = message.add(&fragment, epoch);
        self.kept = self.kept - before + message.kept();
        Ok(if is_kept? { Arrival::Kept } else { Arrival::Dropped })
    }

    /// Returns the epoch of the next message and the message with its frame, once it is whole.
    pub(crate) fn next(&mut self) -> Option<(u64, Vec<u8>)> {
        if !self.messages.front()?.as_ref().is_some_and(PartialMessage::is_whole) {
            return None;
        }
        let message = self.messages.pop_front()??;
        self.kept -= message.kept();
        self.next += 1;
        Some((message.epoch, message.into_message()))
    }

    /// Returns the number of the next message.
    pub(crate) fn next_seq(&self) -> u32 {
        self.next
    }

    /// Returns how many bytes are kept.
    pub(crate) fn kept(&self) -> usize {
        self.kept
    }

    /// Returns whether parts of messages are kept.
    pub(crate) fn has_parts(&self) -> bool {
        self.messages.iter().any(Option::is_some)
    }

    /// Frees unused memory.
    pub(crate) fn release(&mut self) {
        self.messages.shrink_to_fit();
    }

    /// Drops the parts of messages that are kept, and frees their memory.
    pub(crate) fn clear(&mut self) {
        self.messages = VecDeque::new();
        self.kept = 0;
    }

    /// Continues after a message that another reader handled, such as a ClientHello that a cookie vouches for.
    pub(crate) fn skip_to(&mut self, message_seq: u16) {
        self.clear();
        self.next = message_seq.into();
    }
}

/// How many messages may be kept: the next, and those after it in a flight.
const MAX_AHEAD: usize = 8;

/// The most bytes that messages after the next may take, together with it.
pub(crate) const MAX_AHEAD_LEN: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::super::partial_message::MAX_GAPS;
    use super::*;
    use crate::alert::AlertDescription;
    use crate::wire::{HandshakeType, Reader};

    const LONGEST: usize = 1 << 16;

    fn fragment<'a>(seq: u16, len: usize, offset: usize, bytes: &'a [u8]) -> Fragment<'a> {
        let typ = HandshakeType::CERTIFICATE;
        Fragment { typ, message_len: len, message_seq: seq, offset, bytes }
    }

    #[test]
    fn fragments_in_any_order_make_the_message() {
        let body = *b"0123456789";
        let parts = [0..3, 3..4, 2..7, 7..10, 6..10];
        // All orders of five: those without the whole message leave it open.
        for order in 0..5usize.pow(5) {
            let order: Vec<_> = (0..5u32).map(|n| order / 5usize.pow(n) % 5).collect();
            let mut fragments = Fragments::default();
            let mut has = [false; 10];
            for part in order {
                let range = parts[part].clone();
                has[range.clone()].fill(true);
                let fragment = fragment(0, 10, range.start, &body[range]);
                assert!(fragments.insert(fragment, 2, LONGEST).is_ok());
                if has.iter().all(|has| *has) {
                    let (epoch, message) = fragments.next().expect("whole");
                    assert_eq!(
                        (epoch, &message[..4], &message[4..]),
                        (2, &[11, 0, 0, 10][..], &body[..])
                    );
                    break;
                }
                assert!(fragments.next().is_none());
            }
        }
    }

    #[test]
    fn messages_come_in_their_order_and_each_once() {
        let mut fragments = Fragments::default();
        assert_eq!(fragments.insert(fragment(1, 1, 0, b"b"), 2, LONGEST), Ok(Arrival::Kept));
        assert!(fragments.next().is_none());
        assert_eq!(fragments.insert(fragment(0, 1, 0, b"a"), 2, LONGEST), Ok(Arrival::Kept));
        assert_eq!(fragments.next().map(|(_, message)| message[4]), Some(b'a'));
        assert_eq!(fragments.next().map(|(_, message)| message[4]), Some(b'b'));
        assert_eq!(fragments.insert(fragment(1, 1, 0, b"b"), 2, LONGEST), Ok(Arrival::Old));
        assert_eq!((fragments.next_seq(), fragments.has_parts()), (2, false));
    }

    #[test]
    fn the_last_number_is_used_once() {
        let mut fragments = Fragments::default();
        fragments.skip_to(u16::MAX);
        let last = fragment(u16::MAX, 1, 0, b"x");
        assert_eq!(fragments.insert(last, 3, LONGEST), Ok(Arrival::Kept));
        assert!(fragments.next().is_some());
        for seq in [u16::MAX, 0] {
            let again = fragments.insert(fragment(seq, 1, 0, b"x"), 3, LONGEST);
            assert_eq!(again, Ok(Arrival::Old), "{seq}");
        }
    }

    #[test]
    fn an_empty_message_is_whole_when_it_arrives() {
        let mut fragments = Fragments::default();
        assert_eq!(fragments.insert(fragment(0, 0, 0, b""), 2, LONGEST), Ok(Arrival::Kept));
        assert_eq!(fragments.next(), Some((2, alloc::vec![11, 0, 0, 0])));
    }

    /// At any place of a message, before and after its bytes.
    #[test]
    fn an_empty_fragment_changes_nothing() {
        let mut fragments = Fragments::default();
        for bytes in [&b"a"[..], b"b", b"c"] {
            for offset in 0..=3 {
                let empty = fragment(0, 3, offset, b"");
                assert_eq!(fragments.insert(empty, 2, LONGEST), Ok(Arrival::Kept));
            }
            assert!(fragments.next().is_none());
            let offset = usize::from(bytes[0] - b'a');
            assert_eq!(
                fragments.insert(fragment(0, 3, offset, bytes), 2, LONGEST),
                Ok(Arrival::Kept)
            );
        }
        assert_eq!(fragments.next().map(|(_, message)| message), Some(b"\x0b\0\0\x03abc".to_vec()));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut fragments = Fragments::default();
        // Too far ahead, and too much.
        let far = fragment(MAX_AHEAD as u16, 1, 0, b"x");
        assert_eq!(fragments.insert(far, 2, LONGEST), Ok(Arrival::Dropped));
        let bytes = [7; MAX_AHEAD_LEN];
        let large = fragment(1, MAX_AHEAD_LEN, 0, &bytes);
        assert_eq!(fragments.insert(large, 2, LONGEST), Ok(Arrival::Dropped));
        for seq in 1..MAX_AHEAD as u16 {
            let _ = fragments.insert(fragment(seq, 20_000, 0, &bytes[..19_000]), 2, LONGEST);
        }
        let kept = fragments.kept();
        assert!((MAX_AHEAD_LEN - 20_000..=MAX_AHEAD_LEN).contains(&kept), "{kept}");
        assert_eq!(kept, fragments.messages.iter().flatten().map(PartialMessage::kept).sum());
        // The next message always has room, but isn't longer than allowed.
        assert_eq!(fragments.insert(fragment(0, 1000, 0, b"x"), 2, 1004), Ok(Arrival::Kept));
        let mut fragments = Fragments::default();
        let error = fragments.insert(fragment(0, 1001, 0, b"x"), 2, 1004);
        assert_eq!(error.map_err(|error| error.alert()), Err(Some(AlertDescription::DECODE_ERROR)));
        // Every second byte: the holes are bounded.
        for offset in (0..1000).step_by(2) {
            let _ = fragments.insert(fragment(0, 1000, offset, b"x"), 2, 1004);
        }
        assert_eq!(fragments.kept(), FRAME_LEN + MAX_GAPS * (1 + GAP_LEN));
        let beyond = fragments.insert(fragment(0, 1000, 999, b"x"), 2, 1004);
        assert_eq!(beyond, Ok(Arrival::Dropped), "or it would be acknowledged");
    }

    /// Otherwise a datagram of some hundred bytes would take 128 KiB of a peer that has authenticated nothing.
    #[test]
    fn a_fragment_takes_no_more_than_its_bytes() {
        for offset in [0, 59_999] {
            for seq in 0..MAX_AHEAD as u16 {
                let mut fragments = Fragments::default();
                let fragment = fragment(seq, 60_000, offset, b"x");
                assert_eq!(fragments.insert(fragment, 2, LONGEST), Ok(Arrival::Kept));
                assert_eq!(fragments.kept(), FRAME_LEN + 1 + GAP_LEN, "{offset}");
            }
        }
    }

    #[test]
    fn fragments_that_contradict_each_other_are_refused() {
        let first = fragment(0, 4, 0, b"ab");
        let longer = fragment(0, 5, 2, b"cde");
        let other = Fragment { typ: HandshakeType::FINISHED, ..fragment(0, 4, 2, b"cd") };
        let changed = fragment(0, 4, 1, b"x");
        for (second, epoch) in [(longer, 2), (other, 2), (changed, 2), (first, 3)] {
            let mut fragments = Fragments::default();
            assert_eq!(fragments.insert(first, 2, LONGEST), Ok(Arrival::Kept));
            let refused = fragments.insert(second, epoch, LONGEST).map_err(|error| error.alert());
            assert_eq!(refused, Err(Some(AlertDescription::ILLEGAL_PARAMETER)), "{second:?}");
        }
    }

    #[test]
    fn a_fragment_beyond_its_message_is_not_read() {
        let mut record = Vec::new();
        let message = (HandshakeType::FINISHED, 3, 7);
        Fragment::write_header(&mut record, message, 1..4);
        record.extend_from_slice(b"abc");
        assert!(Fragment::read(&mut Reader::new(&record)).is_err());
        record.clear();
        Fragment::write_header(&mut record, message, 1..3);
        record.extend_from_slice(b"ab");
        let read = Fragment::read(&mut Reader::new(&record)).expect("whole");
        assert_eq!((read.message_seq, read.range(), read.bytes), (7, 1..3, &b"ab"[..]));
    }
}
