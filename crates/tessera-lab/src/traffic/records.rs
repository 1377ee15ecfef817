//! Reassembles TLS records from the segments of one connection as they pass.

use std::time::Duration;

/// A record that passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) from_client: bool,
    /// With its header, in bytes.
    pub(super) size: usize,
    /// Whether the header has another type than application data, as which all protected records appear (RFC 8446
    /// §5.2).
    pub(super) is_plaintext: bool,
    /// When its last byte passed.
    pub(super) at: Duration,
}

/// The length of a record's header (RFC 8446 §5.1).
const HEADER: usize = 5;
const APPLICATION_DATA: u8 = 23;

/// One direction of a connection.
#[derive(Default)]
pub(super) struct Direction {
    /// The sequence number of the next byte; `None` until the SYN.
    next: Option<u32>,
    /// Segments that arrived out of order: each with its sequence number.
    early: Vec<(u32, Vec<u8>)>,
    /// The bytes in order of which no record is whole.
    pending: Vec<u8>,
    /// How many bytes passed, repetitions not counted.
    pub(super) bytes: u64,
}

impl Direction {
    /// A SYN passed: the bytes begin after its number (RFC 9293 §3.4).
    pub(super) fn begin(&mut self, sequence: u32) {
        self.next.get_or_insert(sequence.wrapping_add(1));
    }

    /// Adds bytes that passed; returns the records that they complete: the length of each, and whether it is plaintext.
    pub(super) fn pass(&mut self, sequence: u32, payload: &[u8]) -> Vec<(usize, bool)> {
        if payload.is_empty() {
            return Vec::new();
        }
        self.early.push((sequence, payload.to_vec()));
        // Adds what continues the stream, and what that makes contiguous.
        while let Some(index) = self.early.iter().position(|(sequence, _)| self.is_due(*sequence)) {
            let (sequence, payload) = self.early.swap_remove(index);
            self.append(sequence, &payload);
        }
        self.take_records()
    }

    /// Whether all that was sent has passed, and ended with a whole record.
    pub(super) fn is_whole(&self) -> bool {
        self.early.is_empty() && self.pending.is_empty()
    }

    /// Returns how far a number is ahead of the next one; sequence numbers wrap (RFC 9293 §3.4).
    fn ahead(&self, sequence: u32) -> Option<i32> {
        Some(sequence.wrapping_sub(self.next?).cast_signed())
    }

    fn is_due(&self, sequence: u32) -> bool {
        self.ahead(sequence).is_some_and(|ahead| ahead <= 0)
    }

    fn append(&mut self, sequence: u32, payload: &[u8]) {
        let Some(ahead) = self.ahead(sequence) else { return };
        // A retransmission of bytes that passed before.
        let known = ahead.unsigned_abs() as usize;
        if let Some(fresh) = payload.get(known..) {
            self.pending.extend_from_slice(fresh);
            self.bytes += fresh.len() as u64;
            self.next = self.next.map(|next| next.wrapping_add(fresh.len() as u32));
        }
    }

    fn take_records(&mut self) -> Vec<(usize, bool)> {
        let mut records = Vec::new();
        while let Some([typ, _, _, high, low]) = self.pending.first_chunk::<HEADER>() {
            let size = HEADER + usize::from(u16::from_be_bytes([*high, *low]));
            if self.pending.len() < size {
                break;
            }
            records.push((size, *typ != APPLICATION_DATA));
            self.pending.drain(..size);
        }
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(typ: u8, len: u8) -> Vec<u8> {
        let mut record = vec![typ, 3, 3, 0, len];
        record.resize(HEADER + usize::from(len), 0xee);
        record
    }

    /// Returns a direction whose first byte has this number.
    fn direction(first: u32) -> Direction {
        let mut direction = Direction::default();
        direction.begin(first.wrapping_sub(1));
        direction
    }

    #[test]
    fn records_are_whole_with_the_segment_of_their_last_byte() {
        let stream = [record(22, 10), record(20, 1), record(23, 30)].concat();
        let mut direction = direction(100);
        assert_eq!(direction.pass(100, &stream[..7]), []);
        assert_eq!(direction.pass(107, &stream[7..22]), [(15, true), (6, true)]);
        assert!(!direction.is_whole());
        assert_eq!(direction.pass(122, &stream[22..]), [(35, false)]);
        assert!(direction.is_whole());
        assert_eq!(direction.bytes, stream.len() as u64);
    }

    #[test]
    fn repeated_and_reordered_segments_make_the_same_records() {
        let stream = [record(22, 10), record(23, 30), record(23, 3)].concat();
        // The numbers wrap within the stream.
        let first = u32::MAX - 20;
        let at = |offset: usize| first.wrapping_add(offset as u32);
        let mut direction = direction(first);
        assert_eq!(direction.pass(at(40), &stream[40..]), []);
        assert!(!direction.is_whole());
        assert_eq!(direction.pass(at(0), &stream[..20]), [(15, true)]);
        assert_eq!(direction.pass(at(0), &stream[..20]), [], "repeated");
        // A repetition with more in it.
        assert_eq!(direction.pass(at(10), &stream[10..45]), [(35, false), (8, false)]);
        assert!(direction.is_whole());
        assert_eq!(direction.bytes, stream.len() as u64);
    }

    #[test]
    fn nothing_is_whole_before_the_connection_began() {
        let mut direction = Direction::default();
        assert_eq!(direction.pass(5, &record(23, 1)), []);
        assert!(!direction.is_whole());
    }
}
