//! Clients of other makers that are moved while they send requests: where each request is executed, and whether the next
//! proxy resumes their session. `make evidence-edge`.

use std::collections::{BTreeSet, HashMap};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tessera::wire::NamedGroup;
use tessera_bindings::{BindingState, ClientName};
use tessera_edge_tests::{
    Arrival, Itinerary, LONG, Observer, Pool, PoolSettings, StockClient, StockClients, Visit,
    Visitor, places, until,
};
use tessera_test_peers::{free_port, spawn};

use crate::PROGRAM;

const PAUSE: Duration = Duration::from_millis(200);

/// How many requests a client sends at each proxy, at least.
const REQUESTS: usize = 5;

/// A pool with a relay before each proxy, at one port of 127.0.0.1, .2 and .3, and a client.
struct World {
    pool: Pool,
    observers: Vec<Observer>,
    visitor: Visitor,
    // Has the client's program.
    _clients: StockClients,
}

impl World {
    async fn start(client: StockClient) -> Self {
        let names = &["a", "b", "c"];
        let places = places(names);
        let port = free_port().unwrap();
        let mut observers = Vec::new();
        for (number, place) in (1..).zip(&places) {
            let at = SocketAddr::from((Ipv4Addr::new(127, 0, 0, number), port));
            observers.push(Observer::start(at, place.clients).await.unwrap());
        }
        let announced: Vec<_> = observers.iter().map(|it| it.address).collect();
        let settings = PoolSettings {
            proxies: names,
            clients: PoolSettings::COOKIES,
            // An alternative must last for some requests.
            ma: 3,
            announced: &announced,
            ..PoolSettings::of(PROGRAM)
        };
        let etcd = tessera_test_peers::etcd::Cluster::start(1).unwrap();
        let pool = Pool::over(etcd, places, settings).await;
        let (ca, origin) = (pool.origin_ca.pem(), announced[0]);
        let to = Itinerary { ca: &ca, origin, pause: PAUSE, prefix: "v", spawn: &spawn };
        let clients = StockClients::new();
        let visitor = clients.start(client, &to);
        Self { pool, observers, visitor, _clients: clients }
    }

