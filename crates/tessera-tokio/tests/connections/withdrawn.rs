//! What a new configuration withdraws: from handshakes in progress, from connections, and from the stores of
//! clients.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::questions::Later;
use crate::common::{
    self, EarlyDataReport, Ends, SERVER_NAME, connect, destination, finish, forward_secret, settled,
};
use tessera::auth::{PeerAcceptance, PeerRejected, PeerVerifier, VerifyPeer};
use tessera::handshake::{Checked, ClientAuthentication, Reply};
use tessera::resume::{ExternalPsk, PskKind, TakeAnswer, TakeSecret, Vault, Verdict};
use tessera::wire::CipherSuite;
use tessera::{Destination, EarlyDataStatus, ServerConfig};
use tessera_pki::Authority;
use tessera_tokio::{
    Acceptor, Answer, Answers, Connector, EarlyData, FileSessionStore, MemorySessionStore,
    SessionStore,
};
use tessera_webpki::WebPkiVerifier;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::sync::Notify;

fn trusting(ca: &Authority) -> Arc<dyn PeerVerifier> {
    Arc::new(WebPkiVerifier::new(&[ca.der()]).unwrap())
}

/// Ends that authenticate each other, with early data.
struct MutualEnds {
    ends: Ends,
    clients: Authority,
    servers: Authority,
}

impl MutualEnds {
    fn new() -> Self {
        let (clients, servers) = (Authority::new("clients"), Authority::new("servers"));
        let mut ends = forward_secret();
        ends.client.credentials = vec![clients.issue("client.example").credential()];
        ends.client.verifier = trusting(&servers);
        ends.server.credentials = vec![servers.issue(SERVER_NAME).credential()];
        ends.server.client_authentication = ClientAuthentication::Required(trusting(&clients));
        Self { ends, clients, servers }
    }

    /// Returns the server's configuration with clients of this authority trusted.
    fn for_clients_of(&self, ca: &Authority) -> Checked<ServerConfig> {
        let mut config = self.ends.server.clone();
        config.client_authentication = ClientAuthentication::Required(trusting(ca));
        config.checked().unwrap()
    }

    /// Returns the server's configuration with another certificate.
    fn renewed(&self) -> Checked<ServerConfig> {
        let mut config = self.ends.server.clone();
        config.credentials = vec![self.servers.issue(SERVER_NAME).credential()];
        config.checked().unwrap()
    }

    fn connector(&self) -> Connector {
        self.ends.connector().with_sessions(Arc::new(MemorySessionStore::default()))
    }
}

/// Holds an answer back until it is released.
#[derive(Default)]
struct Gate {
    asked: Notify,
    open: Notify,
}

impl Gate {
    fn keep<A: Send + 'static>(self: &Arc<Self>, answer: A) -> Answer<A> {
        let gate = self.clone();
        Box::pin(async move {
            gate.asked.notify_one();
            gate.open.notified().await;
            answer
        })
    }

    /// Runs `change` between question and answer.
    async fn between(&self, change: impl FnOnce()) {
        self.asked.notified().await;
        change();
        self.open.notify_one();
    }
}

struct LateTake(Arc<Gate>, Arc<dyn Vault>);

impl Answers for LateTake {
    fn take_secret(&self, question: TakeSecret) -> Answer<TakeAnswer> {
        let Reply::Now(taken) = self.1.take(&question) else { panic!("in memory") };
        self.0.keep(taken)
    }
}

struct LateVerdict(Arc<Gate>, Arc<dyn PeerVerifier>);

impl Answers for LateVerdict {
    fn verify_peer(&self, question: VerifyPeer) -> Answer<Result<PeerAcceptance, PeerRejected>> {
        let Reply::Now(verdict) = self.1.verify(&question) else { panic!("at once") };
        self.0.keep(verdict)
    }
}

