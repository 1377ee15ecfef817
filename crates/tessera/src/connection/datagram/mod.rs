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
mod frozen;
mod idle;
mod options;
mod reading;
mod reset;
mod return_routability;
mod server_address;
mod sleep;
mod stateless;
mod writing;

pub use connection_id::ConnectionIdUsage;
pub use idle::IdleAssociation;
pub use options::AssociationOptions;
pub use reset::ResetToken;
pub use server_address::ServerAddress;
pub use stateless::{HelloPart, HelloReader, connection_id_of, offers_extension, write_retry};

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use super::Progress;
use crate::connection_id::ConnectionId;
use crate::error::{Error, PeerRejected};
use crate::handshake::{
    Arrival, Checked, ClientHandshake, Core, Facts, Handshake, ServerConfig, ServerHandshake,
};
use crate::question::{OpenQuestion, Question, Token};
use crate::record::{DatagramBelow, Datagrams, DroppedRecords};
use crate::role::Role;
use crate::schedule::DATAGRAM;
use crate::time::Time;

use client::KnownServer;

/// A connection over datagrams, as RFC 9147 calls it: see [`ClientAssociation`] and [`ServerAssociation`].
///
/// Data may be lost and may arrive in any order, but none is read twice. Records that don't open change nothing but
/// [a count](Self::dropped): anyone can send them.
pub struct Association<H: Handshake> {
    core: Core<H>,
    datagrams: Datagrams,
    /// This side's connection ID, until the hellos agree on connection IDs.
    own_id: Option<ConnectionId>,
    /// The peer has not answered a RequestConnectionId.
    awaits_ids: bool,
    /// Both sides answer path challenges.
    can_check_paths: bool,
    /// At a client, what it keeps of its server.
    server: Option<Box<KnownServer>>,
    /// How many connection IDs the peer asks for, until that is reported.
    requested_ids: Option<u8>,
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
        let arrival = arrival.with_extensions(options.extensions(Role::Server))?;
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
            awaits_ids: false,
            can_check_paths: false,
            server: None,
            requested_ids: None,
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
        self.check_reset(datagram).map_err(|error| self.fail(error))?;
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
    /// (RFC 9147 §5.1). Less than [`SHORTEST_DATAGRAM`](AssociationOptions::SHORTEST_DATAGRAM) may hold nothing.
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

    /// Returns when it sends something although nothing arrives, an ACK or a flight again, on the monotonic clock;
    /// `None`: nothing is under way. An earlier [`deadline`](Self::deadline) drops keys or ends the handshake.
    #[must_use]
    pub fn transmits_at(&self) -> Option<Duration> {
        self.datagrams.transmits_at()
    }

    /// Does what is due: drops keys that were replaced, sends a flight again, or ends a handshake that takes too long,
    /// or in which a flight was sent again twelve times without an answer.
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
        self.datagrams.incoming.epochs.newest_record()
    }

    /// Returns whether the peer has acknowledged every message.
    #[must_use]
    pub fn is_acknowledged(&self) -> bool {
        self.datagrams.is_acknowledged()
    }

    /// Returns how many bytes of handshake messages were sent again, without the headers of fragments, records and
    /// datagrams.
    #[must_use]
    pub fn resent(&self) -> u64 {
        self.datagrams.resent()
    }

    /// Ends the association: sends the alert for the error, and keeps the error.
    fn fail(&mut self, error: Error) -> Error {
        if let Some(alert) = error.alert()
            && !self.write_closed
        {
            self.wake();
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
