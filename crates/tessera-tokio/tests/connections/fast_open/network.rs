//! Two ends with a link between them, a counting server, and a client that records how it opened.

use std::fs;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use tessera::wire::NamedGroup;
use tessera_link::{End, Link, LinkKind, LinkParameters};
use tessera_tokio::fast_open::{FastOpenStream, Opening, accept_on, syn_data_was_taken};
use tessera_tokio::{
    Acceptor, Connector, EarlyData, Limits, MemorySessionStore, Server, StreamUse, TrackedStream,
    Tracker,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

use crate::common::{Ends, destination, forward_secret};

pub const PENDING: NonZeroU16 = NonZeroU16::new(16).unwrap();
pub const REQUEST: &[u8; 8] = b"question";

/// Makes a link with Fast Open allowed at both ends; `None` only where the machine denies a link to a
/// non-root user.
pub fn link() -> Option<Arc<Link>> {
    let link = Link::open(LinkKind::Auto, &LinkParameters::default()).unwrap();
    if let Some(reason) = link.fallback_reason() {
        assert!(!is_root(), "{reason}");
        eprintln!("not tested: {reason}");
        return None;
    }
    for end in [End::Client, End::Server] {
        allow(&link, end, 3);
    }
    Some(Arc::new(link))
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
    uid.split_whitespace().nth(1) == Some("0")
}

pub fn allow(link: &Link, end: End, value: u32) {
    let set = move || fs::write("/proc/sys/net/ipv4/tcp_fastopen", value.to_string());
    link.spawn_thread(end, set).unwrap().join().unwrap().unwrap();
}

/// Runs a future at one end, on its own runtime.
pub fn start<T: Send + 'static, F: Future<Output = T>>(
    link: &Link,
    end: End,
    body: impl FnOnce() -> F + Send + 'static,
) -> JoinHandle<T> {
    let run = move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let limited = async { tokio::time::timeout(Duration::from_secs(30), body()).await };
        runtime.block_on(limited).unwrap()
    };
    link.spawn_thread(end, run).unwrap()
}

pub fn at<T: Send + 'static, F: Future<Output = T>>(
    link: &Link,
    end: End,
    body: impl FnOnce() -> F + Send + 'static,
) -> T {
    start(link, end, body).join().unwrap()
}

/// What a server did.
#[derive(Default)]
pub struct ServerLog {
    executed: AtomicU32,
    /// Connections whose SYN carried data.
    with_syn_data: AtomicU32,
    /// How many packets of the client had left the link when the last request was executed.
    pub packets: AtomicU32,
}

impl ServerLog {
    pub fn executed(&self) -> u32 {
        self.executed.load(Ordering::SeqCst)
    }

    pub fn with_syn_data(&self) -> u32 {
        self.with_syn_data.load(Ordering::SeqCst)
    }
}

/// Runs a server that executes requests and echoes each. It ends with its link's namespace.
pub fn serve(link: &Arc<Link>, acceptor: Acceptor) -> (SocketAddr, Arc<ServerLog>) {
    let address = SocketAddr::new(link.addresses().server, 0);
    let (bound, is_bound) = mpsc::channel();
    let (seen, packets_of) = (Arc::new(ServerLog::default()), Arc::downgrade(link));
    let shared = seen.clone();
    let run = move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind(address).await.unwrap();
            accept_on(&listener, PENDING).unwrap();
            bound.send(listener.local_addr().unwrap()).unwrap();
            let server = Server::new(listener, acceptor, Limits::default());
            let handle = move |mut client: tessera_tokio::AcceptedClient| {
                let (seen, packets_of) = (shared.clone(), packets_of.clone());
                async move {
                    let socket = client.stream.get_ref().get_ref();
                    if syn_data_was_taken(socket).unwrap() {
                        seen.with_syn_data.fetch_add(1, Ordering::SeqCst);
                    }
                    let mut request = *REQUEST;
                    if client.stream.read_exact(&mut request).await.is_ok() {
                        assert_eq!(&request, REQUEST);
                        seen.executed.fetch_add(1, Ordering::SeqCst);
                        if let Some(link) = packets_of.upgrade() {
                            let packets = link.statistics().to_server.delivered_packets as u32;
                            seen.packets.store(packets, Ordering::SeqCst);
                        }
                        let _ = client.stream.write_all(&request).await;
                    }
                    let _ = client.stream.shutdown().await;
                    let _ = client.stream.read_to_end(&mut Vec::new()).await;
                }
            };
            server.run(std::future::pending(), handle).await;
        });
    };
    drop(link.spawn_thread(End::Server, run).unwrap());
    (is_bound.recv().unwrap(), seen)
}

