//! Replaces `tessera serve --state` while clients keep returning: no client sees an error, and their early data is
//! accepted. After a kill it is rejected once, and nothing is executed twice.

mod client;
mod refusals;
mod supervisor;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tessera::resume::Verdict;
use tokio::runtime::Runtime;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval};

use client::{Client, Flight, Recording, Service, replay};
use supervisor::{Supervisor, accepted};

/// Enough that one waits for a server while others arrive: 200 a second for half a second.
const CLIENTS: u32 = 100;

const RESTARTS: usize = 5;

/// Connections per restart: one second's worth.
const BETWEEN_RESTARTS: usize = 200;

/// 200 connections a second.
const PACE: Duration = Duration::from_millis(5);

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Returns clients that have connected before.
async fn clients(supervisor: &Supervisor, service: Service, count: u32) -> Vec<Client> {
    let root = supervisor.pki.path("root.pem");
    let mut clients = Vec::new();
    for number in 0..count {
        let mut client = Client::new(&root, service, number);
        let (flight, _) = client.ask(supervisor.address()).await.unwrap();
        assert_eq!(flight, Flight::NotSent);
        clients.push(client);
    }
    clients
}

/// Connections at a steady rate.
struct Load {
    over: Arc<AtomicBool>,
    begun: Arc<AtomicUsize>,
    flights: JoinHandle<Vec<(Flight, Recording)>>,
}

impl Load {
    /// Starts the load. A client that has its answer reconnects when its turn comes.
    fn begin(clients: Vec<Client>, address: SocketAddr) -> Self {
        let (over, begun) = <(Arc<AtomicBool>, Arc<AtomicUsize>)>::default();
        let (ended, counter) = (over.clone(), begun.clone());
        let flights = tokio::spawn(async move {
            let mut pace = interval(PACE);
            pace.set_missed_tick_behavior(MissedTickBehavior::Skip);
            let mut idle = std::collections::VecDeque::from(clients);
            let (mut asking, mut flights) = (JoinSet::new(), Vec::new());
            let mut note = |done: Result<std::io::Result<_>, tokio::task::JoinError>| {
                let (flight, client) = done.unwrap().expect("no client sees an error");
                flights.push(flight);
                client
            };
            while !ended.load(Ordering::Relaxed) {
                tokio::select! {
                    _ = pace.tick() => if let Some(mut client) = idle.pop_front() {
                        counter.fetch_add(1, Ordering::Relaxed);
                        asking.spawn(async move { client.ask(address).await.map(|it| (it, client)) });
                    },
                    Some(done) = asking.join_next() => idle.push_back(note(done)),
                }
            }
            while let Some(done) = asking.join_next().await {
                note(done);
            }
            flights
        });
        Self { over, begun, flights }
    }

    /// Waits until this many connections were started.
    fn wait_for(&self, count: usize) {
        while self.begun.load(Ordering::Relaxed) < count && !self.flights.is_finished() {
            std::thread::sleep(PACE);
        }
    }

    async fn end(self) -> Vec<(Flight, Recording)> {
        self.over.store(true, Ordering::Relaxed);
        self.flights.await.unwrap()
    }
}

fn replay_all(address: SocketAddr, flights: &[(Flight, Recording)]) {
    std::thread::scope(|scope| {
        for part in flights.chunks(flights.len().div_ceil(8)) {
            scope.spawn(move || part.iter().for_each(|(_, bytes)| replay(address, bytes)));
        }
    });
}

#[test]
fn restarts_of_an_echo_cost_clients_nothing() {
    restarts_cost_clients_nothing(&[], Service::Echo);
}

#[test]
fn restarts_of_an_http_server_cost_clients_nothing() {
    restarts_cost_clients_nothing(&["--http"], Service::Http);
}

