//! Records over datagrams (RFC 9147): a handshake's messages, which are retransmitted until they are acknowledged, and
//! data, which isn't.
//!
//! ```text
//!   datagram ──► IncomingRecords ──► Fragments ──► messages          Flight ──► OutgoingRecords ──► datagram
//!                      │                 └──► Acknowledgements ──────────────────────┘
//!                      └──► data, alerts, ACKs ──► Flight
//! ```

mod acknowledgements;
mod below;
mod connection_ids;
mod early_records;
mod first_records;
mod flight;
mod fragment;
mod fragments;
mod frozen;
#[cfg(test)]
mod fuzz;
mod header;
mod idle;
mod incoming;
mod numbering;
mod outgoing;
mod partial_message;
mod protection;
mod ranges;
mod read_epochs;
mod receive;
mod record_number;
mod replay_window;
mod sent_records;
mod sleep;
mod timer;
mod transmit;

pub(crate) use below::DatagramBelow;
pub(crate) use first_records::{FirstRecords, write_lone_message};
pub(crate) use idle::IdleDatagrams;
pub use incoming::DroppedRecords;
pub(crate) use incoming::{NextRecord, OpenedRecord};
pub(crate) use numbering::{APPLICATION_EPOCH, Numbering};
pub(crate) use read_epochs::Forgeries;
pub(crate) use record_number::EARLY_DATA_EPOCH;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use acknowledgements::Acknowledgements;
use early_records::EarlyRecords;
use flight::Flight;
use fragments::Fragments;
use incoming::IncomingRecords;
use outgoing::{OutgoingRecords, RecordEnd};
use protection::Protection;
use timer::RetransmissionTimer;

use crate::error::Error;
use crate::role::Role;
use crate::schedule::KeptTrafficSecret;
use crate::wire::{AlertDescription, ContentType};

/// The record layer of one association.
pub(crate) struct Datagrams {
    role: Role,
    pub(crate) numbering: Numbering,
    pub(crate) incoming: IncomingRecords,
    pub(crate) outgoing: OutgoingRecords,
    fragments: Fragments,
    flight: Flight,
    acknowledgements: Acknowledgements,
    timer: RetransmissionTimer,
    /// The longest datagram to send, in bytes.
    max_datagram: usize,
    /// The most records of a flight that are sent at once.
    max_burst: u8,
    /// How many more records of the flight may be sent before something is acknowledged, or the timer expires.
    burst_left: u8,
    /// Records of data have a length.
    pub(crate) delimits_data: bool,
    /// The epoch of the peer's next message.
    message_epoch: u64,
    /// The number of the peer's message after those that this side's flight answers.
    answered_seq: u32,
    /// The flight was sent again since the timer was started, because the peer seems to lack it.
    was_hurried: bool,
    is_complete: bool,
    /// Of the peer's last flight, if that is the last of the handshake.
    late_secret: Option<Box<KeptTrafficSecret>>,
    /// The keys that follow the KeyUpdate under way.
    next_keys: Option<Box<Protection>>,
    /// An alert to send.
    alert: Option<AlertDescription>,
    /// An alert was sent that nothing may follow.
    is_closed: bool,
    /// Protected records of early data, to be sent with the ClientHello.
    unsent_early: Vec<Vec<u8>>,
    pub(crate) early_data_left: usize,
    pub(crate) early_data: EarlyRecords,
}

impl Datagrams {
    /// With `measures` the measured round-trip time replaces `first_timeout`.
    pub(crate) fn new(
        role: Role,
        first_timeout: Duration,
        measures: bool,
        max_datagram: usize,
        max_burst: u8,
    ) -> Self {
        let max_burst = max_burst.max(1);
        Self {
            role,
            numbering: Numbering::default(),
            incoming: IncomingRecords::new(),
            outgoing: OutgoingRecords::new(),
            fragments: Fragments::default(),
            flight: Flight::default(),
            acknowledgements: Acknowledgements::default(),
            timer: RetransmissionTimer::new(first_timeout, measures),
            max_datagram: max_datagram.max(SHORTEST_DATAGRAM),
            max_burst,
            burst_left: max_burst,
            delimits_data: false,
            message_epoch: 0,
            answered_seq: 0,
            was_hurried: false,
            is_complete: false,
            late_secret: None,
            next_keys: None,
            alert: None,
            is_closed: false,
            unsent_early: Vec::new(),
            early_data_left: 0,
            early_data: EarlyRecords::default(),
        }
    }

    /// Continues after the first exchange of hellos, which was answered without state: the ClientHello with the cookie
    /// is message 1, and so is the ServerHello.
    pub(crate) fn after_stateless_retry(&mut self) {
        self.fragments.skip_to(1);
        self.flight.skip_to(1);
        self.outgoing.skip_plaintext_to(1);
    }

