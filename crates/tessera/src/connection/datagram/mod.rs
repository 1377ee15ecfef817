//! The face over datagrams: DTLS 1.3 (RFC 9147).
//!
//! ```text
//!   datagram from the peer ──► read() ──► events, data (in place), questions
//!   datagrams to the peer ◄── transmit(), whenever there is something to send
//!   one datagram ◄── write() ◄── data
//!   deadline() ──► handle_timeout() ──► transmit()
//! ```
//!
//! Call [`Association::read`] with each datagram until it needs another, then [`Association::transmit`] until it has
//! nothing more to send; and both [`handle_timeout`](Association::handle_timeout) and `transmit` at
//! [`Association::deadline`].

mod client;
mod connection_id;
mod sleep;
mod stateless;

pub use stateless::{HelloPart, HelloReader, connection_id_of, offers_psk, write_retry};

use alloc::vec::Vec;
use core::time::Duration;

use super::{Progress, ReadEvent};
use crate::connection_id::ConnectionId;
use crate::error::{
    Error, PeerRejected, decode_error, illegal_parameter, protocol, unexpected_message,
};
use crate::handshake::{
    Arrival, Checked, ClientHandshake, Core, Direction, Epoch, Event, Facts, Handshake,
    ServerConfig, ServerHandshake,
};
use crate::limits::{MAX_CLIENT_HELLO_OF_DATAGRAMS, MAX_WARNINGS};
use crate::question::{OpenQuestion, Question, Token};
use crate::record::{
    APPLICATION_EPOCH, DatagramBelow, Datagrams, DroppedRecords, EARLY_DATA_EPOCH, Forgeries,
    HANDSHAKE_EPOCH, NextRecord, OpenedRecord,
};
use crate::role::Role;
use crate::schedule::DATAGRAM;
use crate::time::Time;
use crate::wire::{AlertDescription, ContentType, HandshakeMessage, HandshakeType};

/// A connection over datagrams, as RFC 9147 calls it: see [`ClientAssociation`] and [`ServerAssociation`].
///
/// Data may be lost, doubled by no one, and arrive in any order. Records that don't open change nothing but
/// [a count](Self::dropped): anyone can send them.
pub struct Association<H: Handshake> {
    core: Core<H>,
    datagrams: Datagrams,
    /// This side's connection ID, until the hellos agree on connection IDs.
    own_id: Option<ConnectionId>,
    read_closed: bool,
    /// The peer's close_notify is to be reported, once: records from before it may still come.
    owes_end: bool,
    write_closed: bool,
    warnings: u8,
}

/// A client's association.
pub type ClientAssociation = Association<ClientHandshake>;

/// A server's association.
pub type ServerAssociation = Association<ServerHandshake>;

/// What is specific to one association.
#[derive(Debug, Clone)]
pub struct AssociationOptions {
    /// The connection ID that the peer puts into records to this side. Empty, and by default: none, but the peer may
    /// have one (RFC 9147 §5.1). `None`: no connection IDs in either direction.
    pub connection_id: Option<ConnectionId>,
    /// How long to wait for the answer to the first flight before it is sent again. Default: 1 s. If the round-trip time
    /// is known, one and a half times that is better (RFC 9147 §5.8.2).
    pub first_timeout: Duration,
    /// Whether the round-trip time replaces `first_timeout` once it is measured (RFC 9147 §5.8.2). Default: yes.
    /// Otherwise the answer to each flight has `first_timeout` at first: for peers whose round trips are no guide, as
    /// those of devices that sleep.
    pub measures_round_trips: bool,
    /// The longest datagram to send, in bytes, without the headers of UDP and IP. Halved after each timeout but the
    /// first. Default: 1200.
    pub max_datagram: usize,
    /// How many records of a flight are sent at once, before an ACK or a timeout: RFC 9147 §5.8.3 warns of more than 10,
    /// the default.
    pub max_burst: u8,
    /// Whether records of data have a length, so that others can follow them in their datagram. Default: no.
    pub delimits_data: bool,
}

impl AssociationOptions {
    /// Returns the record layer of an association.
    fn datagrams(&self, role: Role) -> Datagrams {
        let Self { first_timeout, measures_round_trips, max_datagram, max_burst, .. } = *self;
        let mut datagrams =
            Datagrams::new(role, first_timeout, measures_round_trips, max_datagram, max_burst);
        datagrams.delimits_data = self.delimits_data;
        datagrams
    }
}

