//! The records that carried a flight, so that an ACK finds what it acknowledges (RFC 9147 §7.2).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

use super::record_number::RecordNumber;

/// The newest records that carried messages, and are not acknowledged.
#[derive(Default)]
pub(super) struct SentRecords {
    all: VecDeque<SentRecord>,
    /// How many records were sent; and of these, how many at first are acknowledged or taken for lost. The others are
    /// under way.
    count: u64,
    settled: u64,
}

pub(super) struct SentRecord {
    number: RecordNumber,
    /// Its place among all that were sent.
    place: u64,
    pub(super) at: Duration,
    pub(super) is_first_transmission: bool,
    /// The messages, by number, and what it carried of each.
    pub(super) parts: Vec<(u16, Range<usize>)>,
}

impl SentRecords {
    /// Notes a record.
    pub(super) fn add(
        &mut self,
        number: RecordNumber,
        at: Duration,
        parts: Vec<(u16, Range<usize>)>,
    ) {
        let is_part = |(seq, range): &(u16, Range<usize>)| {
            let overlaps = |(of, sent): &(u16, _)| of == seq && overlap(sent, range);
            self.all.iter().any(|record| record.parts.iter().any(overlaps))
        };
        let is_first_transmission = !parts.iter().any(is_part);
        if self.all.len() >= MAX_RECORDS {
            self.all.pop_front();
        }
        self.count += 1;
        let place = self.count;
        self.all.push_back(SentRecord { number, place, at, is_first_transmission, parts });
    }

    /// Removes a record that an ACK names; returns it, and whether it was sent after all that were acknowledged or taken
    /// for lost before.
    pub(super) fn acknowledge(&mut self, number: RecordNumber) -> Option<(SentRecord, bool)> {
        let index = self.all.iter().position(|record| record.number == number)?;
        let record = self.all.remove(index)?;
        let is_newest = record.place > self.settled;
        self.settled = self.settled.max(record.place);
        Some((record, is_newest))
    }

    /// None is under way any more.
    pub(super) fn take_all_for_lost(&mut self) {
        self.settled = self.count;
    }

    /// Returns the records that are under way.
    pub(super) fn under_way(&self) -> impl Iterator<Item = &SentRecord> {
        self.all.iter().filter(|record| record.place > self.settled)
    }

    /// Returns when the last record was sent that isn't acknowledged.
    pub(super) fn last_at(&self) -> Option<Duration> {
        self.all.back().map(|record| record.at)
    }

    /// Removes the records of these epochs; returns when the last of them was sent, if each was a first transmission.
    pub(super) fn answered(&mut self, epochs: Range<u64>) -> Option<Duration> {
        let ends = |record: &&SentRecord| epochs.contains(&record.number.epoch);
        let was_once = self.all.iter().filter(ends).all(|record| record.is_first_transmission);
        let sent_at = self.all.iter().filter(ends).map(|record| record.at).max();
        self.all.retain(|record| !epochs.contains(&record.number.epoch));
        sent_at.filter(|_| was_once)
    }

    /// Forgets all, and frees their memory.
    pub(super) fn clear(&mut self) {
        self.all = VecDeque::new();
    }

    /// Frees unused memory.
    pub(super) fn release(&mut self) {
        self.all.shrink_to_fit();
    }
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// The most records that an ACK can name: more than a chain of 128 KiB needs.
const MAX_RECORDS: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn number(sequence: u64) -> RecordNumber {
        RecordNumber { epoch: 2, sequence }
    }

    fn sent(count: u64) -> SentRecords {
        let mut sent = SentRecords::default();
        for sequence in 0..count {
            sent.add(number(sequence), Duration::ZERO, alloc::vec![(0, 0..1)]);
        }
        sent
    }

    #[test]
    fn what_was_sent_before_an_acknowledged_record_is_not_under_way() {
        let mut sent = sent(8);
        for (sequence, expected, left) in [(2, true, 5), (1, false, 5), (6, true, 1)] {
            let is_newest = sent.acknowledge(number(sequence)).map(|(_, is_newest)| is_newest);
            assert_eq!((is_newest, sent.under_way().count()), (Some(expected), left), "{sequence}");
        }
        sent.take_all_for_lost();
        assert_eq!(sent.under_way().count(), 0);
        let late = sent.acknowledge(number(7)).map(|(_, is_newest)| is_newest);
        assert_eq!(late, Some(false));
    }

    #[test]
    fn what_is_remembered_of_records_is_bounded() {
        let mut sent = sent(200);
        assert_eq!(sent.under_way().count(), MAX_RECORDS);
        assert!(sent.acknowledge(number(0)).is_none());
        assert!(sent.acknowledge(number(199)).is_some());
    }
}
