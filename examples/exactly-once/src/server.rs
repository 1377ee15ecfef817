//! The server: accepts increments, counts them later, and answers "OK".

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use tessera::handshake::Checked;
use tessera::resume::{Continuation, FlightHandle, OneTimeKeyGuard, Receipts, TicketKeys};
use tessera::wire::NamedGroup;
use tessera::{Output, ReadEvent, ServerConfig, ServerConnection, Time};
use tessera_harness::credential;

use crate::journal::{Journal, JournalReceipts, increment};
use crate::network::{ConnectionId, below};
use crate::slip::{Slip, UnburnedReceipts, count_wrongly};
use crate::tally::{IncrementEvent, Tally};
use crate::vault::MortalVault;

/// One life of the server: its state ends with it, except for the journal.
pub struct Server {
    config: Checked<ServerConfig>,
    journal: Arc<Journal>,
    vault: Arc<MortalVault>,
    connections: BTreeMap<ConnectionId, Open>,
    jobs: VecDeque<Job>,
    slip: Option<Slip>,
    /// The probability, in 1,000ths, that it dies at each step of its work; that only the connection dies is twice as
    /// likely.
    crashes: u64,
    tally: Arc<Tally>,
}

/// The parameters of a server.
pub struct ServerParameters {
    /// May be older than this life.
    pub tickets: Arc<dyn TicketKeys>,
    /// The store of all lives.
    pub journal: Arc<Journal>,
    /// The vault of this life.
    pub vault: Arc<MortalVault>,
    /// How handshakes with early data continue.
    pub continuation: Continuation,
    /// Clients that prefer another one get a HelloRetryRequest: their early data is burned.
    pub group: NamedGroup,
}

struct Open {
    connection: ServerConnection,
    input: Vec<u8>,
    line: Vec<u8>,
}

/// An increment that arrived and is not counted yet. It outlives its connection.
struct Job {
    from: ConnectionId,
    key: FlightHandle,
}

/// The server died while it worked.
pub struct ServerCrash;

/// What ended the work on an increment.
enum FailureScope {
    /// The work and its connection; the vault remembers what was taken.
    Worker,
    /// Everything.
    Server,
}

impl From<rusqlite::Error> for FailureScope {
    fn from(_: rusqlite::Error) -> Self {
        Self::Worker
    }
}

impl Server {
    /// Starts.
    pub fn start(
        begin: ServerParameters,
        crashes: u64,
        slip: Option<Slip>,
        tally: Arc<Tally>,
    ) -> Self {
        let ServerParameters { tickets, journal, vault, continuation, group } = begin;
        let receipts: Arc<dyn Receipts> = match slip {
            Some(Slip::ReceiptsDoNotBurn) => Arc::new(UnburnedReceipts(journal.clone())),
            _ => Arc::new(JournalReceipts { vault: vault.clone(), journal: journal.clone() }),
        };
        let mut guard = OneTimeKeyGuard::new(vault.clone());
        guard.kinds = vec![NamedGroup::X25519];
        guard.continuation = continuation;
        guard.receipts = Some(receipts);
        let mut config = ServerConfig::new(tessera_aws_lc::provider(), vec![credential()]);
        config.groups = vec![group];
        config.tickets = Some(tickets);
        config.policy.early_data.forward_secret = Some(guard);
        let config = config.checked().expect("a configuration that can work");
        let (connections, jobs) = (BTreeMap::new(), VecDeque::new());
        Self { config, journal, vault, connections, jobs, slip, crashes, tally }
    }

    /// Lets nothing die from now on.
    pub fn calm_down(&mut self) {
        self.crashes = 0;
        self.vault.calm_down();
    }

    /// Returns how many increments arrived and are not counted yet.
    pub fn work_left(&self) -> usize {
        self.jobs.len()
    }

    /// Handles bytes that arrive; returns the immediate answer.
    pub fn receive(&mut self, id: ConnectionId, bytes: &[u8], now: Time) -> Vec<u8> {
        let mut output = Output::new();
        let mut open = self.connections.remove(&id).unwrap_or_else(|| {
            let connection = ServerConnection::start(self.config.clone(), now);
            Open { connection, input: Vec::new(), line: Vec::new() }
        });
        open.input.extend_from_slice(bytes);
        if self.read(id, &mut open, now, &mut output).is_some() {
            self.connections.insert(id, open);
        }
        output.as_slice().to_vec()
    }