/// Changes the configuration after a flight's key was taken.
async fn flight_between(
    change: impl FnOnce(&MutualEnds, &Acceptor),
) -> (EarlyData, std::io::Result<Vec<u8>>, usize) {
    let mut mutual = MutualEnds::new();
    let guard = mutual.ends.server.policy.early_data.forward_secret.as_mut().unwrap();
    let (gate, vault) = (Arc::new(Gate::default()), guard.vault.clone());
    guard.vault = Arc::new(Later(vault.clone()));
    let connector = mutual.connector();
    let answers = LateTake(gate.clone(), vault.clone());
    let acceptor = mutual.ends.acceptor().with_answers(Arc::new(answers));
    mutual.ends = mutual.ends.with_tickets(1);
    let (mut client, mut server) = connect(&connector, &acceptor).await;
    finish(&mut client, &mut server).await;
    let keys = vault.len();

    let (near, far) = duplex(64 * 1024);
    let serve = async {
        let mut server = acceptor.accept_early(far).await?;
        let mut early = vec![0; 5];
        server.read_exact(&mut early).await?;
        server.handshake().await?;
        Ok(early)
    };
    let (told, served, ()) = tokio::join!(
        connector.connect_with_early_data(destination(), near, b"early"),
        serve,
        gate.between(|| change(&mutual, &acceptor)),
    );
    let told = match told {
        EarlyData::NotSent(stream) => EarlyData::NotSent(stream.map(|_| ())),
        EarlyData::Failed { error, outcome, .. } => {
            assert_eq!(outcome.verdict, Some(Verdict::Unknown), "{error}");
            assert!(!outcome.may_be_sent_again());
            EarlyData::NotSent(Err(error))
        }
        other => {
            let (_, told) = settled(other);
            assert_eq!(told, EarlyDataReport::Accepted(5));
            EarlyData::NotSent(Ok(()))
        }
    };
    (told, served, keys - vault.len())
}

#[tokio::test]
async fn early_data_of_a_client_that_is_withdrawn_between_take_and_answer_is_not_executed() {
    let (told, served, taken) = flight_between(|mutual, acceptor| {
        acceptor.replace(mutual.for_clients_of(&Authority::new("others")));
    })
    .await;
    // The key is gone, nothing was accepted, and the client doesn't know that: it may not resend.
    assert_eq!(taken, 1);
    assert!(served.unwrap_err().to_string().contains("withdrawn"));
    assert!(matches!(told, EarlyData::NotSent(Err(_))), "{told:?}");
    // The same in a new epoch.
    let (told, served, _) = flight_between(|mutual, acceptor| {
        let mut config = mutual.ends.server.clone();
        config.policy_epoch = 1;
        acceptor.replace(config.checked().unwrap());
    })
    .await;
    assert!(served.is_err() && matches!(told, EarlyData::NotSent(Err(_))), "{told:?}");
}

/// It was decrypted under the old configuration and lies in the stream: kept for a task that waits for the
/// handshake, or left over from a partial read.
#[tokio::test(start_paused = true)]
async fn early_data_unread_when_its_client_is_withdrawn_is_not_executed() {
    for reads_first in [false, true] {
        let mutual = MutualEnds::new();
        let (connector, acceptor) = (mutual.connector(), mutual.ends.acceptor());
        let (mut client, mut server) = connect(&connector, &acceptor).await;
        finish(&mut client, &mut server).await;

        let (near, far) = duplex(64 * 1024);
        let mut client = connector.start(destination(), near).await.unwrap();
        assert_eq!(client.write_early(b"firstsecond").await.unwrap(), 11);
        let mut server = acceptor.start(far).unwrap();
        let mut early = [0; 5];
        if reads_first {
            server.read_exact(&mut early).await.unwrap();
            assert_eq!(&early, b"first");
        } else {
            // The client doesn't continue.
            let waiting = tokio::time::timeout(Duration::ZERO, server.handshake());
            assert!(waiting.await.is_err());
        }
        assert_eq!(server.facts().early_data, EarlyDataStatus::Accepted);
        acceptor.replace(mutual.for_clients_of(&Authority::new("others")));
        let error = server.read(&mut early).await.unwrap_err();
        assert!(error.to_string().contains("withdrawn"), "{error}");
    }
}

#[tokio::test]
async fn early_data_goes_on_where_only_the_servers_certificate_is_exchanged() {
    let (told, served, _) =
        flight_between(|mutual, acceptor| acceptor.replace(mutual.renewed())).await;
    assert_eq!(served.unwrap(), b"early");
    assert!(matches!(told, EarlyData::NotSent(Ok(()))), "{told:?}");
}

