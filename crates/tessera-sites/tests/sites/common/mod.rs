//! An authority, two sites, and what the tests do with them.

use std::future::{pending, ready};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tessera::auth::Credential;
use tessera::handshake::Reply;
use tessera::resume::{Incarnation, PutSecret, TakeAnswer, TakePurpose, TakeSecret, Vault};
use tessera::{ClientConfig, ServerConfig};
use tessera_pki::rcgen::{CertificateParams, SanType};
use tessera_sites::{
    ChannelLimits, KnownSites, OtherSite, ServerLimits, SiteProof, SiteServer, TlsSiteChannel,
    client_config, server_config,
};
use tessera_tokio::{Acceptor, Connector, MemorySessionStore};
use tessera_vault::contract::{handle, secret};
use tessera_vault::{
    Acknowledgement, BurnAtHome, HomeAnswer, MemoryVault, SiteChannel, SiteVault, TicketKey,
    TicketKeyRing,
};
use tessera_webpki::WebPkiVerifier;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub const HOME: &str = "home.example";
pub const AWAY: &str = "away.example";
pub const HOME_VAULT: [u8; 16] = [1; 16];

/// Signs the certificates of all sites, and of others.
pub struct Authority(pub tessera_pki::Authority);

impl Authority {
    pub fn new() -> Self {
        Self(tessera_pki::Authority::new("sites"))
    }

    pub fn verifier(&self) -> Arc<WebPkiVerifier> {
        Arc::new(WebPkiVerifier::new(&[self.0.der()]).unwrap())
    }

    pub fn credential(&self, name: &str) -> Credential {
        self.0.issue(name).credential()
    }

    pub fn expired(&self, name: &str) -> Credential {
        self.0.issue_expired(name).credential()
    }
}

pub fn uri(params: &mut CertificateParams, uri: &str) {
    params.subject_alt_names = vec![SanType::URI(uri.try_into().unwrap())];
}

/// Returns the connector of the channel, with this certificate.
pub fn connector(authority: &Authority, credentials: Vec<Credential>) -> Connector {
    let mut config = ClientConfig::new(tessera_aws_lc::provider(), authority.verifier());
    config.credentials = credentials;
    let sessions = Arc::new(MemorySessionStore::default());
    Connector::new(client_config(config).unwrap()).with_sessions(sessions)
}

/// Returns the acceptor of the channel, which knows [`AWAY`].
pub fn acceptor(authority: &Authority, credential: Credential) -> Acceptor {
    let known =
        KnownSites::new(authority.verifier()).with("away", SiteProof::DnsName(AWAY.to_owned()));
    Acceptor::new(server_config(server(credential), known).unwrap())
}

/// Returns the configuration of a server with tickets.
pub fn server(credential: Credential) -> ServerConfig {
    let provider = tessera_aws_lc::provider();
    let day = Duration::from_secs(24 * 3600);
    let ring = TicketKeyRing::new(&provider);
    ring.add(TicketKey::generate(&provider, unix(), day, day).unwrap(), unix()).unwrap();
    let mut config = ServerConfig::new(provider, vec![credential]);
    config.tickets = Some(Arc::new(ring));
    config
}

pub fn unix() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

/// Long enough for every machine: nothing should take as long.
pub fn patient() -> ChannelLimits {
    let mut limits = ChannelLimits::default();
    limits.deadline = Duration::from_secs(60);
    limits.connect = Duration::from_secs(60);
    limits
}

/// For tests in which no answer comes.
pub fn impatient() -> ChannelLimits {
    let mut limits = ChannelLimits::default();
    limits.deadline = Duration::from_millis(300);
    limits
}

pub fn home_at(address: SocketAddr) -> OtherSite {
    OtherSite { vault: HOME_VAULT, address: address.to_string(), server_name: HOME.to_owned() }
}

/// The channel of a site that asks no other.
pub struct IsolatedChannel;

impl SiteChannel for IsolatedChannel {
    fn burn_at_home(&self, _: &BurnAtHome) -> HomeAnswer {
        Box::pin(ready(None))
    }
}

/// A site with secrets, and its server, which end with this value.
pub struct Home {
    pub vault: Arc<SiteVault>,
    pub server: Arc<SiteServer>,
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl Home {
    pub async fn new(authority: &Authority) -> Self {
        Self::with(acceptor(authority, authority.credential(HOME)), ServerLimits::default()).await
    }

    pub async fn with(acceptor: Acceptor, limits: ServerLimits) -> Self {
        let vault = MemoryVault::new(100_000);
        let vault =
            Arc::new(SiteVault::named(Arc::new(vault), HOME_VAULT, Arc::new(IsolatedChannel)));
        let server = Arc::new(SiteServer::new(vault.clone(), limits));
        Self::serve(vault, server, acceptor, None).await
    }

    pub async fn serve(
        vault: Arc<SiteVault>,
        server: Arc<SiteServer>,
        acceptor: Acceptor,
        address: Option<SocketAddr>,
    ) -> Self {
        let address = address.unwrap_or_else(|| "127.0.0.1:0".parse().unwrap());
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = server.clone();
        let task = tokio::spawn(async move { serving.run(listener, acceptor, pending()).await });
        Self { vault, server, address, task }
    }

    pub fn put(&self, number: u32) {
        put(&*self.vault, number);
    }

    /// Has the site take a secret to accept a flight.
    pub fn accepts(&self, number: u32) -> bool {
        let question = TakeSecret::new(handle(number), TakePurpose::Accept, Some(unix()));
        matches!(self.vault.take(&question), Reply::Now(TakeAnswer::Taken(_)))
    }

    /// Ends its server, with all connections; its vault stays.
    pub fn cut_off(&self) {
        self.task.abort();
    }

    /// Ends its server, so that another can use its address.
    pub async fn end(self) -> (Arc<SiteVault>, SocketAddr) {
        self.task.abort();
        let _ = self.task.await;
        (self.vault, self.address)
    }
}

pub fn put(vault: &dyn Vault, number: u32) {
    let put = PutSecret::new(handle(number), secret(number), unix() + HOUR, unix());
    vault.put(put).unwrap();
}

const HOUR: Duration = Duration::from_secs(3600);

pub fn request(number: u32) -> BurnAtHome {
    BurnAtHome::new(handle(number), Incarnation { vault: HOME_VAULT, number: 0 })
}

pub async fn burn(channel: &TlsSiteChannel, number: u32) -> Option<Acknowledgement> {
    channel.burn_at_home(&request(number)).await
}

/// Opens a channel to a home site, with the certificate of [`AWAY`].
pub fn channel(authority: &Authority, home: SocketAddr, limits: ChannelLimits) -> TlsSiteChannel {
    let connector = connector(authority, vec![authority.credential(AWAY)]);
    TlsSiteChannel::open(&connector, vec![home_at(home)], limits)
}

/// Waits until a condition holds.
pub async fn until(mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("it becomes so");
}