impl Default for AssociationOptions {
    fn default() -> Self {
        Self {
            connection_id: Some(ConnectionId::default()),
            first_timeout: Duration::from_secs(1),
            measures_round_trips: true,
            max_datagram: 1200,
            max_burst: 10,
            delimits_data: false,
        }
    }
}

impl ServerAssociation {
    /// Waits for a client.
    ///
    /// # Errors
    /// [`Error::Configuration`] if the extensions of `arrival` leave no room for the connection ID.
    pub fn start(
        config: Checked<ServerConfig>,
        arrival: Arrival,
        options: AssociationOptions,
        now: Time,
    ) -> Result<Self, Error> {
        let is_after_retry = arrival.is_after_retry();
        let extension = options.connection_id.as_ref().map(connection_id::extension);
        let arrival = arrival.with_extensions(extension.into_iter().collect())?;
        let core = Core::server(config, arrival, &DATAGRAM, now);
        let mut datagrams = options.datagrams(Role::Server);
        if is_after_retry {
            datagrams.after_stateless_retry();
        }
        Ok(Self::new(core, datagrams, options.connection_id))
    }
}

impl<H: Handshake> Association<H> {
    fn new(core: Core<H>, datagrams: Datagrams, own_id: Option<ConnectionId>) -> Self {
        Self {
            core,
            datagrams,
            own_id,
            read_closed: false,
            owes_end: false,
            write_closed: false,
            warnings: 0,
        }
    }

    /// Reads `datagram`, or what is left of it, decrypting in place, up to the next event. While a question is open,
    /// messages are kept.
    ///
    /// An error ends the association; [`transmit`](Self::transmit) then still sends its alert.
    pub fn read(&mut self, now: Time, datagram: &mut [u8]) -> Result<Progress<H::Question>, Error> {
        if let Some(error) = self.core.failure() {
            return Err(error.clone());
        }
        self.wake();
        match self.read_on(now, datagram) {
            // Data already received is processed even after the deadline.
            Ok(progress) if progress.event.waits() && self.is_late(now) => {
                Err(self.fail(Error::TimedOut))
            }
            Err(error) => Err(self.fail(error)),
            progress => progress,
        }
    }

    fn read_on(&mut self, now: Time, datagram: &mut [u8]) -> Result<Progress<H::Question>, Error> {
        let mut consumed = 0;
        loop {
            if let Some(event) = self.core.event() {
                if matches!(event, Event::HandshakeComplete) {
                    self.datagrams.complete(now.monotonic);
                    if self.write_closed {
                        self.core.end(Direction::Write);
                    }
                }
                return Ok(Progress { consumed, event: ReadEvent::Handshake(event) });
            }
            if let Some(question) = self.core.question() {
                return Ok(Progress { consumed, event: ReadEvent::Question(question) });
            }
            if let Some(data) = self.datagrams.early_data.next() {
                return Ok(Progress { consumed, event: ReadEvent::EarlyDatagram(data) });
            }
            // The answer to a ClientHello counts the early data that came with it.
            let is_read = H::ROLE == Role::Client
                || consumed == datagram.len()
                || self.datagrams.has_read_keys();
            if is_read && !self.core.is_suspended() && self.read_message(now)? {
                continue;
            }
            if core::mem::take(&mut self.owes_end) {
                return Ok(Progress { consumed, event: ReadEvent::PeerClosed });
            }
            if consumed == datagram.len() {
                let event = match self.core.is_suspended() {
                    true => ReadEvent::WaitingForAnswer,
                    false => ReadEvent::NeedInput,
                };
                return Ok(Progress { consumed, event });
            }
            let begin = consumed;
            match self.datagrams.incoming.next(&mut datagram[begin..], now.monotonic) {
                NextRecord::Dropped(len) => {
                    consumed += len;
                    self.count_forgeries()?;
                }
                NextRecord::WithoutKeys(len) => {
                    consumed += len;
                    let may_keep = H::ROLE == Role::Server && !self.datagrams.has_read_keys();
                    if !may_keep || !self.datagrams.keep_early(&datagram[begin..consumed]) {
                        self.datagrams.incoming.counts.without_keys += 1;
                    }
                    self.datagrams.note_missing_keys(now.monotonic);
                }
                NextRecord::Invalid(error) => return Err(error),
                NextRecord::Opened(record, len) => {
                    consumed += len;
                    let content = begin + record.content.start..begin + record.content.end;
                    if let Some(is_early) = self.record(&record, &datagram[content.clone()], now)? {
                        let event = match is_early {
                            true => ReadEvent::EarlyData(content),
                            false => ReadEvent::Data(content),
                        };
                        return Ok(Progress { consumed, event });
                    }
                }
            }
        }
    }

