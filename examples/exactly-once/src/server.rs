//! The server: counts, and answers "OK".

use std::collections::BTreeMap;
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use tessera::resume::{Continuation, FlightHandle, OneTimeKeyGuard, TicketKeys};
use tessera::wire::NamedGroup;
use tessera::{Output, ReadEvent, ServerConfig, ServerConnection, Time};
use tessera_harness::credential;
use tessera_vault::MemoryVault;

use crate::journal::{Journal, JournalReceipts};
use crate::network::{ConnectionId, below};
use crate::world::Slip;

/// One life of the server: what it holds is gone with it, but for the journal.
pub struct Server {
    config: Arc<ServerConfig>,
    journal: Arc<Journal>,
    connections: BTreeMap<ConnectionId, Open>,
    slip: Option<Slip>,
    /// Chances, out of 1,000, that it dies before an increment is written, and as many after; the
    /// connection alone dies twice as often.
    pub crashes: u64,
}

struct Open {
    connection: ServerConnection,
    input: Vec<u8>,
    line: Vec<u8>,
}

/// The server died while it worked.
pub struct Crashed;

/// What ends the work on a connection.
enum Died {
    /// The connection alone; the vault remembers what was taken.
    Worker,
    /// Everything.
    Server,
}

impl Server {
    /// Starts with ticket keys that may be older than this life, and a vault that never is. Clients that
    /// prefer another group are asked to say hello again: their early data is burned.
    pub fn start(
        tickets: Arc<dyn TicketKeys>,
        journal: Arc<Journal>,
        continuation: Continuation,
        group: NamedGroup,
        slip: Option<Slip>,
    ) -> Self {
        let mut config = ServerConfig::new(tessera_aws_lc::provider(), vec![credential()]);
        config.groups = vec![group];
        config.tickets = Some(tickets);
        let vault = Arc::new(MemoryVault::new(1000));
        let mut guard = OneTimeKeyGuard::new(vault.clone());
        guard.kinds = vec![NamedGroup::X25519];
        guard.continuation = continuation;
        guard.receipts = Some(Arc::new(JournalReceipts { vault, journal: journal.clone() }));
        config.policy.early_data.forward_secret = Some(guard);
        let config = Arc::new(config);
        Self { config, journal, connections: BTreeMap::new(), slip, crashes: 0 }
    }

    /// Bytes arrive; gives what it answers, or nothing if the connection is over.
    pub fn receive(
        &mut self,
        id: ConnectionId,
        bytes: &[u8],
        now: Time,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<Option<Vec<u8>>, Crashed> {
        let mut open = match self.connections.remove(&id) {
            Some(open) => open,
            None => match ServerConnection::start(self.config.clone(), now) {
                Ok(connection) => Open { connection, input: Vec::new(), line: Vec::new() },
                Err(_) => return Ok(None),
            },
        };
        open.input.extend_from_slice(bytes);
        let mut output = Output::new();
        let alive = self.read(&mut open, now, &mut output, rng)?;
        if alive {
            self.connections.insert(id, open);
        }
        Ok(Some(output.as_slice().to_vec()))
    }

    /// The client is gone.
    pub fn forget(&mut self, id: ConnectionId) {
        self.connections.remove(&id);
    }

    fn read(
        &self,
        open: &mut Open,
        now: Time,
        output: &mut Output,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<bool, Crashed> {
        let mut consumed = 0;
        loop {
            let read = open.connection.read(now, &mut open.input[consumed..], output);
            let Ok(progress) = read else { return Ok(false) };
            let mut arrived = false;
            let over = match progress.event {
                ReadEvent::Data(data) | ReadEvent::EarlyData(data) => {
                    open.line.extend_from_slice(data);
                    arrived = true;
                    false
                }
                ReadEvent::PeerClosed => return Ok(false),
                ReadEvent::NeedInput | ReadEvent::OutputFull => true,
                ReadEvent::Handshake(_) | ReadEvent::Question(_) | ReadEvent::WaitingForAnswer => {
                    false
                }
            };
            consumed += progress.consumed;
            if arrived {
                match self.work(open, now, output, rng) {
                    Ok(()) => (),
                    Err(Died::Worker) => return Ok(false),
                    Err(Died::Server) => return Err(Crashed),
                }
            }
            if over {
                open.input.drain(..consumed);
                return Ok(true);
            }
        }
    }

    /// Does what the complete lines say: `INC`, under the name of the flight that it came in, or `INC`
    /// with a key.
    fn work(
        &self,
        open: &mut Open,
        now: Time,
        output: &mut Output,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<(), Died> {
        while let Some(end) = open.line.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = open.line.drain(..=end).collect();
            let key = match line.strip_prefix(b"INC ") {
                Some(hex) => read_key(hex),
                None => open.connection.facts().flight,
            };
            let key = key.ok_or(Died::Worker)?;
            self.misfortune(rng)?;
            let counted = match self.slip {
                Some(Slip::ServerForgets) => self.journal.increment(),
                _ => self.journal.increment_once(&key),
            };
            counted.map_err(|_| Died::Worker)?;
            self.misfortune(rng)?;
            open.connection.write(now, b"OK\n", output).map_err(|_| Died::Worker)?;
        }
        Ok(())
    }

    /// Before an increment is written and after it, anything may die.
    fn misfortune(&self, rng: &mut Xoshiro256PlusPlus) -> Result<(), Died> {
        match below(rng, 1000) {
            chance if chance < self.crashes => Err(Died::Server),
            chance if chance < 3 * self.crashes => Err(Died::Worker),
            _ => Ok(()),
        }
    }
}

/// The key in hexadecimal digits, and a line feed.
fn read_key(hex: &[u8]) -> Option<FlightHandle> {
    let mut key = [0; FlightHandle::LEN];
    let (pairs, end) = hex.as_chunks::<2>();
    if pairs.len() != key.len() || end != b"\n" {
        return None;
    }
    for (byte, pair) in key.iter_mut().zip(pairs) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(FlightHandle(key))
}
