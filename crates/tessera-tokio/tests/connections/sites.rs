//! Two sites with one ring and two vaults: a recorded flight reaches home while its client is elsewhere.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{self, EarlyDataReport, connect, destination, finish, forward_secret, settled};
use tessera::Destination;
use tessera::handshake::Reply;
use tessera::resume::{ClientSession, PskKind, TakeAnswer, TakeSecret, Verdict};
use tessera_tokio::{Acceptor, Answer, Answers, Connector, MemorySessionStore, SessionStore};
use tessera_vault::{BurnAtHome, HomeAnswer, MemoryVault, SiteChannel, SiteVault};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

/// Less than the handshake timeout.
const PATIENCE: Duration = Duration::from_secs(8);

/// Messages between sites arrive when the test releases them, and are lost when it hangs up.
struct HeldChannel {
    home: Option<Arc<SiteVault>>,
    open: Arc<Mutex<UnboundedReceiver<()>>>,
}

impl SiteChannel for HeldChannel {
    fn burn_at_home(&self, request: &BurnAtHome) -> HomeAnswer {
        let (request, home, open) = (*request, self.home.clone(), self.open.clone());
        Box::pin(async move {
            open.lock().await.recv().await?;
            match home?.burn_for_another(&request, None) {
                Reply::Now(acknowledgement) => Some(acknowledgement),
                Reply::Later => None,
            }
        })
    }
}

struct HomeAnswers(Arc<SiteVault>);

impl Answers for HomeAnswers {
    fn take_secret(&self, question: TakeSecret) -> Answer<TakeAnswer> {
        let answer = timeout(PATIENCE, self.0.take_from_afar(&question));
        Box::pin(async { answer.await.unwrap_or(TakeAnswer::Unavailable) })
    }
}

/// Both sites, a client with a ticket of the first, and the control of the channel between them.
struct Scene {
    connector: Connector,
    /// The session as an attacker who replays it recorded it.
    session: Vec<u8>,
    home: Acceptor,
    away: Acceptor,
    let_through: Option<UnboundedSender<()>>,
}

async fn scene() -> Scene {
    let site = |name: u8, home| {
        let (let_through, open) = unbounded_channel();
        let held = HeldChannel { home, open: Arc::new(Mutex::new(open)) };
        let vault = Arc::new(MemoryVault::new(100));
        let vault = SiteVault::named(vault, [name; 16], Arc::new(held));
        (Arc::new(vault), let_through)
    };
    let (home, _) = site(1, None);
    let (away, let_through) = site(2, Some(home.clone()));
    let ends = forward_secret();
    let acceptor = |vault: &Arc<SiteVault>| {
        let mut server = ends.server.clone();
        server.policy.early_data.forward_secret.as_mut().unwrap().vault = vault.clone();
        Acceptor::new(server.checked().unwrap()).with_answers(Arc::new(HomeAnswers(vault.clone())))
    };
    let (home, away) = (acceptor(&home), acceptor(&away));

    let store = Arc::new(MemorySessionStore::default());
    let connector = ends.connector().with_sessions(store.clone());
    let (mut client, mut server) = connect(&connector, &home).await;
    finish(&mut client, &mut server).await;
    let session = store.pop(common::SERVER_NAME).unwrap().export().to_vec();
    Scene { connector, session, home, away, let_through: Some(let_through) }
}

impl Scene {
    fn let_through(&self) {
        self.let_through.as_ref().unwrap().send(()).unwrap();
    }

    /// Sends the flight to a site, and further data, which only a rejected flight needs, as soon as its
    /// verdict allows. Returns what the client learned, and what the server's application received.
    async fn send(&self, site: &Acceptor) -> (EarlyDataReport, Option<PskKind>, Vec<u8>) {
        let session = Some(ClientSession::import(&self.session).unwrap());
        let destination = Destination { session: session.map(Box::new), ..destination() };
        let (near, far) = duplex(64 * 1024);
        let (client, server) = tokio::join!(
            self.connector.connect_with_early_data(destination, near, b"request"),
            site.accept(far)
        );
        let ((mut client, early_data), mut server) = (settled(client), server.unwrap());
        if early_data == EarlyDataReport::Rejected(Verdict::Burned) {
            client.write_all(b"request").await.unwrap();
        }
        client.shutdown().await.unwrap();
        let mut received = Vec::new();
        server.read_to_end(&mut received).await.unwrap();
        (early_data, server.facts().psk, received)
    }
}

#[tokio::test]
async fn a_flight_to_another_site_is_burned_at_home_and_sent_again() {
    let scene = scene().await;
    scene.let_through();
    let (early_data, psk, received) = scene.send(&scene.away).await;
    assert_eq!(early_data, EarlyDataReport::Rejected(Verdict::Burned));
    assert_eq!(psk, Some(PskKind::Resumption));
    assert_eq!(received, b"request");
    // The copy at home; its own client would resend it, an attacker can't.
    let (early_data, ..) = scene.send(&scene.home).await;
    assert_eq!(early_data, EarlyDataReport::Rejected(Verdict::Burned));
}

/// The copy reaches home while the other site still waits for the acknowledgement.
#[tokio::test]
async fn a_copy_that_outruns_the_burn_is_executed_once() {
    let scene = scene().await;
    let replayed = async {
        let replayed = scene.send(&scene.home).await;
        scene.let_through();
        replayed
    };
    let ((early_data, _, received), replayed) = tokio::join!(scene.send(&scene.away), replayed);
    assert_eq!(replayed.0, EarlyDataReport::Accepted(7));
    assert_eq!(replayed.2, b"request");
    assert_eq!(early_data, EarlyDataReport::Rejected(Verdict::Used));
    assert!(received.is_empty());
}

#[tokio::test]
async fn without_an_acknowledgement_the_client_does_not_know() {
    let mut scene = scene().await;
    drop(scene.let_through.take());
    let (early_data, _, received) = scene.send(&scene.away).await;
    assert_eq!(early_data, EarlyDataReport::Rejected(Verdict::Unknown));
    assert!(received.is_empty());
    let mut executed = Vec::new();
    for _ in 0..2 {
        executed.push(scene.send(&scene.home).await.0);
    }
    assert_eq!(executed, [EarlyDataReport::Accepted(7), EarlyDataReport::Rejected(Verdict::Used)]);
}

/// The channel is open but silent: the waiting site gives up, and the handshake continues.
#[tokio::test(start_paused = true)]
async fn a_silent_site_channel_is_given_up_before_the_handshake_times_out() {
    let scene = scene().await;
    let before = tokio::time::Instant::now();
    let (early_data, psk, received) = scene.send(&scene.away).await;
    assert_eq!(early_data, EarlyDataReport::Rejected(Verdict::Unknown));
    assert_eq!(psk, Some(PskKind::Resumption));
    assert!(received.is_empty());
    assert!(before.elapsed() >= PATIENCE);
    // A late message of the channel is ignored.
    scene.let_through();
    assert_eq!(scene.send(&scene.home).await.0, EarlyDataReport::Accepted(7));
}
