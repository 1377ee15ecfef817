//! A client's secrets move to the site that it comes to, over the channel.

use std::future::pending;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tessera::handshake::ClientAuthentication;
use tessera::resume::{ClientSession, Continuation, OneTimeKeyGuard, PskKind, Vault, Verdict};
use tessera::wire::TicketRequest;
use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_sites::{
    KnownSites, OtherSite, ServerLimits, SiteAnswers, SiteProof, SiteServer, TlsSiteChannel,
    server_config,
};
use tessera_tokio::{
    Acceptor, ClientStream, Connector, EarlyData, MemorySessionStore, SessionStore,
};
use tessera_vault::{
    BurnAtHome, BurnMoved, CarryAnswer, HomeAnswer, LifeAnswer, MemoryVault, MovedSecret,
    MovingVault, SiteChannel, SiteVault,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::TcpListener;
use tokio::time::sleep;

use crate::common::{AWAY, Authority, HOME, connector, patient, server, until};

const SERVER: &str = "www.example";
const REQUEST: &[u8] = b"request";
const HOUR: Duration = Duration::from_secs(3600);

/// Its sites know each other's addresses only once both listen.
#[derive(Default)]
struct LateChannel(OnceLock<TlsSiteChannel>);

impl LateChannel {
    fn get(&self) -> &TlsSiteChannel {
        self.0.get().unwrap()
    }
}

impl SiteChannel for LateChannel {
    fn burn_at_home(&self, request: &BurnAtHome) -> HomeAnswer {
        self.get().burn_at_home(request)
    }

    fn burn_moved(&self, question: &BurnMoved) -> HomeAnswer {
        self.get().burn_moved(question)
    }

    fn life(&self, vault: &[u8; 16]) -> LifeAnswer {
        self.get().life(vault)
    }

    fn carry(&self, secret: MovedSecret) -> CarryAnswer {
        self.get().carry(secret)
    }
}

/// A site with its servers.
struct Site {
    vault: Arc<SiteVault>,
    acceptor: Acceptor,
}

/// Two sites, and a client with tickets of the first.
struct Scene {
    sites: [Site; 2],
    connector: Connector,
    store: Arc<MemorySessionStore>,
    /// The client, as the sites know it.
    client: Vec<u8>,
}

async fn scene() -> Scene {
    let authority = Authority::new();
    let names = [HOME, AWAY];
    let config: ServerConfig = server(authority.credential(SERVER));
    let mut sites = Vec::new();
    let mut addresses = Vec::new();
    let channels: [Arc<LateChannel>; 2] = Default::default();
    for (at, channel) in channels.iter().enumerate() {
        let random = tessera_aws_lc::provider().random;
        let name = [at as u8 + 1; 16];
        let vault = MovingVault::new(MemoryVault::new(1000), name, 1000, HOUR, random).unwrap();
        let vault = Arc::new(SiteVault::moving(Arc::new(vault), channel.clone()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        addresses.push(listener.local_addr().unwrap());
        let other = SiteProof::DnsName(names[1 - at].to_owned());
        let known = KnownSites::new(authority.verifier()).with("other", other);
        let own = server_config(server(authority.credential(names[at])), known).unwrap();
        let serving = SiteServer::new(vault.clone(), ServerLimits::default());
        tokio::spawn(async move { serving.run(listener, Acceptor::new(own), pending()).await });
        let mut config = config.clone();
        config.client_authentication = ClientAuthentication::Required(authority.verifier());
        config.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(vault.clone()));
        config.policy.tickets = TicketRequest { new_session_count: 4, resumption_count: 4 };
        let answers = Arc::new(SiteAnswers::new(vault.clone(), Duration::from_secs(60)));
        let acceptor = Acceptor::new(config.checked().unwrap()).with_answers(answers);
        sites.push(Site { vault, acceptor });
    }
    for (at, channel) in channels.iter().enumerate() {
        let other = OtherSite {
            vault: [2 - at as u8; 16],
            address: addresses[1 - at].to_string(),
            server_name: names[1 - at].to_owned(),
        };
        let own = connector(&authority, vec![authority.credential(names[at])]);
        let opened = TlsSiteChannel::open(&own, vec![other], patient());
        assert!(channel.0.set(opened).is_ok());
        until(|| channel.get().counts().connections == 1).await;
    }

    let mut client = ClientConfig::new(tessera_aws_lc::provider(), authority.verifier());
    client.credentials = vec![authority.credential("drone.example")];
    client.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
    client.policy.tickets = TicketRequest { new_session_count: 4, resumption_count: 4 };
    let store = Arc::new(MemorySessionStore::default());
    let connector = Connector::new(client.checked().unwrap()).with_sessions(store.clone());
    let Ok(sites) = sites.try_into() else { unreachable!() };
    let mut scene = Scene { sites, connector, store, client: Vec::new() };
    scene.client = scene.collect().await;
    scene
}

type SentFlight = EarlyData<ClientStream<DuplexStream>>;

impl Scene {
    /// The client's first visit, at the first site; returns its identity.
    async fn collect(&self) -> Vec<u8> {
        let (near, far) = duplex(64 * 1024);
        let destination = Destination { server_name: SERVER.into(), ..Destination::default() };
        let accepting = self.sites[0].acceptor.accept(far);
        let (client, server) = tokio::join!(self.connector.connect(destination, near), accepting);
        let (mut client, mut server) = (client.unwrap(), server.unwrap());
        server.handshake().await.unwrap();
        let peer = server.facts().peer.clone().unwrap();
        server.shutdown().await.unwrap();
        client.read_to_end(&mut Vec::new()).await.unwrap();
        peer.blob
    }

    /// Sends a flight to a site; returns what the client learned, which PSK the server used, and what its application
    /// received.
    async fn send(&self, site: usize, session: &[u8]) -> (SentFlight, Option<PskKind>, Vec<u8>) {
        let session = Some(ClientSession::import(session).unwrap());
        let destination = Destination {
            server_name: SERVER.into(),
            session: session.map(Box::new),
            ..Destination::default()
        };
        let (near, far) = duplex(64 * 1024);
        let (mut sent, server) = tokio::join!(
            self.connector.connect_with_early_data(destination, near, REQUEST),
            self.sites[site].acceptor.accept(far)
        );
        let mut server = server.unwrap();
        match &mut sent {
            EarlyData::Accepted { stream, .. } | EarlyData::Rejected { stream, .. } => {
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
async fn a_flight_is_accepted_as_early_data_where_its_secret_moved() {
    let scene = scene().await;
    let (first, second, third) = (scene.session(), scene.session(), scene.session());
    let held = scene.sites[0].vault.len();
    assert!(held >= 3);
    let moved = scene.sites[0].vault.move_secrets(&scene.client, &[2; 16]).await.unwrap();
    assert_eq!((moved, scene.sites[0].vault.len(), scene.sites[1].vault.len()), (held, 0, held));

    let (sent, psk, received) = scene.send(1, &first).await;
    assert!(matches!(sent, EarlyData::Accepted { .. }), "{:?}", verdict(&sent));
    assert_eq!((psk, received.as_slice()), (Some(PskKind::ForwardSecret), REQUEST));
    // Recorded and sent again, to both.
    for site in [0, 1] {
        let (copy, _, received) = scene.send(site, &first).await;
        assert_eq!((verdict(&copy), received.len()), (Some(Verdict::Used), 0), "{site}");
    }
    // A client that hasn't noticed comes to the first site: its data is safe to send again.
    let (sent, psk, _) = scene.send(0, &second).await;
    assert_eq!((verdict(&sent), psk), (Some(Verdict::Burned), Some(PskKind::Resumption)));
    let (copy, ..) = scene.send(1, &second).await;
    assert_eq!(verdict(&copy), Some(Verdict::Burned));
    // The client comes back, and its secrets too.
    scene.sites[1].vault.move_secrets(&scene.client, &[1; 16]).await.unwrap();
    let (sent, ..) = scene.send(0, &third).await;
    assert!(matches!(sent, EarlyData::Accepted { .. }), "{:?}", verdict(&sent));
}

#[tokio::test]
async fn a_flight_waits_for_a_secret_that_is_on_its_way() {
    let scene = scene().await;
    let session = scene.session();
    let moving = async {
        sleep(Duration::from_millis(50)).await;
        scene.sites[0].vault.move_secrets(&scene.client, &[2; 16]).await.unwrap()
    };
    let ((sent, _, received), moved) = tokio::join!(scene.send(1, &session), moving);
    assert!(moved > 0);
    assert!(matches!(sent, EarlyData::Accepted { .. }), "{:?}", verdict(&sent));
    assert_eq!(received, REQUEST);
}

#[tokio::test]
async fn nothing_moves_to_a_site_that_does_not_answer() {
    let scene = scene().await;
    let held = scene.sites[0].vault.len();
    let error = scene.sites[0].vault.move_secrets(&scene.client, &[9; 16]).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotConnected);
    assert_eq!(scene.sites[0].vault.len(), held);
    let (sent, ..) = scene.send(0, &scene.session()).await;
    assert!(matches!(sent, EarlyData::Accepted { .. }));
}
