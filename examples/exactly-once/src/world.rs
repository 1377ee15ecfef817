//! One run: a server with its lives, some clients, and the network between them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use tessera::Time;
use tessera::resume::Continuation;
use tessera::wire::NamedGroup;
use tessera_vault::{TicketKey, TicketKeyRing};

use crate::client::{Client, Seen};
use crate::journal::Journal;
use crate::network::{Network, Towards, below};
use crate::server::{Crashed, Server};

/// A mistake, to see that the count would show it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slip {
    /// The server counts without looking into its journal.
    ServerForgets,
    /// The client takes the verdict "unknown" for "burned".
    ClientTakesUnknownForBurned,
    /// The client takes "burned" for a word on the increment, whatever else it sent.
    ClientForgetsCopies,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The increments that the clients wanted.
    pub wanted: u64,
    /// What the counter shows.
    pub counted: u64,
    /// Flights replayed.
    pub replays: u64,
    /// Restarts of the server.
    pub restarts: u64,
    /// What the clients saw, all together.
    pub seen: Seen,
}

impl PartialEq for Seen {
    fn eq(&self, other: &Self) -> bool {
        (self.connections, self.accepted, self.verdicts, self.receipts)
            == (other.connections, other.accepted, other.verdicts, other.receipts)
    }
}

impl Eq for Seen {}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} connections, {} accepted", self.connections, self.accepted)
    }
}

/// So long the network does its worst, in steps.
const STORM: u32 = 900;
/// A run that takes longer hangs.
const MOST_STEPS: u32 = 60_000;
/// What each client wants.
const INCREMENTS: u32 = 6;
const CLIENTS: usize = 2;
const BEGINNING: Duration = Duration::from_secs(1_800_000_000);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Runs a world of its own from a seed; the journal is in `store`, which is made anew.
pub fn run(
    seed: u64,
    store: &Path,
    slip: Option<Slip>,
) -> Result<Outcome, Box<dyn std::error::Error>> {
    let _ = std::fs::remove_file(store);
    let mut world = World::new(seed, store, slip)?;
    let mut steps = 0;
    while !world.clients.iter().all(Client::is_content) || !world.network.is_idle() {
        if steps == STORM {
            world.network.calm_down();
            world.storm = false;
            world.server.crashes = 0;
        }
        if steps > MOST_STEPS {
            return Err(format!("seed {seed}: the clients don't come to an end").into());
        }
        world.step()?;
        steps += 1;
    }
    // The attacker comes once more with everything.
    for flight in std::mem::take(&mut world.network.recorded) {
        world.replay(&flight)?;
    }
    let mut seen = Seen::default();
    for client in &world.clients {
        seen.connections += client.seen.connections;
        seen.accepted += client.seen.accepted;
        (0..3).for_each(|verdict| seen.verdicts[verdict] += client.seen.verdicts[verdict]);
        (0..4).for_each(|receipt| seen.receipts[receipt] += client.seen.receipts[receipt]);
    }
    Ok(Outcome {
        wanted: u64::from(INCREMENTS) * CLIENTS as u64,
        counted: Journal::open(store)?.value()?,
        replays: world.replays,
        restarts: world.restarts,
        seen,
    })
}

struct World<'s> {
    rng: Xoshiro256PlusPlus,
    now: Time,
    store: &'s Path,
    slip: Option<Slip>,
    continuation: Continuation,
    ring: Arc<TicketKeyRing>,
    server: Server,
    clients: Vec<Client>,
    network: Network,
    connections: u64,
    storm: bool,
    replays: u64,
    restarts: u64,
}

impl<'s> World<'s> {
    fn new(
        seed: u64,
        store: &'s Path,
        slip: Option<Slip>,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let now = Time { monotonic: Duration::ZERO, unix: Some(BEGINNING) };
        let continuation = match below(&mut rng, 2) {
            0 => Continuation::PskDheKe,
            _ => Continuation::PskKe,
        };
        let group = some_group(&mut rng);
        let ring = new_ring(BEGINNING)?;
        let journal = Arc::new(Journal::open(store)?);
        let mut server = Server::start(ring.clone(), journal, continuation, group, slip);
        server.crashes = 20;
        let clients = (0..CLIENTS).map(|_| Client::new(INCREMENTS, continuation, slip)).collect();
        Ok(Self {
            rng,
            now,
            store,
            slip,
            continuation,
            ring,
            server,
            clients,
            network: Network::new(15),
            connections: 0,
            storm: true,
            replays: 0,
            restarts: 0,
        })
    }

