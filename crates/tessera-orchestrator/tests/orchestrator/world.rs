//! A pool: a store, proxies that prepare and announce, orchestrators, operators.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use serde_json::{Value, json};
use tessera::{ClientConfig, Destination};
use tessera_bindings::{
    BindingState, BindingTable, Bindings, ChangedBinding, ClientName, Import, PoolSettings,
    ProxyEntry, ProxyLease, ProxyName,
};
use tessera_kit::clock::unix;
use tessera_kit::{SettingFile, credential, trust, volatile};
use tessera_orchestrator::Orchestrator;
use tessera_orchestrator::config::Configuration;
use tessera_orchestrator::operator::{ApiAddress, ApiClient};
use tessera_pki::Authority;
use tessera_proxy::admin::Metrics;
use tessera_proxy::config::Document;
use tessera_store::{FileStore, Store};
use tessera_tokio::{ClientStream, Connector};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::store::TestStore;

/// Moves take little time here: a client may move again after 200 ms.
pub const TIMES: &str = "ma = \"200ms\"\ndwell = \"200ms\"\nclock-skew = \"0ms\"\nprepare = \"10s\"\nfollow = \"30s\"\n";

/// Long enough for a request, whatever else the machine does.
pub const LONG: Duration = Duration::from_secs(60);

pub struct World {
    pub store: Arc<dyn Store>,
    pub bindings: Bindings,
    pub table: BindingTable,
    pub configuration: Configuration,
    pub directory: PathBuf,
    pub metrics: Metrics,
}

impl World {
    pub async fn new() -> Self {
        Self::with("", "").await
    }

    /// Creates a pool, and a store for its orchestrator that tests watch and cut off; `[api]` has these keys too.
    pub async fn on_test_store(api: &str) -> (Self, Arc<TestStore>) {
        let directory = directory();
        let store = Arc::new(FileStore::open(&directory.join("store")).unwrap());
        let of_orchestrator = Arc::new(TestStore::new(store.clone()));
        (Self::on(store, directory, TIMES, api, "").await, of_orchestrator)
    }

    /// Creates a pool whose `[api]` and `[moves]` have these keys too.
    pub async fn with(api: &str, moves: &str) -> Self {
        let directory = directory();
        let store = Arc::new(FileStore::open(&directory.join("store")).unwrap());
        Self::on(store, directory, TIMES, api, moves).await
    }

    pub async fn on(
        store: Arc<dyn Store>,
        directory: PathBuf,
        times: &str,
        api: &str,
        moves: &str,
    ) -> Self {
        let authority = Authority::new("Operators");
        let write = |name: &str, text: String| std::fs::write(directory.join(name), text).unwrap();
        write("ca.pem", authority.pem());
        for name in ["orchestrator.example", "ops.example", "reader.example"] {
            write(&format!("{name}.pem"), authority.issue(name).both_pem());
        }
        let text = format!(
            "[pool]\nfile = \"unused\"\n{times}[api]\nlisten = \"127.0.0.1:0\"\ncertificate = \"orchestrator.example.pem\"\nca = \
             \"ca.pem\"\n{api}\n[moves]\n{moves}"
        );
        let document = Document::from_text(&directory.join("o.toml"), text);
        let configuration: Configuration = document.parse().unwrap();
        configuration.check().unwrap();
        let (prefix, times) = (configuration.pool.prefix(), configuration.pool.times());
        let bindings = Bindings::new(store.clone(), &prefix, times, unix);
        let table = bindings.table();
        let metrics = Metrics::new();
        let world = Self { store, bindings, table, configuration, directory, metrics };
        until("the table is current", || world.table.is_current()).await;
        world
    }

    pub fn orchestrator(&self) -> Orchestrator {
        self.orchestrator_with(&self.metrics)
    }

    pub fn orchestrator_with(&self, metrics: &Metrics) -> Orchestrator {
        self.orchestrator_on(self.store.clone(), metrics)
    }

    pub fn orchestrator_on(&self, store: Arc<dyn Store>, metrics: &Metrics) -> Orchestrator {
        let inherited = &mut Default::default();
        Orchestrator::start_on(store, &self.configuration, inherited, metrics).unwrap()
    }

    /// Returns the API for the operator that may change everything.
    pub fn api(&self, orchestrator: &Orchestrator) -> Api {
        self.api_as(orchestrator, "ops.example")
    }

    pub fn api_as(&self, orchestrator: &Orchestrator, operator: &str) -> Api {
        let address = ApiAddress {
            server: orchestrator.addresses()[0].to_string().parse().unwrap(),
            server_name: Some("orchestrator.example".into()),
            ca: self.directory.join("ca.pem"),
            certificate: self.directory.join(format!("{operator}.pem")),
            key: None,
        };
        Api(Arc::new(ApiClient::open(address).unwrap()))
    }

    /// Connects as the operator that may change everything.
    pub async fn connect(&self, orchestrator: &Orchestrator) -> ClientStream<TcpStream> {
        self.connect_from([127, 0, 0, 1], orchestrator).await.unwrap()
    }

