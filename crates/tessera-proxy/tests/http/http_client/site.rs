//! A TLS server behind a relay that can hold back its answers, and pools that have visited it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tessera::handshake::Reply;
use tessera::resume::{
    Absence, ClientSession, Continuation, FlightHandle, Incarnation, OneTimeKeyGuard, PutRefused,
    PutSecret, TakeAnswer, TakeSecret, Vault,
};
use tessera::wire::TicketRequest;
use tessera::{ClientConfig, ServerConfig};
use tessera_interop::{KeyKind, Pki, SERVER_NAME};
use tessera_proxy::address::DialAddress;
use tessera_proxy::http::body::{Body, CompleteBody};
use tessera_proxy::http::client::{Pool, PoolOptions, Target, Tls};
use tessera_tokio::{Acceptor, Connector, MemorySessionStore, SessionStore};
use tessera_vault::MemoryVault;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

/// The vault's answer for each key.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fate {
    Taken,
    Absent(Absence),
    Unavailable,
}

struct FatedVault {
    vault: MemoryVault,
    fate: Arc<Mutex<Fate>>,
}

impl Vault for FatedVault {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        self.vault.put(put)
    }

    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer> {
        match *self.fate.lock().unwrap() {
            Fate::Taken => self.vault.take(question),
            Fate::Absent(absent) => Reply::Now(TakeAnswer::Absent(absent)),
            Fate::Unavailable => Reply::Now(TakeAnswer::Unavailable),
        }
    }

    fn burn(&self, handle: &FlightHandle) {
        self.vault.burn(handle);
    }

    fn incarnation(&self) -> Option<Incarnation> {
        self.vault.incarnation()
    }

    fn len(&self) -> usize {
        self.vault.len()
    }
}

/// Sessions, with a way to wait for them.
#[derive(Default)]
pub struct Sessions {
    store: MemorySessionStore,
    came: Notify,
    count: Mutex<usize>,
}

impl Sessions {
    /// Waits until there are this many.
    pub async fn come(&self, count: usize) {
        while *self.count.lock().unwrap() < count {
            self.came.notified().await;
        }
    }
}

impl SessionStore for Sessions {
    fn put(&self, server_name: &str, session: ClientSession) {
        self.store.put(server_name, session);
        *self.count.lock().unwrap() += 1;
        self.came.notify_one();
    }

    fn pop(&self, server_name: &str) -> Option<ClientSession> {
        let session = self.store.pop(server_name)?;
        *self.count.lock().unwrap() -= 1;
        Some(session)
    }
}

/// A request as the server executed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutedRequest {
    pub path: String,
    /// The number of its connection, in order of arrival.
    pub connection: usize,
}

pub struct Site {
    pub client: ClientConfig,
    pub address: SocketAddr,
    /// The server itself.
    pub server: SocketAddr,
    pub sessions: Arc<Sessions>,
    pub fate: Arc<Mutex<Fate>>,
    /// While true, nothing that the server sends gets through.
    pub holds: watch::Sender<bool>,
    /// What each connection's client sent, as seen by the relay.
    pub sent: Arc<Mutex<Vec<Vec<u8>>>>,
    pub executed: watch::Sender<Vec<ExecutedRequest>>,
}

pub const H1: &[&[u8]] = &[b"http/1.1"];
pub const H2: &[&[u8]] = &[b"h2"];

