//! A pool: the store, the certificates, the proxies with their services, and an orchestrator's view.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera::ClientConfig;
use tessera_aws_lc::provider;
use tessera_bindings::{BindingState, BindingTable, Bindings, ClientName, MoveTimes, ProxyName};
use tessera_etcd::{EtcdClient, Transport};
use tessera_kit::clock::unix;
use tessera_pki::{Authority, Leaf};
use tessera_test_peers::Directory;
use tessera_test_peers::etcd::Cluster;
use tessera_webpki::WebPkiVerifier;
use tokio::time::sleep;

use crate::client::{Drone, ORIGIN};
use crate::proxy::{EdgeProxy, Places};
use crate::service::{Executions, Instance};
use crate::wait::{LONG, until};

/// The key that wraps ticket keys in the store and seals clients' state.
pub const POOL_KEY: &str = "b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184";

/// What tests change.
#[derive(Clone, Copy)]
pub struct PoolSettings<'s> {
    /// The program of the package's tests.
    pub program: &'static str,
    /// The proxies, at 127.0.0.1, 127.0.0.2 and so on.
    pub proxies: &'s [&'static str],
    /// The section `[clients]`.
    pub clients: &'s str,
    /// `ma`, in seconds.
    pub ma: u64,
    /// Where clients are announced each proxy, and come to, instead of its own address: an adversary before it.
    pub announced: &'s [SocketAddr],
    /// Replaces the instances of the service without state.
    pub instances: Option<&'s str>,
    /// Further sections of each configuration.
    pub more: &'s str,
}

impl PoolSettings<'_> {
    /// Clients are named by certificates.
    pub const CERTIFICATES: &'static str =
        "[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";

    /// Clients are named by a cookie.
    pub const COOKIES: &'static str = "[clients]\nnamed-by = \"cookie\"\n";

    /// Two proxies, whose clients have certificates.
    pub const fn of(program: &'static str) -> Self {
        Self {
            program,
            proxies: &["a", "b"],
            clients: PoolSettings::CERTIFICATES,
            ma: 1,
            announced: &[],
            instances: None,
            more: "",
        }
    }
}

