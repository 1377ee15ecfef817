//! A pool of proxies in one process, with one store, real listeners, a service at each proxy, and clients.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use tessera::ClientConfig;
use tessera::auth::Credential;
use tessera::resume::Continuation;
use tessera_bindings::{BindingState, Bindings, ClientName, MoveTimes, ProxyName};
use tessera_follow::FollowingClient;
use tessera_kit::clock::unix;
use tessera_pki::Authority;
use tessera_proxy::admin::{Health, Metrics};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::server::{AcceptedConnection, ServerOptions, serve};
use tessera_proxy::listen::InheritedSockets;
use tessera_proxy::process::StartContext;
use tessera_store::{FileStore, Store};
use tessera_tokio::hyper::FlightReport;
use tessera_tokio::{Connector, MemorySessionStore, SessionStore as _};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::sleep;
use tower_service::Service;

use crate::config::LoadedEdge;
use crate::running::RunningEdge;

pub(super) const ORIGIN: &str = "www.example";

/// A pool.
pub(super) struct World {
    pub(super) directory: PathBuf,
    pub(super) store: Arc<dyn Store>,
    pub(super) bindings: Bindings,
    pub(super) authority: Authority,
    pub(super) clients: Authority,
    pub(super) pool: Authority,
    pub(super) proxies: BTreeMap<&'static str, TestProxy>,
    names: Names,
    more: &'static str,
}

/// A proxy with its service.
pub(super) struct TestProxy {
    pub(super) running: Arc<RunningEdge>,
    pub(super) address: SocketAddr,
    pub(super) peers: SocketAddr,
    pub(super) service: Arc<CountingService>,
}

/// Counts each client's requests, and has that as its state.
#[derive(Default)]
pub(super) struct CountingService {
    counts: Mutex<HashMap<String, u64>>,
    /// All requests that it executed: client, method and path.
    pub(super) executed: Mutex<Vec<String>>,
}

