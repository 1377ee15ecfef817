//! The client: wants so many increments, each once.
//!
//! It keeps on its disk which increment is under way, under which key, *before* anything is sent. What
//! it sends again, and how, follows from what it knows of the first copy:
//!
//! | it knows | so the increment | and it sends |
//! |---|---|---|
//! | "OK", or the receipt "done" | was counted | the next one |
//! | "burned", and that flight had the only copy | was not counted, and never will be | it anew, under another key |
//! | anything else, or nothing | may have been counted, or may be later | it again, under the same key |
//!
//! "Burned" speaks of one flight. Once the increment was sent in another way too, under the same key,
//! it says nothing any more.

use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use tessera::resume::{ClientSession, Continuation, FlightHandle, Receipt, Verdict};
use tessera::wire::NamedGroup;
use tessera::{ClientConfig, ClientConnection, Destination, Event, Output, ReadEvent, Time};
use tessera_harness::SERVER_NAME;
use tessera_null_provider::NullVerifier;

use crate::network::{ConnectionId, below};
use crate::world::Slip;

/// A client with its disk.
pub struct Client {
    config: Arc<ClientConfig>,
    wanted: u32,
    disk: Disk,
    open: Option<Open>,
    slip: Option<Slip>,
    /// What happened to it, for the report.
    pub seen: Seen,
}

/// What survives a restart.
#[derive(Default)]
struct Disk {
    sessions: Vec<Vec<u8>>,
    done: u32,
    /// The increment under way: its key, and where copies of it may be.
    pending: Option<(FlightHandle, Copies)>,
}

/// Where an increment may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copies {
    /// On the disk alone.
    None,
    /// In the flight that its key is the name of.
    Flight,
    /// In other messages too.
    More,
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

/// How often something was seen.
#[derive(Default, Clone, Copy)]
pub struct Seen {
    /// Connections begun.
    pub connections: u64,
    /// Flights of early data that were accepted.
    pub accepted: u64,
    /// Verdicts: burned, used, unknown.
    pub verdicts: [u64; 3],
    /// Receipts: burned, taken and not done, done, unknown.
    pub receipts: [u64; 4],
}

/// A connection that has been silent for so long is given up, in steps of the world.
const PATIENCE: u32 = 60;

impl Client {
    /// A client that wants so many increments.
    pub fn new(wanted: u32, continuation: Continuation, slip: Option<Slip>) -> Self {
        let verifier = Arc::new(NullVerifier);
        let mut config = ClientConfig::new(tessera_aws_lc::provider(), verifier);
        config.groups = vec![NamedGroup::X25519, NamedGroup::SECP256R1];
        config.policy.early_data.forward_secret = Some(continuation);
        let config = Arc::new(config);
        let (disk, seen) = (Disk::default(), Seen::default());
        Self { config, wanted, disk, open: None, slip, seen }
    }

    /// Whether every increment was acknowledged.
    pub fn is_content(&self) -> bool {
        self.disk.done == self.wanted
    }

    /// Loses everything but the disk; gives the connection that is gone.
    pub fn restart(&mut self) -> Option<ConnectionId> {
        self.open.take().map(|open| open.id)
    }

    /// Gives up a connection that has been silent for too long.
    pub fn lose_patience(&mut self) -> Option<ConnectionId> {
        let open = self.open.as_mut()?;
        open.idle += 1;
        if open.idle > PATIENCE { self.restart() } else { None }
    }