/// One connection: how it began, and what became of its early data.
pub struct Connection {
    pub began: Opening,
    pub ended: Opening,
    pub told: Result<usize, String>,
    pub first_flight: Vec<u8>,
}

async fn connect(connector: &Connector, address: SocketAddr) -> Connection {
    let socket = FastOpenStream::connect(address).await.unwrap();
    let began = socket.opening();
    let tracker = FirstFlight { written: Vec::new(), is_first: true };
    let io = TrackedStream { stream: socket, tracker };
    let mut stream = connector.start(destination(), io).await.unwrap();
    let told = match stream.handshake_with_early_data(REQUEST).await {
        EarlyData::NotSent(Ok(())) => {
            stream.write_all(REQUEST).await.unwrap();
            Ok(0)
        }
        EarlyData::Accepted { count, .. } => Ok(count),
        other => Err(format!("{other:?}")),
    };
    let mut answer = Vec::new();
    if told.is_ok() {
        stream.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, REQUEST);
        stream.shutdown().await.unwrap();
    }
    let TrackedStream { stream: socket, tracker } = stream.get_ref();
    Connection { began, ended: socket.opening(), told, first_flight: tracker.written.clone() }
}

/// Records what is written before the first read.
struct FirstFlight {
    written: Vec<u8>,
    is_first: bool,
}

impl<S> Tracker<S> for FirstFlight {
    fn after(
        &mut self,
        _: &mut S,
        what: StreamUse,
        moved: Poll<io::Result<usize>>,
        _: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        self.is_first &= what != StreamUse::Read || moved.is_pending();
        moved
    }

    fn record(&mut self, what: StreamUse, bytes: &[u8]) {
        if what == StreamUse::Write && self.is_first {
            self.written.extend_from_slice(bytes);
        }
    }
}

/// Ends whose forward-secret early data fits into a SYN, without ML-KEM's kilobytes.
pub fn small() -> Ends {
    let mut ends = forward_secret();
    ends.client.groups = vec![NamedGroup::X25519];
    ends.server.groups = ends.client.groups.clone();
    let guard = ends.server.policy.early_data.forward_secret.as_mut().unwrap();
    guard.kinds = vec![NamedGroup::X25519];
    ends
}

pub fn connector(ends: &Ends) -> Connector {
    ends.connector().with_sessions(Arc::new(MemorySessionStore::default()))
}

/// Sets up a server, and a client that has sessions and its cookie.
pub fn prepared(ends: &Ends) -> Option<(Arc<Link>, SocketAddr, Arc<ServerLog>, Connector)> {
    let link = link()?;
    let (address, seen) = serve(&link, ends.acceptor());
    let connector = connector(ends);
    let first = again(&link, address, &connector);
    assert_eq!((first.began, first.ended), (Opening::NoCookie, Opening::NoCookie));
    assert_eq!((first.told, seen.executed(), seen.with_syn_data()), (Ok(0), 1, 0));
    settle(&link);
    Some((link, address, seen, connector))
}

/// Waits until the last packet of every connection has arrived and been acknowledged, so that the next ones
/// can be counted.
fn settle(link: &Link) {
    for end in [End::Client, End::Server] {
        at(link, end, || async {
            while has_connections() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
    }
}

/// Whether TCP has more here than listeners and connections in TIME_WAIT.
fn has_connections() -> bool {
    const LISTEN: &str = "0A";
    const TIME_WAIT: &str = "06";
    let table = fs::read_to_string("/proc/thread-self/net/tcp").unwrap();
    let mut states = table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(3));
    states.any(|state| ![LISTEN, TIME_WAIT].contains(&state))
}

pub fn again(link: &Link, address: SocketAddr, connector: &Connector) -> Connection {
    let connector = connector.clone();
    at(link, End::Client, move || async move { connect(&connector, address).await })
}

pub fn slow() -> LinkParameters {
    LinkParameters { rtt: Duration::from_millis(300), ..LinkParameters::default() }
}
