//! The handshake messages that this side sends until they are acknowledged (RFC 9147 §5.8, §7.2).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

use super::fragment::{FRAGMENT_HEADER_LEN, Fragment};
use super::ranges::Ranges;
use super::record_number::RecordNumber;
use super::sent_records::SentRecords;
use crate::wire::HandshakeType;

/// The messages under way.
#[derive(Default)]
pub(crate) struct Flight {
    messages: VecDeque<Message>,
    /// The number of the next message; numbers end at 65,535.
    pub(super) next_seq: u32,
    /// The records that carried them.
    sent: SentRecords,
    /// How many bytes of messages were sent again.
    pub(super) resent: u64,
}

struct Message {
    epoch: u64,
    seq: u16,
    typ: HandshakeType,
    body: Vec<u8>,
    /// What the peer has not acknowledged.
    open: Ranges,
    /// Of this, what is to be sent now.
    unsent: Ranges,
    /// What comes before was sent at least once.
    sent_to: usize,
}

/// What an ACK changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    /// Something was acknowledged that wasn't before.
    pub(crate) is_progress: bool,
    /// When a record was sent that was acknowledged now and sent once: the time since then is a round trip.
    pub(crate) sent_at: Option<Duration>,
    /// When the newest record was sent, if it was sent after all that were acknowledged or taken for lost before.
    pub(crate) newest_at: Option<Duration>,
}

impl Flight {
    /// Adds a message with its frame, to be sent in `epoch`. `false`: the association has used up its message numbers.
    #[must_use]
    pub(crate) fn add(&mut self, epoch: u64, message: &[u8]) -> bool {
        let Some((frame, body)) = message.split_first_chunk::<4>() else { return false };
        let Ok(seq) = u16::try_from(self.next_seq) else { return false };
        let all = Ranges::of(0..body.len());
        self.messages.push_back(Message {
            epoch,
            seq,
            typ: HandshakeType(frame[0]),
            body: body.to_vec(),
            open: all.clone(),
            unsent: all,
            sent_to: 0,
        });
        self.next_seq += 1;
        true
    }

    /// Returns whether there is no number for another message.
    pub(crate) fn has_used_up_numbers(&self) -> bool {
        self.next_seq > u32::from(u16::MAX)
    }

    /// Returns whether everything was acknowledged.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns how many bytes of messages were sent again.
    pub(crate) fn resent(&self) -> u64 {
        self.resent
    }

    /// Returns whether something is to be sent now.
    pub(crate) fn has_unsent(&self) -> bool {
        self.messages.iter().any(|message| !message.unsent.is_empty())
    }

    /// Returns whether a message of an earlier epoch is under way.
    pub(crate) fn is_below(&self, epoch: u64) -> bool {
        self.messages.iter().any(|message| message.epoch < epoch)
    }

    /// Returns whether a message of this epoch is under way: its keys are still needed.
    pub(crate) fn is_in(&self, epoch: u64) -> bool {
        self.messages.iter().any(|message| message.epoch == epoch)
    }

    /// Returns the epoch of what is sent next.
    pub(crate) fn unsent_epoch(&self) -> Option<u64> {
        self.messages.iter().find(|message| !message.unsent.is_empty()).map(|next| next.epoch)
    }

