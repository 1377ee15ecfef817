//! A client end, the server that it connects to, and a program that connects to it.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tessera::ServerConfig;
use tessera::resume::OneTimeKeyGuard;
use tessera_pki::Authority;
use tessera_proxy::admin;
use tessera_proxy::listen::{InheritedSockets, ListenOptions, Listener};
use tessera_tokio::{Acceptor, ServerStream};
use tessera_tunnel::client::ClientEnd;
use tessera_tunnel::config::{Anchors, ClientSection, DialAddress, ListenAddress};
use tessera_tunnel::metrics::Metrics;
use tessera_vault::{MemoryVault, RotatingRing};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

pub const SERVER_NAME: &str = "server.example";

/// A directory, removed after the test.
pub struct Files(PathBuf);

impl Files {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tessera-tunnel-client-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a server's application read from one connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceivedData {
    pub early: Vec<u8>,
    pub later: Vec<u8>,
}

/// A server: TLS, and an application behind it.
pub struct Server {
    pub config: ServerConfig,
    pub acceptor: Acceptor,
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<ReceivedData>>>,
    accepting: JoinHandle<()>,
    application: Application,
}

/// Everything around a client end.
pub struct Ends {
    pub files: Files,
    pub server: Server,
    registry: admin::Metrics,
    metrics: Metrics,
}

/// What a server's application does with a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Application {
    /// Echoes what it reads.
    Echo,
    /// Greets, then echoes what it reads.
    Greets,
    /// Reads to the end, then answers with the number of bytes.
    Counts,
    /// Reads 8 bytes and drops the connection, without close_notify.
    Dies,
    /// Drops the connection at its first bytes of TCP.
    Refuses,
}

impl Ends {
    pub async fn new(application: Application) -> Self {
        let files = Files::new();
        let (root, config) = server_config();
        fs::write(files.path("ca.pem"), root).unwrap();
        let server = Server::start(config, application).await;
        let registry = admin::Metrics::new();
        let metrics = Metrics::register(&registry);
        Self { files, server, registry, metrics }
    }

    pub fn section(&self) -> ClientSection {
        let listen = ListenAddress::Tcp(([127, 0, 0, 1], 0).into());
        let mut section = ClientSection::new(listen, DialAddress::Tcp(self.server.address));
        section.server_name = Some(SERVER_NAME.to_owned());
        section.peers.ca = Some(Anchors::File(self.files.path("ca.pem")));
        section
    }

    pub fn start(&self, section: &ClientSection) -> Client {
        let end = Arc::new(ClientEnd::load("test", section, &self.metrics).unwrap());
        let options = ListenOptions::default();
        let listener =
            Listener::bind(&section.listen, options, &mut InheritedSockets::default()).unwrap();
        let address = listener.local_addrs().unwrap().first().copied();
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn({
            let end = end.clone();
            async move {
                let stopped = async { drop(stopped.await) };
                end.run(listener, stopped, Duration::ZERO).await;
            }
        });
        Client { end, address, stop: Some(stop), running }
    }

    /// Returns the value of a series of the tunnel, such as `connections_total{outcome="completed"}`.
    pub fn metric(&self, series: &str) -> u64 {
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let separator = if labels == "}" { "" } else { "," };
        let series =
            format!("tessera_tunnel_{name}{{tunnel=\"test\",role=\"client\"{separator}{labels} ");
        let text = self.registry.text();
        let line = text.lines().find_map(|line| line.strip_prefix(&series));
        line.unwrap_or_else(|| panic!("{series} is not in\n{text}")).parse().unwrap()
    }

