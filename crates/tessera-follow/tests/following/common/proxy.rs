//! A server of the origin that records what it executes.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::header::{ALT_SVC, HOST};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tessera::resume::PskKind;
use tessera_tokio::{Acceptor, Limits, ListenerStream, Server, TlsListener};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

/// A proxy in this process. Its connections end when it is dropped.
pub struct Proxy {
    pub address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

struct State {
    name: String,
    headers: Mutex<HeaderMap>,
    status: Mutex<StatusCode>,
    seen: Mutex<Vec<Seen>>,
    /// The number of executed requests.
    executed: watch::Sender<usize>,
    /// Whether requests for paths that begin with `/held` may be answered.
    released: watch::Sender<bool>,
    open: AtomicUsize,
}

/// A request that was executed.
#[derive(Debug, Clone)]
pub struct Seen {
    pub path: String,
    pub body: String,
    /// What `Host` or `:authority` named.
    pub host: String,
    pub alt_used: Option<String>,
    /// How its connection resumed a session.
    pub psk: Option<PskKind>,
}

impl Proxy {
    pub async fn start(name: &str, acceptor: Acceptor) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            name: name.into(),
            headers: Mutex::default(),
            status: Mutex::default(),
            seen: Mutex::default(),
            executed: watch::Sender::new(0),
            released: watch::Sender::new(false),
            open: AtomicUsize::new(0),
        });
        let server = Server::new(listener, acceptor, Limits::for_connections(100_000));
        let task = tokio::spawn(run(TlsListener::new(server), state.clone()));
        Self { address, state, task }
    }

    /// Sets the `Alt-Svc` of its responses.
    pub fn announce(&self, field: &str) {
        self.state.headers.lock().unwrap().insert(ALT_SVC, field.parse().unwrap());
    }

    /// Sets another header of its responses.
    pub fn set_header(&self, name: &'static str, value: &str) {
        self.state.headers.lock().unwrap().insert(name, value.parse().unwrap());
    }

    /// Sets the status of its responses.
    pub fn answer_with(&self, status: StatusCode) {
        *self.state.status.lock().unwrap() = status;
    }

    /// Lets it answer requests for `/held`.
    pub fn release(&self) {
        self.state.released.send_replace(true);
    }

    /// Returns how often it executed requests for this path.
    pub fn times(&self, path: &str) -> usize {
        self.seen().iter().filter(|seen| seen.path == path).count()
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().unwrap().clone()
    }

    pub fn executed(&self) -> watch::Receiver<usize> {
        self.state.executed.subscribe()
    }

    /// Returns the number of its open connections.
    pub fn open(&self) -> usize {
        self.state.open.load(Ordering::SeqCst)
    }

    /// Ends it at once, with its connections: its port is closed.
    pub async fn kill(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn run(mut listener: TlsListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        connections.spawn(serve(listener.accept().await, state.clone()));
    }
}

async fn serve(client: ListenerStream, state: Arc<State>) {
    state.open.fetch_add(1, Ordering::SeqCst);
    let _open = Open(state.clone());
    let psk = client.info().facts.psk;
    let service = service_fn(|request| execute(request, psk, state.clone()));
    let server = auto::Builder::new(TokioExecutor::new());
    // A client that disconnects isn't an error here.
    let _ = server.serve_connection(TokioIo::new(client), service).await;
}

async fn execute(
    request: Request<Incoming>,
    psk: Option<PskKind>,
    state: Arc<State>,
) -> io::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let text = |name: &str| head.headers.get(name).map(|it| it.to_str().unwrap().to_owned());
    let (alt_used, host) = (text("alt-used"), text(HOST.as_str()));
    let host = host.or_else(|| head.uri.authority().map(ToString::to_string)).unwrap();
    let path = head.uri.path().to_owned();
    let status = *state.status.lock().unwrap();
    // Half a body may have arrived.
    let Ok(body) = body.collect().await else { return Ok(Response::default()) };
    let body = String::from_utf8(body.to_bytes().to_vec()).unwrap();
    let seen = Seen { path, body, host, alt_used, psk };
    let is_reset = seen.path == "/reset";
    let is_held = seen.path.starts_with("/held");
    // A server that isn't authoritative executes nothing.
    if status != StatusCode::MISDIRECTED_REQUEST {
        state.seen.lock().unwrap().push(seen);
        state.executed.send_modify(|executed| *executed += 1);
    }
    if is_reset {
        // Ends a stream of HTTP/2, or the connection.
        sleep(Duration::from_millis(100)).await;
        return Err(io::ErrorKind::Other.into());
    }
    if is_held {
        let _ = state.released.subscribe().wait_for(|released| *released).await;
    } else {
        // So that requests overlap.
        sleep(Duration::from_millis(1)).await;
    }
    let mut response = Response::new(Full::new(Bytes::from(state.name.clone())));
    *response.status_mut() = status;
    *response.headers_mut() = state.headers.lock().unwrap().clone();
    Ok(response)
}

struct Open(Arc<State>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}