impl World {
    /// Starts the proxies of these names. `more` is added to each configuration.
    pub(super) async fn start(names: &[&'static str], more: &'static str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tessera-edge-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        // Left by an earlier process with this id.
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        let store: Arc<dyn Store> = Arc::new(FileStore::open(&directory.join("store")).unwrap());
        let times = MoveTimes {
            dwell: Duration::ZERO,
            prepare: Duration::from_secs(10),
            announce: Duration::from_secs(60),
            drain: Duration::from_secs(2),
        };
        let bindings = Bindings::new(store.clone(), "/tessera/edge/", times, unix);
        let [authority, clients, pool] = ["origin", "clients", "pool"].map(Authority::new);
        let mut world = Self {
            directory,
            store,
            bindings,
            authority,
            clients,
            pool,
            proxies: BTreeMap::new(),
            names: Names::default(),
            more,
        };
        world.write("ca.pem", &world.clients.pem());
        world.write("pool.pem", &world.pool.pem());
        world.write("www.pem", &world.authority.issue(ORIGIN).both_pem());
        world.write("peer.pem", &world.pool.issue("localhost").both_pem());
        world.write("pool.key", &"07".repeat(32));
        let ports: Vec<_> = names.iter().map(|_| [(); 3].map(|()| free_port())).collect();
        let vaults: Vec<_> = (1..=names.len()).map(|number| format!("{number:032x}")).collect();
        for (at, name) in names.iter().enumerate() {
            let others = (0..names.len()).filter(|other| *other != at).map(|other| {
                format!(
                    "{{ address = \"127.0.0.1:{}\", server-name = \"localhost\", vault-name = \"{}\" }}",
                    ports[other][2], vaults[other]
                )
            });
            let others = others.collect::<Vec<_>>().join(", ");
            world.add(name, ports[at], &vaults[at], &others).await;
        }
        let table = world.bindings.table();
        until("all proxies are live", || {
            names.iter().all(|name| table.proxy(&ProxyName((*name).to_owned())).is_some())
        })
        .await;
        for proxy in world.proxies.values() {
            world.wait_for_tickets(proxy.address).await;
        }
        world
    }

    /// Waits until the ring of ticket keys has a key that a proxy may seal with.
    async fn wait_for_tickets(&self, address: SocketAddr) {
        let deadline = Instant::now() + Duration::from_secs(20);
        let sessions = Arc::new(MemorySessionStore::default());
        let config = self.client_config(None).checked().unwrap();
        let connector = Connector::new(config).with_sessions(sessions.clone());
        while sessions.pop(ORIGIN).is_none() {
            assert!(Instant::now() < deadline, "there are no tickets");
            let socket = TcpStream::connect(address).await.unwrap();
            let destination =
                tessera::Destination { server_name: ORIGIN.into(), ..Default::default() };
            let mut stream = connector.connect(destination, socket).await.unwrap();
            let mut settings = [0; 9];
            stream.read_exact(&mut settings).await.unwrap();
            sleep(Duration::from_millis(5)).await;
        }
    }

    fn write(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.directory.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    async fn add(&mut self, name: &'static str, ports: [u16; 3], vault: &str, others: &str) {
        let service = Arc::new(CountingService::default());
        let instance = service.clone().listen().await;
        let [clients, peers, sites] = ports;
        let text = format!(
            "[pool]\nfile = \"unused\"\nkey = \"pool.key\"\nma = 2\ndwell = 2\n\
             [proxy]\nname = \"{name}\"\nlisten = \"127.0.0.1:{clients}\"\nannounce = \"{name}.example:443\"\n\
             certificate = \"www.pem\"\n\
             one-time-keys = {{ listen = \"127.0.0.1:{sites}\", vault-name = \"{vault}\", ca = \"pool.pem\", \
             certificate = \"peer.pem\", others = [{others}] }}\n\
             [peers]\nlisten = \"127.0.0.1:{peers}\"\naddress = \"localhost:{peers}\"\ncertificate = \"peer.pem\"\n\
             ca = \"pool.pem\"\n\
             [service.web]\ninstances = [\"{instance}\"]\n{}",
            self.more
        );
        self.write(&format!("{name}.toml"), &text);
        let running = self.run(name).await;
        let address = SocketAddr::from(([127, 0, 0, 1], clients));
        let peers = SocketAddr::from(([127, 0, 0, 1], peers));
        self.names.add(&format!("{name}.example"), address);
        if self.proxies.is_empty() {
            self.names.add(ORIGIN, address);
        }
        self.proxies.insert(name, TestProxy { running, address, peers, service });
    }

    async fn run(&self, name: &str) -> Arc<RunningEdge> {
        let file = self.directory.join(format!("{name}.toml"));
        let loaded = LoadedEdge::read(Path::new(&file)).unwrap();
        let (metrics, health) = (Metrics::new(), Health::new());
        let mut inherited = InheritedSockets::default();
        let beginning = StartContext::new(&mut inherited, &metrics, &health);
        Arc::new(RunningEdge::start(&file, loaded, self.store.clone(), beginning).await.unwrap())
    }

    /// Ends a proxy without a farewell: its listeners and its lease are gone.
    pub(super) async fn kill(&mut self, name: &'static str) {
        let proxy = self.proxies.remove(name).unwrap();
        proxy.running.cut();
    }

    /// Returns a client. Named by a certificate, if it has one.
    pub(super) fn client(&self, name: Option<&str>) -> TestClient {
        let mut config = self.client_config(name);
        config.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
        let sessions = Arc::new(MemorySessionStore::default());
        let connector = Connector::new(config.checked().unwrap()).with_sessions(sessions);
        TestClient { client: FollowingClient::over(self.names.clone(), connector) }
    }

    pub(super) fn client_config(&self, name: Option<&str>) -> ClientConfig {
        let verifier = tessera_webpki::WebPkiVerifier::new(&[self.authority.der()]).unwrap();
        let mut config = ClientConfig::new(tessera_aws_lc::provider(), Arc::new(verifier));
        config.protocols = vec![b"h2".to_vec()];
        let credential: Option<Credential> = name.map(|name| self.clients.issue(name).credential());
        config.credentials = credential.into_iter().collect();
        config
    }

    /// Returns the only client's name.
    pub(super) fn only_client(&self) -> ClientName {
        let table = &self.any().table;
        let own = self.proxies.keys().flat_map(|name| table.clients_of(&proxy(name)));
        let mut clients: Vec<_> = own.collect();
        clients.dedup();
        assert_eq!(clients.len(), 1);
        clients.remove(0)
    }

    pub(super) fn any(&self) -> &crate::edge::Edge {
        self.proxies.values().next().unwrap().running.edge()
    }

    /// Begins a move, and waits until the client is announced the next proxy.
    pub(super) async fn announce(&self, client: &ClientName, to: &str) {
        self.bindings.begin(client, &proxy(to)).await.unwrap();
        let table = self.bindings.table();
        until("the client is announced the next proxy", || {
            let binding = table.binding(client);
            binding.is_some_and(|it| matches!(it.state, BindingState::Announced { .. }))
        })
        .await;
    }

    pub(super) fn service(&self, name: &str) -> &CountingService {
        &self.proxies[name].service
    }

    /// Returns what was executed anywhere.
    pub(super) fn executed(&self) -> Vec<String> {
        let of = |proxy: &TestProxy| proxy.service.executed.lock().unwrap().clone();
        self.proxies.values().flat_map(of).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

pub(super) fn proxy(name: &str) -> ProxyName {
    ProxyName(name.to_owned())
}

/// Waits until a condition holds.
pub(super) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        sleep(Duration::from_millis(2)).await;
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl CountingService {
    /// Serves at a free address, which it returns.
    async fn listen(self: Arc<Self>) -> SocketAddr {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let options = Arc::new(ServerOptions::default());
        tokio::spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                let (service, options) = (self.clone(), options.clone());
                tokio::spawn(async move {
                    let answer = async |request| service.answer(request).await;
                    let never = std::future::pending();
                    serve(AcceptedConnection::plaintext(socket), options, answer, never).await;
                });
            }
        });
        address
    }

    pub(super) fn count(&self, client: &str) -> u64 {
        self.counts.lock().unwrap().get(client).copied().unwrap_or_default()
    }

    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let text = |name: &str| {
            let value = request.headers().get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let client = text("tessera-client");
        let Some(of) = path.strip_prefix("/state/") else {
            let line = format!("{client} {} {path}", request.method());
            self.executed.lock().unwrap().push(line);
            if path == "/slow" {
                sleep(Duration::from_millis(300)).await;
            }
            let fields = format!(
                "{client}|{}|{}|{}",
                text("x-forwarded-for"),
                text("x-forwarded-proto"),
                text("tessera-generation")
            );
            let body = request.into_body().collect_up_to(1 << 20).await.unwrap().data;
            let mut counts = self.counts.lock().unwrap();
            let count = counts.entry(client).or_default();
            *count += 1;
            let answer = match path.as_str() {
                "/fields" => Bytes::from(fields),
                "/echo" => body,
                _ => count.to_string().into(),
            };
            return Response::builder()
                .header("alt-svc", "h2=\"evil:1\"")
                .body(Body::full(answer))
                .unwrap();
        };
        match request.method().as_str() {
            "GET" => match self.count(of) {
                0 => Response::builder().status(404).body(Body::empty()).unwrap(),
                count => Response::builder()
                    .header("tessera-state-version", count)
                    .body(Body::full(count.to_string().into()))
                    .unwrap(),
            },
            _ => {
                let of = of.to_owned();
                let body = request.into_body().collect_up_to(100).await.unwrap().data;
                let count = String::from_utf8_lossy(&body).parse().unwrap();
                self.counts.lock().unwrap().insert(of, count);
                Response::builder().status(204).body(Body::empty()).unwrap()
            }
        }
    }
}

/// A client that follows.
#[derive(Clone)]
pub(super) struct TestClient {
    client: FollowingClient<Full<Bytes>, Names>,
}

/// A response.
#[derive(Debug)]
pub(super) struct Got {
    pub(super) status: StatusCode,
    pub(super) body: String,
    pub(super) alt_svc: String,
    pub(super) set_cookie: Option<String>,
    pub(super) early: u64,
}

impl TestClient {
    pub(super) async fn get(&self, path: &str) -> Got {
        self.send(Request::get(format!("https://{ORIGIN}{path}")), "").await
    }

