//! A client and a server with their own certificates, and helpers for the tests.
#![allow(dead_code, reason = "no test uses everything")]

pub mod sockets;
pub mod vaults;

pub mod executed;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tessera::resume::{Continuation, OneTimeKeyGuard, ReplayGuard, Verdict};
use tessera::wire::TicketRequest;
use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_pki::Authority;
use tessera_tokio::{
    Acceptor, ClientStream, Connector, EarlyData, MemorySessionStore, ServerStream,
};
use tessera_vault::{MemoryRegister, MemoryVault, TicketKey, TicketKeyRing};
use tessera_webpki::WebPkiVerifier;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

pub const SERVER_NAME: &str = "server.example";

/// Both ends, for tests to modify.
pub struct Ends {
    pub client: ClientConfig,
    pub server: ServerConfig,
}

/// Makes ends with full handshakes, and tickets with psk_dhe_ke.
pub fn ends() -> Ends {
    ends_for(SERVER_NAME)
}

/// Makes ends like `ends`, for a server of another name.
pub fn ends_for(server_name: &str) -> Ends {
    let root = Authority::new("an authority");
    let credential = root.issue(server_name).credential();
    let provider = tessera_aws_lc::provider();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let day = Duration::from_secs(24 * 3600);
    let ring = TicketKeyRing::new(&provider);
    ring.add(TicketKey::generate(&provider, now, day, day).unwrap(), now).unwrap();

    let verifier = Arc::new(WebPkiVerifier::new(&[root.der()]).unwrap());
    let client = ClientConfig::new(provider, verifier);
    let mut server = ServerConfig::new(provider, vec![credential]);
    server.tickets = Some(Arc::new(ring));
    Ends { client, server }
}

/// Ends with forward-secret early data.
pub fn forward_secret() -> Ends {
    let mut ends = ends();
    ends.client.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
    let guard = OneTimeKeyGuard::new(Arc::new(MemoryVault::new(1000)));
    ends.server.policy.early_data.forward_secret = Some(guard);
    ends
}

/// Ends with replayable early data.
pub fn replayable() -> Ends {
    let mut ends = ends();
    ends.client.policy.early_data.replayable_without_forward_secrecy = true;
    ends.server.policy.early_data.replayable_without_forward_secrecy = Some(ReplayGuard {
        register: Arc::new(MemoryRegister::new(1000, Duration::ZERO)),
        max_early_data_size: 16 * 1024,
    });
    ends
}

impl Ends {
    pub fn connector(&self) -> Connector {
        Connector::new(self.client.clone().checked().unwrap())
    }

    pub fn acceptor(&self) -> Acceptor {
        Acceptor::new(self.server.clone().checked().unwrap())
    }

    /// Sets how many tickets both ends request and send.
    pub fn with_tickets(mut self, count: u8) -> Self {
        let tickets = TicketRequest { new_session_count: count, resumption_count: count };
        self.client.policy.tickets = tickets;
        self.server.policy.tickets = tickets;
        self
    }
}

pub fn destination() -> Destination {
    Destination { server_name: SERVER_NAME.into(), ..Default::default() }
}

pub type Client = ClientStream<DuplexStream>;
pub type Server = ServerStream<DuplexStream>;

/// Returns both ends after the handshake, over a pipe that holds `capacity` bytes.
pub async fn connect_over(
    connector: &Connector,
    acceptor: &Acceptor,
    capacity: usize,
) -> (Client, Server) {
    let (near, far) = duplex(capacity);
    tokio::try_join!(connector.connect(destination(), near), acceptor.accept(far)).unwrap()
}

pub async fn connect(connector: &Connector, acceptor: &Acceptor) -> (Client, Server) {
    connect_over(connector, acceptor, 64 * 1024).await
}

/// Returns a connector with sessions of one connection in its store.
pub async fn prepared(ends: &Ends) -> (Connector, Arc<MemorySessionStore>) {
    let store = Arc::new(MemorySessionStore::default());
    let connector = ends.connector().with_sessions(store.clone());
    let (mut client, mut server) = connect(&connector, &ends.acceptor()).await;
    finish(&mut client, &mut server).await;
    (connector, store)
}

/// What a client learned of its early data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyDataReport {
    NotSent,
    Accepted(usize),
    Rejected(Verdict),
}

/// Returns the stream of a successful handshake, and what became of its early data.
pub fn settled<S>(early_data: EarlyData<S>) -> (S, EarlyDataReport) {
    match early_data {
        EarlyData::NotSent(stream) => (stream.unwrap(), EarlyDataReport::NotSent),
        EarlyData::Accepted { stream, count, .. } => (stream, EarlyDataReport::Accepted(count)),
        EarlyData::Rejected { stream, verdict, .. } => (stream, EarlyDataReport::Rejected(verdict)),
        other => panic!("{other:?}"),
    }
}

/// Ends a connection in both directions, so that every ticket arrives and is stored.
pub async fn finish(client: &mut Client, server: &mut Server) {
    server.shutdown().await.unwrap();
    client.read_to_end(&mut Vec::new()).await.unwrap();
    client.shutdown().await.unwrap();
    server.read_to_end(&mut Vec::new()).await.unwrap();
}

/// Makes bytes that differ by position.
pub fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index % 251) as u8).collect()
}
