//! Two sites that share ticket keys, and a client with a ticket of the first: its flight reaches the second, first
//! while the channel between them works, then when the home site is gone.
//!
//! ```text
//! cargo run -p tessera-sites --example two_sites
//! ```

use std::error::Error;
use std::future::{pending, ready};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tessera::auth::{Credential, PrivateKey};
use tessera::resume::{Continuation, OneTimeKeyGuard};
use tessera::wire::TicketRequest;
use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_aws_lc::{SigningKey, provider};
use tessera_sites::{
    ChannelLimits, KnownSites, OtherSite, ServerLimits, SiteAnswers, SiteProof, SiteServer,
    TlsSiteChannel, client_config, server_config,
};
use tessera_tokio::{Acceptor, Connector, EarlyData, MemorySessionStore};
use tessera_vault::{
    BurnAtHome, HomeAnswer, MemoryVault, SiteChannel, SiteVault, TicketKey, TicketKeyRing,
};
use tessera_webpki::WebPkiVerifier;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::net::TcpListener;

type Fallible<T> = Result<T, Box<dyn Error>>;

const HOME_VAULT: [u8; 16] = [1; 16];
const AWAY_VAULT: [u8; 16] = [2; 16];

#[tokio::main]
async fn main() -> Fallible<()> {
    let authority = Authority::new()?;

    // Home: its vault, and the server that burns for other sites.
    let home =
        SiteVault::named(Arc::new(MemoryVault::new(1000)), HOME_VAULT, Arc::new(IsolatedChannel));
    let home = Arc::new(home);
    let known = KnownSites::new(authority.verifier()?)
        .with("away", SiteProof::DnsName("away.example".into()));
    let config = ServerConfig::new(provider(), vec![authority.credential("home.example")?]);
    let acceptor = Acceptor::new(server_config(config, known)?);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let burns = SiteServer::new(home.clone(), ServerLimits::default());
    let burning = tokio::spawn(async move { burns.run(listener, acceptor, pending()).await });

    // Away: the channel to home, and its own vault.
    let mut config = ClientConfig::new(provider(), authority.verifier()?);
    config.credentials = vec![authority.credential("away.example")?];
    let connector = Connector::new(client_config(config)?)
        .with_sessions(Arc::new(MemorySessionStore::default()));
    let other = OtherSite { vault: HOME_VAULT, address, server_name: "home.example".into() };
    let channel = TlsSiteChannel::open(&connector, vec![other], ChannelLimits::default());
    let away = SiteVault::named(Arc::new(MemoryVault::new(1000)), AWAY_VAULT, Arc::new(channel));

    // The servers for clients: one certificate, one ring, two vaults.
    let mut config = ServerConfig::new(provider(), vec![authority.credential("www.example")?]);
    config.tickets = Some(Arc::new(ring()?));
    let at = |site: Arc<SiteVault>| -> Fallible<Acceptor> {
        let mut config = config.clone();
        config.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(site.clone()));
        config.policy.tickets = TicketRequest { new_session_count: 2, resumption_count: 2 };
        let answers = SiteAnswers::new(site, Duration::from_secs(2));
        Ok(Acceptor::new(config.checked()?).with_answers(Arc::new(answers)))
    };
    let (home, away) = (at(home)?, at(Arc::new(away))?);

    let mut config = ClientConfig::new(provider(), authority.verifier()?);
    config.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
    config.policy.tickets = TicketRequest { new_session_count: 2, resumption_count: 0 };
    let client =
        Connector::new(config.checked()?).with_sessions(Arc::new(MemorySessionStore::default()));
    println!("first visit, at home: {}", visit(&client, &home).await?);
    println!("then away: {}", visit(&client, &away).await?);
    burning.abort();
    println!("away, home is gone: {}", visit(&client, &away).await?);
    Ok(())
}

/// Connects with a request as early data, if there is a ticket for it, and returns the outcome.
async fn visit(client: &Connector, site: &Acceptor) -> Fallible<String> {
    let destination = Destination { server_name: "www.example".into(), ..Destination::default() };
    let (near, far) = duplex(64 * 1024);
    let (sent, server) = tokio::join!(
        client.connect_with_early_data(destination, near, b"request"),
        site.accept(far)
    );
    let (mut stream, told) = match sent {
        EarlyData::NotSent(stream) => (stream?, "no early data".to_owned()),
        EarlyData::Accepted { stream, .. } => (stream, "accepted".to_owned()),
        EarlyData::Rejected { stream, verdict, .. } => (stream, format!("{verdict:?}")),
        _ => return Err("no connection".into()),
    };
    server?.shutdown().await?;
    stream.read_to_end(&mut Vec::new()).await?;
    Ok(told)
}

/// The home site of this example has no other sites to ask.
struct IsolatedChannel;

impl SiteChannel for IsolatedChannel {
    fn burn_at_home(&self, _: &BurnAtHome) -> HomeAnswer {
        Box::pin(ready(None))
    }
}

fn ring() -> Fallible<TicketKeyRing> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let day = Duration::from_secs(24 * 3600);
    let ring = TicketKeyRing::new(&provider());
    ring.add(TicketKey::generate(&provider(), now, day, day)?, now)?;
    Ok(ring)
}

/// Signs for all. Real sites use an authority only for the channel between them.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Fallible<Self> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Ok(Self(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?))
    }

    fn verifier(&self) -> Fallible<Arc<WebPkiVerifier>> {
        Ok(Arc::new(WebPkiVerifier::new(&[self.0.der()])?))
    }

    fn credential(&self, name: &str) -> Fallible<Credential> {
        let key = KeyPair::generate()?;
        let certificate =
            CertificateParams::new(vec![name.to_owned()])?.signed_by(&key, &self.0)?;
        let signer = SigningKey::from_pkcs8(&key.serialize_der())?;
        Ok(Credential::new(vec![certificate.der().to_vec()], PrivateKey::Signs(Arc::new(signer))))
    }
}