    pub(super) async fn post(&self, path: &str, body: &str) -> Got {
        self.send(Request::post(format!("https://{ORIGIN}{path}")), body).await
    }

    /// The same; fails if the request may have been executed.
    pub(super) async fn try_get(
        &self,
        path: &str,
    ) -> Result<(), hyper_util::client::legacy::Error> {
        let request =
            Request::get(format!("https://{ORIGIN}{path}")).body(Full::default()).unwrap();
        self.client.request(request).await.map(drop)
    }

    pub(super) async fn send(&self, request: http::request::Builder, body: &str) -> Got {
        let request = request.body(Full::from(body.to_owned())).unwrap();
        let response = self.client.request(request).await.unwrap();
        let text = |name: &str| {
            response.headers().get(name).map(|value| value.to_str().unwrap().to_owned())
        };
        let report = response.extensions().get::<FlightReport>();
        let early = report.map_or(0, |report| report.early_data().accepted as u64);
        let (status, alt_svc, set_cookie) =
            (response.status(), text("alt-svc").unwrap_or_default(), text("set-cookie"));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let body = String::from_utf8_lossy(&body).into_owned();
        Got { status, body, alt_svc, set_cookie, early }
    }
}

/// Connects to proxies by the names that they announce.
#[derive(Clone, Default)]
pub(super) struct Names(Arc<Mutex<HashMap<String, SocketAddr>>>);

impl Names {
    fn add(&self, name: &str, address: SocketAddr) {
        self.0.lock().unwrap().insert(name.to_owned(), address);
    }
}

impl Service<Uri> for Names {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<TcpStream>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let address = self.0.lock().unwrap().get(uri.host().unwrap_or_default()).copied();
        Box::pin(async move {
            let address = address.ok_or_else(|| io::Error::other("no such name"))?;
            let socket = TcpStream::connect(address).await?;
            socket.set_nodelay(true)?;
            Ok(TokioIo::new(socket))
        })
    }
}
