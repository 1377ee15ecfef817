//! Moves with figures: `make evidence-edge`.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera_bindings::{BindingError, BindingState, ClientName, ProxyName};
use tessera_edge_tests::{Drone, Orchestrator, Outcome, Pool, PoolSettings, places};
use tessera_test_peers::etcd::Cluster;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::PROGRAM;

/// How many clients move, in each measurement of the first test.
const MOVES: usize = 1000;

/// How many clients move each second in the second test, and for how long.
const RATE: usize = 100;
const SECONDS: usize = 60;

const LIMITS: &str = "[limits]\nconnections = 20000\nconnections-per-address = 20000\nhandshakes-per-address = 4000\n";

async fn pool(etcd: Cluster) -> Pool {
    let settings = PoolSettings { more: LIMITS, ..PoolSettings::of(PROGRAM) };
    Pool::over(etcd, places(settings.proxies), settings).await
}

/// Waits until the next proxy is announced to a client; returns when it was.
async fn announced(pool: &Pool, client: &ClientName) -> Instant {
    let mut changes = pool.table.changes();
    loop {
        changes.borrow_and_update();
        let binding = pool.table.binding(client);
        if binding.is_some_and(|it| matches!(it.state, BindingState::Announced { .. })) {
            return Instant::now();
        }
        let changed = timeout(Duration::from_secs(20), changes.changed()).await;
        changed.expect("the move goes on").unwrap();
    }
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |percent: usize| {
        times[(times.len() * percent / 100).min(times.len() - 1)].as_secs_f64() * 1e3
    };
    let most = times[times.len() - 1].as_secs_f64() * 1e3;
    println!(
        "{what:<52} {:>6} times: p50 {:7.2} ms, p99 {:7.2} ms, most {most:7.2} ms",
        times.len(),
        at(50),
        at(99)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures time"]
async fn from_the_call_of_a_move_to_its_announcement() {
    for (place, directory) in [("in memory", "/dev/shm"), ("on disk", env!("CARGO_TARGET_TMPDIR"))]
    {
        let pool = pool(Cluster::start_with(3, None, Path::new(directory)).unwrap()).await;
        let orchestrator = Orchestrator::start(PROGRAM, &pool, "");
        let caller = orchestrator.caller();
        for len in [16 << 10, 0] {
            let mut times = Vec::new();
            for number in 0..MOVES {
                let host = format!("c{len}-{number}.example");
                let name = ClientName::new(format!("dns:{host}")).unwrap();
                pool.bindings.bind(&name, &ProxyName("a".to_owned())).await.unwrap();
                if len > 0 {
                    pool.instances[0].plant(&format!("dns%3A{host}"), vec![7; len]);
                }
                let began = Instant::now();
                caller.announce(&format!("dns:{host}"), "b").await;
                times.push(began.elapsed());
            }
            report(&format!("three members {place}, {len} bytes: call to announced"), times);
        }
    }
}

/// What one client saw.
struct Seen {
    drone: Drone,
    announced: Duration,
    /// From the announcement to the first answer of the next proxy.
    arrived: Duration,
    requests: Vec<Duration>,
}

/// Moves a client that sends requests, one after the other.
async fn moves(pool: &Pool, drone: Drone) -> Seen {
    let began = Instant::now();
    let to = ProxyName("b".to_owned());
    // The store of a busy machine may not answer in time: a step may be repeated.
    while let Err(error) = pool.bindings.begin(drone.name(), &to).await {
        assert!(matches!(error, BindingError::Store(_)), "{error}");
        eprintln!("a move begins again: {error}");
        assert!(began.elapsed() < Duration::from_secs(60), "{error}");
    }
    let sending = async {
        let mut requests = Vec::new();
        let mut rest = 5;
        let mut arrived = None;
        while rest > 0 {
            let sent = Instant::now();
            let (outcome, answer) = drone.post("/cart").await;
            requests.push(sent.elapsed());
            if outcome == Outcome::Answered && answer.unwrap().field("x-at") == "b" {
                arrived.get_or_insert_with(Instant::now);
                rest -= 1;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "it doesn't arrive");
            sleep(Duration::from_millis(20)).await;
        }
        (requests, arrived.unwrap())
    };
    // The announcement is over as soon as the client has followed.
    let announcing = async {
        tokio::select! {
            at = announced(pool, drone.name()) => at,
            () = pool.is(drone.name(), |it| matches!(it, BindingState::Switched { .. })) => Instant::now(),
        }
    };
    let ((requests, arrived), announced) = tokio::join!(sending, announcing);
    let seen = (announced - began, arrived.saturating_duration_since(announced));
    Seen { drone, announced: seen.0, arrived: seen.1, requests }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes"]
async fn a_hundred_clients_move_each_second_and_no_request_is_lost_or_doubled() {
    let pool = Arc::new(pool(Cluster::start_with(3, None, Path::new("/dev/shm")).unwrap()).await);
    let mut drones = Vec::new();
    while drones.len() < RATE * SECONDS {
        let some: Vec<_> = (drones.len()..drones.len() + 20)
            .map(|number| {
                let drone = pool.drone(Some(&format!("d{number}.example")));
                tokio::spawn(async move {
                    let (outcome, answer) = drone.post("/cart").await;
                    assert_eq!(outcome, Outcome::Answered, "{answer:?}");
                    // Its connection ends; its next one begins with its first request.
                    drone.reconnect();
                    drone
                })
            })
            .collect();
        for drone in some {
            drones.push(drone.await.unwrap());
        }
    }
    let mut ticks = interval(Duration::from_secs(1) / RATE as u32);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let began = Instant::now();
    let mut moving = Vec::new();
    for drone in drones {
        ticks.tick().await;
        let pool = pool.clone();
        moving.push(tokio::spawn(async move { moves(&pool, drone).await }));
    }
    let lasted = began.elapsed();
    let mut all = Vec::new();
    for seen in moving {
        all.push(seen.await.unwrap());
    }
    let executed = pool.executions.counts();
    let mut outcomes = [0; 3];
    for seen in &all {
        seen.drone.agrees_with(&executed);
        let kinds = [Outcome::Answered, Outcome::Refused, Outcome::Unknown];
        outcomes.iter_mut().zip(kinds).for_each(|(sum, it)| *sum += seen.drone.counts(it));
    }
    assert_eq!(pool.executions.doubled(), []);
    let [answered, refused, unknown] = outcomes;
    println!(
        "{} clients moved, begun in {:.1} s: {answered} requests answered, {refused} refused and not executed, {unknown} \
         without an answer; {} executed, none twice",
        all.len(),
        lasted.as_secs_f64(),
        pool.executions.all().len(),
    );
    assert_eq!((refused, unknown), (0, 0), "all proxies lived");
    report("begin to announced", all.iter().map(|it| it.announced).collect());
    report("announced to the next proxy's first answer", all.iter().map(|it| it.arrived).collect());
    report("a request", all.iter().flat_map(|it| it.requests.clone()).collect());
    for proxy in &pool.proxies {
        let lost = proxy.metric("tessera_edge_move_steps_total", "changes-lost");
        assert_eq!(lost, 0, "no change of a state was lost");
    }
    let early = pool.proxies[0].metric("tessera_edge_moved_keys_total", "");
    println!("{early} one-time keys moved");
}
