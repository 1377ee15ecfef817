//! A pool of proxies in one process: with one store, real listeners, a service at each, and a client that follows.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy;
use hyper_util::rt::TokioIo;
use tessera::resume::Continuation;
use tessera::{ClientConfig, Destination};
use tessera_bindings::{BindingState, BindingTable, Bindings, ClientName, MoveTimes, ProxyName};
use tessera_follow::{FollowingClient, Route};
use tessera_kit::clock::unix;
use tessera_kit::{ProgramError, SettingFile, credential, trust};
use tessera_proxy::admin::{Health, Metrics};
use tessera_proxy::demo::{Authority, Files, failed};
use tessera_proxy::listen::InheritedSockets;
use tessera_proxy::process::{RunningProduct as _, StartContext};
use tessera_store::{FileStore, Store};
use tessera_tokio::hyper::FlightReport;
use tessera_tokio::{Connector, MemorySessionStore, SessionStore as _};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};
use tower_service::Service;

use super::service::CountingService;
use crate::config::LoadedEdge;
use crate::running::RunningEdge;

/// The origin of all proxies.
pub(crate) const ORIGIN: &str = "www.example";

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The pool.
pub(crate) struct Stage {
    pub(crate) bindings: Bindings,
    pub(crate) table: BindingTable,
    pub(crate) proxies: HashMap<&'static str, Proxy>,
    names: Names,
    clients: Authority,
    store: Arc<dyn Store>,
    /// Dropped last.
    files: Files,
}

/// A proxy with its service.
pub(crate) struct Proxy {
    pub(crate) running: Arc<RunningEdge>,
    pub(crate) address: SocketAddr,
    /// Where the other proxies reach it.
    #[cfg(test)]
    pub(crate) peers: SocketAddr,
    /// The address of its service.
    #[cfg(test)]
    pub(crate) instance: SocketAddr,
    #[cfg(test)]
    pub(crate) health: Health,
    pub(crate) service: Arc<CountingService>,
}

