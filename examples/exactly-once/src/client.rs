//! The client: wants a number of increments, each once. [`crate::pending`] decides what it may send again.

use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use tessera::handshake::Checked;
use tessera::resume::{ClientSession, Continuation, FlightHandle, Receipt, Verdict};
use tessera::wire::NamedGroup;
use tessera::{ClientConfig, ClientConnection, Destination, Event, Output, ReadEvent, Time};
use tessera_harness::SERVER_NAME;
use tessera_null_provider::NullVerifier;

use crate::clock::WorldClock;
use crate::network::{ConnectionId, below};
use crate::pending::Pending;
use crate::slip::{Slip, heard_receipt, heard_verdict};
use crate::tally::{IncrementEvent, Tally};

/// A client with its disk.
pub struct Client {
    config: Checked<ClientConfig>,
    wanted: u32,
    disk: Disk,
    open: Option<Open>,
    clock: Arc<WorldClock>,
    slip: Option<Slip>,
    tally: Arc<Tally>,
}

/// The state that survives a restart.
#[derive(Default)]
struct Disk {
    sessions: Vec<Vec<u8>>,
    done: u32,
    pending: Option<Pending>,
}

struct Open {
    id: ConnectionId,
    connection: ClientConnection,
    input: Vec<u8>,
    line: Vec<u8>,
    /// The increment was sent in this connection, and may still be answered.
    sent: bool,
    idle: u32,
}

/// The limit of silence on a connection, in steps of the world.
const PATIENCE: u32 = 60;

impl Client {
    /// Creates a client that wants this many increments.
    pub fn new(
        wanted: u32,
        continuation: Continuation,
        clock: Arc<WorldClock>,
        slip: Option<Slip>,
        tally: Arc<Tally>,
    ) -> Self {
        let verifier = Arc::new(NullVerifier);
        let mut config = ClientConfig::new(tessera_aws_lc::provider(), verifier);
        config.groups = vec![NamedGroup::X25519, NamedGroup::SECP256R1];
        config.policy.early_data.forward_secret = Some(continuation);
        let config = config.checked().expect("a configuration that can work");
        let disk = Disk::default();
        Self { config, wanted, disk, open: None, clock, slip, tally }
    }

    /// Whether every increment was acknowledged.
    pub fn is_content(&self) -> bool {
        self.disk.done == self.wanted
    }

    /// Returns the key of the increment in progress.
    pub fn key(&self) -> Option<FlightHandle> {
        self.disk.pending.map(|pending| pending.key())
    }

    /// Whether bytes of this connection are still useful.
    pub fn is_on(&self, id: ConnectionId) -> bool {
        self.connection() == Some(id)
    }

    /// Returns its present connection.
    pub fn connection(&self) -> Option<ConnectionId> {
        self.open.as_ref().map(|open| open.id)
    }

    /// Loses everything but the disk; returns the connection that is gone.
    pub fn restart(&mut self) -> Option<ConnectionId> {
        self.tally.count(IncrementEvent::ClientRestarted);
        if self.slip == Some(Slip::ClientSavesLate) {
            self.disk.pending = None;
        }
        self.open.take().map(|open| open.id)
    }

    /// Gives up a connection that has been silent for too long.
    pub fn lose_patience(&mut self) -> Option<ConnectionId> {
        self.open.as_mut()?.idle += 1;
        self.open.take_if(|open| open.idle > PATIENCE).map(|open| open.id)
    }

