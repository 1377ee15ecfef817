//! An authority, a signer, and clients that write requests by hand.

use std::future::pending;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use tessera::auth::Credential;
use tessera::crypto::Signer;
use tessera::wire::SignatureScheme;
use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_aws_lc::SigningKey;
use tessera_pki::rcgen::{KeyPair, SignatureAlgorithm};
use tessera_pki::{Authority, Leaf};
use tessera_proxy::admin::Metrics;
use tessera_signer::server::{HeldKey, Keys, Rate, SignerServer, server_config};
use tessera_signer::{
    RemoteKey, RemoteSigner, SignerAddress, SignerCounts, SignerLimits, client_config,
};
use tessera_tokio::{Acceptor, ClientStream, Connector, Limits};
use tessera_webpki::WebPkiVerifier;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

pub const EDGE: &str = "edge-a.internal";
pub const P256: SignatureScheme = SignatureScheme::ECDSA_SECP256R1_SHA256;

/// How long anything may take that must happen.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Of signers and their clients.
pub struct World {
    pub authority: Authority,
    /// Of the servers that clients see.
    pub origin: Authority,
}

impl World {
    pub fn new() -> Self {
        Self { authority: Authority::new("signers"), origin: Authority::new("origin") }
    }

    /// Returns a server's certificate with a key of this kind.
    pub fn leaf(&self, algorithm: &'static SignatureAlgorithm) -> Leaf {
        let key = KeyPair::generate_for(algorithm).unwrap();
        self.origin.issue_for(key, &["www.example"], |_| ())
    }

    pub fn verifier(&self) -> Arc<WebPkiVerifier> {
        Arc::new(WebPkiVerifier::new(&[self.authority.der()]).unwrap())
    }

    /// Returns the acceptor of a signer, or of a program that pretends to be one.
    pub fn acceptor(&self) -> Acceptor {
        let own = self.authority.issue("localhost").credential();
        let config = ServerConfig::new(tessera_aws_lc::provider(), vec![own]);
        Acceptor::new(server_config(config, self.verifier()).unwrap())
    }

    /// Starts a signer.
    pub async fn signer(&self, keys: Keys, limits: Limits, in_progress: usize) -> RunningSigner {
        let metrics = Metrics::new();
        let server = Arc::new(SignerServer::new(keys, limits, in_progress, &metrics));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (running, acceptor) = (server.clone(), self.acceptor());
        let task = tokio::spawn(async move { running.run(listener, acceptor, pending()).await });
        RunningSigner { address, server, metrics, task }
    }

    /// Starts a signer with one key, `www`, that [`EDGE`] may use.
    pub async fn signer_of(&self, leaf: &Leaf) -> RunningSigner {
        let mut keys = Keys::default();
        keys.add("www", held(leaf, &[EDGE], 1000));
        self.signer(keys, Limits::for_connections(64), 64).await
    }

    /// Returns the connector of a client with these credentials.
    pub fn connector(&self, credentials: Vec<Credential>) -> Connector {
        let mut config = ClientConfig::new(tessera_aws_lc::provider(), self.verifier());
        config.credentials = credentials;
        Connector::new(client_config(config).unwrap())
    }

    /// Returns the connector of a client with this name.
    pub fn client(&self, name: &str) -> Connector {
        self.connector(vec![self.authority.issue(name).credential()])
    }

    /// Opens what asks these signers, as [`EDGE`].
    pub fn remote(&self, signers: &[SocketAddr], limits: SignerLimits) -> RemoteSigner {
        let signers = signers.iter().map(|address| SignerAddress {
            address: address.to_string(),
            server_name: "localhost".into(),
        });
        RemoteSigner::open(&self.client(EDGE), signers.collect(), limits)
    }

    /// Returns the acceptor of a server whose key is at a signer, and what asks there.
    pub fn server(&self, leaf: &Leaf, signer: RemoteSigner) -> Acceptor {
        let key = RemoteKey::new(leaf.chain.clone(), "www").unwrap();
        signer.add(&key);
        let config = ServerConfig::new(tessera_aws_lc::provider(), vec![key.credential()]);
        Acceptor::new(config.checked().unwrap()).with_answers(Arc::new(signer))
    }
}

pub struct RunningSigner {
    pub address: SocketAddr,
    pub server: Arc<SignerServer>,
    pub metrics: Metrics,
    pub task: JoinHandle<()>,
}

impl RunningSigner {
    pub fn count(&self, line: &str) -> u64 {
        let text = self.metrics.text();
        let count = |it: &str| {
            let rest = it.strip_prefix(line)?;
            // As a family without labels is written.
            rest.strip_prefix("{}").unwrap_or(rest).strip_prefix(' ').map(str::to_owned)
        };
        let line = text.lines().find_map(count);
        line.map_or(0, |count| count.parse().unwrap())
    }
}

