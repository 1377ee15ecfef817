//! What arrives: messages, which are acknowledged or answered, and ACKs.

use alloc::vec::Vec;
use core::time::Duration;

use super::Datagrams;
use super::acknowledgements::read_ack;
use super::fragments::{Arrival, Fragment};
use super::incoming::OpenedRecord;
use super::record_number::{APPLICATION_EPOCH, EARLY_DATA_EPOCH, HANDSHAKE_EPOCH};
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
        if kept.is_repeated && (self.flight.is_in(0) || self.flight.is_in(HANDSHAKE_EPOCH)) {
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
        if let Some(sent_at) = self.flight.answered(0..APPLICATION_EPOCH) {
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