    fn step(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        let tick = Duration::from_millis(5);
        self.now.monotonic += tick;
        self.now.unix = self.now.unix.map(|unix| unix + tick);
        for number in 0..self.clients.len() {
            let client = &mut self.clients[number];
            let lost = match self.storm && below(&mut self.rng, 300) == 0 {
                true => client.restart(),
                false => client.lose_patience(),
            };
            if let Some(connection) = lost {
                self.server.forget(connection);
            }
            let first = self.clients[number].connect(self.connections, self.now, &mut self.rng);
            if let Some((connection, flight)) = first {
                self.connections += 1;
                self.network.record(&flight);
                self.network.send(connection, Towards::Server, flight);
            }
        }
        if self.storm && below(&mut self.rng, 150) == 0 {
            self.restart_server()?;
        }
        if self.storm && below(&mut self.rng, 25) == 0 {
            let recorded = self.network.recorded.len() as u64;
            let which = below(&mut self.rng, recorded.max(1)) as usize;
            if let Some(flight) = self.network.recorded.get(which).cloned() {
                self.replay(&flight)?;
            }
        }
        self.carry()
    }

    /// Something arrives.
    fn carry(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        let Some(chunk) = self.network.deliver(&mut self.rng) else { return Ok(()) };
        let (id, now) = (chunk.connection, self.now);
        match chunk.towards {
            Towards::Server => {
                let on = self.clients.iter().position(|client| client.is_on(id));
                match self.server.receive(id, &chunk.bytes, now, &mut self.rng) {
                    Ok(answer) => {
                        let answer = answer.filter(|bytes| !bytes.is_empty());
                        if let (Some(bytes), Some(client)) = (answer, on) {
                            self.network.send(id, Towards::Client(client), bytes);
                        }
                    }
                    Err(Crashed) => self.restart_server()?,
                }
            }
            Towards::Client(number) => {
                let client = &mut self.clients[number];
                let answer = client.receive(id, &chunk.bytes, now, &mut self.rng);
                if let Some(bytes) = answer.filter(|bytes| !bytes.is_empty()) {
                    self.network.send(id, Towards::Server, bytes);
                }
            }
        }
        Ok(())
    }

    /// Someone sends a recorded flight. What the server says to it goes nowhere.
    fn replay(&mut self, flight: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
        self.replays += 1;
        let id = u64::MAX - self.replays;
        match self.server.receive(id, flight, self.now, &mut self.rng) {
            Ok(_) => self.server.forget(id),
            Err(Crashed) => self.restart_server()?,
        }
        Ok(())
    }

    /// The next life: the journal is the same, the vault is new, and the ticket keys are either.
    fn restart_server(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        self.restarts += 1;
        if below(&mut self.rng, 4) == 0 {
            self.ring = new_ring(self.now.unix.unwrap_or(BEGINNING))?;
        }
        let crashes = self.server.crashes;
        let journal = Arc::new(Journal::open(self.store)?);
        let group = some_group(&mut self.rng);
        self.server =
            Server::start(self.ring.clone(), journal, self.continuation, group, self.slip);
        self.server.crashes = crashes;
        Ok(())
    }
}

/// One life in three wants a group that clients have no share for.
fn some_group(rng: &mut Xoshiro256PlusPlus) -> NamedGroup {
    match below(rng, 3) {
        0 => NamedGroup::SECP256R1,
        _ => NamedGroup::X25519,
    }
}

fn new_ring(now: Duration) -> Result<Arc<TicketKeyRing>, Box<dyn std::error::Error>> {
    let provider = tessera_aws_lc::provider();
    let ring = TicketKeyRing::new(&provider);
    let key = TicketKey::generate(&provider, now, DAY, DAY).map_err(|_| "no random bytes")?;
    ring.add(key, now).map_err(|error| format!("{error:?}"))?;
    Ok(Arc::new(ring))
}
