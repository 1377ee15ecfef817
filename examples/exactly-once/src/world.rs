//! One run: a server with its lives, some clients, and the network between them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tessera::resume::Continuation;
use tessera::wire::NamedGroup;
use tessera::{Clock, Time};
use tessera_vault::{TicketKey, TicketKeyRing};

use crate::client::Client;
use crate::clock::WorldClock;
use crate::journal::Journal;
use crate::network::{ConnectionId, Direction, Network, below};
use crate::server::{Server, ServerCrash, ServerParameters};
use crate::slip::Slip;
use crate::tally::{IncrementEvent, Tally};
use crate::vault::MortalVault;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The increments that the clients wanted.
    pub wanted: u64,
    /// The value of the counter.
    pub counted: u64,
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// How long the network is hostile, in steps.
const STORM: u32 = 900;
/// A run that takes longer hangs.
const MOST_STEPS: u32 = 60_000;
/// The increments per client.
const INCREMENTS: u32 = 6;
const CLIENTS: usize = 2;
/// The probability of each kind of fault on the network, in 1,000ths.
const FAULTS: u64 = 15;
/// The probability that a question to the vault is lost, and that its answer is.
const VAULT_FAULTS: u64 = 50;
/// The probability that the server dies at a step of its work.
const CRASHES: u64 = 15;
const BEGINNING: Duration = Duration::from_secs(1_800_000_000);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Runs a separate world from a seed; the journal is in `store`, which is recreated.
///
/// # Errors
/// If the store can't be opened, or the clients don't finish.
pub fn run(seed: u64, store: &Path, slip: Option<Slip>, tally: &Arc<Tally>) -> Result<Outcome> {
    let _ = std::fs::remove_file(store);
    let mut world = World::new(seed, store, slip, tally.clone())?;
    let mut steps = 0;
    while !world.clients.iter().all(Client::is_content) || !world.network.is_idle() {
        if steps == STORM {
            world.calm_down();
        }
        if steps > MOST_STEPS {
            return Err(format!("seed {seed}: the clients don't come to an end").into());
        }
        world.step()?;
        steps += 1;
    }
    // The attacker replays everything once more.
    world.calm_down();
    for flight in world.network.flights.take() {
        world.replay_flight(&flight, IncrementEvent::ReplayedAtTheEnd);
    }
    while world.server.work_left() > 0 {
        world.work()?;
    }
    let wanted = u64::from(INCREMENTS) * CLIENTS as u64;
    Ok(Outcome { wanted, counted: world.journal.value()? })
}

struct World<'s> {
    rng: Xoshiro256PlusPlus,
    clock: Arc<WorldClock>,
    store: &'s Path,
    slip: Option<Slip>,
    continuation: Continuation,
    ring: Arc<TicketKeyRing>,
    journal: Arc<Journal>,
    server: Server,
    lives: u64,
    clients: Vec<Client>,
    network: Network,
    connections: ConnectionId,
    /// Connections of the attacker.
    replays: ConnectionId,
    storm: bool,
    tally: Arc<Tally>,
}

impl<'s> World<'s> {
    fn new(seed: u64, store: &'s Path, slip: Option<Slip>, tally: Arc<Tally>) -> Result<Self> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let now = Time { monotonic: Duration::ZERO, unix: Some(BEGINNING) };
        let clock = Arc::new(WorldClock::new(now));
        let continuation = match below(&mut rng, 2) {
            0 => Continuation::PskDheKe,
            _ => Continuation::PskKe,
        };
        let ring = new_ring(BEGINNING)?;
        let journal = Arc::new(Journal::open(store)?);
        let vault = MortalVault::new(0, BEGINNING, VAULT_FAULTS, branch(&mut rng), tally.clone());
        let begin = ServerParameters {
            tickets: ring.clone(),
            journal: journal.clone(),
            vault: Arc::new(vault),
            continuation,
            group: some_group(&mut rng),
        };
        let server = Server::start(begin, CRASHES, slip, tally.clone());
        let client = |_| Client::new(INCREMENTS, continuation, clock.clone(), slip, tally.clone());
        Ok(Self {
            rng,
            store,
            slip,
            continuation,
            ring,
            journal,
            server,
            lives: 1,
            clients: (0..CLIENTS).map(client).collect(),
            clock,
            network: Network::new(FAULTS, tally.clone()),
            connections: 0,
            replays: 0,
            storm: true,
            tally,
        })
    }

    fn calm_down(&mut self) {
        self.storm = false;
        self.network.calm_down();
        self.server.calm_down();
    }

    /// Whether an event happens now that happens once in this many steps of the storm.
    fn strikes(&mut self, once_in: u64) -> bool {
        self.storm && below(&mut self.rng, once_in) == 0
    }

    fn step(&mut self) -> Result<()> {
        self.clock.advance(Duration::from_millis(5));
        for number in 0..self.clients.len() {
            self.step_client(number)?;
        }
        if self.strikes(150) {
            self.restart_server()?;
        }
        if self.strikes(25)
            && let Some(flight) = self.network.flights.any(&mut self.rng)
        {
            self.replay_flight(&flight, IncrementEvent::ReplayedToServer);
        }
        if self.strikes(400) {
            self.replay_answer();
        }
        // Work takes its time.
        if below(&mut self.rng, 4) == 0 {
            self.work()?;
        }
        self.carry();
        Ok(())
    }