    /// Handles a record; for data returns whether it is early.
    fn record(
        &mut self,
        record: &OpenedRecord,
        content: &[u8],
        now: Time,
    ) -> Result<Option<bool>, Error> {
        let epoch = record.number.epoch;
        self.datagrams.note_newest_keys(epoch, now.monotonic);
        match record.typ {
            ContentType::HANDSHAKE => {
                let longest = match H::ROLE {
                    Role::Server if epoch == 0 => MAX_CLIENT_HELLO_OF_DATAGRAMS,
                    _ => self.core.max_message(),
                };
                self.datagrams.keep_messages(record, content, longest, now.monotonic)?;
            }
            ContentType::ACK => self.datagrams.receive_ack(content, epoch, now.monotonic)?,
            ContentType::ALERT => self.alert(record, content)?,
            ContentType::APPLICATION_DATA if epoch >= APPLICATION_EPOCH => {
                self.core.saw_data();
                return Ok((!content.is_empty()).then_some(false));
            }
            ContentType::APPLICATION_DATA if epoch == EARLY_DATA_EPOCH => {
                let left = &mut self.datagrams.early_data_left;
                let less = left.checked_sub(content.len());
                *left =
                    less.ok_or(unexpected_message("more early data than max_early_data_size"))?;
                return Ok((!content.is_empty()).then_some(true));
            }
            _ => return Err(unexpected_message("a record of another type than may come")),
        }
        Ok(None)
    }

    /// Hands the next whole message to the handshake; returns whether there was one.
    fn read_message(&mut self, now: Time) -> Result<bool, Error> {
        let Some((epoch, bytes)) = self.datagrams.next_message(now.monotonic) else {
            return Ok(false);
        };
        let message = HandshakeMessage::split_from(&bytes).ok_or(NOT_WHOLE)?;
        if connection_id::is_about_ids(message.typ) {
            self.receive_about_ids(message)?;
            return Ok(true);
        }
        if message.typ == HandshakeType::HELLO_VERIFY_REQUEST && H::ROLE == Role::Client {
            let alert = AlertDescription::PROTOCOL_VERSION;
            return Err(protocol(alert, "the server speaks no DTLS 1.3"));
        }
        let epoch = match epoch {
            0 => Epoch::Initial,
            HANDSHAKE_EPOCH => Epoch::Handshake,
            _ => Epoch::Application,
        };
        let mut below = DatagramBelow { datagrams: &mut self.datagrams };
        self.core.message(epoch, message, now, &mut below)?;
        self.agree_on_ids()?;
        Ok(true)
    }

    fn alert(&mut self, record: &OpenedRecord, content: &[u8]) -> Result<(), Error> {
        if record.number.epoch == 0 && self.datagrams.has_read_keys() {
            // Anyone can have sent it.
            self.datagrams.incoming.counts.misplaced += 1;
            return Ok(());
        }
        let alert = match content {
            // RFC 8446 §6: the level has no meaning, but only two values exist.
            [1 | 2, description] => AlertDescription(*description),
            [_, _] => return Err(illegal_parameter("an alert of no known level")),
            _ => return Err(decode_error("an alert has two bytes")),
        };
        match alert {
            AlertDescription::CLOSE_NOTIFY if !self.core.is_complete() => {
                Err(Error::AlertReceived(alert))
            }
            AlertDescription::CLOSE_NOTIFY => {
                self.owes_end = !core::mem::replace(&mut self.read_closed, true);
                self.datagrams.incoming.end_at(record.number);
                self.core.end(Direction::Read);
                Ok(())
            }
            AlertDescription::USER_CANCELED => {
                // RFC 8446 §6.1: a close_notify follows.
                self.warnings += 1;
                if self.warnings > MAX_WARNINGS {
                    return Err(unexpected_message("too many warnings"));
                }
                Ok(())
            }
            alert => Err(Error::AlertReceived(alert)),
        }
    }