fn restarts_cost_clients_nothing(options: &'static [&'static str], service: Service) {
    let runtime = runtime();
    let mut supervisor = Supervisor::new(options);
    assert_eq!(supervisor.start()["found"], "nothing");
    let clients = runtime.block_on(clients(&supervisor, service, CLIENTS));
    let mut told = Vec::new();
    let load = runtime.block_on(async { Load::begin(clients, supervisor.address()) });
    let mut handed_on = 0;
    for restart in 1..=RESTARTS {
        load.wait_for(restart * BETWEEN_RESTARTS);
        let (status, facts) = supervisor.end("-TERM");
        assert!(status.success(), "{status}");
        told.extend(facts);
        let found = supervisor.start();
        assert_eq!(found["found"], "closed", "{found}");
        handed_on += found["one_time_keys"].as_u64().unwrap();
    }
    load.wait_for((RESTARTS + 1) * BETWEEN_RESTARTS);
    let flights = runtime.block_on(load.end());
    assert!(handed_on >= u64::from(CLIENTS), "{handed_on}");

    // An attacker who recorded the flights gets none executed, by this server or its predecessors.
    replay_all(supervisor.address(), &flights);
    let (status, facts) = supervisor.end("-TERM");
    assert!(status.success(), "{status}");
    told.extend(facts);

    let count = |wanted| flights.iter().filter(|(flight, _)| *flight == wanted).count();
    let (all, taken) = (flights.len(), count(Flight::Accepted));
    println!(
        "{service:?}: {RESTARTS} restarts, {all} connections, all answered; early data: {taken} accepted, {} refused, {} \
         not sent; {handed_on} one-time keys handed on",
        all - taken - count(Flight::NotSent),
        count(Flight::NotSent)
    );
    assert!(taken * 100 >= all * 99, "{taken} of {all}");
    assert_eq!(accepted(&told), taken, "each is executed once");
}

#[test]
fn a_kill_costs_clients_a_round_trip_and_executes_nothing_twice() {
    let runtime = runtime();
    let mut supervisor = Supervisor::new(&[]);
    supervisor.start();
    let address = supervisor.address();
    let mut clients = runtime.block_on(clients(&supervisor, Service::Echo, 20));
    let round = |clients: &mut [Client]| {
        runtime.block_on(async {
            let mut flights = Vec::new();
            for client in clients {
                flights.push(client.ask(address).await.expect("no client fails"));
            }
            flights
        })
    };
    let before = round(&mut clients);
    assert!(before.iter().all(|(flight, _)| *flight == Flight::Accepted));
    let (status, _) = supervisor.end("-KILL");
    assert!(!status.success());
    let found = supervisor.start();
    assert_eq!(found["found"], "crashed", "{found}");

    // The server reports that it lost their keys, and how long it has run. A client whose handshake was short compared
    // with that knows that it sent its flight in this run, which began at the latest now. docs/0rtt-fs.md, section 10.
    let life = Instant::now();
    std::thread::sleep(Duration::from_millis(500));
    let mut lost = Vec::new();
    let mut burned = 0;
    for client in &mut clients {
        let (lived, asked) = (life.elapsed(), Instant::now());
        let (flight, bytes) = runtime.block_on(client.ask(address)).expect("no client fails");
        let span = asked.elapsed() * 9 / 8 + Duration::from_millis(3);
        match flight {
            Flight::Rejected(Verdict::Burned) => burned += 1,
            Flight::Rejected(Verdict::Unknown) if span >= lived => {}
            other => panic!("{other:?}: it took {span:?}, {lived:?} into the new life"),
        }
        lost.push((flight, bytes));
    }
    assert!(burned > 0);
    let after = round(&mut clients);
    assert!(after.iter().all(|(flight, _)| *flight == Flight::Accepted));
    for flights in [&before, &lost, &after] {
        replay_all(address, flights);
    }
    let (status, told) = supervisor.end("-TERM");
    assert!(status.success(), "{status}");
    assert_eq!(accepted(&told), after.len());
}
