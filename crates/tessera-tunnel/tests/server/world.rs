//! Files, a running server end, and clients.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{fs, process};

use tessera::Destination;
use tessera::resume::{ExternalPsk, FlightHandle, Receipt};
use tessera_kit::ProgramError;
use tessera_pki::rcgen::{CertificateParams, DnType, SanType};
use tessera_pki::{Authority, Leaf};
use tessera_proxy::listen::{InheritedSockets, Listener};
use tessera_tokio::{ClientStream, Connector, EarlyData, MemorySessionStore};
use tessera_tunnel::config::{Anchors, ClientSection, Peers, ServerSection};
use tessera_tunnel::metrics::{Role, TunnelMetrics};
use tessera_tunnel::server::ServerEnd;
use tessera_tunnel::tls;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A directory with an authority, and the certificates it issued.
pub struct Files {
    pub directory: PathBuf,
    ca: Authority,
}

impl Files {
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("server-{}-{count}", process::id());
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&directory).unwrap();
        let ca = Authority::new("tunnel");
        fs::write(directory.join("ca.pem"), ca.pem()).unwrap();
        let files = Self { directory, ca };
        files.issue("server", SanType::DnsName("server.example".try_into().unwrap()));
        files.issue("client", SanType::DnsName("client.example".try_into().unwrap()));
        files
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Writes certificate and key to one file, `NAME.pem`; returns the certificate.
    pub fn issue(&self, name: &str, san: SanType) -> Vec<u8> {
        self.write(name, &self.ca.issue_with(&[], |it| it.subject_alt_names = vec![san]))
    }

    /// The same with this subject and no name.
    pub fn issue_nameless(&self, name: &str, subject: &str) {
        let change =
            |it: &mut CertificateParams| it.distinguished_name.push(DnType::CommonName, subject);
        self.write(name, &self.ca.issue_with(&[], change));
    }

    /// The same, issued by an unknown authority.
    pub fn issue_elsewhere(&self, name: &str, san: SanType) -> Vec<u8> {
        let elsewhere = Authority::new("elsewhere");
        self.write(name, &elsewhere.issue_with(&[], |it| it.subject_alt_names = vec![san]))
    }

    fn write(&self, name: &str, leaf: &Leaf) -> Vec<u8> {
        fs::write(self.path(&format!("{name}.pem")), leaf.both_pem()).unwrap();
        leaf.der()
    }

    pub fn server(&self, forward: &str) -> ServerSection {
        let listen = "127.0.0.1:0".parse().unwrap();
        let mut section = ServerSection::new(listen, forward.parse().unwrap());
        section.certificate = Some(self.path("server.pem"));
        section.peers.ca = Some(Anchors::File(self.path("ca.pem")));
        section.peers.names = vec!["client.example".to_owned()];
        section.limits.connect = Duration::from_millis(500);
        section
    }

    pub fn client(&self) -> ClientSection {
        let listen = "127.0.0.1:0".parse().unwrap();
        let mut section = ClientSection::new(listen, "server.example:1".parse().unwrap());
        section.certificate = Some(self.path("client.pem"));
        section.peers = Peers { ca: Some(Anchors::File(self.path("ca.pem"))), ..Peers::default() };
        section
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A running server end.
pub struct RunningServer {
    pub end: ServerEnd,
    pub metrics: Arc<TunnelMetrics>,
    pub address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl RunningServer {
    pub fn start(section: &ServerSection) -> Self {
        Self::try_start(section).unwrap()
    }

    pub fn try_start(section: &ServerSection) -> Result<Self, ProgramError> {
        let metrics = TunnelMetrics::unregistered(Role::Server);
        let (end, _) = ServerEnd::open("test", section.clone(), metrics.clone())?;
        let options = end.listen_options();
        let listener =
            Listener::bind(&section.listen, options, &mut InheritedSockets::default()).unwrap();
        let address = listener.local_addrs().unwrap()[0];
        let (stop, stopped) = oneshot::channel::<()>();
        let running = end.clone();
        let task = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            running.run(listener, stopped, Duration::from_secs(5)).await.unwrap();
        });
        Ok(Self { end, metrics, address, stop, task })
    }

    /// Stops it, and waits for its end.
    pub async fn stop(self) {
        drop(self.stop);
        within(self.task).await.unwrap();
    }
}

/// A client with its sessions.
pub struct Client {
    connector: Connector,
    server_name: String,
    psks: Vec<ExternalPsk>,
}

impl Client {
    pub fn new(section: &ClientSection) -> Self {
        let (config, to) = tls::client("test", section, "server.example").unwrap();
        let sessions = Arc::new(MemorySessionStore::default());
        let connector = Connector::new(config).with_sessions(sessions);
        Self { connector, server_name: to.server_name, psks: to.external_psks }
    }

    fn destination(&self) -> Destination {
        Destination {
            server_name: self.server_name.clone(),
            external_psks: self.psks.clone(),
            ..Destination::default()
        }
    }

    pub async fn connect(&self, to: SocketAddr) -> std::io::Result<ClientStream<TcpStream>> {
        self.over(TcpStream::connect(to).await.unwrap()).await
    }

    pub async fn over(&self, socket: TcpStream) -> std::io::Result<ClientStream<TcpStream>> {
        within(self.connector.connect(self.destination(), socket)).await
    }

    /// Connects with this early data.
    pub async fn early(&self, to: SocketAddr, data: &[u8]) -> EarlyData<ClientStream<TcpStream>> {
        let socket = TcpStream::connect(to).await.unwrap();
        let early = self.connector.connect_with_early_data(self.destination(), socket, data);
        within(early).await
    }

    /// Asks for the receipt of a flight, with a ticket from an ordinary connection before.
    pub async fn receipt(&self, to: SocketAddr, flight: FlightHandle) -> Receipt {
        self.request(to, b"").await.unwrap();
        let destination = Destination { ask_receipts: vec![flight], ..self.destination() };
        let socket = TcpStream::connect(to).await.unwrap();
        let mut stream = within(self.connector.connect(destination, socket)).await.unwrap();
        answer(&mut stream).await.unwrap();
        let receipts = &stream.facts().receipts;
        assert_eq!((receipts.len(), receipts[0].0), (1, flight));
        receipts[0].1
    }

    /// Sends one request and reads its answer until both directions have ended, and tickets have arrived.
    pub async fn request(&self, to: SocketAddr, data: &[u8]) -> std::io::Result<Vec<u8>> {
        let mut stream = self.connect(to).await?;
        stream.write_all(data).await?;
        answer(&mut stream).await
    }
}

/// Ends this side, and returns what arrived until the other's end.
pub async fn answer(stream: &mut ClientStream<TcpStream>) -> std::io::Result<Vec<u8>> {
    within(async {
        stream.shutdown().await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok(answer)
    })
    .await
}

/// Fails if the future takes longer than anything here should.
pub async fn within<F: Future>(future: F) -> F::Output {
    timeout(Duration::from_secs(60), future).await.expect("it takes too long")
}