#[tokio::test]
async fn a_client_that_is_withdrawn_while_it_is_judged_is_refused() {
    for withdrawn in [true, false] {
        let mut mutual = MutualEnds::new();
        let gate = Arc::new(Gate::default());
        let verifier = trusting(&mutual.clients);
        mutual.ends.server.client_authentication =
            ClientAuthentication::Required(Arc::new(Later(verifier.clone())));
        let answers = LateVerdict(gate.clone(), verifier);
        let acceptor = mutual.ends.acceptor().with_answers(Arc::new(answers));
        let next = match withdrawn {
            true => mutual.for_clients_of(&Authority::new("others")),
            false => mutual.renewed(),
        };
        let (near, far) = duplex(64 * 1024);
        let connector = mutual.connector();
        let (client, served, ()) = tokio::join!(
            connector.connect(destination(), near),
            acceptor.accept(far),
            gate.between(|| acceptor.replace(next)),
        );
        assert_eq!(served.is_err(), withdrawn);
        if withdrawn {
            // The client's handshake was complete before.
            let error = client.unwrap().read_u8().await.unwrap_err();
            assert!(error.to_string().contains("ACCESS_DENIED"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_server_that_is_withdrawn_while_it_is_judged_is_refused() {
    let mut mutual = MutualEnds::new();
    let gate = Arc::new(Gate::default());
    let verifier = trusting(&mutual.servers);
    mutual.ends.client.verifier = Arc::new(Later(verifier.clone()));
    let answers = LateVerdict(gate.clone(), verifier);
    let connector = mutual.ends.connector().with_answers(Arc::new(answers));
    let mut next = mutual.ends.client.clone();
    next.verifier = trusting(&Authority::new("others"));
    let next = next.checked().unwrap();
    let (near, far) = duplex(64 * 1024);
    let acceptor = mutual.ends.acceptor();
    let (client, served, ()) = tokio::join!(
        connector.connect(destination(), near),
        acceptor.accept(far),
        gate.between(|| connector.replace(next)),
    );
    assert!(client.err().unwrap().to_string().contains("withdrawn"));
    assert!(served.is_err());
}

#[tokio::test]
async fn a_connection_of_which_nothing_was_read_begins_under_the_new_trust() {
    let mutual = MutualEnds::new();
    let (connector, acceptor) = (mutual.connector(), mutual.ends.acceptor());
    let (mut client, mut server) = connect(&connector, &acceptor).await;
    finish(&mut client, &mut server).await;
    for (ca, accepted) in [(&Authority::new("others"), false), (&mutual.clients, true)] {
        let (near, far) = duplex(64 * 1024);
        let mut waiting = acceptor.start(far).unwrap();
        acceptor.replace(mutual.for_clients_of(ca));
        let (told, handshake) = tokio::join!(
            connector.connect_with_early_data(destination(), near, b"early"),
            waiting.handshake(),
        );
        assert_eq!(handshake.is_ok(), accepted);
        assert_eq!(waiting.generation(), acceptor.generation());
        // A ticket of a client that is no longer trusted is void; that of a client trusted again is valid.
        assert_eq!(waiting.facts().psk.is_some(), accepted);
        if accepted {
            drop(settled(told));
        } else {
            assert!(handshake.unwrap_err().to_string().contains("not accepted"));
        }
    }
}

#[tokio::test]
async fn connections_continue_and_report_whether_their_basis_is_withdrawn() {
    let mutual = MutualEnds::new();
    let (connector, acceptor) = (mutual.connector(), mutual.ends.acceptor());
    let (mut client, mut server) = connect(&connector, &acceptor).await;
    assert_eq!((server.generation(), client.generation(), acceptor.generation()), (1, 1, 1));
    acceptor.replace(mutual.renewed());
    assert_eq!((server.generation(), acceptor.generation()), (1, 2));
    assert!(!server.is_withdrawn());
    acceptor.replace(mutual.for_clients_of(&Authority::new("others")));
    assert!(server.is_withdrawn() && !client.is_withdrawn());
    let mut config = mutual.ends.client.clone();
    config.verifier = trusting(&Authority::new("others"));
    connector.replace(config.checked().unwrap());
    assert!(client.is_withdrawn());
    client.write_all(b"ping").await.unwrap();
    client.flush().await.unwrap();
    server.read_exact(&mut [0; 4]).await.unwrap();
    // A client withdrawn by mistake is trusted again.
    acceptor.replace(mutual.renewed());
    assert!(!server.is_withdrawn());
}

#[tokio::test]
async fn a_psk_that_is_gone_or_changed_withdraws_its_connections_alone() {
    let psk = |identity: &str, byte: u8| {
        let secret = vec![byte; 32].into();
        ExternalPsk::new(identity.into(), secret, CipherSuite::TLS_AES_128_GCM_SHA256)
    };
    let mut ends = common::ends();
    ends.server.external_psks = vec![psk("one", 1), psk("other", 2)];
    let acceptor = ends.acceptor();
    let (near, far) = duplex(64 * 1024);
    let destination = Destination { external_psks: vec![psk("one", 1)], ..destination() };
    let connector = ends.connector();
    let (client, server) =
        tokio::try_join!(connector.connect(destination, near), acceptor.accept(far)).unwrap();
    assert_eq!(client.facts().psk, Some(PskKind::External));
    for (psks, withdrawn) in [
        (vec![psk("one", 1)], false),
        (vec![psk("other", 2), psk("one", 1), psk("third", 3)], false),
        (vec![psk("one", 3), psk("other", 2)], true),
        (vec![psk("other", 2)], true),
    ] {
        ends.server.external_psks = psks;
        acceptor.replace(ends.server.clone().checked().unwrap());
        assert_eq!(server.is_withdrawn(), withdrawn);
    }
}

/// A store that counts what was taken from it.
#[derive(Default)]
struct CountingStore(MemorySessionStore, Mutex<usize>);

impl SessionStore for CountingStore {
    fn put(&self, server_name: &str, session: tessera::resume::ClientSession) {
        self.0.put(server_name, session);
    }
    fn pop(&self, server_name: &str) -> Option<tessera::resume::ClientSession> {
        let popped = self.0.pop(server_name);
        *self.1.lock().unwrap() += usize::from(popped.is_some());
        popped
    }
    fn blocks(&self) -> bool {
        false
    }
}

/// A store without `retain` loses sessions when they are taken.
#[tokio::test]
async fn withdrawn_sessions_are_passed_over_until_a_good_one_comes() {
    let mutual = MutualEnds::new();
    let ends = mutual.ends.with_tickets(2);
    let store = Arc::new(CountingStore::default());
    let connector = ends.connector().with_sessions(store.clone());
    let acceptor = ends.acceptor();
    let (mut old, mut old_server) = connect(&connector, &acceptor).await;
    let mut config = ends.client.clone();
    config.policy_epoch = 1;
    connector.replace(config.checked().unwrap());
    let (mut client, mut server) = connect(&connector, &acceptor).await;
    finish(&mut client, &mut server).await;
    // Sessions of an earlier connection: they lie above the good ones.
    finish(&mut old, &mut old_server).await;
    let (client, _server) = connect(&connector, &acceptor).await;
    assert!(client.facts().psk.is_some());
    assert_eq!(*store.1.lock().unwrap(), 3);
}

#[tokio::test]
async fn sessions_of_withdrawn_trust_leave_the_store_and_others_stay() {
    let directory =
        std::env::temp_dir().join(format!("tessera-tokio-withdrawn-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    let files = |name: &str| FileSessionStore::open(directory.join(name)).unwrap();
    let wrapped = FileSessionStore::open_wrapped(
        directory.join("wrapped"),
        &tessera_aws_lc::provider(),
        &[7; 32],
    );
    let stores: [Arc<dyn SessionStore>; 3] = [
        Arc::new(MemorySessionStore::default()),
        Arc::new(files("plain")),
        Arc::new(wrapped.unwrap()),
    ];
    for store in stores {
        let mutual = MutualEnds::new();
        let acceptor = mutual.ends.acceptor();
        let connector = mutual.ends.connector().with_sessions(store.clone());
        let (mut client, mut server) = connect(&connector, &acceptor).await;
        finish(&mut client, &mut server).await;
        // Equal trust in a new value.
        let mut config = mutual.ends.client.clone();
        config.verifier = trusting(&mutual.servers);
        config.protocols = vec![b"h2".to_vec()];
        connector.replace(config.clone().checked().unwrap());
        assert!(connector.config().accepts_session(&store.pop(SERVER_NAME).unwrap()));

        let (mut client, mut server) = connect(&connector, &acceptor).await;
        finish(&mut client, &mut server).await;
        config.verifier = trusting(&Authority::new("others"));
        connector.replace(config.checked().unwrap());
        // Some stores are called on another thread.
        tokio::time::timeout(Duration::from_secs(20), async {
            while count(&directory) > 0 {
                tokio::task::yield_now().await;
            }
        })
        .await
        .unwrap();
        assert!(store.pop(SERVER_NAME).is_none());
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Counts all files below a directory.
fn count(directory: &Path) -> usize {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let below = |path: PathBuf| if path.is_dir() { count(&path) } else { 1 };
    entries.map(|entry| below(entry.path())).sum()
}
