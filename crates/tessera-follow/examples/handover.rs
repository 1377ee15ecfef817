//! Two proxies of one origin, and a client that moves between them; then one of them ends.
//!
//! ```text
//! cargo run -p tessera-follow --example handover
//! ```

use std::collections::HashMap;
use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::ALT_SVC;
use http::{Response, Uri};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Bytes;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rcgen::{CertificateParams, KeyPair};
use tessera::auth::{Credential, PrivateKey};
use tessera::resume::{Continuation, OneTimeKeyGuard};
use tessera::{ClientConfig, ServerConfig};
use tessera_aws_lc::{SigningKey, provider};
use tessera_follow::FollowingClient;
use tessera_tokio::hyper::FlightReport;
use tessera_tokio::{Acceptor, Connector, Limits, MemorySessionStore, Server, TlsListener};
use tessera_vault::{MemoryVault, RotatingRing};
use tessera_webpki::WebPkiVerifier;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;
use tower_service::Service;

type Fallible<T> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Fallible<()> {
    // What the proxies share: the origin's certificate, ticket keys, and the vault of one-time keys.
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(vec![ORIGIN.into()])?.self_signed(&key)?;
    let signer = SigningKey::from_pkcs8(&key.serialize_der())?;
    let chain = vec![certificate.der().to_vec()];
    let credential = Credential::new(chain, PrivateKey::Signs(Arc::new(signer)));
    let mut config = ServerConfig::new(provider(), vec![credential]);
    config.protocols = vec![b"h2".to_vec()];
    config.tickets = Some(Arc::new(RotatingRing::new(&provider())));
    let vault = Arc::new(MemoryVault::new(1000));
    config.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(vault));
    let acceptor = Acceptor::new(config.checked()?);

    // Each sends its clients to the other one.
    let (a, _first) = start("a", "h2=\"b.example:443\"; ma=30", acceptor.clone()).await?;
    let (b, second) = start("b", "h2=\"a.example:443\"; ma=30", acceptor).await?;
    let names = [(ORIGIN, a), ("a.example", a), ("b.example", b)];
    let names = Names(Arc::new(names.into_iter().collect()));

    let verifier = WebPkiVerifier::new(&[certificate.der()])?;
    let mut config = ClientConfig::new(provider(), Arc::new(verifier));
    config.protocols = vec![b"h2".to_vec()];
    config.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
    let connector =
        Connector::new(config.checked()?).with_sessions(Arc::new(MemorySessionStore::default()));
    // `FollowingClient::new` would use the system's names.
    let client = FollowingClient::<Empty<Bytes>, _>::over(names, connector);
    for round in 0..4 {
        if round == 3 {
            println!("b ends");
            second.abort();
        }
        let response = client.get(format!("https://{ORIGIN}/").parse()?).await?;
        let report = response.extensions().get::<FlightReport>();
        let early = report.map_or(0, |report| report.early_data().accepted);
        let body = response.into_body().collect().await?.to_bytes();
        println!("{}, with {early} bytes of early data", String::from_utf8_lossy(&body));
        // Waits until the next ticket has arrived.
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Starts a proxy that announces an alternative.
async fn start(
    name: &'static str,
    alternative: &'static str,
    acceptor: Acceptor,
) -> io::Result<(SocketAddr, JoinHandle<()>)> {
    let socket = TcpListener::bind("127.0.0.1:0").await?;
    let address = socket.local_addr()?;
    let mut listener = TlsListener::new(Server::new(socket, acceptor, Limits::default()));
    let serving = tokio::spawn(async move {
        let mut clients = JoinSet::new();
        loop {
            let client = listener.accept().await;
            clients.spawn(async move {
                let service = service_fn(move |_| async move {
                    let body = Full::new(Bytes::from(format!("answered by {name}")));
                    let mut response = Response::new(body);
                    let value = http::HeaderValue::from_static(alternative);
                    response.headers_mut().insert(ALT_SVC, value);
                    Ok::<_, Infallible>(response)
                });
                let server = auto::Builder::new(TokioExecutor::new());
                // A client that disconnects isn't an error here.
                let _ = server.serve_connection(TokioIo::new(client), service).await;
            });
        }
    });
    Ok((address, serving))
}

/// Connects to the address of a name, whatever the port.
#[derive(Clone)]
struct Names(Arc<HashMap<&'static str, SocketAddr>>);

impl Service<Uri> for Names {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<TcpStream>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let address = uri.host().and_then(|host| self.0.get(host)).copied();
        Box::pin(async move {
            let address = address.ok_or(io::ErrorKind::NotFound)?;
            Ok(TokioIo::new(TcpStream::connect(address).await?))
        })
    }
}

const ORIGIN: &str = "server.example";