    fn step_client(&mut self, number: usize) -> Result<()> {
        let restarts = self.strikes(300);
        let client = &mut self.clients[number];
        let key = client.key();
        let lost = if restarts { client.restart() } else { client.lose_patience() };
        if let (true, Some(key)) = (restarts, key)
            && self.journal.is_done(&key)?
        {
            self.tally.count(IncrementEvent::RestartedBeforeStored);
        }
        if let Some(connection) = lost {
            self.server.forget(connection);
        }
        let first = self.clients[number].connect(self.connections, self.clock.now(), &mut self.rng);
        if let Some(flight) = first {
            self.network.send_first(self.connections, &flight, &mut self.rng);
            self.connections += 1;
        }
        Ok(())
    }

    /// Something arrives.
    fn carry(&mut self) {
        let Some(piece) = self.network.deliver(&mut self.rng) else { return };
        let (id, bytes) = (piece.connection, &piece.bytes);
        match piece.towards {
            Direction::Server => {
                let work = self.server.work_left();
                let answer = self.server.receive(id, bytes, self.clock.now());
                let is_gone = !self.clients.iter().any(|client| client.is_on(id));
                if is_gone && self.server.work_left() > work {
                    self.tally.count(IncrementEvent::ArrivedTooLate);
                }
                self.send_answer(id, &answer);
            }
            Direction::Client(number) => self.give_client(number, id, bytes),
        }
    }

    fn give_client(&mut self, number: usize, id: ConnectionId, bytes: &[u8]) {
        let answer = self.clients[number].receive(id, bytes, self.clock.now(), &mut self.rng);
        if !answer.is_empty() {
            self.network.send(id, Direction::Server, &answer, &mut self.rng);
        }
    }

    /// Sends bytes of the server to the client of the connection, if it still has it.
    fn send_answer(&mut self, id: ConnectionId, bytes: &[u8]) {
        let number = self.clients.iter().position(|client| client.is_on(id));
        if let (Some(number), false) = (number, bytes.is_empty()) {
            self.network.send(id, Direction::Client(number), bytes, &mut self.rng);
        }
    }

    /// Lets the server count an increment.
    fn work(&mut self) -> Result<()> {
        match self.server.work(&mut self.rng) {
            Ok(Some((id, answer))) => self.send_answer(id, &answer),
            Ok(None) => (),
            Err(ServerCrash) => self.restart_server()?,
        }
        Ok(())
    }

    /// Replays a recorded flight. The server's answer is dropped.
    fn replay_flight(&mut self, flight: &[u8], happening: IncrementEvent) {
        self.tally.count(happening);
        self.replays += 1;
        let id = ConnectionId::MAX - self.replays;
        self.server.receive(id, flight, self.clock.now());
        self.server.forget(id);
    }

    /// Replays a server's recorded answer into a client's present connection.
    fn replay_answer(&mut self) {
        let number = below(&mut self.rng, CLIENTS as u64) as usize;
        let id = self.clients[number].connection();
        if let (Some(id), Some(bytes)) = (id, self.network.answers.any(&mut self.rng)) {
            self.tally.count(IncrementEvent::ReplayedToClient);
            self.give_client(number, id, &bytes);
        }
    }

    /// Starts the next life: the journal is the same, the vault is new, and the ticket keys are either.
    fn restart_server(&mut self) -> Result<()> {
        self.tally.count(IncrementEvent::ServerRestarted);
        if self.server.work_left() > 0 {
            self.tally.count(IncrementEvent::RestartedBeforeCommit);
        }
        let now = self.clock.now().unix.unwrap_or(BEGINNING);
        if below(&mut self.rng, 4) == 0 {
            self.ring = new_ring(now)?;
        }
        self.journal = Arc::new(Journal::open(self.store)?);
        let rng = branch(&mut self.rng);
        let vault = MortalVault::new(self.lives, now, VAULT_FAULTS, rng, self.tally.clone());
        self.lives += 1;
        let begin = ServerParameters {
            tickets: self.ring.clone(),
            journal: self.journal.clone(),
            vault: Arc::new(vault),
            continuation: self.continuation,
            group: some_group(&mut self.rng),
        };
        self.server = Server::start(begin, CRASHES, self.slip, self.tally.clone());
        Ok(())
    }
}

/// One life in three requires a group that clients send no share for.
fn some_group(rng: &mut Xoshiro256PlusPlus) -> NamedGroup {
    match below(rng, 3) {
        0 => NamedGroup::SECP256R1,
        _ => NamedGroup::X25519,
    }
}

fn branch(rng: &mut Xoshiro256PlusPlus) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(rng.next_u64())
}

fn new_ring(now: Duration) -> Result<Arc<TicketKeyRing>> {
    let provider = tessera_aws_lc::provider();
    let ring = TicketKeyRing::new(&provider);
    let key = TicketKey::generate(&provider, now, DAY, DAY).map_err(|_| "no random bytes")?;
    ring.add(key, now).map_err(|error| format!("{error:?}"))?;
    Ok(Arc::new(ring))
}