    /// Returns whether DTLS 1.3 is agreed: only then ACKs are sent, and ACKs without keys are read (§7).
    fn is_agreed(&self) -> bool {
        self.fragments.next_seq() > 0
    }

    /// Changes the keys after a KeyUpdate (§8), and drops those that no retransmission needs.
    fn acknowledged_all(&mut self) {
        if let Some(keys) = self.next_keys.take() {
            self.outgoing.install(self.outgoing.newest() + 1, *keys);
        }
        if self.is_complete {
            self.outgoing.retain(|_| false);
            if !self.reads_last() {
                // The peer has the answer to its flight, and sends it no more.
                self.incoming.epochs.drop_below(self.numbering.application());
            }
            self.release();
        }
    }

    /// Notes a record that opened after a KeyUpdate: the keys before it are needed for late records alone.
    pub(crate) fn note_epoch(&mut self, epoch: u64, now: Duration) {
        if epoch > self.numbering.application() {
            self.incoming.epochs.retire_below(epoch, now + LATE_RECORDS);
        }
    }

    /// Notes that records came for which there are no keys yet: something before them is missing (§7.1).
    pub(crate) fn note_missing_keys(&mut self, now: Duration) {
        if self.is_agreed() && !self.is_complete {
            self.acknowledgements.no_later_than(now + self.timer.quarter());
        }
    }

    /// Notes that the handshake is complete.
    pub(crate) fn complete(&mut self, now: Duration) {
        self.is_complete = true;
        if self.reads_last() {
            // The peer's last flight has no other answer. For twice the MSL it may come again (§5.8.1).
            self.acknowledgements.hasten(now);
            let epochs = &mut self.incoming.epochs;
            epochs.drop_below(self.numbering.last_of_handshake());
            epochs.retire_below(self.numbering.application(), now + LATE_FLIGHTS);
            if let Some(secret) = self.late_secret.take() {
                epochs.keep_secret(self.numbering.last_of_handshake(), secret);
            }
            let flight = &self.flight;
            self.outgoing.retain(|epoch| flight.is_in(epoch));
            self.release();
        }
    }

    /// Returns whether the handshake's last flight is the peer's: the client's, but the server's after an authenticated
    /// handshake.
    fn reads_last(&self) -> bool {
        (self.role == Role::Server) == (self.numbering == Numbering::Rfc9147)
    }

    /// Frees memory that the messages under way needed.
    fn release(&mut self) {
        self.incoming.epochs.release();
        self.outgoing.release();
        self.fragments.release();
        self.flight.release();
    }

    /// Adds a message to the flight.
    ///
    /// # Errors
    /// The association has used up its message numbers.
    fn send_message(&mut self, epoch: u64, message: &[u8]) -> Result<(), Error> {
        if self.is_closed {
            // The keys are gone; a server may have closed before the client's Finished came, and owe tickets.
            return Ok(());
        }
        if epoch < self.numbering.application() && self.fragments.next_seq() != self.answered_seq {
            // A new flight, which acknowledges the peer's.
            self.answered_seq = self.fragments.next_seq();
            self.acknowledgements.clear();
            self.was_hurried = false;
            self.burst_left = self.max_burst;
        } else if self.flight.is_empty() {
            self.burst_left = self.max_burst;
        }
        self.flight.add(epoch, message).then_some(()).ok_or(NO_MESSAGES_LEFT)
    }

    /// Returns an error if no message may be sent after the handshake: none follows a KeyUpdate until that is
    /// acknowledged (§8), and messages have numbers.
    pub(crate) fn may_send_after_handshake(&self) -> Result<(), Error> {
        if self.next_keys.is_some() {
            return Err(Error::TooEarly("the peer has not acknowledged the earlier KeyUpdate"));
        }
        if self.flight.has_used_up_numbers() { Err(NO_MESSAGES_LEFT) } else { Ok(()) }
    }

    /// Sends a message after the handshake.
    pub(crate) fn send_after_handshake(&mut self, message: &[u8]) -> Result<(), Error> {
        self.may_send_after_handshake()?;
        self.send_message(self.outgoing.newest(), message)
    }