    /// Waits until this many such requests were answered.
    async fn is_served(&self, count: usize, is_it: impl Fn(&Visit) -> bool) {
        let deadline = std::time::Instant::now() + LONG;
        while self.visitor.visits().iter().filter(|it| it.status == 200 && is_it(it)).count()
            < count
        {
            let in_time = std::time::Instant::now() < deadline;
            assert!(in_time, "it isn't served:\n{}", self.visitor.log());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The client's name, once it is bound.
    async fn name(&self) -> ClientName {
        let name = || {
            let all = self.pool.executions.all();
            let execution = all.into_iter().find(|it| !it.client.is_empty())?;
            ClientName::new(execution.client.replace("%3A", ":")).ok()
        };
        until("a request has a name", || name().is_some()).await;
        let name = name().unwrap();
        until("the client is bound", || self.pool.table.binding(&name).is_some()).await;
        name
    }

    /// Checks that each answered request was executed once, at the proxy that its answer names, and any other at most once; returns the
    /// places without repetitions.
    fn places(&self) -> Vec<String> {
        let visits = self.visitor.visits();
        let all = self.pool.executions.all();
        let mut executed: HashMap<&str, Vec<&str>> = HashMap::new();
        for execution in &all {
            executed.entry(&execution.path).or_default().push(execution.at);
        }
        let mut places = Vec::new();
        for (visit, expected) in visits.iter().zip(0..) {
            assert_eq!(visit.number, expected, "a request is missing:\n{}", self.visitor.log());
            let at = executed.remove(format!("/cart/v-{expected}").as_str()).unwrap_or_default();
            match visit.status {
                200 => assert_eq!(at, [visit.at.as_str()], "{visit:?}"),
                503 => assert!(at.is_empty(), "{visit:?} at {at:?}"),
                _ => assert!(at.len() <= 1, "{visit:?} at {at:?}"),
            }
            if visit.status == 200 {
                places.push(visit.at.clone());
            }
        }
        places.dedup();
        places
    }

    fn lost(&self) -> Vec<Visit> {
        self.visitor.visits().into_iter().filter(|it| it.status != 200).collect()
    }

    fn arrivals(&self) -> [Vec<Arrival>; 3] {
        [0, 1, 2].map(|at| self.observers[at].arrivals())
    }
}

/// Moves a client that follows from A to B to C, by B's announcement.
async fn follows(client: StockClient) -> [Vec<Arrival>; 3] {
    let world = World::start(client).await;
    world.is_served(REQUESTS, |visit| visit.at == "a").await;
    let name = world.name().await;
    for to in ["b", "c"] {
        world.pool.announce(&name, to).await;
        world.is_served(REQUESTS, |visit| visit.at == to).await;
        world.pool.is_settled_at(&name, to).await;
    }
    assert_eq!(world.places(), ["a", "b", "c"], "{}", world.visitor.log());
    assert_eq!(world.lost(), []);
    let [a, b, c] = world.arrivals();
    assert!(!a[0].resumed, "the first connection has no session");
    println!(
        "{client:?} moved from a to b to c while it sent {} requests: none lost, none executed twice; {}, {}, {}",
        world.visitor.visits().len(),
        words("a", &a),
        words("b", &b),
        words("c", &c)
    );
    [a, b, c]
}

fn words(at: &str, arrivals: &[Arrival]) -> String {
    let resumed = arrivals.iter().filter(|it| it.resumed).count();
    let groups: BTreeSet<_> = arrivals.iter().filter_map(|it| it.group).map(|it| it.0).collect();
    format!("{} connections at {at}, {resumed} resumed, groups {groups:x?}", arrivals.len())
}

/// Whether every connection resumed a session, with the hybrid group.
fn are_resumed(arrivals: &[Arrival]) -> bool {
    let hybrid = Arrival { resumed: true, group: Some(NamedGroup::X25519MLKEM768) };
    !arrivals.is_empty() && arrivals.iter().all(|it| *it == hybrid)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Firefox"]
async fn firefox_follows_and_resumes_with_the_hybrid_group() {
    let [_, b, c] = follows(StockClient::Firefox).await;
    assert!(are_resumed(&b) && are_resumed(&c), "{b:?}, {c:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs curl_cffi"]
async fn curl_cffi_follows_and_resumes_with_the_hybrid_group() {
    let [_, b, c] = follows(StockClient::CurlCffi).await;
    assert!(are_resumed(&b) && are_resumed(&c), "{b:?}, {c:?}");
}

/// Each run is a new process, whose first connection can't resume.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "with those of other programs"]
async fn the_program_curl_follows_without_a_session() {
    let [_, b, c] = follows(StockClient::Curl).await;
    assert!(b.iter().chain(&c).all(|it| !it.resumed), "{b:?}, {c:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "with those of other programs"]
async fn go_resumes_where_its_program_leads_it() {
    let [_, b, c] = follows(StockClient::Go).await;
    assert!(b.iter().chain(&c).all(|it| it.resumed), "{b:?}, {c:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "with those of other programs"]
async fn chromium_stays_and_its_proxy_forwards() {
    let world = World::start(StockClient::Chromium).await;
    world.is_served(REQUESTS, |visit| visit.at == "a").await;
    let name = world.name().await;
    world.pool.announce(&name, "b").await;
    let next = world.observers[1].address.to_string();
    world.is_served(2 * REQUESTS, |visit| visit.announced == next).await;
    assert_eq!(world.places(), ["a"], "it ignores alternatives of h2");
    assert_eq!(world.arrivals()[1], [], "it has not even connected");

    // As if the name led elsewhere: a request that comes to b takes the switch.
    let [a, b] = [0, 1].map(|at| world.pool.proxies[at].places.clients);
    let origin = &world.observers[0];
    let visits = || world.visitor.visits().len();
    let pauses = async |before: usize| {
        until("a request is over", || visits() > before).await;
        origin.cut();
    };
    origin.lead_to(b);
    pauses(visits()).await;
    world.is_served(1, |visit| visit.at == "b").await;
    // And back: a forwards.
    origin.lead_to(a);
    pauses(visits()).await;
    let forwarded =
        || world.pool.proxies[0].metric("tessera_edge_requests_total", "result=\"forwarded\"");
    until("a forwards", || forwarded() >= REQUESTS as u64).await;
    world.pool.is(&name, |it| matches!(it, BindingState::Stable { .. })).await;
    assert_eq!(world.places(), ["a", "b"]);
    // A connection was cut twice.
    let lost = world.lost();
    assert!(lost.len() <= 2 && lost.iter().all(|it| it.status == 0), "{lost:?}");
    println!(
        "Chromium stayed at a, which forwarded {} requests to b; {} of {} requests were lost with a connection that was \
         cut; {}",
        forwarded(),
        lost.len(),
        visits(),
        words("a", &world.arrivals()[0])
    );
}
