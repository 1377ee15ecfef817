//! An HTTP/2 server that sends the bytes a test chooses.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Request;
use tessera_proxy::address::DialAddress;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::{
    Addresses, Call, Plaintext, Pool, PoolOptions, Protocol, Target,
};
use tessera_proxy::http::deadline::Deadline;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What a server does after a request's head.
pub struct ServerStep {
    pub write: Vec<u8>,
    pub next: Next,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Next {
    GoOn,
    /// Closes the connection.
    Close,
    /// Sends nothing more, not even answers to PING.
    Silence,
}

impl ServerStep {
    pub fn write(write: Vec<u8>) -> Self {
        Self { write, next: Next::GoOn }
    }

    pub fn close(write: Vec<u8>) -> Self {
        Self { write, next: Next::Close }
    }

    pub fn nothing() -> Self {
        Self::write(Vec::new())
    }

    pub fn silence() -> Self {
        Self { write: Vec::new(), next: Next::Silence }
    }
}

/// A request: the number of its connection, in order of arrival, and its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestPosition {
    pub connection: usize,
    pub stream: u32,
}

type Script = dyn Fn(RequestPosition) -> ServerStep + Send + Sync;

/// A server, and what it received.
pub struct RawServer {
    pub address: SocketAddr,
    pub seen: Arc<Mutex<Vec<RequestPosition>>>,
    pub connections: Arc<AtomicUsize>,
}

impl RawServer {
    pub async fn start(
        script: impl Fn(RequestPosition) -> ServerStep + Send + Sync + 'static,
    ) -> Self {
        Self::with_settings(&[], script).await
    }

    /// With these SETTINGS: identifiers and values.
    pub async fn with_settings(
        settings: &[(u16, u32)],
        script: impl Fn(RequestPosition) -> ServerStep + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener, settings, script)
    }

    /// On an existing listener.
    pub fn on(
        listener: TcpListener,
        settings: &[(u16, u32)],
        script: impl Fn(RequestPosition) -> ServerStep + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let (seen, connections) =
            (Arc::<Mutex<Vec<RequestPosition>>>::default(), Arc::<AtomicUsize>::default());
        let script: Arc<Script> = Arc::new(script);
        let mut payload = Vec::new();
        for (id, value) in settings {
            payload.extend(id.to_be_bytes());
            payload.extend(value.to_be_bytes());
        }
        let hello = frame(SETTINGS, 0, 0, &payload);
        tokio::spawn({
            let (seen, connections) = (seen.clone(), connections.clone());
            async move {
                loop {
                    let (socket, _) = listener.accept().await.unwrap();
                    let nth = connections.fetch_add(1, Ordering::SeqCst);
                    let (seen, script, hello) = (seen.clone(), script.clone(), hello.clone());
                    tokio::spawn(async move {
                        let _ended = serve(socket, nth, &hello, &seen, &*script).await;
                    });
                }
            }
        });
        Self { address, seen, connections }
    }

    pub fn requests(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn serve(
    mut socket: TcpStream,
    connection: usize,
    hello: &[u8],
    seen: &Mutex<Vec<RequestPosition>>,
    script: &Script,
) -> std::io::Result<()> {
    let mut preface = [0; 24];
    socket.read_exact(&mut preface).await?;
    socket.write_all(hello).await?;
    loop {
        let mut head = [0; 9];
        socket.read_exact(&mut head).await?;
        let [high, middle, low, typ, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, high, middle, low]) as usize];
        socket.read_exact(&mut payload).await?;
        match typ {
            SETTINGS if flags & ACK == 0 => socket.write_all(&frame(SETTINGS, ACK, 0, b"")).await?,
            PING if flags & ACK == 0 => socket.write_all(&frame(PING, ACK, 0, &payload)).await?,
            HEADERS => {
                let request = RequestPosition { connection, stream: u32::from_be_bytes(stream) };
                seen.lock().unwrap().push(request);
                let then = script(request);
                socket.write_all(&then.write).await?;
                match then.next {
                    Next::GoOn => {}
                    Next::Close => return socket.shutdown().await,
                    Next::Silence => std::future::pending().await,
                }
            }
            _ => {}
        }
    }
}

pub fn frame(typ: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([typ, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// `:status: 200` and the end (RFC 7541, appendix A: index 8).
pub fn ok(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &[0x88])
}

/// `:status: 200`, without the end of the stream.
pub fn ok_and_more(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &[0x88])
}

pub fn data(stream: u32, data: &[u8], is_last: bool) -> Vec<u8> {
    frame(DATA, if is_last { END_STREAM } else { 0 }, stream, data)
}

pub fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

pub fn go_away(last_stream: u32, code: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last_stream.to_be_bytes(), code.to_be_bytes()].concat())
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

pub const MAX_CONCURRENT_STREAMS: u16 = 3;
pub const INITIAL_WINDOW_SIZE: u16 = 4;
pub const REFUSED_STREAM: u32 = 7;
pub const CANCEL: u32 = 8;
pub const INTERNAL_ERROR: u32 = 2;

/// A pool of plaintext connections to these, preferring the first.
pub fn pool_to(addresses: &[SocketAddr], options: PoolOptions) -> Pool {
    let targets = addresses.iter().zip(0..).map(|(address, priority)| Target {
        address: DialAddress::Tcp(*address),
        priority,
        weight: 1,
    });
    let addresses = Addresses::Fixed(targets.collect());
    Pool::new(Arc::new(Plaintext(Protocol::Http2)), addresses, options)
}

pub fn get() -> Request<Body> {
    Request::get("http://peer.example/x").body(Body::empty()).unwrap()
}

pub fn post(body: &'static [u8]) -> Request<Body> {
    Request::post("http://peer.example/x").body(Body::full(body.into())).unwrap()
}

/// A call with a deadline of ten seconds.
pub fn call() -> Call {
    within(10_000)
}

pub fn within(millis: u64) -> Call {
    Call::until(Deadline::after(Duration::from_millis(millis)))
}