    /// Replaces keys under which many records were forged, or ends the association (RFC 9147 §4.5.3).
    fn count_forgeries(&mut self) -> Result<(), Error> {
        match self.datagrams.incoming.forgeries() {
            Forgeries::Few => Ok(()),
            Forgeries::NearLimit => {
                // The peer's keys are at stake: ask for new ones.
                let _ = self.update_keys(true);
                Ok(())
            }
            Forgeries::AtLimit => Err(protocol(
                AlertDescription::BAD_RECORD_MAC,
                "as many forged records as the keys withstand",
            )),
        }
    }

    /// Answers a question.
    pub fn answer<Q: Question>(
        &mut self,
        token: Token<Q>,
        answer: Q::Answer,
        now: Time,
    ) -> Result<(), Error>
    where
        H::Question: From<OpenQuestion<Q>>,
    {
        if let Some(error) = self.core.failure() {
            return Err(error.clone());
        }
        let mut below = DatagramBelow { datagrams: &mut self.datagrams };
        let result = self.core.answer(token, answer, now, &mut below);
        let result = result.and_then(|()| self.agree_on_ids());
        result.map_err(|error| if error.is_final() { self.fail(error) } else { error })
    }

    /// Appends the next datagram to send to `out`; returns whether there is one.
    pub fn transmit(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        self.transmit_within(usize::MAX, now, out)
    }

