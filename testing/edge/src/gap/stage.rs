//! The pools and the link, and a handover between two proxies.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use tessera_bindings::ClientName;
use tessera_edge_tests::{
    EnvoyPair, Execution, Executions, Itinerary, Observer, Places, Pool, PoolSettings,
    StockClients, places, until,
};
use tessera_link::{End, Link, LinkParameters};
use tessera_test_peers::etcd::Cluster;
use tessera_test_peers::free_port;
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::client::{Client, OwnClient, PAUSE};
use crate::handover::Handover;
use crate::kind::{Kind, PoolKind};

/// How many requests a client sends before it is moved, at least, and afterwards. A browser still starts during the first.
const BEFORE: usize = 6;
const BEFORE_OF_BROWSERS: usize = 20;
const AFTER: usize = 4;

/// How long a client that doesn't follow is watched.
const WATCHED: Duration = Duration::from_secs(2);

/// The program of the proxies is next to this one.
const PROXY: &str = "edge-under-test";

/// All pools.
pub(crate) struct Stage {
    link: Arc<Link>,
    clients: Handle,
    stock: StockClients,
    /// Clients have certificates, and then cookies: one-time keys need the first, and stock clients have the second.
    certificates: Relayed<Pool>,
    cookies: Relayed<Pool>,
    envoys: Relayed<EnvoyPair>,
}

/// A pool, and a relay before each of its two proxies.
struct Relayed<P> {
    pool: P,
    observers: [Observer; 2],
}

impl<P> Relayed<P> {
    fn addresses(&self) -> [SocketAddr; 2] {
        [0, 1].map(|at| self.observers[at].address)
    }
}

impl Stage {
    /// Starts all at the server's end, where it is called.
    pub(crate) async fn start(link: Arc<Link>, clients: Handle) -> Self {
        let ip = |end, words: &[&str]| {
            let mut command = Command::new("ip");
            command.args(words);
            let status = link.spawn(end, command).and_then(|mut it| it.wait()).unwrap();
            assert!(status.success(), "ip {words:?}");
        };
        for address in ADDRESSES {
            ip(End::Server, &["address", "add", &format!("{address}/32"), "dev", "link0"]);
            ip(End::Client, &["route", "add", &format!("{address}/32"), "dev", "link0"]);
        }
        let certificates = pool(PoolSettings::CERTIFICATES).await;
        let cookies = pool(PoolSettings::COOKIES).await;
        let places = places(&["a", "b"]);
        let observers = observers(&places).await;
        let [a, b] = [0, 1].map(|at| places[at].clients);
        let announced = [0, 1].map(|at: usize| observers[at].address);
        let envoys = Relayed { pool: EnvoyPair::start([a, b], announced).await, observers };
        Self { link, clients, stock: StockClients::new(), certificates, cookies, envoys }
    }

    /// Sets the round-trip time.
    pub(crate) fn delay(&self, rtt_ms: f64) {
        let rtt = Duration::from_secs_f64(rtt_ms / 1e3);
        self.link.set(&LinkParameters { rtt, ..LinkParameters::default() }).unwrap();
    }

    /// Hands a new client over from `a` to `b`. `prefix` begins the paths of its requests, and no other client's.
    pub(crate) async fn hand_over(&mut self, kind: Kind, at: PoolKind, prefix: &str) -> Handover {
        let observers = match (kind, at) {
            (_, PoolKind::Envoy) => &self.envoys.observers,
            (Kind::Stock(_), _) => &self.cookies.observers,
            _ => &self.certificates.observers,
        };
        let [a, b] = [0, 1].map(|at| observers[at].address.to_string());
        let observer = observers[1].clone();
        if at == PoolKind::Envoy {
            self.envoys.pool.announce(0).await;
        }
        let client = self.client(kind, at, prefix);
        let before = if kind.is_browser() { BEFORE_OF_BROWSERS } else { BEFORE };
        client.has("is served", |it| it.at == "a" && it.announced == a, before).await;
        let arrivals = observer.arrivals().len();
        match at {
            PoolKind::Envoy => self.envoys.pool.announce_soon(1),
            PoolKind::Tessera => {
                let pool = self.pool_of(kind);
                let name = self.name_of(kind, prefix).await;
                until("it is bound", || pool.table.binding(&name).is_some()).await;
                pool.announce(&name, "b").await;
            }
        }
        client.has("hears of b", |it| it.announced == b, 1).await;
        if kind.follows() {
            client.has("follows", |it| it.at == "b", AFTER).await;
        } else {
            sleep(WATCHED).await;
        }
        let (visits, early) = client.end().await;
        let path = format!("/cart/{prefix}-");
        let executions = self.executions(kind, at).all().into_iter();
        let executed: Vec<_> = executions.filter(|it| it.path.starts_with(&path)).collect();
        let mut handover = Handover::of(&visits, &executed, &b).unwrap();
        handover.resumed = observer.arrivals().get(arrivals).map(|it| it.resumed);
        handover.early = early;
        handover
    }

