//! An adversary before both proxies records first flights, and delivers them again: before, during and after a move, to either.

use tessera_bindings::BindingState;
use tessera_edge_tests::{Drone, Executions, Outcome, Pool, PoolSettings, places, until};
use tessera_test_peers::between::{RecordedConnection, RecordingForwarder, Treatment, answers};
use tessera_test_peers::etcd::Cluster;

use crate::PROGRAM;

struct Watched {
    pool: Pool,
    /// Before each proxy.
    adversaries: [RecordingForwarder; 2],
    drone: Drone,
    recorded: Vec<RecordedConnection>,
}

impl Watched {
    async fn start() -> Self {
        let places = places(&["a", "b"]);
        let adversaries = [0, 1].map(|at: usize| {
            let clients = places[at].clients;
            RecordingForwarder::start_on(clients.ip(), clients)
        });
        let announced = adversaries.each_ref().map(RecordingForwarder::address);
        let etcd = Cluster::start(1).unwrap();
        let settings = PoolSettings { announced: &announced, ..PoolSettings::of(PROGRAM) };
        let pool = Pool::over(etcd, places, settings).await;
        let drone = pool.drone(Some("drone.example"));
        Self { pool, adversaries, drone, recorded: Vec::new() }
    }

    /// Sends a request in a first flight, which the adversary records.
    async fn flies(&mut self) -> usize {
        self.drone.reconnect();
        let sessions = self.drone.secrets().len();
        let answer = self.drone.post("/cart").await;
        let (Outcome::Answered, Some(answer)) = answer else { panic!("{answer:?}") };
        // It may come after the answer, and is what the next flight begins with.
        until("its session comes", || self.drone.secrets().len() > sessions).await;
        self.keep_recordings();
        answer.early
    }

    /// Ends all connections, and keeps what was recorded.
    fn keep_recordings(&mut self) {
        self.drone.reconnect();
        for adversary in &self.adversaries {
            adversary.cut();
            self.recorded.extend(adversary.take());
        }
    }

    /// Delivers all recordings to both proxies, first flights and whole connections: nothing is executed.
    async fn replay(&self) {
        let before = self.pool.executions.all();
        let targets = [0, 1].map(|at: usize| self.pool.proxies[at].places.clients);
        let recorded = self.recorded.clone();
        let replays = tokio::task::spawn_blocking(move || {
            std::thread::scope(|scope| {
                for recorded in &recorded {
                    for target in targets {
                        for bytes in [&recorded.first, &recorded.all] {
                            scope.spawn(move || answers(target, bytes).unwrap());
                        }
                    }
                }
            });
        });
        replays.await.unwrap();
        assert_eq!(new_ones(&before, &self.pool.executions), []);
    }
}

fn new_ones(
    before: &[tessera_edge_tests::Execution],
    now: &Executions,
) -> Vec<tessera_edge_tests::Execution> {
    now.all().split_off(before.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_flights_are_executed_once_before_during_and_after_a_move() {
    let mut it = Watched::start().await;
    assert_eq!(it.flies().await, 0, "the first is a full handshake");
    assert!(it.flies().await > 0, "the second is early");
    it.replay().await;

    let name = it.drone.name().clone();
    for (to, expected) in [("b", 1), ("a", 0)] {
        it.pool.announce(&name, to).await;
        // Announced: the client doesn't know it yet.
        it.replay().await;
        it.flies().await;
        it.replay().await;
        // The first one at the next proxy.
        assert!(it.flies().await > 0, "its one-time key has moved");
        it.pool.is(&name, |state| !matches!(state, BindingState::Announced { .. })).await;
        assert_eq!(it.pool.executions.all().last().unwrap().at, it.pool.proxies[expected].name);
        it.replay().await;
        it.pool.is_settled_at(&name, to).await;
        it.replay().await;
        // Its alternative has expired: to the first proxy, which has no key of it, or forwards.
        it.flies().await;
        it.replay().await;
    }
    it.drone.agrees();
    assert_eq!(it.pool.executions.doubled(), []);
}

/// The adversary keeps a flight to the next proxy back, and delivers it to both, at the same time and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flight_that_was_kept_back_is_executed_at_most_once_wherever_it_is_delivered() {
    let mut it = Watched::start().await;
    it.flies().await;
    it.flies().await;
    let name = it.drone.name().clone();
    let mut delivered = 0;
    for to in ["b", "a", "b"] {
        let next = it.pool.index(to);
        let moved =
            |it: &Watched| it.pool.proxies[1 - next].metric("tessera_edge_moved_keys_total", "");
        let before = moved(&it);
        it.pool.announce(&name, to).await;
        until("its keys go ahead", || moved(&it) > before).await;
        // It learns where to go, and the key of its new ticket follows.
        let before = moved(&it);
        it.flies().await;
        until("the key of its new ticket follows", || moved(&it) > before).await;
        it.adversaries[next].treat_next(Treatment::KeepBack);
        it.drone.reconnect();
        let drone = it.drone.clone();
        let kept = tokio::spawn(async move { drone.post("/cart").await });
        let adversary = &it.adversaries[next];
        until("the flight is kept back", || !adversary.ended().is_empty()).await;
        // The client finds out that its fate is unknown, or what it was.
        kept.await.unwrap();
        let flights = adversary.ended();
        let before = it.pool.executions.all();
        it.recorded.extend(flights);
        for _ in 0..2 {
            let targets = [0, 1].map(|at: usize| it.pool.proxies[at].places.clients);
            let last = it.recorded.last().unwrap().first.clone();
            let replays = targets.map(|target| {
                let bytes = last.clone();
                tokio::task::spawn_blocking(move || answers(target, &bytes).unwrap())
            });
            for replay in replays {
                replay.await.unwrap();
            }
        }
        let executed = new_ones(&before, &it.pool.executions);
        assert!(executed.len() <= 1, "{executed:?}");
        delivered += executed.len();
        it.pool.moves(&it.drone, to).await;
        it.keep_recordings();
    }
    assert!(delivered > 0, "no flight was as good as its original");
    it.replay().await;
    it.drone.agrees();
    assert_eq!(it.pool.executions.doubled(), []);
}
