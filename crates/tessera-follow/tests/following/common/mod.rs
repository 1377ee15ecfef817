//! An origin with several proxies, and clients of it.

mod names;
mod proxy;
mod sessions;
pub mod trouble;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::client::legacy::Error;
use tessera::auth::Credential;
use tessera::resume::{Continuation, OneTimeKeyGuard};
use tessera::{ClientConfig, ServerConfig};
use tessera_follow::{FollowingClient, Protocol, Route};
use tessera_pki::Authority;
use tessera_tokio::hyper::FlightReport;
use tessera_tokio::{Acceptor, Connector};
use tessera_vault::{MemoryVault, TicketKey, TicketKeyRing};
use tessera_webpki::WebPkiVerifier;
use tokio::time::{sleep, timeout};

pub use names::Names;
pub use proxy::Proxy;
pub use sessions::Sessions;

/// The origin's host. Its name leads to the proxy `a.example`, unless a test changes that.
pub const ORIGIN: &str = "server.example";

/// What all proxies of the origin share, and what clients know.
pub struct World {
    pub authority: Authority,
    pub names: Names,
    pub sessions: Arc<Sessions>,
    pub protocol: Protocol,
    ring: Arc<TicketKeyRing>,
    vault: Arc<MemoryVault>,
}

pub type Client = FollowingClient<Full<Bytes>, Names>;

impl World {
    pub fn new(protocol: Protocol) -> Self {
        let provider = tessera_aws_lc::provider();
        let ring = TicketKeyRing::new(&provider);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let day = Duration::from_secs(24 * 3600);
        ring.add(TicketKey::generate(&provider, now, day, day).unwrap(), now).unwrap();
        Self {
            authority: Authority::new("an authority"),
            names: Names::default(),
            sessions: Arc::default(),
            protocol,
            ring: Arc::new(ring),
            vault: Arc::new(MemoryVault::new(1000)),
        }
    }

    /// Starts the proxy `a.example`, to which the origin's name leads, and `b.example`; the first announces
    /// the second.
    pub async fn with_two(protocol: Protocol) -> (Self, Proxy, Proxy) {
        let world = Self::new(protocol);
        let (a, b) = (world.proxy("a.example").await, world.proxy("b.example").await);
        world.names.lead(ORIGIN, a.address);
        a.announce(&world.alternative("b.example", 60));
        (world, a, b)
    }

    /// Starts a proxy of the origin.
    pub async fn proxy(&self, host: &str) -> Proxy {
        self.proxy_with(host, self.server_config()).await
    }

    pub async fn proxy_with(&self, host: &str, config: ServerConfig) -> Proxy {
        let proxy = Proxy::start(host, Acceptor::new(config.checked().unwrap())).await;
        self.names.lead(host, proxy.address);
        proxy
    }

    /// The configuration of every proxy of the origin.
    pub fn server_config(&self) -> ServerConfig {
        let mut config = self.strange_config(self.authority.issue(ORIGIN).credential());
        config.tickets = Some(self.ring.clone());
        config.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(self.vault.clone()));
        config
    }

    /// The configuration of a server that shares no tickets.
    pub fn strange_config(&self, credential: Credential) -> ServerConfig {
        let mut config = ServerConfig::new(tessera_aws_lc::provider(), vec![credential]);
        config.protocols = vec![self.protocol.alpn().to_vec()];
        config
    }

    /// The value of `Alt-Svc` that announces a host for some seconds.
    pub fn alternative(&self, host: &str, max_age: u64) -> String {
        let protocol = match self.protocol {
            Protocol::Http2 => "h2",
            _ => "http%2F1.1",
        };
        format!("{protocol}=\"{host}:443\"; ma={max_age}")
    }

    /// Makes a client, without connections, of the world's sessions. It speaks both versions of HTTP, and waits
    /// longer than any test.
    pub fn client(&self) -> Client {
        self.client_over(self.connector().with_sessions(self.sessions.clone()))
    }

    /// Makes a client that can't return to a session, so that it sends no early data.
    pub fn client_without_sessions(&self) -> Client {
        self.client_over(self.connector())
    }

    pub fn connector(&self) -> Connector {
        let verifier = Arc::new(WebPkiVerifier::new(&[self.authority.der()]).unwrap());
        let mut config = ClientConfig::new(tessera_aws_lc::provider(), verifier);
        config.protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
        Connector::new(config.checked().unwrap())
    }

    fn client_over(&self, connector: Connector) -> Client {
        FollowingClient::over(self.names.clone(), connector).with_patience(LONG)
    }
}

/// The patience of clients that should not need it.
pub const LONG: Duration = Duration::from_secs(15);

/// Enough for a handshake on a busy machine; tests of silent alternatives wait this long.
pub const SHORT: Duration = Duration::from_millis(500);

/// A response, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    /// The name of the proxy that answered.
    pub by: String,
    /// The host of the alternative that was used; empty for the origin.
    pub alternative: String,
    /// How many bytes of its connection's first flight were accepted early.
    pub early: usize,
}

pub async fn get(client: &Client, path: &str) -> Result<Answer, Error> {
    send(client, Request::get(uri(path)).body(Full::default()).unwrap()).await
}

pub async fn post(client: &Client, path: &str, body: &str) -> Result<Answer, Error> {
    send(client, Request::post(uri(path)).body(Full::new(body.to_owned().into())).unwrap()).await
}

pub fn uri(path: &str) -> String {
    format!("https://{ORIGIN}{path}")
}

pub async fn send(client: &Client, request: Request<Full<Bytes>>) -> Result<Answer, Error> {
    let response = timeout(Duration::from_secs(20), client.request(request));
    let (head, body) = response.await.expect("no answer in 20 s")?.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let alternative = match head.extensions.get::<Route>().unwrap() {
        Route::Alternative(alternative) => alternative.host.clone(),
        _ => String::new(),
    };
    let report = head.extensions.get::<FlightReport>().unwrap();
    Ok(Answer {
        status: head.status,
        by: String::from_utf8(body.to_vec()).unwrap(),
        alternative,
        early: report.early_data().accepted,
    })
}

/// Waits until something holds.
pub async fn until(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            sleep(Duration::from_millis(2)).await;
        }
    };
    assert!(timeout(Duration::from_secs(20), waiting).await.is_ok(), "waited in vain: {what}");
}

pub const BOTH: [Protocol; 2] = [Protocol::Http1, Protocol::Http2];