    /// Connects, if there is something to do; returns its first flight.
    pub fn connect(
        &mut self,
        id: ConnectionId,
        now: Time,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Option<Vec<u8>> {
        if self.open.is_some() || self.is_content() {
            return None;
        }
        // A session leaves the disk before it is used.
        let session = self.disk.sessions.pop().and_then(|file| ClientSession::import(&file).ok());
        let again = self.disk.pending.filter(Pending::was_sent);
        // A client that doesn't know asks, or sends again at once under the same key.
        let asked = again.filter(|_| below(rng, 2) == 0).map(|pending| pending.key());
        let destination = Destination {
            server_name: SERVER_NAME.into(),
            session: session.map(Box::new),
            ask_receipts: asked.into_iter().collect(),
            clock: Some(self.clock.clone()),
            ..Destination::default()
        };
        let mut output = Output::new();
        let mut connection =
            ClientConnection::start(self.config.clone(), destination, now, &mut output).ok()?;
        self.tally.count(IncrementEvent::Connection);
        let flight = connection.facts().flight;
        let mut sent = false;
        if let (Some(flight), None) = (flight, asked) {
            // The first copy's key is the name of its flight, so it carries none.
            let mut pending = again.unwrap_or_else(|| Pending::new(flight));
            let message = if again.is_some() { keyed(&pending.key()) } else { b"INC\n".to_vec() };
            pending.note_copy(Some(flight));
            self.disk.pending = Some(pending);
            connection.write_early_data(&message, &mut output).ok()?;
            sent = true;
        }
        let (input, line) = (Vec::new(), Vec::new());
        self.open = Some(Open { id, connection, input, line, sent, idle: 0 });
        Some(output.as_slice().to_vec())
    }

    /// Handles bytes that arrive; returns the answer. Those of a connection that is gone are ignored.
    pub fn receive(
        &mut self,
        id: ConnectionId,
        bytes: &[u8],
        now: Time,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Vec<u8> {
        let Some(mut open) = self.open.take_if(|open| open.id == id) else { return Vec::new() };
        open.input.extend_from_slice(bytes);
        open.idle = 0;
        let mut output = Output::new();
        let goes_on = self
            .read(&mut open, now, &mut output, rng)
            .and_then(|()| self.send_next(&mut open, &mut output, rng));
        self.open = goes_on.map(|()| open);
        output.as_slice().to_vec()
    }

    fn read(
        &mut self,
        open: &mut Open,
        now: Time,
        output: &mut Output,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Option<()> {
        let mut consumed = 0;
        loop {
            let rest = open.input.get_mut(consumed..)?;
            let progress = open.connection.read(now, rest, output).ok()?;
            let data_from = consumed;
            consumed += progress.consumed;
            match progress.event {
                ReadEvent::Data(data) => {
                    open.line.extend_from_slice(open.input.get(data_from..)?.get(data)?);
                }
                ReadEvent::Handshake(Event::NewSession(session)) => {
                    self.disk.sessions.push(session.export().to_vec());
                }
                ReadEvent::Handshake(Event::EarlyDataAccepted) => {
                    self.tally.count(IncrementEvent::Accepted);
                }
                ReadEvent::Handshake(Event::EarlyDataRejected(verdict)) => {
                    open.sent = false;
                    self.judge(open.connection.facts().flight, verdict, rng);
                }
                ReadEvent::Handshake(Event::HandshakeComplete) => {
                    for (flight, receipt) in &open.connection.facts().receipts {
                        self.settle(*flight, *receipt, rng);
                    }
                }
                ReadEvent::NeedInput | ReadEvent::OutputFull => break,
                ReadEvent::PeerClosed => return None,
                _ => (),
            }
        }
        open.input.drain(..consumed);
        while let Some(end) = open.line.iter().position(|byte| *byte == b'\n') {
            open.line.drain(..=end);
            if open.sent {
                open.sent = false;
                self.count();
            }
        }
        Some(())
    }

    /// Handles the verdict on the flight of an increment.
    fn judge(
        &mut self,
        flight: Option<FlightHandle>,
        verdict: Verdict,
        rng: &mut Xoshiro256PlusPlus,
    ) {
        self.tally.count(match verdict {
            Verdict::Burned => IncrementEvent::VerdictBurned,
            Verdict::Used => IncrementEvent::VerdictUsed,
            _ => IncrementEvent::VerdictUnknown,
        });
        if let (Some(flight), Verdict::Burned) = (flight, heard_verdict(self.slip, verdict)) {
            self.hear_burned(flight, rng);
        }
    }

    /// Handles a receipt for it.
    fn settle(&mut self, flight: FlightHandle, receipt: Receipt, rng: &mut Xoshiro256PlusPlus) {
        self.tally.count(match receipt {
            Receipt::Burned => IncrementEvent::ReceiptBurned,
            Receipt::TakenNotDone => IncrementEvent::ReceiptTakenNotDone,
            Receipt::Done => IncrementEvent::ReceiptDone,
            _ => IncrementEvent::ReceiptUnknown,
        });
        match heard_receipt(self.slip, receipt) {
            Receipt::Burned => self.hear_burned(flight, rng),
            Receipt::Done if self.key() == Some(flight) => self.count(),
            _ => (),
        }
    }

    /// Handles a burned flight: an increment whose only copy was in it is sent again under another key.
    fn hear_burned(&mut self, flight: FlightHandle, rng: &mut Xoshiro256PlusPlus) {
        let is_void = |pending: Pending| match self.slip {
            Some(Slip::ClientForgetsCopies) => pending.key() == flight,
            Some(Slip::ClientMixesFlightsUp) => pending.is_void(pending.key()),
            _ => pending.is_void(flight),
        };
        if self.disk.pending.is_some_and(is_void) {
            self.disk.pending = Some(Pending::new(new_key(rng)));
        }
    }

    fn count(&mut self) {
        self.disk.pending = None;
        self.disk.done += 1;
    }

    /// Sends the next increment, once the handshake is complete; `None` to close instead.
    fn send_next(
        &mut self,
        open: &mut Open,
        output: &mut Output,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Option<()> {
        if open.sent || !open.connection.facts().handshake_complete {
            return Some(());
        }
        // Reconnecting is the point: only one increment in three continues on the same connection.
        if self.is_content() || (self.disk.pending.is_none() && below(rng, 3) > 0) {
            open.connection.close(output);
            return None;
        }
        let mut pending = self.disk.pending.unwrap_or_else(|| Pending::new(new_key(rng)));
        pending.note_copy(None);
        self.disk.pending = Some(pending);
        open.connection.write(&keyed(&pending.key()), output).ok()?;
        open.sent = true;
        Some(())
    }
}

/// Returns an increment with its key.
fn keyed(key: &FlightHandle) -> Vec<u8> {
    let key: String = key.0.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("INC {key}\n").into_bytes()
}

fn new_key(rng: &mut Xoshiro256PlusPlus) -> FlightHandle {
    let mut key = [0; FlightHandle::LEN];
    rng.fill_bytes(&mut key);
    FlightHandle(key)
}
