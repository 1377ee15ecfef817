//! The server of the experiment: an acceptor, and a task for each connection.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tessera_tokio::{Acceptor, ServerStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet, yield_now};
use tokio::time::timeout;

use super::super::control::{Counted, Preparation, ServerAnswer, ServerOrder};
use super::super::histogram::Histogram;
use super::super::registration::{self, HEAD, LONGEST};
use super::meter::{Meter, Metered};
use super::{PATIENCE, setup};
use crate::endpoint::{Result, Stores};
use crate::{clock, heap};

/// The server, between orders.
pub(super) struct Server {
    runtime: Runtime,
    open_files: u64,
    cell: Option<Cell>,
}

/// The present cell.
struct Cell {
    preparation: Preparation,
    stores: Stores,
    accepting: Accepting,
    counters: Arc<Counters>,
    process_cpu: Duration,
    heap: i64,
}

/// A listener with its connections, which end with it.
struct Accepting {
    address: SocketAddr,
    task: JoinHandle<()>,
}

/// What connections count.
struct Counters {
    meter: Arc<Meter>,
    first_accepted: Mutex<Histogram>,
    /// Whether the requests of this cell come as early data.
    early: bool,
    open: AtomicU64,
    handshakes: AtomicU64,
    changed: Notify,
}

impl Server {
    pub(super) fn new(runtime: Runtime, open_files: u64) -> Self {
        Self { runtime, open_files, cell: None }
    }

    pub(super) fn obey(&mut self, order: ServerOrder) -> Result<ServerAnswer> {
        if let ServerOrder::Prepare(preparation) = order {
            return self.prepare(*preparation);
        }
        let open_files = self.open_files;
        let cell = self.cell.as_mut().ok_or("not prepared for a cell")?;
        let counters = cell.counters.clone();
        match order {
            ServerOrder::Prepare(_) => Err("prepared already".into()),
            ServerOrder::Weigh => {
                let none_open = || counters.open.load(Ordering::Acquire) == 0;
                self.runtime.block_on(counters.wait(none_open))?;
                Ok(ServerAnswer::Holds(heap::held_by_process()?))
            }
            ServerOrder::Replace => {
                let config = setup::server(&cell.preparation, &cell.stores)?;
                let Accepting { address, ref mut task } = cell.accepting;
                task.abort();
                // It was aborted; what matters is that it is gone.
                let _ = self.runtime.block_on(task);
                let listener =
                    self.runtime.block_on(async { listen(address, cell.preparation.backlog) })?;
                let accepting = accept(&self.runtime, listener, Acceptor::new(config), counters);
                cell.accepting = accepting?;
                Ok(ServerAnswer::Listening { address, open_files })
            }
            ServerOrder::Begin => {
                counters.meter.begin();
                counters.handshakes.store(0, Ordering::Release);
                *counters.histogram() = Histogram::default();
                cell.process_cpu = clock::process_cpu()?;
                cell.heap = heap::held_by_process()?;
                Ok(ServerAnswer::Ready)
            }
            ServerOrder::Finish { handshakes } => {
                let all = || counters.handshakes.load(Ordering::Acquire) >= handshakes;
                self.runtime.block_on(counters.wait(all))?;
                Ok(ServerAnswer::Counted(Counted {
                    first_accepted: counters.histogram().clone(),
                    process_cpu: clock::process_cpu()?.saturating_sub(cell.process_cpu),
                    tls_cpu: counters.meter.tls(),
                    memory: heap::held_by_process()? - cell.heap,
                }))
            }
        }
    }

    fn prepare(&mut self, preparation: Preparation) -> Result<ServerAnswer> {
        self.cell = None;
        let stores = setup::stores(&preparation)?;
        let config = setup::server(&preparation, &stores)?;
        let listener =
            self.runtime.block_on(async { listen(preparation.server, preparation.backlog) })?;
        let counters = Arc::new(Counters::new(preparation.variant.mode.has_early_data()));
        let acceptor = Acceptor::new(config);
        let accepting = accept(&self.runtime, listener, acceptor, counters.clone())?;
        let address = accepting.address;
        let (process_cpu, heap) = (Duration::ZERO, 0);
        self.cell = Some(Cell { preparation, stores, accepting, counters, process_cpu, heap });
        Ok(ServerAnswer::Listening { address, open_files: self.open_files })
    }
}