    /// Connects, if there is something to do; gives the connection and its first flight.
    pub fn connect(
        &mut self,
        id: ConnectionId,
        now: Time,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Option<(ConnectionId, Vec<u8>)> {
        if self.open.is_some() || self.is_content() {
            return None;
        }
        // A session leaves the disk before it is used.
        let session = self.disk.sessions.pop().and_then(|file| ClientSession::import(&file).ok());
        let flight = session.as_ref().and_then(|session| session.forward_secret.as_ref());
        let flight = flight.map(|ticket| ticket.handle);
        let (key, copies) = match self.disk.pending {
            Some((key, copies)) if copies != Copies::None => (key, copies),
            _ => (flight.unwrap_or_else(|| new_key(rng)), Copies::None),
        };
        self.disk.pending = Some((key, copies));
        let again = copies != Copies::None;
        // A client that doesn't know asks, or sends again at once under the same key.
        let ask = again && below(rng, 2) == 0;
        let destination = Destination {
            server_name: SERVER_NAME.into(),
            session,
            ask_receipts: if ask { vec![key] } else { Vec::new() },
            ..Destination::default()
        };
        let mut output = Output::new();
        let connection =
            ClientConnection::start(self.config.clone(), destination, now, &mut output).ok()?;
        self.seen.connections += 1;
        let (input, line) = (Vec::new(), Vec::new());
        let mut open = Open { id, connection, input, line, sent: false, idle: 0 };
        if open.connection.early_data_room() > 0 && !ask {
            // The first copy has the flight's own name for a key.
            let (copies, message) = match again {
                false => (Copies::Flight, b"INC\n".to_vec()),
                true => (Copies::More, keyed(&key)),
            };
            self.disk.pending = Some((key, copies));
            open.connection.write_early_data(&message, &mut output).ok()?;
            open.sent = true;
        }
        self.open = Some(open);
        Some((id, output.as_slice().to_vec()))
    }

    /// Bytes arrive; gives what it answers. Those of a connection that is gone are nothing.
    pub fn receive(
        &mut self,
        id: ConnectionId,
        bytes: &[u8],
        now: Time,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Option<Vec<u8>> {
        let mut open = self.open.take().filter(|open| open.id == id)?;
        open.input.extend_from_slice(bytes);
        open.idle = 0;
        let mut output = Output::new();
        let alive = self.read(&mut open, now, &mut output, rng).is_some();
        let more = alive && self.send_next(&mut open, now, &mut output, rng).is_some();
        if more {
            self.open = Some(open);
        }
        Some(output.as_slice().to_vec())
    }

    /// Whether bytes of this connection are still of use.
    pub fn is_on(&self, id: ConnectionId) -> bool {
        self.open.as_ref().is_some_and(|open| open.id == id)
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
            let progress = open.connection.read(now, &mut open.input[consumed..], output).ok()?;
            consumed += progress.consumed;
            match progress.event {
                ReadEvent::Data(data) => open.line.extend_from_slice(data),
                ReadEvent::Handshake(Event::NewSession(session)) => {
                    self.disk.sessions.push(session.export().to_vec());
                }
                ReadEvent::Handshake(Event::EarlyDataAccepted) => self.seen.accepted += 1,
                ReadEvent::Handshake(Event::EarlyDataRejected(verdict)) => {
                    open.sent = false;
                    self.judge(verdict, rng);
                }
                ReadEvent::Handshake(Event::HandshakeComplete) => {
                    if let Some((_, receipt)) = open.connection.facts().receipts.first() {
                        self.settle(*receipt, rng);
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

    /// What a refused flight means for the increment.
    fn judge(&mut self, verdict: Verdict, rng: &mut Xoshiro256PlusPlus) {
        let (place, burned) = match verdict {
            Verdict::Burned => (0, true),
            Verdict::Used => (1, false),
            Verdict::Unknown => (2, self.slip == Some(Slip::ClientTakesUnknownForBurned)),
        };
        self.seen.verdicts[place] += 1;
        if burned {
            self.start_anew(rng);
        }
    }

    /// A flight was burned: if it had the only copy, there is none any more.
    fn start_anew(&mut self, rng: &mut Xoshiro256PlusPlus) {
        let only = matches!(self.disk.pending, Some((_, Copies::Flight)));
        if only || self.slip == Some(Slip::ClientForgetsCopies) {
            self.disk.pending = Some((new_key(rng), Copies::None));
        }
    }

    /// What a receipt means for it.
    fn settle(&mut self, receipt: Receipt, rng: &mut Xoshiro256PlusPlus) {
        let place = match receipt {
            Receipt::Burned => 0,
            Receipt::TakenNotDone => 1,
            Receipt::Done => 2,
            Receipt::Unknown => 3,
        };
        self.seen.receipts[place] += 1;
        match receipt {
            Receipt::Burned => self.start_anew(rng),
            Receipt::Done => self.count(),
            Receipt::TakenNotDone | Receipt::Unknown => (),
        }
    }

    fn count(&mut self) {
        self.disk.pending = None;
        self.disk.done += 1;
    }

    /// Sends the increment that is next, once the handshake is complete.
    fn send_next(
        &mut self,
        open: &mut Open,
        now: Time,
        output: &mut Output,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Option<()> {
        if open.sent || !open.connection.facts().handshake_complete {
            return Some(());
        }
        // Coming back is the point: one increment in three goes on in the same connection.
        if self.is_content() || (self.disk.pending.is_none() && below(rng, 3) > 0) {
            open.connection.close(output);
            return None;
        }
        let key = self.disk.pending.map_or_else(|| new_key(rng), |(key, _)| key);
        self.disk.pending = Some((key, Copies::More));
        open.connection.write(now, &keyed(&key), output).ok()?;
        open.sent = true;
        Some(())
    }
}

/// An increment with its key.
fn keyed(key: &FlightHandle) -> Vec<u8> {
    let key: String = key.0.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("INC {key}\n").into_bytes()
}

fn new_key(rng: &mut Xoshiro256PlusPlus) -> FlightHandle {
    let mut key = [0; FlightHandle::LEN];
    rng.fill_bytes(&mut key);
    FlightHandle(key)
}