impl Stage {
    /// Starts the proxies of these names; the origin's address is that of the first. `more` ends each configuration, in the
    /// section of the service.
    pub(crate) async fn start(names: &[&'static str], more: &str) -> Result<Self, ProgramError> {
        let files = Files::make()?;
        let origin = Authority::make(&files, "origin.pem", "origin")?;
        origin.certify(&files, "www.pem", ORIGIN)?;
        let pool = Authority::make(&files, "pool.pem", "pool")?;
        pool.certify(&files, "peer.pem", "localhost")?;
        let clients = Authority::make(&files, "clients.pem", "clients")?;
        files.write("pool.key", &"07".repeat(32))?;
        let store = FileStore::open(&files.path("store")).map_err(failed)?;
        let store: Arc<dyn Store> = Arc::new(store);
        let times = MoveTimes {
            dwell: Duration::ZERO,
            prepare: Duration::from_secs(10),
            announce: Duration::from_secs(60),
            drain: Duration::from_secs(2),
        };
        let bindings = Bindings::new(store.clone(), "/tessera/edge/", times, unix);
        let mut stage = Self {
            table: bindings.table(),
            bindings,
            proxies: HashMap::new(),
            names: Names::default(),
            clients,
            store,
            files,
        };
        let ports = names.iter().map(|_| free_ports()).collect::<io::Result<Vec<_>>>();
        let ports = ports.map_err(failed)?;
        for at in 0..names.len() {
            stage.add(names, &ports, at, more).await?;
        }
        let is_live = |name: &&'static str| stage.table.proxy(&proxy(name)).is_some();
        until("the proxies don't come up", || names.iter().all(is_live)).await?;
        for proxy in stage.proxies.values() {
            stage.wait_for_tickets(proxy.address).await?;
        }
        Ok(stage)
    }

    async fn add(
        &mut self,
        names: &[&'static str],
        ports: &[[u16; 3]],
        at: usize,
        more: &str,
    ) -> Result<(), ProgramError> {
        let (name, [clients, peers, sites]) = (names[at], ports[at]);
        let service = Arc::new(CountingService::default());
        let instance = service.clone().listen().await.map_err(failed)?;
        let mut others = String::new();
        for (other, ports) in ports.iter().enumerate().filter(|(other, _)| *other != at) {
            let _ = write!(
                others,
                "{{ address = \"127.0.0.1:{}\", server-name = \"localhost\", vault-name = \"{other:032x}\" }},",
                ports[2]
            );
        }
        let text = format!(
            "[pool]\nfile = \"unused\"\nkey = \"pool.key\"\nma = 1\ndwell = 1\nclock-skew = \"100ms\"\n\
             [proxy]\nname = \"{name}\"\nlisten = \"127.0.0.1:{clients}\"\nannounce = \"{name}.example:443\"\n\
             certificate = \"www.pem\"\n\
             one-time-keys = {{ listen = \"127.0.0.1:{sites}\", vault-name = \"{at:032x}\", ca = \"pool.pem\", \
             certificate = \"peer.pem\", others = [{others}] }}\n\
             [peers]\nlisten = \"127.0.0.1:{peers}\"\naddress = \"localhost:{peers}\"\ncertificate = \"peer.pem\"\n\
             ca = \"pool.pem\"\n\
             [service.web]\ninstances = [\"{instance}\"]\n{more}"
        );
        let file = format!("{name}.toml");
        self.files.write(&file, &text)?;
        let path = self.files.path(&file);
        let loaded = LoadedEdge::read(&path)?;
        let (metrics, health) = (Metrics::new(), Health::new());
        let mut inherited = InheritedSockets::default();
        let beginning = StartContext::new(&mut inherited, &metrics, &health);
        let running = RunningEdge::start(&path, loaded, self.store.clone(), beginning).await?;
        let at_port = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let address = at_port(clients);
        self.names.add(&format!("{name}.example"), address);
        if at == 0 {
            self.names.add(ORIGIN, address);
        }
        let running = Arc::new(running);
        let proxy = Proxy {
            running,
            address,
            #[cfg(test)]
            peers: at_port(peers),
            #[cfg(test)]
            instance,
            #[cfg(test)]
            health,
            service,
        };
        self.proxies.insert(name, proxy);
        Ok(())
    }

    /// Waits until the ring of ticket keys has a key that a proxy may seal with.
    async fn wait_for_tickets(&self, address: SocketAddr) -> Result<(), ProgramError> {
        let sessions = Arc::new(MemorySessionStore::default());
        let config = self.client_config(None)?.checked()?;
        let connector = Connector::new(config).with_sessions(sessions.clone());
        let deadline = Instant::now() + PATIENCE;
        while sessions.pop(ORIGIN).is_none() {
            if Instant::now() > deadline {
                return Err(failed("there are no tickets"));
            }
            let socket = TcpStream::connect(address).await.map_err(failed)?;
            let destination = Destination { server_name: ORIGIN.into(), ..Destination::default() };
            let mut stream = connector.connect(destination, socket).await.map_err(failed)?;
            // The settings, behind the tickets.
            stream.read_exact(&mut [0; 9]).await.map_err(failed)?;
            sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// Returns a client, named by its certificate, if it has a name.
    pub(crate) fn client(&self, name: Option<&str>) -> Result<Client, ProgramError> {
        let mut config = self.client_config(name)?;
        config.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
        let sessions = Arc::new(MemorySessionStore::default());
        let connector = Connector::new(config.checked()?).with_sessions(sessions);
        Ok(Client(FollowingClient::over(self.names.clone(), connector)))
    }

    /// Returns the configuration of a client.
    pub(crate) fn client_config(&self, name: Option<&str>) -> Result<ClientConfig, ProgramError> {
        let mut config = ClientConfig::new(
            tessera_aws_lc::provider(),
            Arc::new(trust::roots(SettingFile {
                setting: "the origin",
                path: &self.files.path("origin.pem"),
            })?),
        );
        config.protocols = vec![b"h2".to_vec()];
        if let Some(name) = name {
            let file = format!("{name}.pem");
            let path = self.files.path(&file);
            if !path.exists() {
                self.clients.certify(&self.files, &file, name)?;
            }
            let file = SettingFile { setting: "the client", path: &path };
            config.credentials = vec![credential::load(file, file)?];
        }
        Ok(config)
    }

    /// Begins a move, as an orchestrator does, and waits until the client is announced the next proxy. Returns how long that
    /// took.
    pub(crate) async fn announce(
        &self,
        client: &ClientName,
        to: &str,
    ) -> Result<Duration, ProgramError> {
        let began = Instant::now();
        let to = proxy(to);
        self.bindings.begin(client, &to).await.map_err(failed)?;
        // The client may have come already.
        let is_announced = |table: &BindingTable| {
            let binding = table.binding(client);
            binding.is_some_and(|it| match &it.state {
                BindingState::Preparing { .. } => false,
                _ => it.announced() == &to,
            })
        };
        until("the next proxy doesn't prepare", || is_announced(&self.table)).await?;
        let took = began.elapsed();
        #[cfg(test)]
        until("a proxy doesn't learn of it", || {
            self.proxies.values().all(|it| is_announced(&it.running.edge().table))
        })
        .await?;
        Ok(took)
    }

    /// Ends all proxies.
    pub(crate) async fn end(&self) -> Result<(), ProgramError> {
        for proxy in self.proxies.values() {
            proxy.running.end().await?;
        }
        Ok(())
    }

    /// Returns the path of a file that the proxies use.
    #[cfg(test)]
    pub(crate) fn file(&self, name: &str) -> std::path::PathBuf {
        self.files.path(name)
    }
}

/// Returns the name of a proxy.
pub(crate) fn proxy(name: &str) -> ProxyName {
    ProxyName(name.to_owned())
}

/// Waits until a condition holds.
pub(crate) async fn until(otherwise: &str, is_so: impl Fn() -> bool) -> Result<(), ProgramError> {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        if Instant::now() > deadline {
            return Err(failed(otherwise));
        }
        sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// Returns ports that are free now, and stay so: each is returned once, and connections get theirs from 32768 on (Linux).
fn free_ports() -> io::Result<[u16; 3]> {
    const PORTS: std::ops::Range<u32> = 15_000..32_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut ports = [0; 3];
    for port in &mut ports {
        let mut candidates = PORTS.map(|_| {
            let number = NEXT
                .fetch_add(1, Ordering::Relaxed)
                .wrapping_add(std::process::id().wrapping_mul(61));
            u16::try_from(PORTS.start + number % (PORTS.end - PORTS.start)).unwrap_or_default()
        });
        let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
        *port = candidates.find(is_free).ok_or(io::ErrorKind::AddrInUse)?;
    }
    Ok(ports)
}

/// A client that follows.
#[derive(Clone)]
pub(crate) struct Client(FollowingClient<Full<Bytes>, Names>);

/// A response.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    /// How many bytes of early data its connection carried.
    pub(crate) early: usize,
    /// The proxy that the alternative named; `None`: the origin's own.
    pub(crate) alternative: Option<String>,
}

impl Client {
    /// Sends a request; fails if it may have been executed, and nothing is known of it.
    pub(crate) async fn send(
        &self,
        request: http::request::Builder,
        body: &str,
    ) -> Result<Received, legacy::Error> {
        let request: Request<Full<Bytes>> =
            request.body(Full::from(body.to_owned())).unwrap_or_default();
        let response = self.0.request(request).await?;
        let report = response.extensions().get::<FlightReport>();
        let early = report.map_or(0, |report| report.early_data().accepted);
        let alternative = match response.extensions().get::<Route>() {
            Some(Route::Alternative(it)) => it.host.split('.').next().map(str::to_owned),
            _ => None,
        };
        let (parts, body) = response.into_parts();
        let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(Received { status: parts.status, headers: parts.headers, body, early, alternative })
    }

    /// Sends a GET.
    pub(crate) async fn get(&self, path: &str) -> Result<Received, legacy::Error> {
        self.send(Request::get(format!("https://{ORIGIN}{path}")), "").await
    }
}

impl Received {
    /// Returns a field.
    pub(crate) fn field(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// Connects to proxies by the names that they announce.
#[derive(Clone, Default)]
pub(crate) struct Names(Arc<Mutex<HashMap<String, SocketAddr>>>);

impl Names {
    fn add(&self, name: &str, address: SocketAddr) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.insert(name.to_owned(), address);
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
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let address = names.get(uri.host().unwrap_or_default()).copied();
        Box::pin(async move {
            let address = address.ok_or(io::ErrorKind::NotFound)?;
            let socket = TcpStream::connect(address).await?;
            socket.set_nodelay(true)?;
            Ok(TokioIo::new(socket))
        })
    }
}