    fn client(&self, kind: Kind, at: PoolKind, prefix: &str) -> Client {
        let drone = match (kind, at) {
            (Kind::MovedKey, _) => self.certificates.pool.drone(Some(&host(prefix))),
            (_, PoolKind::Envoy) => self.envoys.pool.drone(&self.envoys.addresses()),
            _ => self.certificates.pool.drone_without_early_data(Some(&host(prefix))),
        };
        let Kind::Stock(stock) = kind else {
            return Client::Own(OwnClient::start(&self.clients, drone, prefix));
        };
        let (origin, ca) = match at {
            PoolKind::Envoy => (self.envoys.addresses()[0], &self.envoys.pool.origin_ca),
            PoolKind::Tessera => (self.cookies.addresses()[0], &self.cookies.pool.origin_ca),
        };
        let spawn = |command| self.link.spawn(End::Client, command);
        let to = Itinerary { ca: &ca.pem(), origin, pause: PAUSE, prefix, spawn: &spawn };
        Client::Stock(self.stock.start(stock, &to))
    }

    fn pool_of(&self, kind: Kind) -> &Pool {
        let stock = matches!(kind, Kind::Stock(_));
        if stock { &self.cookies.pool } else { &self.certificates.pool }
    }

    fn executions(&self, kind: Kind, at: PoolKind) -> &Executions {
        match at {
            PoolKind::Envoy => &self.envoys.pool.executions,
            PoolKind::Tessera => &self.pool_of(kind).executions,
        }
    }

    /// A client's name in the store, as services see it.
    async fn name_of(&self, kind: Kind, prefix: &str) -> ClientName {
        let path = format!("/cart/{prefix}-");
        let name = || {
            let all = self.pool_of(kind).executions.all();
            let is_it = |it: &Execution| it.path.starts_with(&path) && !it.client.is_empty();
            ClientName::new(all.into_iter().find(is_it)?.client.replace("%3A", ":")).ok()
        };
        until("it has a name", || name().is_some()).await;
        name().unwrap()
    }
}

/// Where clients reach the proxies.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 77, 1, 1), Ipv4Addr::new(10, 77, 1, 2)];

async fn observers(places: &[Places]) -> [Observer; 2] {
    let port = free_port().unwrap();
    let start = async |at: usize| {
        Observer::start((ADDRESSES[at], port).into(), places[at].clients).await.unwrap()
    };
    [start(0).await, start(1).await]
}

/// Starts two proxies of Tessera's, with `ma` as in its default.
async fn pool(clients: &'static str) -> Relayed<Pool> {
    let program = std::env::current_exe().unwrap().with_file_name(PROXY);
    let program = program.to_str().unwrap().to_owned();
    let names = &["a", "b"];
    let places = places(names);
    let observers = observers(&places).await;
    let announced = [0, 1].map(|at: usize| observers[at].address);
    let settings = PoolSettings {
        // Once for each pool.
        program: program.leak(),
        proxies: names,
        clients,
        ma: 30,
        announced: &announced,
        instances: None,
        more: "",
    };
    let pool = Pool::over(Cluster::start(1).unwrap(), places, settings).await;
    Relayed { pool, observers }
}

fn host(prefix: &str) -> String {
    format!("{prefix}.example")
}
