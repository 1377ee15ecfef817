//! Two servers of a fleet on tokio, with etcd behind TLS: a ticket of one opens at the other, with its early data,
//! once.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::common::authority::{Authority, SERVER};
use crate::common::{DEADLINE, runtime};
use tessera::handshake::Facts;
use tessera::resume::{
    ClientSession, Continuation, FlightHandle, OneTimeKeyGuard, Receipt, Verdict,
};
use tessera::{Destination, ServerConfig};
use tessera_aws_lc::provider;
use tessera_etcd::{EtcdClient, EtcdVault, StoreError, Transport, VaultOptions};
use tessera_ring::{FleetRing, RingOptions};
use tessera_test_peers::etcd::{ClientTls, Cluster};
use tessera_tokio::{
    Acceptor, Connector, EarlyData, EarlyDataOutcome, MemorySessionStore, SessionStore,
};
use tessera_vault::{EpochKey, WrappingKeys, WrappingPurpose};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

const ETCD: &str = "etcd.example";

/// The TLS configurations of etcd and of its clients.
trait Etcd {
    fn files(&self) -> ClientTls;
    fn etcd(&self, cluster: &Cluster, with_certificate: bool) -> EtcdClient;
}

impl Etcd for Authority {
    fn files(&self) -> ClientTls {
        let write = |name, content: String| PathBuf::from(self.directory.write(name, content));
        let certificate = self.certificate(ETCD);
        ClientTls {
            certificate: write("etcd.pem", certificate.pem.clone()),
            key: write("etcd.key", certificate.key_pem()),
            client_authority: write("root.pem", self.root.pem()),
        }
    }

    fn etcd(&self, cluster: &Cluster, with_certificate: bool) -> EtcdClient {
        let mut config = self.client();
        if with_certificate {
            config.credentials = vec![self.credential("client.example")];
        }
        let connector = Connector::new(config.checked().unwrap())
            .with_sessions(Arc::new(MemorySessionStore::default()));
        let transport = Transport::Tls { connector, server_name: ETCD.into() };
        EtcdClient::new(cluster.endpoints(), transport, DEADLINE)
    }
}

struct Server {
    acceptor: Acceptor,
    vault: Arc<EtcdVault>,
    ring: FleetRing,
}

impl Server {
    /// Servers share nothing but etcd and the keys in their configuration.
    fn new(authority: &Authority, cluster: &Cluster) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let keys = |purpose| {
            let keys = WrappingKeys::new(&provider(), purpose);
            keys.add(EpochKey::forever([1; 16], [7; 32].into()), now).unwrap();
            Arc::new(keys)
        };
        let client = authority.etcd(cluster, true);
        let options = VaultOptions::new("/vault/");
        let secrets = keys(WrappingPurpose::Secrets);
        let vault = Arc::new(EtcdVault::open(client.clone(), &provider(), secrets, options));
        let options = RingOptions::new("/ring/");
        let wrapping = keys(WrappingPurpose::TicketKeys);
        let ring = FleetRing::of_server(Arc::new(client), &provider(), wrapping, options);
        let (ring, tickets) = ring.unwrap();

        let mut config = ServerConfig::new(provider(), vec![authority.credential(SERVER)]);
        config.tickets = Some(tickets);
        let guard = OneTimeKeyGuard::new(vault.clone());
        let guard = OneTimeKeyGuard { receipts: Some(vault.clone()), ..guard };
        config.policy.early_data.forward_secret = Some(guard);
        let acceptor = Acceptor::new(config.checked().unwrap()).with_answers(vault.clone());
        Self { acceptor, vault, ring }
    }

    /// Serves a connection: an answer to every request.
    async fn serve(&self, io: DuplexStream) -> Vec<u8> {
        let mut stream = self.acceptor.accept(io).await.unwrap();
        let mut request = vec![0; 5];
        stream.read_exact(&mut request).await.unwrap();
        stream.write_all(b"done").await.unwrap();
        stream.shutdown().await.unwrap();
        request
    }
}

