//! Servers under a flood of questions and replays, end to end: how many writes that costs etcd, and whether honest
//! clients notice.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::common::authority::{Authority, SERVER};
use crate::common::{DEADLINE, client, runtime};
use serde_json::json;
use tessera::crypto::Provider;
use tessera::handshake::Facts;
use tessera::resume::{ClientSession, Continuation, FlightHandle, OneTimeKeyGuard, Receipt};
use tessera::{ClientConfig, Destination, EarlyDataStatus, ServerConfig};
use tessera_aws_lc::provider;
use tessera_etcd::{EtcdVault, VaultOptions};
use tessera_test_peers::etcd::Cluster;
use tessera_tokio::{Acceptor, Connector, EarlyData, MemorySessionStore, SessionStore};
use tessera_vault::{EpochKey, TicketKey, TicketKeyRing, WrappingKeys, WrappingPurpose};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinSet;

/// A server whose vault is in etcd.
struct Scene {
    cluster: Cluster,
    acceptor: Acceptor,
    vault: Arc<EtcdVault>,
    authority: Authority,
}

impl Scene {
    fn new() -> Self {
        let (cluster, authority) = (Cluster::start(3).unwrap(), Authority::new());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let keys = WrappingKeys::new(&provider(), WrappingPurpose::Secrets);
        keys.add(EpochKey::forever([1; 16], [7; 32].into()), now).unwrap();
        let etcd = client(cluster.endpoints(), DEADLINE);
        let options = VaultOptions::new("/flood/");
        let vault = Arc::new(EtcdVault::open(etcd, &provider(), Arc::new(keys), options));

        let ring = TicketKeyRing::new(&provider());
        let hour = Duration::from_secs(3600);
        ring.add(TicketKey::generate(&provider(), now, hour, hour).unwrap(), now).unwrap();
        let mut config = ServerConfig::new(provider(), vec![authority.credential(SERVER)]);
        config.tickets = Some(Arc::new(ring));
        let guard = OneTimeKeyGuard::new(vault.clone());
        let guard = OneTimeKeyGuard { receipts: Some(vault.clone()), ..guard };
        config.policy.early_data.forward_secret = Some(guard);
        let acceptor = Acceptor::new(config.checked().unwrap()).with_answers(vault.clone());
        Self { cluster, acceptor, vault, authority }
    }

    /// Returns the number of entries in the members' log: each was written to the disks of a majority.
    fn writes(&self) -> u64 {
        let status = self.cluster.ask(0, "/v3/maintenance/status", &json!({})).unwrap();
        status["raftIndex"].as_str().unwrap().parse().unwrap()
    }

    /// Returns a client that asks for one-time keys or not, and stores no sessions.
    fn connector(&self, early: Option<Continuation>) -> Connector {
        let mut config: ClientConfig = self.authority.client();
        config.policy.early_data.forward_secret = early;
        Connector::new(config.checked().unwrap())
    }