impl Site {
    pub async fn start(protocols: &[&[u8]]) -> Self {
        let pki = Pki::new();
        let mut client = tessera_interop::client(&pki);
        let mut server = tessera_interop::server(&pki.server(KeyKind::P256));
        client.protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        server.protocols = client.protocols.clone();
        let tickets = TicketRequest { new_session_count: 2, resumption_count: 2 };
        (client.policy.tickets, server.policy.tickets) = (tickets, tickets);
        client.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
        let fate = Arc::new(Mutex::new(Fate::Taken));
        let vault = FatedVault { vault: MemoryVault::new(1000), fate: fate.clone() };
        server.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(Arc::new(vault)));
        let (holds, executed) = (watch::Sender::new(false), watch::Sender::new(Vec::new()));
        let served = serve(server, executed.clone()).await;
        let sent = Arc::default();
        let address = relay(served, holds.clone(), Arc::clone(&sent)).await;
        Self {
            client,
            address,
            server: served,
            sessions: Arc::default(),
            fate,
            holds,
            sent,
            executed,
        }
    }

    /// A site whose clients have visited it, with as many tickets as a connection brings.
    pub async fn visited(protocols: &[&[u8]]) -> Self {
        let site = Self::start(protocols).await;
        let pool = site.pool(PoolOptions::default());
        pool.call(get("/before"), super::raw::call()).await.unwrap();
        site.sessions.come(2).await;
        pool.close();
        site.executed.send_modify(Vec::clear);
        site.sent.lock().unwrap().clear();
        site
    }

    pub fn pool(&self, options: PoolOptions) -> Pool {
        self.pool_to(&[self.address], options)
    }

    /// A pool that prefers the first address.
    pub fn pool_to(&self, addresses: &[SocketAddr], options: PoolOptions) -> Pool {
        let connector = Connector::new(self.client.clone().checked().unwrap());
        let connector = connector.with_sessions(self.sessions.clone());
        let tls = Tls::new(connector).named(SERVER_NAME);
        let targets = addresses.iter().zip(0..).map(|(address, priority)| Target {
            address: DialAddress::Tcp(*address),
            priority,
            weight: 1,
        });
        Pool::new(Arc::new(tls), targets.collect::<Vec<_>>(), options)
    }

    /// Returns the executed paths, in order.
    pub fn paths(&self) -> Vec<String> {
        self.executed.borrow().iter().map(|executed| executed.path.clone()).collect()
    }

    pub fn times(&self, path: &str) -> usize {
        self.executed.borrow().iter().filter(|executed| executed.path == path).count()
    }

    /// Waits until this many requests were executed.
    pub async fn executes(&self, count: usize) {
        self.executed.subscribe().wait_for(|executed| executed.len() >= count).await.unwrap();
    }

    /// Waits long enough for anything unexpected to arrive.
    pub async fn settle(&self) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    /// Returns the types of the records that a connection's client has sent.
    pub fn records(&self, connection: usize) -> Vec<u8> {
        let sent = self.sent.lock().unwrap();
        let mut bytes = &sent[connection][..];
        let mut types = Vec::new();
        while let [typ, _, _, high, low, rest @ ..] = bytes {
            types.push(*typ);
            bytes = rest.get(usize::from(u16::from_be_bytes([*high, *low]))..).unwrap_or(&[]);
        }
        types
    }
}

pub fn get(path: &str) -> Request<Body> {
    let uri = format!("https://{SERVER_NAME}{path}");
    Request::get(uri).body(Body::empty()).unwrap()
}

async fn serve(config: ServerConfig, executed: watch::Sender<Vec<ExecutedRequest>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = Acceptor::new(config.checked().unwrap());
    tokio::spawn(async move {
        for connection in 0.. {
            let (socket, _) = listener.accept().await.unwrap();
            let (acceptor, executed) = (acceptor.clone(), executed.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept_early(socket).await else { return };
                let is_h2 = stream.protocol() == Some(b"h2");
                let service =
                    service_fn(move |request| execute(request, connection, executed.clone()));
                let io = TokioIo::new(stream);
                let _ended = if is_h2 {
                    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    server.serve_connection(io, service).await
                } else {
                    let server = hyper::server::conn::http1::Builder::new();
                    server.serve_connection(io, service).await
                };
            });
        }
    });
    address
}

/// Answers 425 to the first request for `/too-early`; echoes the bodies of others.
async fn execute(
    request: Request<Incoming>,
    connection: usize,
    executed: watch::Sender<Vec<ExecutedRequest>>,
) -> Result<Response<Body>, Infallible> {
    let path = request.uri().path().to_owned();
    let is_first = !executed.borrow().iter().any(|executed| executed.path == path);
    let is_too_early = is_first && path == "/too-early";
    executed.send_modify(|all| all.push(ExecutedRequest { path, connection }));
    let body = request.into_body().collect().await.unwrap();
    let trailers = body.trailers().cloned();
    let body = Body::from(CompleteBody { data: body.to_bytes(), trailers });
    let mut response = Response::new(body);
    if is_too_early {
        *response.status_mut() = StatusCode::TOO_EARLY;
    }
    Ok(response)
}

async fn relay(
    server: SocketAddr,
    holds: watch::Sender<bool>,
    sent: Arc<Mutex<Vec<Vec<u8>>>>,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let server = TcpStream::connect(server).await.unwrap();
            for socket in [&client, &server] {
                socket.set_nodelay(true).unwrap();
            }
            let nth = {
                let mut sent = sent.lock().unwrap();
                sent.push(Vec::new());
                sent.len() - 1
            };
            let (sent, mut held) = (sent.clone(), holds.subscribe());
            tokio::spawn(async move {
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = server.into_split();
                let there = async {
                    let mut buffer = vec![0; 64 * 1024];
                    while let Ok(count @ 1..) = from_client.read(&mut buffer).await {
                        if let Some(sent) = sent.lock().unwrap().get_mut(nth) {
                            sent.extend(&buffer[..count]);
                        }
                        to_server.write_all(&buffer[..count]).await.unwrap();
                    }
                    let _ = to_server.shutdown().await;
                };
                let back = async {
                    let mut buffer = vec![0; 64 * 1024];
                    while let Ok(count @ 1..) = from_server.read(&mut buffer).await {
                        held.wait_for(|held| !held).await.unwrap();
                        if to_client.write_all(&buffer[..count]).await.is_err() {
                            break;
                        }
                    }
                    let _ = to_client.shutdown().await;
                };
                tokio::join!(there, back);
            });
        }
    });
    address
}
