//! ACK: the records with handshake messages that arrived (RFC 9147 §7).

use alloc::vec::Vec;
use core::time::Duration;

use super::numbering::APPLICATION_EPOCH;
use super::record_number::RecordNumber;
use crate::error::{Error, illegal_parameter};
use crate::wire::{Reader, Writer};

/// The records to acknowledge, and when.
#[derive(Debug, Default)]
pub(crate) struct Acknowledgements {
    /// Those of the peer's current flight, or the last of its messages after the handshake, in ascending order; each
    /// with whether an ACK has named it.
    records: Vec<(RecordNumber, bool)>,
    /// When they are acknowledged at the latest.
    at: Option<Duration>,
}

impl Acknowledgements {
    /// Notes a record whose messages were handled or kept; acknowledges it at `at` at the latest.
    pub(crate) fn note(&mut self, number: RecordNumber, at: Duration) {
        if let Err(place) = self.records.binary_search_by_key(&number, |(noted, _)| *noted) {
            // Most flights are a record or two, and the association keeps their numbers.
            self.records.reserve_exact(1);
            self.records.insert(place, (number, false));
        }
        if self.records.len() > MAX_RECORDS {
            // §7.1: the newest are the most useful, since older ones have been acknowledged.
            self.records.remove(0);
        }
        self.no_later_than(at);
    }

    /// Acknowledges what was noted at `at` at the latest: with nothing noted, an empty ACK asks for what is missing.
    pub(crate) fn no_later_than(&mut self, at: Duration) {
        self.at = Some(self.at.map_or(at, |earlier| earlier.min(at)));
    }

    /// Acknowledges what was noted, if anything, at `at` at the latest.
    pub(crate) fn hasten(&mut self, at: Duration) {
        if !self.records.is_empty() {
            self.no_later_than(at);
        }
    }

    /// Changes the delay of the ACK that waits.
    pub(crate) fn change_delay(&mut self, before: Duration, after: Duration) {
        self.at = self.at.map(|at| at.saturating_sub(before) + after);
    }

    /// Withdraws the ACK that waits.
    pub(crate) fn withdraw(&mut self) {
        self.at = None;
    }

    /// Withdraws an empty ACK: a flight that is sent again asks for what is missing, too.
    pub(crate) fn withdraw_empty(&mut self) {
        if self.records.is_empty() {
            self.at = None;
        }
    }

    /// Returns when an ACK is due.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.at
    }

    /// Forgets the peer's flight: this side's answer acknowledges it.
    pub(crate) fn clear(&mut self) {
        self.records = Vec::new();
        self.at = None;
    }

    /// Writes the content of the ACK that is due, in `epoch` and of at most `room` bytes: the newest records. The next
    /// names the same again (§7.1), since this one may be lost. If there is no room for a burst, what none has named comes
    /// first, and another ACK is due for the rest: the peer would take it for lost.
    pub(crate) fn write(&mut self, epoch: u64, room: usize, out: &mut Vec<u8>) {
        let fits = room.saturating_sub(EMPTY_ACK_LEN) / RECORD_NUMBER_LEN;
        let known = |(number, _): &&mut (RecordNumber, bool)| may_name(epoch, number.epoch);
        let mut known: Vec<_> = self.records.iter_mut().filter(known).collect();
        let mut excess = known.len().saturating_sub(fits);
        if fits < BURST {
            known.retain(|(_, is_named)| {
                let leaves = *is_named && excess > 0;
                excess -= usize::from(leaves);
                !leaves
            });
        } else {
            known.drain(..excess);
        }
        if known.len() <= fits || fits == 0 {
            self.at = None;
        }
        out.vec16(|out| {
            for (number, is_named) in known.into_iter().take(fits) {
                out.bytes(&number.epoch.to_be_bytes());
                out.bytes(&number.sequence.to_be_bytes());
                *is_named = true;
            }
        });
    }
}

/// Reads the content of an ACK that came in `epoch`.
pub(crate) fn read_ack(content: &[u8], epoch: u64) -> Result<Vec<RecordNumber>, Error> {
    let mut reader = Reader::new(content);
    let mut numbers = Reader::new(reader.vec16()?);
    reader.finish()?;
    let mut acknowledged = Vec::with_capacity(content.len() / RECORD_NUMBER_LEN);
    while !numbers.is_empty() {
        let number = |bytes: &[u8; 8]| u64::from_be_bytes(*bytes);
        let (of_epoch, sequence) = (number(numbers.array()?), number(numbers.array()?));
        if !may_name(epoch, of_epoch) {
            return Err(illegal_parameter("an ACK for a record of a later epoch than its own"));
        }
        acknowledged.push(RecordNumber { epoch: of_epoch, sequence });
    }
    Ok(acknowledged)
}