    /// Returns the sessions of one connection; their secrets are in etcd.
    async fn sessions(&self, early: Option<Continuation>) -> Vec<ClientSession> {
        let before = self.vault.count().await.unwrap();
        let sessions = Arc::new(MemorySessionStore::default());
        let connector = self.connector(early).with_sessions(sessions.clone());
        let destination = Destination { server_name: SERVER.into(), ..Destination::default() };
        self.ask(&connector, destination).await.unwrap();
        let sessions: Vec<_> = std::iter::from_fn(|| sessions.pop(SERVER)).collect();
        let keys = if early.is_some() { sessions.len() } else { 0 };
        let waiting = async {
            while self.vault.count().await.unwrap() < before + keys {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(DEADLINE * 4, waiting).await.unwrap();
        sessions
    }

    /// Sends one request; returns the facts of the connection.
    async fn ask(&self, connector: &Connector, to: Destination) -> Option<Facts> {
        let (near, far) = duplex(64 * 1024);
        tokio::spawn(serve(self.acceptor.clone(), far));
        let mut stream = match connector.connect_with_early_data(to, near, b"hello").await {
            EarlyData::Accepted { stream, count: 5, .. } => stream,
            EarlyData::NotSent(Ok(mut stream)) | EarlyData::Rejected { mut stream, .. } => {
                stream.write_all(b"hello").await.ok()?;
                stream
            }
            _ => return None,
        };
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.ok()?;
        (answer == b"done").then(|| stream.facts().clone())
    }

    /// Sends bytes and leaves when the server has answered.
    async fn send(&self, bytes: &[u8]) {
        let (mut near, far) = duplex(64 * 1024);
        let serving = tokio::spawn(serve(self.acceptor.clone(), far));
        near.write_all(bytes).await.unwrap();
        let mut answer = [0; 1];
        near.read_exact(&mut answer).await.unwrap();
        drop(near);
        serving.await.unwrap();
    }
}

async fn serve(acceptor: Acceptor, io: DuplexStream) -> Option<()> {
    let mut stream = acceptor.accept(io).await.ok()?;
    let mut request = [0; 5];
    stream.read_exact(&mut request).await.ok()?;
    stream.write_all(b"done").await.ok()?;
    stream.shutdown().await.ok()
}

fn foreign_handles(provider: &Provider) -> Vec<FlightHandle> {
    let random = || {
        let mut handle = [0; 32];
        provider.random.fill(&mut handle).unwrap();
        FlightHandle(handle)
    };
    (0..8).map(|_| random()).collect()
}

/// Returns a client that asks about eight flights that are not its own.
fn asking(session: Option<ClientSession>) -> Destination {
    let ask_receipts = foreign_handles(&provider());
    Destination {
        server_name: SERVER.into(),
        session: session.map(Box::new),
        ask_receipts,
        ..Destination::default()
    }
}

/// Returns the first flight of a client.
async fn first_flight(connector: &Connector, to: Destination) -> Vec<u8> {
    let (near, mut far) = duplex(64 * 1024);
    let connecting = connector.connect_with_early_data(to, near, b"hello");
    let reading = async {
        let mut flight = vec![0; 64 * 1024];
        let mut len = 0;
        // Everything that it sends before it waits for an answer.
        while let Ok(Ok(more)) =
            tokio::time::timeout(Duration::from_millis(300), far.read(&mut flight[len..])).await
        {
            len += more;
        }
        flight.truncate(len);
        flight
    };
    tokio::select! {
        _ = connecting => unreachable!("there is no answer"),
        flight = reading => flight,
    }
}

#[test]
fn a_flood_of_questions_about_foreign_flights_writes_nothing_to_etcd() {
    runtime().block_on(async {
        let scene = Arc::new(Scene::new());
        let ordinary = scene.sessions(None).await.pop().unwrap().export();
        let session = || Some(ClientSession::import(&ordinary).unwrap());
        let connector = scene.connector(None);
        let hello = first_flight(&connector, asking(None)).await;
        let before = scene.writes();

        // ClientHellos of clients that leave, that stay, and that have a ticket.
        let mut flood = JoinSet::new();
        for number in 0..1000 {
            let (scene, connector, hello) = (scene.clone(), connector.clone(), hello.clone());
            let to = match number % 4 {
                0 => None,
                1 => Some(asking(None)),
                _ => Some(asking(session())),
            };
            flood.spawn(async move {
                let Some(to) = to else { return scene.send(&hello).await };
                let has_session = to.session.is_some();
                let facts = scene.ask(&connector, to).await.unwrap();
                assert_eq!(facts.psk.is_some(), has_session);
                assert!(facts.receipts.iter().all(|(_, receipt)| *receipt == Receipt::Unknown));
            });
            if flood.len() >= 32 {
                flood.join_next().await.unwrap().unwrap();
            }
        }
        while let Some(done) = flood.join_next().await {
            done.unwrap();
        }
        assert_eq!(scene.writes(), before, "a read of etcd is no entry in its log");

        // Control: an existing secret costs a write.
        let unsent = scene.sessions(Some(Continuation::PskDheKe)).await.pop().unwrap();
        let handle = unsent.forward_secret.as_ref().unwrap().handle;
        let before = scene.writes();
        let to = Destination { ask_receipts: vec![handle], ..asking(session()) };
        let facts = scene.ask(&connector, to).await.unwrap();
        assert_eq!(facts.receipts, [(handle, Receipt::Burned)]);
        assert!(scene.writes() > before);
    });
}

#[test]
fn honest_flights_are_accepted_during_a_flood_of_questions() {
    runtime().block_on(async {
        let scene = Arc::new(Scene::new());
        let ordinary = scene.sessions(None).await.pop().unwrap().export();
        let mut honest = Vec::new();
        for _ in 0..10 {
            honest.extend(scene.sessions(Some(Continuation::PskDheKe)).await);
        }
        let asks = scene.connector(None);
        let flies = scene.connector(Some(Continuation::PskDheKe));
        let mut flood = JoinSet::new();
        for _ in 0..24 {
            let (scene, asks, ordinary) = (scene.clone(), asks.clone(), ordinary.clone());
            flood.spawn(async move {
                loop {
                    let session = ClientSession::import(&ordinary).unwrap();
                    let _ = scene.ask(&asks, asking(Some(session))).await;
                }
            });
        }
        for session in honest {
            let to = Destination { ask_receipts: Vec::new(), ..asking(Some(session)) };
            let facts = scene.ask(&flies, to).await.unwrap();
            assert_eq!(facts.early_data, EarlyDataStatus::Accepted);
        }
        flood.shutdown().await;
    });
}

/// Each replay has a valid binder: its take is a write until several in a row found nothing.
#[test]
fn a_flight_that_is_replayed_costs_etcd_few_writes() {
    runtime().block_on(async {
        let scene = Arc::new(Scene::new());
        let mut sessions = scene.sessions(Some(Continuation::PskDheKe)).await;
        let to = Destination { ask_receipts: Vec::new(), ..asking(sessions.pop()) };
        let connector = scene.connector(Some(Continuation::PskDheKe));
        let flight = first_flight(&connector, to).await;
        scene.send(&flight).await;
        let before = scene.writes();
        for _ in 0..100 {
            scene.send(&flight).await;
        }
        let writes = scene.writes() - before;
        assert!((1..10).contains(&writes), "{writes}");
        // An honest flight is still accepted.
        let to = Destination { ask_receipts: Vec::new(), ..asking(sessions.pop()) };
        let facts = scene.ask(&connector, to).await.unwrap();
        assert_eq!(facts.early_data, EarlyDataStatus::Accepted);
    });
}