/// A pool.
pub struct Pool {
    /// An orchestrator's hand.
    pub bindings: Bindings,
    /// What an orchestrator sees.
    pub table: BindingTable,
    /// The proxies, by their order.
    pub proxies: Vec<EdgeProxy>,
    /// The instance of each proxy.
    pub instances: Vec<Instance>,
    /// What all instances executed.
    pub executions: Executions,
    /// The authority of the origin's certificate.
    pub origin_ca: Authority,
    clients_ca: Authority,
    files: Vec<(&'static str, String)>,
    /// Where clients reach the proxies.
    pub addresses: Vec<SocketAddr>,
    /// The store. Dropped after the proxies.
    pub etcd: Cluster,
}

/// Picks places for these proxies, before an adversary is put before them.
pub fn places(proxies: &[&'static str]) -> Vec<Places> {
    (1..).zip(proxies).map(|(number, _)| Places::at(number)).collect()
}

impl Pool {
    /// Starts all, and waits until every proxy is live and issues tickets.
    pub async fn start(settings: PoolSettings<'_>) -> Self {
        let etcd = Cluster::start(1).unwrap();
        Self::over(etcd, places(settings.proxies), settings).await
    }

    /// The same over this store, with the proxies at these places.
    pub async fn over(etcd: Cluster, places: Vec<Places>, settings: PoolSettings<'_>) -> Self {
        let [origin_ca, pool_ca, clients_ca] = ["origin", "pool", "clients"].map(Authority::new);
        let client = EtcdClient::new(
            etcd.endpoints(),
            Transport::PlaintextOnPrivateNetwork,
            Duration::from_secs(2),
        );
        let ma = Duration::from_secs(settings.ma);
        let times = MoveTimes {
            dwell: ma,
            prepare: Duration::from_secs(10),
            announce: Duration::from_secs(60),
            drain: ma + Duration::from_millis(100),
        };
        let bindings = Bindings::new(Arc::new(client), "/tessera/edge/", times, unix);
        let executions = Executions::default();
        let mut instances = Vec::new();
        for name in settings.proxies {
            instances.push(Instance::start(name, &executions).await);
        }
        let addresses = match settings.announced {
            [] => places.iter().map(|it| it.clients).collect(),
            announced => announced.to_vec(),
        };
        let files = vec![
            ("www.pem", origin_ca.issue(ORIGIN).both_pem()),
            ("peer.pem", pool_ca.issue("localhost").both_pem()),
            ("pool.key", POOL_KEY.to_owned()),
            // Of Envoys' tickets.
            ("ring.key", POOL_KEY.chars().rev().collect()),
            ("pool.pem", pool_ca.pem()),
            ("clients.pem", clients_ca.pem()),
        ];
        let mut proxies = Vec::new();
        for (at, name) in settings.proxies.iter().enumerate() {
            let proxy = EdgeProxy::new(settings.program, name, places[at]);
            write_files(&proxy.directory, &files);
            let text = configuration(&etcd, &places, at, addresses[at], &instances[at], settings);
            proxy.directory.write("edge.toml", text);
            proxies.push(proxy);
        }
        let table = bindings.table();
        let mut pool = Self {
            bindings,
            table,
            proxies,
            instances,
            executions,
            origin_ca,
            clients_ca,
            files,
            addresses,
            etcd,
        };
        pool.proxies.iter_mut().for_each(EdgeProxy::start);
        pool.are_live(settings.proxies).await;
        pool
    }

    /// Waits until these proxies are live, and issue tickets.
    pub async fn are_live(&self, names: &[&str]) {
        let proxy = |name: &&str| ProxyName((*name).to_owned());
        let are = || names.iter().all(|name| self.table.proxy(&proxy(name)).is_some());
        until("the proxies are live", are).await;
        for at in (0..self.proxies.len()).filter(|at| names.contains(&self.proxies[*at].name)) {
            self.issues_tickets(at).await;
        }
    }

    async fn issues_tickets(&self, at: usize) {
        let deadline = Instant::now() + LONG;
        let client = self.drone_at(None, &[self.proxies[at].places.clients]);
        while !client.gets_ticket().await {
            assert!(Instant::now() < deadline, "there are no tickets:\n{}", self.proxies[at].log());
        }
    }

    /// Writes the certificates and keys of a member.
    pub(crate) fn write_files(&self, directory: &Directory) {
        write_files(directory, &self.files);
    }

    /// Returns the place of a proxy in the lists.
    pub fn index(&self, name: &str) -> usize {
        self.proxies.iter().position(|it| it.name == name).expect("it is in the pool")
    }

    /// Returns a client that is named by a certificate for this name, if it has one. Its origin is any proxy that can be
    /// reached, the first ones first.
    pub fn drone(&self, name: Option<&str>) -> Drone {
        self.drone_at(name, &self.addresses)
    }

    /// The same, with these addresses of the origin.
    pub fn drone_at(&self, name: Option<&str>, origin: &[SocketAddr]) -> Drone {
        Drone::new(self.client_config(name), name, origin, &self.executions)
    }

    /// As [`drone`](Self::drone), but it sends no early data.
    pub fn drone_without_early_data(&self, name: Option<&str>) -> Drone {
        let config = self.client_config(name);
        Drone::without_early_data(config, name, &self.addresses, &self.executions)
    }

    /// Returns the configuration of a client that speaks HTTP/2.
    pub fn client_config(&self, name: Option<&str>) -> ClientConfig {
        let verifier = WebPkiVerifier::new(&[self.origin_ca.der()]).unwrap();
        let mut config = ClientConfig::new(provider(), Arc::new(verifier));
        config.protocols = vec![b"h2".to_vec()];
        config.credentials =
            name.map(|name| self.certificate(name).credential()).into_iter().collect();
        config
    }

    /// Returns a certificate of a client.
    pub fn certificate(&self, name: &str) -> Leaf {
        self.clients_ca.issue(name)
    }

    /// Begins a move, as an orchestrator does: it isn't needed any more afterwards.
    pub async fn begin(&self, client: &ClientName, to: &str) {
        let deadline = Instant::now() + LONG;
        while let Err(error) = self.bindings.begin(client, &ProxyName(to.to_owned())).await {
            assert!(Instant::now() < deadline, "the move can't begin: {error}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Moves a client, and waits until the next proxy is announced.
    pub async fn announce(&self, client: &ClientName, to: &str) {
        self.begin(client, to).await;
        self.is(client, |state| matches!(state, BindingState::Announced { .. })).await;
    }

    /// Moves a client that sends requests to the service with state, until it is settled there. A move elsewhere that is in
    /// progress ends first.
    pub async fn moves(&self, drone: &Drone, to: &str) {
        let (name, to) = (drone.name(), ProxyName(to.to_owned()));
        let there = BindingState::Stable { owner: to.clone() };
        let deadline = Instant::now() + LONG;
        while self.table.binding(name).is_none_or(|it| it.state != there) {
            assert!(Instant::now() < deadline, "{:?}", self.table.binding(name));
            let _ = self.bindings.begin(name, &to).await;
            drone.post("/cart").await;
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits for a state of a client's binding.
    pub async fn is(&self, client: &ClientName, is_it: impl Fn(&BindingState) -> bool) {
        let binding = || self.table.binding(client);
        until("a state of the binding", || binding().is_some_and(|it| is_it(&it.state))).await;
    }

    /// Waits until a client is at this proxy, and no move is in progress.
    pub async fn is_settled_at(&self, client: &ClientName, at: &str) {
        let at = ProxyName(at.to_owned());
        self.is(client, |state| matches!(state, BindingState::Stable { owner } if *owner == at))
            .await;
    }
}

fn write_files(directory: &Directory, files: &[(&str, String)]) {
    for (name, content) in files {
        directory.write_private(name, content);
    }
}

fn configuration(
    etcd: &Cluster,
    places: &[Places],
    at: usize,
    announce: SocketAddr,
    instance: &Instance,
    settings: PoolSettings<'_>,
) -> String {
    let Places { clients, peers, keys, admin } = places[at];
    let mut others = String::new();
    for (other, places) in places.iter().enumerate().filter(|(other, _)| *other != at) {
        let _ = write!(
            others,
            "{{ address = \"{}\", server-name = \"localhost\", vault-name = \"{other:032x}\" }},",
            places.keys
        );
    }
    let (name, endpoints, ma) = (settings.proxies[at], etcd.endpoints(), settings.ma);
    let own = format!("\"{}\"", instance.address);
    let web = settings.instances.unwrap_or(&own);
    format!(
        "[process]\nadmin = \"{admin}\"\ndrain = \"1s\"\n\
         [pool]\netcd = {{ endpoints = {endpoints:?}, plaintext-on-private-network = true }}\nkey = \"pool.key\"\n\
         ma = {ma}\ndwell = {ma}\nclock-skew = \"100ms\"\nprepare = \"10s\"\n\
         [proxy]\nname = \"{name}\"\nlisten = \"{clients}\"\nannounce = \"{announce}\"\ncertificate = \"www.pem\"\n\
         one-time-keys = {{ listen = \"{keys}\", vault-name = \"{at:032x}\", ca = \"pool.pem\", \
         certificate = \"peer.pem\", others = [{others}] }}\n\
         [peers]\nlisten = \"{peers}\"\naddress = \"localhost:{}\"\ncertificate = \"peer.pem\"\nca = \"pool.pem\"\n\
         [service.web]\ninstances = [{web}]\n\
         [service.cart]\npath = \"/cart\"\nstate = \"/state\"\ninstances = [{own}]\n{}{}",
        peers.port(),
        settings.clients,
        settings.more,
    )
}