    /// Waits until a series has this value, and asserts that it doesn't exceed it.
    pub async fn until(&self, series: &str, value: u64) {
        while self.metric(series) < value {
            sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(self.metric(series), value, "{series}");
    }
}

/// A running client end.
pub struct Client {
    pub end: Arc<ClientEnd>,
    address: Option<SocketAddr>,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<()>,
}

impl Client {
    /// Connects as a program.
    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address.unwrap()).await.unwrap()
    }

    /// Sends a question as a program, reads its echo, and closes; all over TCP.
    pub async fn ask(&self, question: &[u8]) -> io::Result<Vec<u8>> {
        let mut program = self.connect().await;
        program.write_all(question).await?;
        program.shutdown().await?;
        let mut answer = Vec::new();
        program.read_to_end(&mut answer).await?;
        Ok(answer)
    }

    /// Stops it, without time to drain.
    pub async fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        (&mut self.running).await.unwrap();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl Server {
    async fn start(config: ServerConfig, application: Application) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let acceptor = Acceptor::new(config.clone().checked().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let accepting = tokio::spawn(serve(listener, acceptor.clone(), application, seen.clone()));
        Self { config, acceptor, address, seen, accepting, application }
    }

    /// Uses another configuration for new connections.
    pub fn change(&self, change: impl FnOnce(&mut ServerConfig)) {
        let mut config = self.config.clone();
        change(&mut config);
        self.acceptor.replace(config.checked().unwrap());
    }

    /// Returns what was read from the connections that have ended, in this order.
    pub fn seen(&self) -> Vec<ReceivedData> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until this many connections have ended.
    pub async fn ended(&self, count: usize) -> Vec<ReceivedData> {
        while self.seen().len() < count {
            sleep(Duration::from_millis(5)).await;
        }
        self.seen()
    }

    /// Stops listening, and drops all connections.
    pub async fn leave(&mut self) {
        self.accepting.abort();
        let _ = (&mut self.accepting).await;
    }

    /// Listens again at the same address.
    pub async fn come_back(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        let (acceptor, seen) = (self.acceptor.clone(), self.seen.clone());
        self.accepting = tokio::spawn(serve(listener, acceptor, self.application, seen));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(
    listener: TcpListener,
    acceptor: Acceptor,
    application: Application,
    all_seen: Arc<Mutex<Vec<ReceivedData>>>,
) {
    let mut connections = JoinSet::new();
    loop {
        let (mut socket, _) = listener.accept().await.unwrap();
        let (acceptor, all_seen) = (acceptor.clone(), all_seen.clone());
        connections.spawn(async move {
            let mut seen = ReceivedData::default();
            if application == Application::Refuses {
                let _ = socket.read(&mut [0]).await;
                drop(socket);
            } else if let Ok(mut stream) = acceptor.accept_early(socket).await {
                let _ = apply(application, &mut stream, &mut seen).await;
            }
            all_seen.lock().unwrap().push(seen);
        });
    }
}

async fn apply(
    application: Application,
    stream: &mut ServerStream<TcpStream>,
    seen: &mut ReceivedData,
) -> io::Result<()> {
    if application == Application::Greets {
        stream.write_all(b"hello").await?;
        stream.flush().await?;
    }
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let count = stream.read(&mut buffer).await?;
        let bytes = &buffer[..count];
        let place = if stream.is_early() { &mut seen.early } else { &mut seen.later };
        place.extend_from_slice(bytes);
        let all = seen.early.len() + seen.later.len();
        match application {
            Application::Dies if all >= 8 => return Ok(()),
            Application::Counts if count == 0 => stream.write_all(&[all as u8]).await?,
            Application::Echo | Application::Greets => stream.write_all(bytes).await?,
            _ => (),
        }
        if count == 0 {
            return stream.shutdown().await;
        }
        stream.flush().await?;
    }
}

/// The root, as PEM, and a configuration that accepts forward-secret early data.
fn server_config() -> (String, ServerConfig) {
    let root = Authority::new("root");
    let provider = tessera_aws_lc::provider();
    let mut config = ServerConfig::new(provider, vec![root.issue(SERVER_NAME).credential()]);
    config.tickets = Some(Arc::new(RotatingRing::new(&provider)));
    let guard = OneTimeKeyGuard::new(Arc::new(MemoryVault::new(1000)));
    config.policy.early_data.forward_secret = Some(guard);
    (root.pem(), config)
}

/// Returns all files below a directory, with their contents.
pub fn files_below(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else if let Ok(content) = fs::read(&path) {
            // A file being written may have been renamed meanwhile.
            found.push((path, content));
        }
    }
    found
}