    /// Appends fragments of one epoch, of at most `room` bytes, as the content of the record with this number.
    /// Appends nothing if no byte of a message fits.
    pub(crate) fn write_record(
        &mut self,
        number: RecordNumber,
        room: usize,
        now: Duration,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        let mut parts = Vec::new();
        'record: for message in &mut self.messages {
            while let Some(range) = message.unsent.first() {
                let left = (start + room).saturating_sub(out.len() + FRAGMENT_HEADER_LEN);
                if message.epoch != number.epoch || left == 0 {
                    break 'record;
                }
                let range = range.start..range.end.min(range.start + left);
                let head = (message.typ, message.body.len(), message.seq);
                Fragment::write_header(out, head, range.clone());
                out.extend_from_slice(&message.body[range.clone()]);
                message.unsent.remove(range.clone());
                self.resent += message.sent_to.min(range.end).saturating_sub(range.start) as u64;
                message.sent_to = message.sent_to.max(range.end);
                parts.push((message.seq, range));
            }
        }
        if !parts.is_empty() {
            self.sent.add(number, now, parts);
        }
    }

    /// Sends everything again that isn't acknowledged.
    pub(crate) fn send_again(&mut self) {
        self.sent.take_all_for_lost();
        self.messages.iter_mut().for_each(|message| message.unsent = message.open.clone());
    }

    /// Handles an ACK for these records.
    pub(crate) fn acknowledge(&mut self, records: &[RecordNumber]) -> Acknowledged {
        let mut result = Acknowledged::default();
        for number in records {
            let Some((record, is_newest)) = self.sent.acknowledge(*number) else { continue };
            if is_newest {
                result.newest_at = Some(record.at);
            }
            if record.is_first_transmission {
                result.sent_at = Some(result.sent_at.map_or(record.at, |at| at.max(record.at)));
            }
            for (seq, range) in record.parts {
                let Some(message) = self.messages.iter_mut().find(|it| it.seq == seq) else {
                    continue;
                };
                result.is_progress |= !message.open.is_empty();
                message.open.remove(range.clone());
                message.unsent.remove(range);
            }
        }
        self.messages.retain(|message| !message.open.is_empty());
        if self.messages.is_empty() {
            self.sent.clear();
        }
        result
    }

    /// Returns whether something was sent before a record that is acknowledged, and is not.
    pub(crate) fn has_overtaken(&self) -> bool {
        self.messages.iter().any(|message| !self.overtaken(message).is_empty())
    }

    /// Sends that again. What was sent later may be under way.
    pub(crate) fn send_overtaken_again(&mut self) {
        for index in 0..self.messages.len() {
            self.messages[index].unsent = self.overtaken(&self.messages[index]);
        }
    }

    fn overtaken(&self, message: &Message) -> Ranges {
        let mut overtaken = message.open.clone();
        let parts = self.sent.under_way().flat_map(|record| &record.parts);
        for (_, range) in parts.filter(|(seq, _)| *seq == message.seq) {
            overtaken.remove(range.clone());
        }
        overtaken
    }

    /// Returns how many records are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.sent.under_way().count()
    }

    /// Returns when the last record was sent that isn't acknowledged.
    pub(crate) fn last_sent_at(&self) -> Option<Duration> {
        self.sent.last_at()
    }

    /// Ends the flights of these epochs: the peer's answer acknowledges them. Returns when a record of them was
    /// sent, if each was sent once.
    pub(crate) fn answered(&mut self, epochs: Range<u64>) -> Option<Duration> {
        self.messages.retain(|message| !epochs.contains(&message.epoch));
        self.sent.answered(epochs)
    }

    /// Drops what was not acknowledged: the peer doesn't answer any more.
    pub(crate) fn give_up(&mut self) {
        self.messages = VecDeque::new();
        self.sent.clear();
    }

    /// Frees unused memory.
    pub(crate) fn release(&mut self) {
        self.messages.shrink_to_fit();
        self.sent.release();
    }

    /// Continues after messages that another sender wrote, such as a HelloRetryRequest without state.
    pub(crate) fn skip_to(&mut self, seq: u16) {
        self.next_seq = seq.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Reader;

    fn number(epoch: u64, sequence: u64) -> RecordNumber {
        RecordNumber { epoch, sequence }
    }

    fn message(len: usize) -> Vec<u8> {
        let mut message = alloc::vec![11, 0, (len >> 8) as u8, len as u8];
        message.extend((0..len).map(|n| n as u8));
        message
    }

    /// Sends until nothing is left; returns the parts of each record.
    fn send(flight: &mut Flight, first: u64, room: usize) -> Vec<Vec<(u16, Range<usize>)>> {
        let mut records = Vec::new();
        while let Some(epoch) = flight.unsent_epoch() {
            let mut content = Vec::new();
            let number = number(epoch, first + records.len() as u64);
            flight.write_record(number, room, Duration::from_secs(first), &mut content);
            assert!((1..=room).contains(&content.len()), "{}", content.len());
            let mut reader = Reader::new(&content);
            let mut parts = Vec::new();
            while !reader.is_empty() {
                let part = Fragment::read(&mut reader).expect("whole");
                let range = part.offset..part.offset + part.bytes.len();
                assert!(part.bytes.iter().zip(range.clone()).all(|(byte, n)| *byte == n as u8));
                parts.push((part.message_seq, range));
            }
            records.push(parts);
        }
        records
    }

    #[test]
    fn messages_share_records_of_their_epoch_and_are_cut_to_fit() {
        let mut flight = Flight::default();
        assert!(flight.add(0, &message(50)));
        assert!(
            flight.add(2, &message(20))
                && flight.add(2, &message(200))
                && flight.add(2, &message(30))
        );
        let records = send(&mut flight, 0, 120);
        let expected = [
            alloc::vec![(0, 0..50)],
            alloc::vec![(1, 0..20), (2, 0..76)],
            alloc::vec![(2, 76..184)],
            alloc::vec![(2, 184..200), (3, 0..30)],
        ];
        assert_eq!(records, expected);
        assert!(!flight.has_unsent() && !flight.is_empty());
    }

    #[test]
    fn a_record_is_filled_to_the_last_byte() {
        let mut flight = Flight::default();
        assert!(flight.add(2, &message(50)) && flight.add(2, &message(50)));
        let records = send(&mut flight, 0, 12 + 50 + 12 + 1);
        assert_eq!(records, [alloc::vec![(0, 0..50), (1, 0..1)], alloc::vec![(1, 1..50)]]);
    }

    #[test]
    fn a_record_takes_what_is_missing_on_both_sides_of_what_is_not() {
        let mut flight = Flight::default();
        assert!(flight.add(2, &message(300)) && flight.add(2, &message(20)));
        assert_eq!(send(&mut flight, 0, 112).len(), 4);
        flight.acknowledge(&[number(2, 1)]);
        flight.send_again();
        let again = send(&mut flight, 10, 1000);
        assert_eq!(again, [alloc::vec![(0, 0..100), (0, 200..300), (1, 0..20)]]);
    }

    #[test]
    fn only_what_is_not_acknowledged_is_sent_again() {
        let mut flight = Flight::default();
        assert!(flight.add(2, &message(300)));
        assert_eq!(send(&mut flight, 0, 112).len(), 3);
        let middle = flight.acknowledge(&[number(2, 1)]);
        let zero = Some(Duration::ZERO);
        let progress = Acknowledged { is_progress: true, sent_at: zero, newest_at: zero };
        assert_eq!((middle, flight.under_way()), (progress, 1));
        flight.send_again();
        assert_eq!(flight.resent(), 0);
        let again = send(&mut flight, 10, 112);
        assert_eq!(again, [alloc::vec![(0, 0..100)], alloc::vec![(0, 200..300)]]);
        assert_eq!(flight.resent(), 200);
        // The same ACK again, and one for records that don't exist, change nothing.
        let repeated = flight.acknowledge(&[number(2, 1), number(2, 99), number(7, 0)]);
        assert_eq!(repeated, Acknowledged::default());
        // An ACK for the first transmission counts, and so does one for the second; a repeated part gives no time.
        assert_eq!(flight.acknowledge(&[number(2, 11)]).sent_at, None);
        assert!(flight.acknowledge(&[number(2, 0)]).is_progress && flight.is_empty());
    }

    /// An ACK for the first datagrams of a burst is silent about the others.
    #[test]
    fn what_was_sent_before_an_acknowledged_record_is_sent_again_and_what_was_sent_after_it_is_not()
    {
        let mut flight = Flight::default();
        assert!(flight.add(2, &message(500)));
        assert_eq!(send(&mut flight, 0, 112).len(), 5);
        flight.acknowledge(&[number(2, 0), number(2, 2)]);
        assert!(flight.has_overtaken() && !flight.has_unsent());
        assert_eq!(flight.under_way(), 2);
        flight.send_overtaken_again();
        assert_eq!(send(&mut flight, 10, 112), [alloc::vec![(0, 100..200)]]);
        flight.acknowledge(&[number(2, 3)]);
        assert!(!flight.has_overtaken(), "both others are under way");
        assert_eq!((flight.under_way(), flight.resent()), (2, 100));
        // The last of all, sent again after record 4: that is lost.
        flight.acknowledge(&[number(2, 10)]);
        flight.send_overtaken_again();
        assert_eq!(send(&mut flight, 20, 112), [alloc::vec![(0, 400..500)]]);
        assert!(flight.acknowledge(&[number(2, 20)]).is_progress && flight.is_empty());
    }

    /// A burst ended before its end.
    #[test]
    fn what_was_not_sent_yet_is_not_sent_again() {
        let mut flight = Flight::default();
        assert!(flight.add(2, &message(300)));
        flight.write_record(number(2, 0), 112, Duration::ZERO, &mut Vec::new());
        flight.send_again();
        send(&mut flight, 1, 1000);
        assert_eq!(flight.resent(), 100);
    }

    #[test]
    fn an_answer_ends_the_flights_before_it_alone() {
        let mut flight = Flight::default();
        assert!(
            flight.add(0, &message(50))
                && flight.add(2, &message(50))
                && flight.add(3, &message(50))
        );
        send(&mut flight, 5, 1000);
        assert_eq!(flight.answered(0..3), Some(Duration::from_secs(5)));
        assert!(flight.is_in(3) && !flight.is_in(2) && !flight.is_in(0));
        flight.send_again();
        send(&mut flight, 6, 1000);
        assert_eq!(flight.answered(3..4), None, "sent twice");
        assert!(flight.is_empty());
    }

    #[test]
    fn message_numbers_do_not_wrap() {
        let mut flight = Flight::default();
        flight.skip_to(u16::MAX - 1);
        assert!(flight.add(3, &message(1)) && !flight.has_used_up_numbers());
        assert!(flight.add(3, &message(1)) && flight.has_used_up_numbers());
        assert!(!flight.add(3, &message(1)));
    }
}