    /// The same with a datagram of at most `room` bytes: what may still be sent to an address that is unproved
    /// (RFC 9147 §5.1). Less than 96 bytes may hold nothing.
    pub fn transmit_within(&mut self, room: usize, now: Time, out: &mut Vec<u8>) -> bool {
        if !self.datagrams.has_output(now.monotonic) {
            return false;
        }
        self.wake();
        self.datagrams.transmit(room, now.monotonic, out)
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) must be called even if nothing arrived, on the monotonic
    /// clock; then call [`transmit`](Self::transmit).
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        [self.core.deadline(), self.datagrams.deadline()].into_iter().flatten().min()
    }

    /// Does what is due: sends a flight again, or ends a handshake that takes too long, or in which a flight was sent
    /// again twelve times without an answer.
    ///
    /// # Errors
    /// [`Error::TimedOut`], which ends the association.
    pub fn handle_timeout(&mut self, now: Time) -> Result<(), Error> {
        if let Some(error) = self.core.failure() {
            return Err(error.clone());
        }
        if self.is_late(now) {
            return Err(self.fail(Error::TimedOut));
        }
        self.datagrams.expire(now.monotonic).map_err(|error| self.fail(error))
    }

    /// Returns whether data may be written. A server may write once its flight is sent, before the client's Finished
    /// has authenticated the client.
    #[must_use]
    pub fn can_write(&self) -> bool {
        self.check_writable().is_ok() && self.datagrams.has_application_keys()
    }

    /// Changes [`first_timeout`](AssociationOptions::first_timeout), also for what was sent: the round-trip time may become
    /// known from elsewhere, such as ICE (RFC 9147 §5.8.2).
    pub fn set_first_timeout(&mut self, timeout: Duration) {
        self.datagrams.set_first_timeout(timeout);
    }

    /// Sends datagrams of at most `len` bytes from now on, without the headers of UDP and IP: what the path is known to
    /// carry, or the socket to refuse. Timeouts shorten them again.
    pub fn set_max_datagram(&mut self, len: usize) {
        self.datagrams.set_max_datagram(len);
    }

    /// Returns the most data in one datagram, in bytes.
    #[must_use]
    pub fn max_data(&self) -> usize {
        self.datagrams.max_data()
    }

    /// Appends a datagram with `data` to `out`, of at most [`max_data`](Self::max_data) bytes. It is sent once: what
    /// must arrive is the application's to repeat. First [`transmit`](Self::transmit): a peer drops data that overtakes the
    /// end of the handshake.
    ///
    /// # Errors
    /// [`Error::TooEarly`] before there are keys, or while used-up keys wait for the peer to acknowledge new ones;
    /// [`Error::Misuse`] if the data is too long.
    pub fn write(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        self.check_writable()?;
        if !self.can_write() {
            return Err(Error::TooEarly("no application data yet"));
        }
        if data.len() > self.max_data() {
            return Err(Error::Misuse("more data than one datagram holds"));
        }
        self.wake();
        // RFC 8446 §5.5: change the keys before they are used up.
        let used_up = self.datagrams.outgoing.nears_limit();
        let owed = self.core.owes_update();
        let may_update =
            self.core.is_complete() && self.datagrams.may_send_after_handshake().is_ok();
        if (used_up || owed) && may_update {
            self.update_keys(used_up)?;
        }
        if self.datagrams.outgoing.is_at_limit() {
            return Err(Error::TooEarly("the keys are used up, and the new ones not acknowledged"));
        }
        self.datagrams.write_data(data, out);
        Ok(())
    }

    /// Returns whether the peer waits for new keys of this side. [`write`](Self::write) changes them by itself, after
    /// its own record.
    #[must_use]
    pub fn owes_update(&self) -> bool {
        self.core.owes_update()
    }

    /// Changes this side's keys, and with `request` asks the peer to change its own. [`transmit`](Self::transmit) sends
    /// the message; the keys change when the peer has acknowledged it.
    ///
    /// # Errors
    /// [`Error::TooEarly`] while an earlier change is under way.
    pub fn update_keys(&mut self, request: bool) -> Result<(), Error> {
        self.check_writable()?;
        // From the secret that the update replaces.
        self.wake();
        let mut below = DatagramBelow { datagrams: &mut self.datagrams };
        self.core.update_keys(request, &mut below)
    }

    /// Sends close_notify with the next datagram: this side sends nothing more, and may continue to read.
    pub fn close(&mut self) {
        if !self.write_closed {
            self.write_closed = true;
            self.datagrams.send_alert(AlertDescription::CLOSE_NOTIFY);
            self.core.end(Direction::Write);
        }
    }

    /// Ends the association because the owner has withdrawn what it rests on; returns the error, as later calls do.
    pub fn refuse(&mut self, why: PeerRejected) -> Error {
        match self.core.failure() {
            Some(error) => error.clone(),
            None => self.fail(Error::PeerRejected(why)),
        }
    }

    /// Exports keying material (RFC 8446 §7.5), of up to 255 hash outputs; see
    /// [`Connection::export_keying_material`](crate::Connection::export_keying_material).
    pub fn export_keying_material(
        &mut self,
        label: &[u8],
        context: &[u8],
        out: &mut [u8],
    ) -> Result<(), Error> {
        self.core.export_keying_material(label, context, out)
    }

    /// Returns what is known of the association.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        self.core.facts()
    }

    /// Returns how many records were dropped.
    #[must_use]
    pub fn dropped(&self) -> DroppedRecords {
        self.datagrams.incoming.counts
    }

    /// Returns the epoch and sequence number of the newest record that opened: when it grows, the peer is where that
    /// came from.
    #[must_use]
    pub fn newest_record(&self) -> (u64, u64) {
        self.datagrams.incoming.newest_record()
    }

    /// Returns whether the peer has acknowledged every message.
    #[must_use]
    pub fn is_acknowledged(&self) -> bool {
        self.datagrams.is_acknowledged()
    }

    /// Ends the association: sends the alert for the error, and keeps the error.
    fn fail(&mut self, error: Error) -> Error {
        if let Some(alert) = error.alert()
            && !self.write_closed
        {
            self.datagrams.send_alert(alert);
        }
        self.write_closed = true;
        self.read_closed = true;
        self.datagrams.end();
        self.core.fail(error)
    }

    fn is_late(&self, now: Time) -> bool {
        self.core.deadline().is_some_and(|deadline| deadline <= now.monotonic)
    }

    fn check_writable(&self) -> Result<(), Error> {
        match self.core.failure() {
            Some(error) => Err(error.clone()),
            None if self.write_closed => Err(Error::Closed),
            None => Ok(()),
        }
    }
}

/// Fragments make whole messages only.
const NOT_WHOLE: Error = Error::Internal("a message that is not whole");