impl Drop for RunningSigner {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub fn rate(per_second: u32, burst: u32) -> Rate {
    let number = |number| NonZeroU32::new(number).unwrap();
    Rate { per_second: number(per_second), burst: number(burst) }
}

/// Holds a certificate's key for these clients.
pub fn held(leaf: &Leaf, allow: &[&str], burst: u32) -> HeldKey {
    let key: Arc<dyn Signer> = Arc::new(SigningKey::from_pkcs8(&leaf.key_der()).unwrap());
    HeldKey::new(key, allow, rate(1, burst))
}

/// Limits with which a signer that can't answer costs a test little.
pub fn limits(deadline: Duration) -> SignerLimits {
    let mut limits = SignerLimits::default();
    limits.deadline = deadline;
    limits
}

/// Returns what a server signs.
pub fn content(hash: &[u8]) -> Vec<u8> {
    [&[b' '; 64][..], b"TLS 1.3, server CertificateVerify\0", hash].concat()
}

/// A client that writes its own requests.
pub struct RawClient {
    pub stream: ClientStream<TcpStream>,
    next_id: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawAnswer {
    Signed(Vec<u8>),
    Pong,
    Refused(u8),
}

pub const UNKNOWN_KEY: RawAnswer = RawAnswer::Refused(1);
pub const NOT_ALLOWED: RawAnswer = RawAnswer::Refused(2);
pub const SCHEME: RawAnswer = RawAnswer::Refused(3);
pub const CONTENT: RawAnswer = RawAnswer::Refused(4);
pub const RATE: RawAnswer = RawAnswer::Refused(5);
pub const BUSY: RawAnswer = RawAnswer::Refused(6);

/// Returns an encoded request.
pub fn sign(id: u64, scheme: SignatureScheme, name: &str, message: &[u8]) -> Vec<u8> {
    [
        &[1][..],
        &id.to_be_bytes(),
        &scheme.0.to_be_bytes(),
        &[name.len() as u8],
        &(message.len() as u16).to_be_bytes(),
        name.as_bytes(),
        message,
    ]
    .concat()
}

impl RawClient {
    pub async fn connect(connector: &Connector, address: SocketAddr) -> std::io::Result<Self> {
        let socket = TcpStream::connect(address).await?;
        let destination = Destination { server_name: "localhost".into(), ..Destination::default() };
        let stream = connector.connect(destination, socket).await?;
        Ok(Self { stream, next_id: 1 })
    }

    pub async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    /// Reads an answer with its id; `None` if the connection has ended.
    pub async fn read(&mut self) -> Option<(u64, RawAnswer)> {
        timeout(PATIENCE, async {
            let kind = self.stream.read_u8().await.ok()?;
            let id = self.stream.read_u64().await.ok()?;
            let answer = match kind {
                1 => {
                    let len = self.stream.read_u16().await.ok()?;
                    let mut signature = vec![0; len.into()];
                    self.stream.read_exact(&mut signature).await.ok()?;
                    RawAnswer::Signed(signature)
                }
                2 => RawAnswer::Pong,
                3 => RawAnswer::Refused(self.stream.read_u8().await.ok()?),
                kind => panic!("no answer: {kind}"),
            };
            Some((id, answer))
        })
        .await
        .expect("no answer in time")
    }

    pub async fn ask(&mut self, scheme: SignatureScheme, name: &str, message: &[u8]) -> RawAnswer {
        self.next_id += 1;
        let id = self.next_id;
        self.write(&sign(id, scheme, name, message)).await;
        let (answered, answer) = self.read().await.expect("the connection ended");
        assert_eq!(answered, id);
        answer
    }
}

/// Waits until the counts are as they should be.
pub async fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// Makes a handshake between a client and this server; returns the client's stream, or the errors of both.
pub async fn handshake(
    world: &World,
    server: &Acceptor,
) -> Result<ClientStream<tokio::io::DuplexStream>, (std::io::Error, std::io::Error)> {
    let verifier = Arc::new(WebPkiVerifier::new(&[world.origin.der()]).unwrap());
    let config = ClientConfig::new(tessera_aws_lc::provider(), verifier).checked().unwrap();
    handshake_of(&Connector::new(config), server).await
}

pub async fn handshake_of(
    connector: &Connector,
    server: &Acceptor,
) -> Result<ClientStream<tokio::io::DuplexStream>, (std::io::Error, std::io::Error)> {
    let (one, other) = tokio::io::duplex(1 << 16);
    let destination = Destination { server_name: "www.example".into(), ..Destination::default() };
    let accepting = async {
        let mut stream = server.accept(one).await?;
        stream.write_all(b"x").await?;
        stream.shutdown().await?;
        Ok(stream)
    };
    let connecting = async {
        let mut stream = connector.connect(destination, other).await?;
        // With the tickets.
        stream.read_u8().await?;
        Ok(stream)
    };
    match timeout(PATIENCE, async { tokio::join!(connecting, accepting) }).await.unwrap() {
        (Ok(client), Ok(_)) => Ok(client),
        (Err(client), Err(server)) => Err((client, server)),
        (Err(client), Ok(_)) => panic!("only the client failed: {client}"),
        (Ok(_), Err(server)) => panic!("only the server failed: {server}"),
    }
}

pub fn connected(counts: &SignerCounts) -> bool {
    counts.connections > 0
}