    /// Forgets a connection, but not its work.
    pub fn forget(&mut self, id: ConnectionId) {
        self.connections.remove(&id);
    }

    /// Reads the available data; `None` if the connection is over.
    fn read(
        &mut self,
        id: ConnectionId,
        open: &mut Open,
        now: Time,
        output: &mut Output,
    ) -> Option<()> {
        let mut consumed = 0;
        loop {
            let rest = open.input.get_mut(consumed..)?;
            let progress = open.connection.read(now, rest, output).ok()?;
            let data_from = consumed;
            consumed += progress.consumed;
            match progress.event {
                ReadEvent::Data(data) | ReadEvent::EarlyData(data) => {
                    open.line.extend_from_slice(open.input.get(data_from..)?.get(data)?);
                    self.take_lines(id, open, output)?;
                }
                ReadEvent::NeedInput | ReadEvent::OutputFull => break,
                ReadEvent::PeerClosed => return None,
                _ => (),
            }
        }
        open.input.drain(..consumed);
        Some(())
    }

    /// Takes the increments of complete lines: `INC`, under the name of the flight that it came in, or
    /// `INC` with a key.
    fn take_lines(&mut self, id: ConnectionId, open: &mut Open, output: &mut Output) -> Option<()> {
        while let Some(end) = open.line.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = open.line.drain(..=end).collect();
            let key = match line.strip_prefix(b"INC ") {
                Some(hex) => read_key(hex)?,
                None => open.connection.facts().flight?,
            };
            self.jobs.push_back(Job { from: id, key });
            if self.slip == Some(Slip::ServerAnswersFirst) {
                open.connection.write(b"OK\n", output).ok()?;
            }
        }
        Some(())
    }

    /// Counts the next increment; returns its connection and the answer, if the connection is still open.
    pub fn work(
        &mut self,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<Option<(ConnectionId, Vec<u8>)>, ServerCrash> {
        let Some(Job { from, key }) = self.jobs.pop_front() else { return Ok(None) };
        match self.count(&key, rng) {
            Ok(()) => (),
            Err(FailureScope::Worker) => {
                self.forget(from);
                return Ok(None);
            }
            Err(FailureScope::Server) => return Err(ServerCrash),
        }
        let open = self.connections.get_mut(&from);
        let Some(open) = open.filter(|_| self.slip != Some(Slip::ServerAnswersFirst)) else {
            return Ok(None);
        };
        let mut output = Output::new();
        let written = open.connection.write(b"OK\n", &mut output);
        Ok(written.is_ok().then(|| (from, output.as_slice().to_vec())))
    }

    fn count(&self, key: &FlightHandle, rng: &mut Xoshiro256PlusPlus) -> Result<(), FailureScope> {
        self.misfortune(IncrementEvent::DiedBeforeTransaction, rng)?;
        let within = |rng| self.misfortune(IncrementEvent::DiedInTransaction, rng);
        match self.slip {
            Some(slip @ (Slip::ServerForgets | Slip::ServerMarksFirst | Slip::ServerMarksLast)) => {
                count_wrongly(slip, &self.journal, key, || within(rng))?;
            }
            _ => self.journal.once(key, |transaction| {
                within(rng)?;
                Ok::<_, FailureScope>(increment(transaction)?)
            })?,
        }
        self.misfortune(IncrementEvent::DiedBeforeAnswer, rng)
    }

    /// Anything may die between any two steps.
    fn misfortune(
        &self,
        when: IncrementEvent,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<(), FailureScope> {
        let died = match below(rng, 1000) {
            chance if chance < self.crashes => FailureScope::Server,
            chance if chance < 3 * self.crashes => FailureScope::Worker,
            _ => return Ok(()),
        };
        self.tally.count(when);
        Err(died)
    }
}

/// Parses a key in hexadecimal digits, and a line feed.
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
