//! What arrives: messages, which are acknowledged or answered, and ACKs.

use alloc::vec::Vec;
use core::time::Duration;

use super::Datagrams;
use super::acknowledgements::read_ack;
use super::fragment::Fragment;
use super::fragments::Arrival;
use super::incoming::OpenedRecord;
use super::record_number::EARLY_DATA_EPOCH;
use crate::error::{Error, unexpected_message};
use crate::wire::Reader;

impl Datagrams {
    /// Keeps the fragments of a record. `longest` is the length of the longest message that may come.
    ///
    /// # Errors
    /// The peer, and no one else, broke the protocol. What anyone can send is dropped and counted.
    pub(crate) fn keep_messages(
        &mut self,
        record: &OpenedRecord,
        content: &[u8],
        longest: usize,
        now: Duration,
    ) -> Result<(), Error> {
        let epoch = record.number.epoch;
        if epoch == 0 && self.is_complete {
            // The peer has keys: anyone can have sent it, and would get an ACK.
            self.incoming.counts.misplaced += 1;
            return Ok(());
        }
        match self.keep_fragments(epoch, content, longest) {
            Ok(kept) => {
                self.note_arrival(record, &kept, now);
                Ok(())
            }
            Err(_) if epoch == 0 => {
                self.incoming.counts.misplaced += 1;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn keep_fragments(
        &mut self,
        epoch: u64,
        content: &[u8],
        longest: usize,
    ) -> Result<KeptFragments, Error> {
        if content.is_empty() || epoch == EARLY_DATA_EPOCH {
            return Err(unexpected_message("a record of no handshake message"));
        }
        let mut kept = KeptFragments::default();
        let mut reader = Reader::new(content);
        while !reader.is_empty() {
            let fragment = Fragment::read(&mut reader)?;
            let is_new = u32::from(fragment.message_seq) >= self.fragments.next_seq();
            if is_new && epoch != self.message_epoch {
                // §8: nothing new may follow a KeyUpdate under the keys that it ends.
                return Err(unexpected_message("a message under keys that it may not have"));
            }
            kept.is_repeated |= u32::from(fragment.message_seq) < self.answered_seq;
            match self.fragments.insert(fragment, epoch, longest)? {
                Arrival::Kept => kept.is_new = true,
                Arrival::Old => (),
                Arrival::Dropped => kept.has_dropped = true,
            }
        }
        Ok(kept)
    }

    /// Decides when the record is acknowledged, and whether the peer lacks this side's flight.
    fn note_arrival(&mut self, record: &OpenedRecord, kept: &KeptFragments, now: Duration) {
        if kept.is_repeated && self.flight.is_below(self.numbering.application()) {
            // §5.8.1: the peer sends an answered flight again, so it lacks the answer.
            self.hurry(now);
            return;
        }
        if kept.has_dropped {
            return;
        }
        let is_protected = record.number.epoch > 0;
        if kept.is_new && is_protected && !self.is_complete {
            // §7.1: the next flight acknowledges the one before it.
            self.note_answer(now);
        }
        // §7.1: by then the rest may have come, or this side's flight be ready, which acknowledges it. What is out of
        // order may only have been overtaken.
        self.acknowledgements.note(record.number, now + self.timer.quarter());
    }

    /// Lets the flight be sent again before the timer expires, after what came with this: another ACK may be among it.
    /// Once in the timer's time, so that two sides can't hurry each other for ever.
    fn hurry(&mut self, at: Duration) {
        if !self.was_hurried && !self.flight.is_empty() && !self.flight.has_unsent() {
            self.was_hurried = true;
            self.timer.hurry(at);
        }
    }

    /// Notes that the peer answers this side's flight of the handshake.
    fn note_answer(&mut self, now: Duration) {
        if let Some(sent_at) = self.flight.answered(0..self.numbering.application()) {
            self.timer.measured(now.saturating_sub(sent_at));
        }
        self.timer.answered();
        if self.flight.is_empty() {
            self.timer.stop();
        }
    }

    /// Returns the epoch of the peer's next message, and the message with its frame, once it is whole.
    pub(crate) fn next_message(&mut self, now: Duration) -> Option<(u64, Vec<u8>)> {
        let next = self.fragments.next()?;
        if !self.is_complete {
            self.note_answer(now);
        }
        Some(next)
    }

    /// Handles an ACK.
    ///
    /// # Errors
    /// The peer, and no one else, broke the protocol.
    pub(crate) fn receive_ack(
        &mut self,
        content: &[u8],
        epoch: u64,
        now: Duration,
    ) -> Result<(), Error> {
        // After the keys are known, anyone can send one without.
        if epoch == 0 && (!self.is_agreed() || self.is_complete) {
            self.incoming.counts.misplaced += 1;
            return Ok(());
        }
        let records = match read_ack(content, epoch) {
            Ok(records) => records,
            Err(_) if epoch == 0 => {
                self.incoming.counts.malformed += 1;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let acknowledged = self.flight.acknowledge(&records);
        // Anyone can have sent an ACK without keys: it must not make the timer short.
        if let Some(sent_at) = acknowledged.sent_at.filter(|_| epoch > 0) {
            self.timer.measured(now.saturating_sub(sent_at));
        }
        if acknowledged.is_progress {
            self.timer.answered();
            self.was_hurried = false;
            let under_way = u8::try_from(self.flight.under_way()).unwrap_or(u8::MAX);
            self.burst_left = self.max_burst.saturating_sub(under_way);
        }
        if self.flight.is_empty() {
            self.timer.stop();
            self.acknowledged_all();
        } else if acknowledged.is_progress {
            // §7.2: the rest is missing, unless an ACK for it is as long under way as this one was.
            let rest = self.flight.last_sent_at().zip(acknowledged.newest_at);
            if self.flight.has_overtaken() {
                self.hurry(now);
            } else if let Some((last, newest)) = rest {
                self.hurry(last + now.saturating_sub(newest) + self.timer.quarter());
            }
        } else if records.is_empty() {
            self.hurry(now);
        }
        Ok(())
    }
}

/// What a record's fragments were.
#[derive(Default)]
struct KeptFragments {
    /// One is kept.
    is_new: bool,
    /// One is of a flight that this side has answered.
    is_repeated: bool,
    /// One found no room, so that the record must not be acknowledged.
    has_dropped: bool,
}

#[cfg(test)]
mod tests {
    use super::super::record_number::{HANDSHAKE_EPOCH, RecordNumber};
    use super::*;
    use crate::role::Role;
    use crate::wire::{AlertDescription, ContentType, HandshakeType};

    fn datagrams() -> Datagrams {
        Datagrams::new(Role::Server, Duration::from_secs(1), true, 1200, 10)
    }

    /// Keeps a record with these messages.
    fn keep(datagrams: &mut Datagrams, epoch: u64, content: &[u8]) -> Result<(), Error> {
        let number = RecordNumber { epoch, sequence: 7 };
        let record = OpenedRecord { typ: ContentType::HANDSHAKE, number, content: 0..0 };
        datagrams.keep_messages(&record, content, 1000, Duration::ZERO)
    }

    /// A message of one byte.
    fn message(seq: u16) -> Vec<u8> {
        let mut content = Vec::new();
        Fragment::write_header(&mut content, (HandshakeType::FINISHED, 1, seq), 0..1);
        content.push(7);
        content
    }

    #[test]
    fn a_record_of_no_message_and_a_message_of_early_data_are_refused() {
        for (epoch, content) in [(HANDSHAKE_EPOCH, Vec::new()), (EARLY_DATA_EPOCH, message(0))] {
            let mut datagrams = datagrams();
            datagrams.message_epoch = epoch;
            let refused = keep(&mut datagrams, epoch, &content);
            let alert = refused.map_err(|error| error.alert());
            assert_eq!(alert, Err(Some(AlertDescription::UNEXPECTED_MESSAGE)), "epoch {epoch}");
        }
    }

    #[test]
    fn a_message_that_found_no_room_is_not_acknowledged() {
        for (seq, is_acknowledged) in [(1, true), (100, false)] {
            let mut datagrams = datagrams();
            datagrams.message_epoch = HANDSHAKE_EPOCH;
            assert_eq!(keep(&mut datagrams, HANDSHAKE_EPOCH, &message(seq)), Ok(()));
            let deadline = datagrams.acknowledgements.deadline();
            assert_eq!(deadline.is_some(), is_acknowledged, "message {seq}");
        }
    }

    /// Anyone can send a copy of a hello.
    #[test]
    fn a_flight_that_comes_again_and_again_hurries_the_answer_once() {
        let mut datagrams = datagrams();
        datagrams.after_stateless_retry();
        datagrams.answered_seq = 1;
        assert_eq!(datagrams.send_message(0, &[2, 0, 0, 1, 7]), Ok(()));
        for hurried_to in [Duration::ZERO, Duration::from_secs(1)] {
            assert!(datagrams.transmit(1200, Duration::ZERO, &mut Vec::new()));
            assert_eq!(keep(&mut datagrams, 0, &message(0)), Ok(()));
            assert_eq!(datagrams.timer.deadline(), Some(hurried_to));
            assert_eq!(datagrams.expire(Duration::ZERO), Ok(()));
        }
    }

    #[test]
    fn an_ack_without_keys_counts_during_the_handshake_alone() {
        for (is_agreed, is_complete) in [(false, false), (true, true), (true, false)] {
            let mut datagrams = datagrams();
            if is_agreed {
                datagrams.after_stateless_retry();
            }
            datagrams.is_complete = is_complete;
            assert_eq!(datagrams.send_message(0, &[2, 0, 0, 1, 7]), Ok(()));
            assert!(datagrams.transmit(1200, Duration::ZERO, &mut Vec::new()));
            let sequence = u64::from(is_agreed);
            let ack = [&[0, 16][..], &[0; 8], &sequence.to_be_bytes()].concat();
            assert_eq!(datagrams.receive_ack(&ack, 0, Duration::from_secs(9)), Ok(()));
            let counts = is_agreed && !is_complete;
            assert_eq!(datagrams.is_acknowledged(), counts, "{is_agreed} {is_complete}");
            assert_eq!(datagrams.timer.quarter(), Duration::from_millis(250), "a forged time");
        }
    }
}