/// Sends one request, early if there is a session for it, and a question about earlier flights; returns the outcome of
/// both.
async fn ask(
    server: &Server,
    connector: &Connector,
    session: Option<ClientSession>,
    ask_receipts: Vec<FlightHandle>,
) -> (EarlyDataOutcome, Facts) {
    let (near, far) = duplex(64 * 1024);
    let server_name = SERVER.into();
    let destination = Destination {
        server_name,
        session: session.map(Box::new),
        ask_receipts,
        ..Destination::default()
    };
    let asking = async {
        let connecting = connector.connect_with_early_data(destination, near, b"hello");
        let mut stream = match connecting.await {
            EarlyData::NotSent(stream) => stream.unwrap(),
            EarlyData::Accepted { stream, .. } | EarlyData::Rejected { stream, .. } => stream,
            other => panic!("{other:?}"),
        };
        let early = stream.early_data();
        if early.accepted == 0 {
            stream.write_all(b"hello").await.unwrap();
        }
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"done");
        (early, stream.facts().clone())
    };
    let (asked, request) = tokio::join!(asking, server.serve(far));
    assert_eq!(request, b"hello");
    asked
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(DEADLINE * 4, waiting).await.is_ok(), "{what}");
}

#[test]
fn a_ticket_of_one_server_opens_at_another_once() {
    let authority = Authority::new();
    let cluster =
        Cluster::start_with(1, Some(authority.files()), authority.directory.as_path()).unwrap();
    runtime().block_on(async {
        let (first, second) =
            (Server::new(&authority, &cluster), Server::new(&authority, &cluster));
        until("both have the ring", async || {
            let (first, second) = (first.ring.status(), second.ring.status());
            !first.active.is_empty() && first.active == second.active
        })
        .await;

        let mut config = authority.client();
        config.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
        let sessions = Arc::new(MemorySessionStore::default());
        let connector = Connector::new(config.checked().unwrap()).with_sessions(sessions.clone());
        let (early, _) = ask(&first, &connector, None, Vec::new()).await;
        assert_eq!(early.sent, 0);
        // Puts run in the background.
        until("the secrets are there", async || first.vault.count().await == Ok(2)).await;

        let exported = sessions.pop(SERVER).unwrap().export();
        let session = || Some(ClientSession::import(&exported).unwrap());
        let (early, facts) = ask(&second, &connector, session(), Vec::new()).await;
        assert_eq!(early.accepted, 5);
        let flight = facts.flight.unwrap();
        // A second client with the same ticket, as from a restored backup.
        for server in [&first, &second] {
            let (early, _) = ask(server, &connector, session(), Vec::new()).await;
            assert_eq!(early.verdict, Some(Verdict::Used));
        }
        // Either server knows the fate of a flight, and burns one that was never sent.
        let other = sessions.pop(SERVER).unwrap();
        let unsent = other.forward_secret.as_ref().unwrap().handle;
        let ordinary = ClientSession { forward_secret: None, ..session().unwrap() };
        let (_, facts) = ask(&first, &connector, Some(ordinary), vec![flight, unsent]).await;
        let receipts = vec![(flight, Receipt::TakenNotDone), (unsent, Receipt::Burned)];
        assert_eq!(facts.receipts, receipts);
        let (early, _) = ask(&second, &connector, Some(other), Vec::new()).await;
        assert_eq!(early.verdict, Some(Verdict::Burned));

        // etcd rejects a client without a certificate.
        let secrets = Arc::new(WrappingKeys::new(&provider(), WrappingPurpose::Secrets));
        let stranger = authority.etcd(&cluster, false);
        let options = VaultOptions::new("/vault/");
        let stranger = EtcdVault::open(stranger, &provider(), secrets, options);
        let counted = stranger.count().await;
        assert!(matches!(counted, Err(StoreError::NotSent(_) | StoreError::Unknown(_))));
    });
}
