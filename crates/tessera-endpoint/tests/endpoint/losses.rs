//! Many clients over paths that lose, double and reorder short datagrams: all connect, and nothing is executed twice.

use std::collections::HashMap;
use std::time::Duration;

use tessera::AssociationOptions;
use tessera_endpoint::EndpointOptions;
use tessera_harness::{Mode, Numbers, Scene, to};
use tessera_null_provider::provider;

use crate::world::{TRIP, World};

/// How many clients an endpoint has at once.
const CLIENTS: u16 = 20;

#[test]
fn all_connect_and_none_executes_early_data_twice() {
    Outcome::of(Mode::ALL.len() as u64 * u64::from(CLIENTS)).is_right();
}

/// `make evidence-datagram-soak`: takes minutes, and prints its figures.
#[test]
#[ignore = "takes minutes"]
fn a_hundred_thousand_connect_and_none_executes_early_data_twice() {
    let outcome = Outcome::of(100_000);
    println!("{outcome:#?}");
    outcome.is_right();
}

/// What became of many handshakes: a fifth of all datagrams was lost, another fifth late, a tenth doubled.
#[derive(Debug, Default)]
struct Outcome {
    handshakes: u64,
    complete: u64,
    /// Clients that sent early data; those of them whose server accepted it, and that it executed once, or more often.
    with_early_data: u64,
    accepted: u64,
    executed_once: u64,
    executed_twice: u64,
    /// Though the client learned that it was rejected.
    executed_and_rejected: u64,
    /// Of all handshakes, in virtual time.
    longest: Duration,
    /// Why the others failed.
    errors: HashMap<String, u64>,
}

impl Outcome {
    fn of(handshakes: u64) -> Self {
        let (mut outcome, mut numbers) = (Self::default(), Numbers(1));
        for mode in Mode::ALL.into_iter().cycle() {
            if outcome.handshakes >= handshakes {
                break;
            }
            outcome.add(mode, numbers.next());
        }
        outcome
    }

    /// Runs the handshakes of one endpoint.
    fn add(&mut self, mode: Mode, seed: u64) {
        let mut scene = Scene::new(provider(), mode);
        scene.client.handshake_timeout = PATIENCE;
        scene.server.handshake_timeout = PATIENCE;
        let options = EndpointOptions {
            max_datagram: MAX_DATAGRAM,
            cookie_lifetime: PATIENCE,
            ..EndpointOptions::default()
        };
        let mut world = World::of(scene, options);
        let sessions: Vec<_> =
            (0..CLIENTS).map(|_| if mode.resumes() { world.session() } else { None }).collect();
        world.complete.clear();
        let latest = LATEST.as_millis() as u64;
        world.arrivals =
            Losses { lost: 20, late: 20, doubled: 10, delay: 300, latest }.arrivals(seed);
        let mut clients = Vec::new();
        for (number, session) in (0..CLIENTS).zip(sessions) {
            let early_data = format!("early data of client {number}");
            let options =
                AssociationOptions { max_datagram: MAX_DATAGRAM, ..AssociationOptions::default() };
            let client =
                world.connect_to(1000 + number, to(session), options, early_data.as_bytes());
            clients.push((client, early_data));
        }
        let began = world.elapsed;
        while world.elapsed - began < PATIENCE
            && clients.iter().any(|(it, _)| {
                let it = &world.clients[*it];
                it.error.is_none() && !(it.is_complete && it.association.is_acknowledged())
            })
        {
            world.pass(TRIP * 5);
        }
        self.longest = self.longest.max(world.elapsed - began);
        // What is late comes, too.
        world.pass(LATEST);
        for (client, early_data) in clients {
            let client = &world.clients[client];
            self.handshakes += 1;
            match &client.error {
                None if client.is_complete => self.complete += 1,
                error => *self.errors.entry(format!("{mode:?}: {error:?}")).or_default() += 1,
            }
            if client.association.facts().early_data_written > 0 {
                self.with_early_data += 1;
            }
            let of_client = |executed: &&Vec<u8>| **executed == early_data.as_bytes();
            let executed = world.early.values().filter(of_client).count();
            self.accepted += u64::from(client.early_data_accepted == Some(true));
            self.executed_once += u64::from(executed == 1);
            self.executed_twice += u64::from(executed > 1);
            let is_rejected = client.early_data_accepted == Some(false);
            self.executed_and_rejected += u64::from(executed > 0 && is_rejected);
        }
    }

    #[track_caller]
    fn is_right(&self) {
        assert_eq!(self.complete, self.handshakes, "{self:#?}");
        assert!(self.executed_once > 0, "{self:#?}");
        assert_eq!((self.executed_twice, self.executed_and_rejected), (0, 0), "{self:#?}");
    }
}

/// The longest datagram.
const MAX_DATAGRAM: usize = 300;

/// How late a copy of a datagram may come.
const LATEST: Duration = Duration::from_secs(5);

/// How long a handshake may take: nothing acknowledges the parts of a ClientHello, and one part of a client in a hundred
/// thousand is lost six times in a row, a minute apart.
const PATIENCE: Duration = Duration::from_secs(1200);

/// What happens to datagrams on the way.
pub(crate) struct Losses {
    /// How many of a hundred are lost, late and doubled.
    pub(crate) lost: u64,
    pub(crate) late: u64,
    pub(crate) doubled: u64,
    /// How late a datagram may be, and how late its copy, in milliseconds.
    pub(crate) delay: u64,
    pub(crate) latest: u64,
}

impl Losses {
    /// Returns what draws the arrivals of each datagram.
    pub(crate) fn arrivals(self, seed: u64) -> Box<dyn FnMut() -> Vec<Duration>> {
        let mut numbers = Numbers(seed);
        Box::new(move || {
            let mut arrivals = Vec::new();
            if !numbers.happens(self.lost) {
                let late = if numbers.happens(self.late) { numbers.next() % self.delay } else { 0 };
                arrivals.push(TRIP + Duration::from_millis(late));
            }
            if numbers.happens(self.doubled) {
                arrivals.push(TRIP + Duration::from_millis(numbers.next() % self.latest));
            }
            arrivals
        })
    }
}