/// Returns whether an ACK in `epoch` may name records of `of_epoch`: none of a later epoch than its own during the
/// handshake (§7). After it, as in an authenticated handshake, each side changes its keys by itself.
fn may_name(epoch: u64, of_epoch: u64) -> bool {
    epoch >= APPLICATION_EPOCH || of_epoch <= epoch
}

/// The most records that are remembered for an ACK: more than three bursts (§5.8.3).
const MAX_RECORDS: usize = 32;

/// How many records the peer sends at once (§5.8.3).
const BURST: usize = 10;

/// The length of an ACK that names no record, in bytes.
pub(crate) const EMPTY_ACK_LEN: usize = 2;

/// The length of a RecordNumber in an ACK, in bytes.
const RECORD_NUMBER_LEN: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn number(epoch: u64, sequence: u64) -> RecordNumber {
        RecordNumber { epoch, sequence }
    }

    #[test]
    fn an_ack_names_the_newest_records_in_ascending_order() {
        let mut acks = Acknowledgements::default();
        let at = Duration::from_secs(1);
        for sequence in [3, 1, 2, 2, 7] {
            acks.note(number(2, sequence), at);
        }
        let expected = [1, 2, 3, 7].map(|sequence| number(2, sequence));
        for (room, first) in [(1000, 0), (2 + 2 * RECORD_NUMBER_LEN + 15, 2), (1000, 0)] {
            acks.no_later_than(at);
            let mut content = Vec::new();
            acks.write(3, room, &mut content);
            assert_eq!(read_ack(&content, 2).expect("whole"), expected[first..], "{room}");
            assert_eq!(acks.deadline(), None);
        }
        acks.note(number(0, 1), at);
        let mut content = Vec::new();
        acks.write(0, 1000, &mut content);
        assert_eq!(read_ack(&content, 0).expect("whole"), [number(0, 1)]);
    }

    /// Otherwise the peer takes them for lost.
    #[test]
    fn records_of_a_burst_that_find_no_room_in_an_ack_are_due_in_the_next() {
        let mut acks = Acknowledgements::default();
        let at = Duration::from_secs(1);
        (0..5).for_each(|sequence| acks.note(number(2, sequence), at));
        // It can't be named yet, and doesn't count.
        acks.note(number(3, 0), at);
        for (expected, due) in [(&[0, 1][..], Some(at)), (&[2, 3], Some(at)), (&[3, 4], None)] {
            let mut content = Vec::new();
            acks.write(2, 2 + 2 * RECORD_NUMBER_LEN, &mut content);
            let read = read_ack(&content, 2).expect("whole");
            assert!(read.iter().map(|number| number.sequence).eq(expected.iter().copied()));
            assert_eq!(acks.deadline(), due);
        }
        acks.note(number(2, 9), at);
        acks.write(2, 2, &mut Vec::new());
        assert_eq!(acks.deadline(), None, "there is no room at all");
        // A burst fits: the rest is older.
        (10..30).for_each(|sequence| acks.note(number(2, sequence), at));
        let mut content = Vec::new();
        acks.write(2, 2 + BURST * RECORD_NUMBER_LEN, &mut content);
        assert_eq!(read_ack(&content, 2).expect("whole")[0], number(2, 20));
        assert_eq!(acks.deadline(), None);
    }

    #[test]
    fn only_what_was_noted_is_hastened() {
        let mut acks = Acknowledgements::default();
        acks.hasten(Duration::ZERO);
        assert_eq!(acks.deadline(), None);
        acks.note(number(2, 0), Duration::from_secs(1));
        acks.hasten(Duration::ZERO);
        assert_eq!(acks.deadline(), Some(Duration::ZERO));
    }

    #[test]
    fn only_an_empty_ack_is_withdrawn() {
        let mut acks = Acknowledgements::default();
        acks.no_later_than(Duration::ZERO);
        acks.withdraw_empty();
        assert_eq!(acks.deadline(), None);
        acks.note(number(2, 0), Duration::ZERO);
        acks.withdraw_empty();
        assert_eq!(acks.deadline(), Some(Duration::ZERO));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut acks = Acknowledgements::default();
        for sequence in 0..10_000 {
            acks.note(number(3, sequence), Duration::ZERO);
        }
        assert_eq!(acks.records.len(), MAX_RECORDS);
        assert!(acks.records.contains(&(number(3, 9_999), false)));
    }

    #[test]
    fn a_malformed_ack_is_refused() {
        let alert = |content: &[u8], epoch| read_ack(content, epoch).map_err(|error| error.alert());
        let mut later = alloc::vec![0, 16];
        later.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert!(alert(&later, 3).is_ok());
        later[9] = 7;
        assert!(alert(&later, 3).is_ok(), "this side has changed its keys, and the peer hasn't");
        for (content, epoch) in
            [(&later[..], 2), (&later[..17], 3), (&[0, 0, 0][..], 3), (&[0, 1, 0][..], 3), (&[], 3)]
        {
            assert!(alert(content, epoch).is_err_and(|alert| alert.is_some()), "{content:?}");
        }
    }
}