    /// Connects from an address of this machine.
    pub async fn connect_from(
        &self,
        from: [u8; 4],
        orchestrator: &Orchestrator,
    ) -> std::io::Result<ClientStream<TcpStream>> {
        let (ca, own) = (self.directory.join("ca.pem"), self.directory.join("ops.example.pem"));
        let verifier = trust::roots(SettingFile { setting: "ca", path: &ca }).unwrap();
        let own = SettingFile { setting: "own", path: &own };
        let mut config = ClientConfig::new(tessera_aws_lc::provider(), Arc::new(verifier));
        config.credentials = vec![credential::load(own, own).unwrap()];
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((from, 0).into()).unwrap();
        let socket = socket.connect(orchestrator.addresses()[0]).await.unwrap();
        let connector = Connector::new(config.checked().unwrap());
        let destination =
            Destination { server_name: "orchestrator.example".into(), ..Default::default() };
        connector.connect(destination, socket).await
    }

    /// Starts a proxy that prepares for each client that moves to it, and waits until it is live.
    pub async fn proxy(&self, name: &str, site: &str) -> Proxy {
        self.proxy_that(name, site, true).await
    }

    pub async fn proxy_that(&self, name: &str, site: &str, prepares: bool) -> Proxy {
        self.proxy_with(name, site, prepares, PoolSettings::default()).await
    }

    pub async fn proxy_with(
        &self,
        name: &str,
        site: &str,
        prepares: bool,
        settings: PoolSettings,
    ) -> Proxy {
        let name = ProxyName(name.into());
        let entry = ProxyEntry {
            authority: format!("{name}.example:443"),
            forward: String::new(),
            resumption: "same".into(),
            site: site.into(),
            life: "first".into(),
            vault: None,
            settings,
        };
        let lease = self.bindings.join(&name, entry, LONG).unwrap();
        let mut tasks = JoinSet::new();
        if prepares {
            tasks.spawn(prepare(self.bindings.clone(), name.clone()));
        }
        until("the proxy is live", || self.table.proxy(&name).is_some()).await;
        Proxy { _lease: lease, _tasks: tasks }
    }

    pub async fn bind(&self, client: &str, owner: &str) -> ClientName {
        let client = ClientName::new(client).unwrap();
        self.bindings.bind(&client, &ProxyName(owner.into())).await.unwrap();
        client
    }

    /// The client's first request arrives at the proxy that is announced to it.
    pub async fn arrive(&self, client: &ClientName) {
        let binding = self.bindings.read(client).await.unwrap();
        let BindingState::Announced { next, .. } = &binding.state else { panic!("{binding:?}") };
        self.bindings.switch(client, binding.generation, next).await.unwrap();
    }

    /// Waits until the client has moved, and the move is over.
    pub async fn until_settled(&self, client: &ClientName, owner: &str) {
        let owner = ProxyName(owner.into());
        until("the move is over", || {
            let binding = self.table.binding(client);
            binding.is_some_and(|it| it.state == BindingState::Stable { owner: owner.clone() })
        })
        .await;
    }

    pub fn owner(&self, client: &ClientName) -> String {
        self.table.binding(client).unwrap().owner().0.clone()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// A live proxy; dropped, it does nothing more.
pub struct Proxy {
    _lease: ProxyLease,
    _tasks: JoinSet<()>,
}

/// Does what a proxy does when clients move to it. It needs no state of them.
async fn prepare(bindings: Bindings, own: ProxyName) {
    let table = bindings.table();
    let bindings = bindings.with_table(&table);
    let mut changes = table.changed_bindings();
    while let Some(changed) = changes.next().await {
        let clients = match changed {
            ChangedBinding::Of(client) => vec![client],
            ChangedBinding::All => table.clients_of(&own),
        };
        for client in clients {
            let Some(binding) = table.binding(&client) else { continue };
            let BindingState::Preparing { next, import: None, .. } = &binding.state else {
                continue;
            };
            if *next != own {
                continue;
            }
            let import = Import {
                version: binding.version,
                keeps_state: false,
                resumption: "same".into(),
                life: "first".into(),
            };
            let number = binding.generation;
            // Refused, it is given up at its deadline.
            let _ = bindings.prepared_and_announce(&client, number, &own, &import).await;
        }
    }
}

/// An operator.
#[derive(Clone)]
pub struct Api(pub Arc<ApiClient>);

impl Api {
    pub async fn call(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let body = body.map(|body| body.to_string().into_bytes());
        self.call_raw(method, path, body).await
    }

    pub async fn call_raw(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> (u16, Value) {
        let answer = self.0.call(method, path, body, LONG).await.unwrap();
        let body = match answer.body.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(&answer.body).unwrap(),
        };
        (answer.status.as_u16(), body)
    }

    pub async fn get(&self, path: &str) -> Value {
        let (status, body) = self.call(Method::GET, path, None).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        body
    }

    pub async fn post(&self, path: &str) -> (u16, Value) {
        self.call(Method::POST, path, None).await
    }

    pub async fn delete(&self, path: &str) -> (u16, Value) {
        self.call(Method::DELETE, path, None).await
    }

    /// Moves a client, and waits until it is announced.
    pub async fn move_to(&self, client: &str, to: &str) -> (u16, Value) {
        self.request(json!({ "client": client, "to": to })).await
    }

    pub async fn request(&self, body: Value) -> (u16, Value) {
        self.call(Method::POST, "/moves", Some(body)).await
    }
}

/// Returns an empty directory, in memory if the machine has one for that.
pub fn directory() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let above = volatile::memory_directory("tessera-tests").map(|directory| directory.path);
    let name = format!("tessera-orchestrator-{}-{count}", std::process::id());
    let directory = above.unwrap_or_else(std::env::temp_dir).join(name);
    // Left by an earlier process with this id.
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

/// Waits until a condition holds.
pub async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        sleep(Duration::from_millis(2)).await;
    }
}