    /// Returns whether everything that was sent is acknowledged.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.flight.is_empty()
    }

    /// Returns how many bytes of messages were sent again.
    pub(crate) fn resent(&self) -> u64 {
        self.flight.resent()
    }

    /// Changes the time to wait at first, also that of what waits now.
    pub(crate) fn set_first_timeout(&mut self, timeout: Duration) {
        let before = self.timer.quarter();
        self.timer.set_initial(timeout);
        self.acknowledgements.change_delay(before, self.timer.quarter());
    }

    /// Changes the longest datagram to send. Early data that is longer is lost: a record isn't split.
    pub(crate) fn set_max_datagram(&mut self, len: usize) {
        let longest = len.max(SHORTEST_DATAGRAM + self.outgoing.peer_ids.current.len());
        self.max_datagram = longest;
        self.unsent_early.retain(|record| record.len() <= longest);
    }

    /// Protects early data, to be sent with the ClientHello; returns how many bytes were taken.
    pub(crate) fn add_early_data(&mut self, data: &[u8]) -> usize {
        let most = self.max_data().min(self.early_data_left);
        if data.is_empty() || data.len() > most {
            return 0;
        }
        let mut record = Vec::new();
        let room = (self.max_datagram, RecordEnd::Delimited);
        let typ = ContentType::APPLICATION_DATA;
        if !self.outgoing.record(typ, EARLY_DATA_EPOCH, room, &mut record, |out| {
            out.extend_from_slice(data);
        }) {
            return 0;
        }
        self.early_data_left -= data.len();
        self.unsent_early.push(record);
        data.len()
    }

    /// Appends a datagram with data.
    pub(crate) fn write_data(&mut self, data: &[u8], out: &mut Vec<u8>) {
        let waits = self.timer.deadline().is_some() || self.flight.has_unsent();
        if self.next_keys.is_some() && !waits {
            // A KeyUpdate that was sent too often in vain.
            self.flight.send_again();
            self.burst_left = self.max_burst;
        }
        let (epoch, typ) = (self.outgoing.newest(), ContentType::APPLICATION_DATA);
        let place = self.place_of_data();
        self.outgoing.record(typ, epoch, place, out, |out| out.extend_from_slice(data));
    }

    /// Appends a datagram with a return_routability_check message.
    pub(crate) fn write_path_message(
        &mut self,
        content: impl FnOnce(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        let place = (self.max_datagram, RecordEnd::OfDatagram);
        let typ = ContentType::RETURN_ROUTABILITY_CHECK;
        self.outgoing.record(typ, self.outgoing.newest(), place, out, content);
    }

    /// Returns the time after which a flight without an answer is sent again: one and a half measured round trips.
    pub(crate) fn answer_timeout(&self) -> Duration {
        self.timer.timeout
    }

    /// Returns the length of a datagram with `len` bytes of data.
    pub(crate) fn datagram_len(&self, len: usize) -> usize {
        self.outgoing.record_len(len, self.place_of_data())
    }

    fn place_of_data(&self) -> (usize, RecordEnd) {
        let end = if self.delimits_data { RecordEnd::Delimited } else { RecordEnd::OfDatagram };
        (self.max_datagram, end)
    }

    /// Returns the most data in one datagram, in bytes.
    pub(crate) fn max_data(&self) -> usize {
        self.outgoing.most_content(self.outgoing.newest(), self.max_datagram)
    }

    /// Sends an alert with the next datagram; nothing follows it but what is under way.
    pub(crate) fn send_alert(&mut self, alert: AlertDescription) {
        self.alert = Some(alert);
    }

    /// Ends the association: drops keys, messages and what is kept of the peer's. An alert may still be sent.
    pub(crate) fn end(&mut self) {
        self.incoming.epochs.close();
        self.fragments.clear();
        self.flight.give_up();
        self.acknowledgements.clear();
        self.timer.stop();
        self.unsent_early.clear();
        self.early_data = EarlyRecords::default();
        self.next_keys = None;
        self.late_secret = None;
        if self.alert.is_none() {
            self.outgoing.close();
        }
    }

    /// Returns whether there are keys to read with, so that what comes without protection is no one's in particular.
    pub(crate) fn has_read_keys(&self) -> bool {
        self.message_epoch > 0
    }

    /// Returns whether there are keys for data.
    pub(crate) fn has_application_keys(&self) -> bool {
        self.outgoing.newest() >= self.numbering.application()
    }

    /// Returns whether early data may be sent.
    pub(crate) fn is_in_early_data(&self) -> bool {
        self.outgoing.newest() == EARLY_DATA_EPOCH
    }
}

/// The least limit of a datagram's length without a connection ID, in bytes: for links such as IEEE 802.15.4's.
pub(crate) const SHORTEST_DATAGRAM: usize = 96;

/// How long late records may open under keys that were replaced.
const LATE_RECORDS: Duration = Duration::from_secs(10);

/// Twice the maximum segment lifetime (RFC 9293 §3.4.2), for which a server acknowledges the client's last flight again.
const LATE_FLIGHTS: Duration = Duration::from_secs(240);

const NO_MESSAGES_LEFT: Error = Error::TooEarly("the association has used up its message numbers");
