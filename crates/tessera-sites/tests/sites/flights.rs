//! A client's flight at the site that did not issue its ticket, with the channel between the sites.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{self, Authority, Home, channel, impatient, patient, server};
use tessera::resume::{ClientSession, Continuation, OneTimeKeyGuard, PskKind, Verdict};
use tessera::wire::TicketRequest;
use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_sites::{ChannelLimits, SiteAnswers, TlsSiteChannel};
use tessera_tokio::{
    Acceptor, ClientStream, Connector, EarlyData, MemorySessionStore, SessionStore,
};
use tessera_vault::{MemoryVault, SiteVault};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

const SERVER: &str = "www.example";
const REQUEST: &[u8] = b"request";

/// Both sites, and a client with tickets of the first.
struct Scene {
    home: Home,
    at_home: Acceptor,
    away: Acceptor,
    channel: Arc<TlsSiteChannel>,
    connector: Connector,
    store: Arc<MemorySessionStore>,
}

/// Shares the channel of the asking site with the test.
struct Shared(Arc<TlsSiteChannel>);

impl tessera_vault::SiteChannel for Shared {
    fn burn_at_home(&self, request: &tessera_vault::BurnAtHome) -> tessera_vault::HomeAnswer {
        self.0.burn_at_home(request)
    }
}

async fn scene(limits: ChannelLimits) -> Scene {
    let authority = Authority::new();
    let home = Home::new(&authority).await;
    let channel = Arc::new(channel(&authority, home.address, limits));
    common::until(|| channel.counts().connections == 1).await;
    let vault = Arc::new(MemoryVault::new(1000));
    let away = SiteVault::named(vault, [2; 16], Arc::new(Shared(channel.clone())));
    let away = Arc::new(away);
    let config: ServerConfig = server(authority.credential(SERVER));
    let acceptor = |site: &Arc<SiteVault>| {
        let mut config = config.clone();
        config.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(site.clone()));
        config.policy.tickets = TicketRequest { new_session_count: 4, resumption_count: 4 };
        // Longer than the channel's own deadline, which must end the wait.
        let answers = SiteAnswers::new(site.clone(), Duration::from_secs(60));
        Acceptor::new(config.checked().unwrap()).with_answers(Arc::new(answers))
    };
    let (at_home, away) = (acceptor(&home.vault), acceptor(&away));

    let mut client = ClientConfig::new(tessera_aws_lc::provider(), authority.verifier());
    client.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
    client.policy.tickets = TicketRequest { new_session_count: 4, resumption_count: 4 };
    let store = Arc::new(MemorySessionStore::default());
    let connector = Connector::new(client.checked().unwrap()).with_sessions(store.clone());
    let scene = Scene { home, at_home, away, channel, connector, store };
    scene.collect().await;
    scene
}

type SentFlight = EarlyData<ClientStream<DuplexStream>>;

impl Scene {
    /// The client's first visit, at its home site.
    async fn collect(&self) {
        let (near, far) = duplex(64 * 1024);
        let destination = Destination { server_name: SERVER.into(), ..Destination::default() };
        let (client, server) =
            tokio::join!(self.connector.connect(destination, near), self.at_home.accept(far));
        let (mut client, mut server) = (client.unwrap(), server.unwrap());
        server.shutdown().await.unwrap();
        client.read_to_end(&mut Vec::new()).await.unwrap();
    }

    /// Sends a flight to a site; returns what the client learned, which PSK the server used, and what its application
    /// received.
    async fn send(
        &self,
        site: &Acceptor,
        session: &[u8],
    ) -> (SentFlight, Option<PskKind>, Vec<u8>) {
        let session = Some(ClientSession::import(session).unwrap());
        let destination = Destination {
            server_name: SERVER.into(),
            session: session.map(Box::new),
            ..Destination::default()
        };
        let (near, far) = duplex(64 * 1024);
        let (mut sent, server) = tokio::join!(
            self.connector.connect_with_early_data(destination, near, REQUEST),
            site.accept(far)
        );
        let mut server = server.unwrap();
        match &mut sent {
            EarlyData::Accepted { stream, .. } => stream.shutdown().await.unwrap(),
            EarlyData::Rejected { stream, verdict, .. } => {
                if *verdict == Verdict::Burned {
                    stream.write_all(REQUEST).await.unwrap();
                }
                stream.shutdown().await.unwrap();
            }
            _ => (),
        }
        let mut received = Vec::new();
        server.read_to_end(&mut received).await.unwrap();
        (sent, server.facts().psk, received)
    }

    fn session(&self) -> Vec<u8> {
        self.store.pop(SERVER).unwrap().export().to_vec()
    }
}

fn verdict(sent: &SentFlight) -> Option<Verdict> {
    match sent {
        EarlyData::Rejected { verdict, .. } => Some(*verdict),
        _ => None,
    }
}

#[tokio::test]
async fn a_flight_away_from_home_is_burned_there_and_its_copies_are_worth_nothing() {
    let scene = scene(patient()).await;
    let session = scene.session();
    let (sent, psk, received) = scene.send(&scene.away, &session).await;
    assert_eq!(verdict(&sent), Some(Verdict::Burned));
    assert_eq!((psk, received.as_slice()), (Some(PskKind::Resumption), REQUEST));
    for site in [&scene.at_home, &scene.away] {
        let (copy, ..) = scene.send(site, &session).await;
        assert_eq!(verdict(&copy), Some(Verdict::Burned));
    }
    // A flight that reached home first.
    let session = scene.session();
    let (sent, ..) = scene.send(&scene.at_home, &session).await;
    assert!(matches!(sent, EarlyData::Accepted { .. }));
    let (copy, _, received) = scene.send(&scene.away, &session).await;
    assert_eq!((verdict(&copy), received.len()), (Some(Verdict::Used), 0));
    assert_eq!(scene.channel.counts().connections, 1);
    assert_eq!(scene.home.server.counts().requests, 3);
}

/// The home site is cut off; the client receives `unknown`, and its handshake completes normally.
#[tokio::test]
async fn a_flight_away_from_home_goes_on_when_home_is_cut_off() {
    let scene = scene(impatient()).await;
    let (first, second) = (scene.session(), scene.session());
    scene.home.cut_off();
    common::until(|| scene.channel.counts().failures > 0).await;
    for session in [first, second] {
        let (sent, psk, received) = scene.send(&scene.away, &session).await;
        assert_eq!(verdict(&sent), Some(Verdict::Unknown));
        assert_eq!((psk, received.len()), (Some(PskKind::Resumption), 0));
        // Nothing was burned, and nothing is executed twice: home accepts it once.
        let (copy, ..) = scene.send(&scene.at_home, &session).await;
        assert!(matches!(copy, EarlyData::Accepted { .. }));
    }
    let counts = scene.channel.counts();
    assert_eq!((counts.requests, counts.answered), (2, 0), "{counts:?}");
    assert_eq!(counts.timed_out + counts.refused, 2, "{counts:?}");
}