impl Drop for Accepting {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Listens for many at once, where another listened a moment ago.
fn listen(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(backlog)
}

/// Accepts until it is dropped.
fn accept(
    runtime: &Runtime,
    listener: TcpListener,
    acceptor: Acceptor,
    counters: Arc<Counters>,
) -> Result<Accepting> {
    let address = listener.local_addr()?;
    let task = runtime.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            match listener.accept().await {
                Ok((socket, _)) => {
                    connections.spawn(connection(acceptor.clone(), socket, counters.clone()));
                }
                // One that went before it was accepted is none.
                Err(_) => yield_now().await,
            }
            while connections.try_join_next().is_some() {}
        }
    });
    Ok(Accepting { address, task })
}

impl Counters {
    fn new(early: bool) -> Self {
        Self {
            meter: Arc::default(),
            first_accepted: Mutex::default(),
            early,
            open: AtomicU64::new(0),
            handshakes: AtomicU64::new(0),
            changed: Notify::new(),
        }
    }

    fn histogram(&self) -> MutexGuard<'_, Histogram> {
        self.first_accepted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something is true of the counters.
    async fn wait(&self, is_true: impl Fn() -> bool) -> Result<()> {
        let wait = async {
            loop {
                // Before the question: a change between both wakes it.
                let changed = self.changed.notified();
                if is_true() {
                    break;
                }
                changed.await;
            }
        };
        Ok(timeout(PATIENCE, wait).await.map_err(|_| "connections did not get ready in time")?)
    }

    /// Counts one more handshake.
    fn complete(&self) {
        self.handshakes.fetch_add(1, Ordering::Release);
        self.changed.notify_waiters();
    }
}

/// A connection that is there.
struct Open(Arc<Counters>);

impl Open {
    fn new(counters: Arc<Counters>) -> Self {
        counters.open.fetch_add(1, Ordering::Release);
        Self(counters)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Release);
        self.0.changed.notify_waiters();
    }
}

/// Serves a connection to its end. What goes wrong is the client's to count: it has no response.
async fn connection(acceptor: Acceptor, socket: TcpStream, counters: Arc<Counters>) {
    let open = Open::new(counters);
    let _ = serve(&acceptor, socket, &open.0).await;
}

async fn serve(acceptor: &Acceptor, socket: TcpStream, counters: &Counters) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let meter = &*counters.meter;
    let socket = Metered { io: socket, meter: counters.meter.clone() };
    let mut stream = meter.of(acceptor.accept_early(socket)).await?;
    let response = [b'.'; LONGEST];
    let mut is_first = true;
    while let Some((exchange, wanted)) = request(&mut stream, meter).await? {
        if is_first && stream.is_early() == counters.early {
            counters.histogram().add(clock::monotonic()?.saturating_sub(wanted));
        }
        let len = registration::response_len(exchange).ok_or(io::ErrorKind::InvalidData)?;
        meter.of(stream.write_all(&response[..len])).await?;
        meter.of(stream.flush()).await?;
        if is_first {
            // The answer to early data is on its way; this is the end of the handshake.
            meter.of(stream.handshake()).await?;
            counters.complete();
        }
        is_first = false;
    }
    meter.of(stream.shutdown()).await
}

/// Reads a request; `None` where the client has no more.
async fn request(
    stream: &mut ServerStream<Metered<TcpStream>>,
    meter: &Meter,
) -> io::Result<Option<(u8, Duration)>> {
    let mut head = [0; HEAD];
    if meter.of(stream.read(&mut head[..1])).await? == 0 {
        return Ok(None);
    }
    meter.of(stream.read_exact(&mut head[1..])).await?;
    let (exchange, wanted) = registration::read_head(head);
    let len = registration::request_len(exchange).ok_or(io::ErrorKind::InvalidData)?;
    let mut rest = [0; LONGEST];
    meter.of(stream.read_exact(&mut rest[HEAD..len])).await?;
    Ok(Some((exchange, wanted)))
}
