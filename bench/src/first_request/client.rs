//! The clients: hyper-util's, over both kinds of TLS.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Empty};
use hyper::Uri;
use hyper::body::Bytes;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::{Connect, Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::HandshakeKind;
use rustls::pki_types::ServerName;
use tessera::ClientConfig;
use tessera::resume::{ClientSession, Continuation};
use tessera_interop::{Pki, SERVER_NAME};
use tessera_tokio::hyper::{FlightReport, HttpsConnector};
use tessera_tokio::{Connector, MemorySessionStore, SessionStore};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower_service::Service;

use crate::server::Arrivals;
use crate::{Failure, Tls, Way};

/// Sends requests in one way, each on a new connection.
pub(crate) struct Client {
    way: Way,
    rustls: RustlsConnector,
    tessera: HttpsConnector<FixedConnector>,
    sessions: Arc<Sessions>,
}

impl Client {
    pub(crate) fn new(way: Way, pki: &Pki, to: SocketAddr) -> Result<Self, Failure> {
        let protocols = vec![if way.h2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
        let mut roots = rustls::RootCertStore::empty();
        roots.add(pki.root().into())?;
        let config = rustls::ClientConfig::builder().with_root_certificates(roots);
        let mut config = config.with_no_client_auth();
        config.alpn_protocols.clone_from(&protocols);
        let rustls = RustlsConnector { tls: TlsConnector::from(Arc::new(config)), to };

        let mut config = ClientConfig::new(tessera_aws_lc::provider(), pki.verifier());
        config.protocols = protocols;
        config.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
        let sessions = Arc::new(Sessions::default());
        let connector = Connector::new(config.checked()?).with_sessions(sessions.clone());
        Ok(Self {
            way,
            rustls,
            tessera: HttpsConnector::over(FixedConnector(to), connector),
            sessions,
        })
    }

    /// Returns how long one request took to the application. With `again` its connection must be resumed.
    pub(crate) async fn ask(&self, arrivals: &Arrivals, again: bool) -> Result<Duration, Failure> {
        match self.way.tls {
            Tls::Rustls => self.ask_with(self.rustls.clone(), arrivals, again).await,
            Tls::Tessera => {
                let time = self.ask_with(self.tessera.clone(), arrivals, again).await?;
                self.sessions.come().await?;
                Ok(time)
            }
        }
    }

    async fn ask_with<C>(
        &self,
        connector: C,
        arrivals: &Arrivals,
        again: bool,
    ) -> Result<Duration, Failure>
    where
        C: Connect + Clone + Send + Sync + 'static,
    {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let uri: Uri = format!("https://{SERVER_NAME}/{number}").parse()?;
        // Has no connections; it reads tickets for as long as it exists.
        let pool: Pool<C, Empty<Bytes>> = Pool::builder(TokioExecutor::new()).build(connector);
        let began = Instant::now();
        let response = pool.get(uri).await?;
        let resumed = match response.extensions().get::<FlightReport>() {
            Some(report) => report.early_data().accepted > 0,
            None => response.extensions().get() == Some(&Kind(HandshakeKind::Resumed)),
        };
        if resumed != again || !response.status().is_success() {
            return Err(format!("{:?}: {}, resumed: {resumed}", self.way, response.status()).into());
        }
        response.into_body().collect().await?;
        // rustls' tickets arrive before the answer; ours must be waited for.
        let leaving = pool.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(200)).await;
            drop(leaving);
        });
        let arrived = arrivals.of(number).ok_or("the request didn't arrive")?;
        Ok(arrived.duration_since(began))
    }
}

/// Sessions that can be waited for.
#[derive(Default)]
struct Sessions {
    store: MemorySessionStore,
    came: SessionSignal,
}

struct SessionSignal(Semaphore);

impl Default for SessionSignal {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

impl Sessions {
    async fn come(&self) -> Result<(), Failure> {
        self.came.0.acquire().await?.forget();
        Ok(())
    }
}

impl SessionStore for Sessions {
    fn put(&self, server_name: &str, session: ClientSession) {
        self.store.put(server_name, session);
        self.came.0.add_permits(1);
    }

    fn pop(&self, server_name: &str) -> Option<ClientSession> {
        self.store.pop(server_name)
    }
}

/// Connects by TCP to one address, whatever the URI.
#[derive(Clone)]
struct FixedConnector(SocketAddr);

impl Service<Uri> for FixedConnector {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let address = self.0;
        Box::pin(async move { connect(address).await.map(TokioIo::new) })
    }
}

async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// The same with the TLS of tokio-rustls.
#[derive(Clone)]
struct RustlsConnector {
    tls: TlsConnector,
    to: SocketAddr,
}

impl Service<Uri> for RustlsConnector {
    type Response = RustlsStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<RustlsStream>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let (tls, to) = (self.tls.clone(), self.to);
        Box::pin(async move {
            let name = ServerName::try_from(SERVER_NAME).map_err(io::Error::other)?;
            let stream = tls.connect(name, connect(to).await?).await?;
            Ok(RustlsStream(TokioIo::new(stream)))
        })
    }
}

/// A connection of tokio-rustls, for hyper-util's client.
struct RustlsStream(TokioIo<TlsStream<TcpStream>>);

/// How its handshake went; responses have it as an extension.
#[derive(Clone, PartialEq)]
struct Kind(HandshakeKind);

impl Connection for RustlsStream {
    fn connected(&self) -> Connected {
        let (_, tls) = self.0.inner().get_ref();
        let mut connected = Connected::new();
        if let Some(kind) = tls.handshake_kind() {
            connected = connected.extra(Kind(kind));
        }
        if tls.alpn_protocol() == Some(b"h2") { connected.negotiated_h2() } else { connected }
    }
}

impl Read for RustlsStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl Write for RustlsStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
