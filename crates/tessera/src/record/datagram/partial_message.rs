//! A handshake message of which a part is missing.

use alloc::vec::Vec;
use core::ops::Range;

use super::fragment::Fragment;
use super::ranges::Ranges;
use crate::error::{Error, illegal_parameter};
use crate::wire::Writer;

/// What has arrived of a message.
pub(super) struct PartialMessage {
    /// The epoch of all its fragments.
    pub(super) epoch: u64,
    /// The length of the whole body.
    len: usize,
    /// The frame, as over a stream, and what has arrived of the body, in the order of arrival: what a fragment announces
    /// costs nothing, and neither does the gap before it.
    bytes: Vec<u8>,
    /// Where the parts of the body are in `bytes`, in the order of the body.
    parts: Vec<Part>,
    arrived: Ranges,
}

struct Part {
    range: Range<usize>,
    at: usize,
}

impl PartialMessage {
    pub(super) fn new(fragment: &Fragment<'_>, epoch: u64) -> Self {
        let mut bytes = Vec::with_capacity(FRAME_LEN + fragment.bytes.len());
        bytes.u8(fragment.typ.0);
        bytes.u24(fragment.message_len);
        let (parts, arrived) = (Vec::new(), Ranges::default());
        Self { epoch, len: fragment.message_len, bytes, parts, arrived }
    }

    /// Returns whether the fragment is kept, or was already.
    pub(super) fn add(&mut self, fragment: &Fragment<'_>, epoch: u64) -> Result<bool, Error> {
        let is_same = self.epoch == epoch
            && self.bytes[0] == fragment.typ.0
            && self.len == fragment.message_len;
        if !is_same {
            return Err(illegal_parameter(
                "fragments of one message that differ in type or length",
            ));
        }
        let range = fragment.range();
        let bytes_of =
            |part: &Range<usize>| &fragment.bytes[part.start - range.start..][..part.len()];
        let mut missing = Ranges::of(range.clone());
        for part in self.parts_in(&range) {
            let both = part.range.start.max(range.start)..part.range.end.min(range.end);
            let at = part.at + both.start - part.range.start;
            // §5.5: a retransmission may not change a byte.
            if self.bytes[at..][..both.len()] != *bytes_of(&both) {
                return Err(illegal_parameter(
                    "a fragment that was sent with other contents before",
                ));
            }
            missing.remove(both);
        }
        if missing.is_empty() {
            return Ok(true);
        }
        if self.arrived.count() >= MAX_GAPS {
            // It comes again.
            return Ok(false);
        }
        while let Some(part) = missing.first() {
            missing.remove(part.clone());
            self.append(part.clone(), bytes_of(&part));
        }
        if self.parts.len() > 2 * self.arrived.count() + 16 {
            self.join();
        }
        Ok(true)
    }

    /// Returns the parts that overlap with this range.
    fn parts_in(&self, range: &Range<usize>) -> impl Iterator<Item = &Part> {
        let first = self.parts.partition_point(|part| part.range.end <= range.start);
        let end = range.end;
        self.parts[first..].iter().take_while(move |part| part.range.start < end)
    }

    fn append(&mut self, range: Range<usize>, bytes: &[u8]) {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.arrived.insert(range.clone());
        let index = self.parts.partition_point(|part| part.range.start < range.start);
        match self.parts[..index].last_mut() {
            // Most come in order.
            Some(before)
                if before.range.end == range.start && before.at + before.range.len() == at =>
            {
                before.range.end = range.end;
            }
            _ => self.parts.insert(index, Part { range, at }),
        }
    }

    /// Puts the parts into the order of the body.
    fn join(&mut self) {
        let mut joined = Vec::with_capacity(self.bytes.len());
        joined.extend_from_slice(&self.bytes[..FRAME_LEN]);
        for part in &mut self.parts {
            let at = joined.len();
            joined.extend_from_slice(&self.bytes[part.at..][..part.range.len()]);
            part.at = at;
        }
        self.bytes = joined;
        self.parts.dedup_by(|next, part| {
            let adjoins = part.range.end == next.range.start;
            if adjoins {
                part.range.end = next.range.end;
            }
            adjoins
        });
    }

    /// Returns how many bytes it takes.
    pub(super) fn kept(&self) -> usize {
        self.bytes.len() + self.arrived.count() * GAP_LEN
    }

    pub(super) fn is_whole(&self) -> bool {
        self.arrived.covers(0..self.len)
    }

    /// Returns the message with its frame, once it is whole.
    pub(super) fn into_message(mut self) -> Vec<u8> {
        if self.parts.len() > 1 {
            self.join();
        }
        self.bytes
    }
}

/// The length of a message's frame over a stream, in bytes.
pub(super) const FRAME_LEN: usize = 4;

/// The most gaps in one message: short datagrams that overtake each other cut a chain of 16 KiB into that many.
pub(super) const MAX_GAPS: usize = 256;

/// What a gap takes, in bytes: two parts, and a range.
pub(super) const GAP_LEN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::HandshakeType;

    /// Otherwise their parts would take more memory than their bytes, and joining them each time a second per megabyte.
    #[test]
    fn fragments_in_reverse_order_take_little_memory() {
        const LEN: usize = 10_000;
        let typ = HandshakeType::CERTIFICATE;
        let empty = Fragment { typ, message_len: LEN, message_seq: 0, offset: 0, bytes: &[] };
        let mut message = PartialMessage::new(&empty, 2);
        for offset in (0..LEN).rev() {
            let fragment = Fragment { offset, bytes: &[offset as u8], ..empty };
            assert_eq!(message.add(&fragment, 2), Ok(true));
            assert!(
                message.parts.len() <= 18 && message.kept() == FRAME_LEN + LEN - offset + GAP_LEN
            );
        }
        assert!(message.is_whole());
        let body = message.into_message().split_off(FRAME_LEN);
        assert!(body.iter().enumerate().all(|(offset, byte)| *byte == offset as u8));
    }
}
