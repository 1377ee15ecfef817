//! The server of the experiment: an acceptor, and a task for each connection.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tessera_tokio::{Acceptor, ServerStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::select;
use tokio::sync::{Notify, oneshot};
use tokio::task::{JoinHandle, JoinSet, yield_now};
use tokio::time::timeout;

use super::super::control::{Preparation, ServerAnswer, ServerOrder, ServerTotals};
use super::super::histogram::Histogram;
use super::super::message::{self, HEAD, LONGEST};
use super::meter::{Meter, MeteredSocket, SocketMeter};
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
    accepting: Option<RunningListener>,
    counters: Arc<Counters>,
    process_cpu: Duration,
}

/// A listener with its connections, which end with it.
struct RunningListener {
    address: SocketAddr,
    /// Ends the task when it is dropped.
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// The counters of connections.
struct Counters {
    meter: Arc<Meter>,
    first_accepted: Mutex<Histogram>,
    /// Whether the requests of this cell come as early data.
    early: bool,
    /// How many connections are not dropped yet.
    open: AtomicUsize,
    handshakes: AtomicU64,
    changed: Notify,
}

impl RunningListener {
    /// Ends it, and waits until nothing of it is left.
    async fn end(self) -> Result<()> {
        drop(self.stop);
        Ok(self.task.await?)
    }
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
                self.runtime.block_on(counters.none_open())?;
                Ok(ServerAnswer::Holds(held(&self.runtime)?))
            }
            ServerOrder::Replace => {
                let config = setup::server(&cell.preparation, &cell.stores)?;
                let accepting = cell.accepting.take().ok_or("there is no server to replace")?;
                let address = accepting.address;
                // Both can't have it.
                self.runtime.block_on(accepting.end())?;
                let backlog = cell.preparation.backlog;
                let listener = self.runtime.block_on(async { listen(address, backlog) })?;
                let acceptor = Acceptor::new(config);
                cell.accepting = Some(accept(&self.runtime, listener, acceptor, counters)?);
                Ok(ServerAnswer::Listening { address, open_files })
            }
            ServerOrder::Begin => {
                self.runtime.block_on(counters.none_open())?;
                counters.meter.begin();
                counters.handshakes.store(0, Ordering::Release);
                *counters.histogram() = Histogram::default();
                cell.process_cpu = clock::process_cpu()?;
                Ok(ServerAnswer::Ready)
            }
            ServerOrder::Finish { handshakes } => {
                let all = || counters.handshakes.load(Ordering::Acquire) >= handshakes;
                self.runtime.block_on(counters.wait(all))?;
                Ok(ServerAnswer::Counted(ServerTotals {
                    first_accepted: counters.histogram().clone(),
                    process_cpu: clock::process_cpu()?
                        .saturating_sub(cell.process_cpu)
                        .saturating_sub(counters.meter.own()),
                    tls_cpu: counters.meter.tls(),
                    memory: held(&self.runtime)?,
                }))
            }
        }
    }

    fn prepare(&mut self, preparation: Preparation) -> Result<ServerAnswer> {
        if let Some(accepting) = self.cell.take().and_then(|cell| cell.accepting) {
            self.runtime.block_on(accepting.end())?;
        }
        let stores = setup::stores(&preparation)?;
        let config = setup::server(&preparation, &stores)?;
        let listener =
            self.runtime.block_on(async { listen(preparation.server, preparation.backlog) })?;
        let counters = Arc::new(Counters::new(preparation.variant.mode.has_early_data()));
        let acceptor = Acceptor::new(config);
        let accepting = accept(&self.runtime, listener, acceptor, counters.clone())?;
        let (address, accepting) = (accepting.address, Some(accepting));
        let process_cpu = Duration::ZERO;
        self.cell = Some(Cell { preparation, stores, accepting, counters, process_cpu });
        Ok(ServerAnswer::Listening { address, open_files: self.open_files })
    }
}

/// Returns the heap memory of connections and stores: only the one thread of the runtime allocates and frees both.
fn held(runtime: &Runtime) -> Result<Option<i64>> {
    let read = runtime.spawn(async { heap::held_if_counted() });
    Ok(runtime.block_on(read)??)
}

/// Listens with a long backlog, at an address where another server may just have listened.
fn listen(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(backlog)
}

/// Accepts until it is dropped or stopped.
fn accept(
    runtime: &Runtime,
    listener: TcpListener,
    acceptor: Acceptor,
    counters: Arc<Counters>,
) -> Result<RunningListener> {
    let address = listener.local_addr()?;
    let (stop, mut stopped) = oneshot::channel();
    let task = runtime.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            select! {
                _ = &mut stopped => break,
                Some(_) = connections.join_next() => (),
                accepted = listener.accept() => match accepted {
                    Ok((socket, _)) => {
                        let counters = counters.clone();
                        connections.spawn(connection(acceptor.clone(), socket, counters));
                    }
                    // A connection that ended before it was accepted doesn't count.
                    Err(_) => yield_now().await,
                },
            }
            counters.set_open(connections.len());
        }
        drop(listener);
        connections.shutdown().await;
        counters.set_open(0);
    });
    Ok(RunningListener { address, stop, task })
}

impl Counters {
    fn new(early: bool) -> Self {
        Self {
            meter: Arc::new(Meter::new()),
            first_accepted: Mutex::default(),
            early,
            open: AtomicUsize::new(0),
            handshakes: AtomicU64::new(0),
            changed: Notify::new(),
        }
    }

    fn histogram(&self) -> MutexGuard<'_, Histogram> {
        self.first_accepted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until every connection is gone.
    async fn none_open(&self) -> Result<()> {
        self.wait(|| self.open.load(Ordering::Acquire) == 0).await
    }

    /// Waits until the counters satisfy a condition.
    async fn wait(&self, is_true: impl Fn() -> bool) -> Result<()> {
        let wait = async {
            loop {
                // Created before the check, so that a change in between wakes it.
                let changed = self.changed.notified();
                if is_true() {
                    break;
                }
                changed.await;
            }
        };
        Ok(timeout(PATIENCE, wait).await.map_err(|_| "connections did not become ready in time")?)
    }

    fn set_open(&self, connections: usize) {
        self.open.store(connections, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Counts one more handshake.
    fn complete(&self) {
        self.handshakes.fetch_add(1, Ordering::Release);
        self.changed.notify_waiters();
    }
}

/// Serves a connection to its end. Failures are counted by the client, which gets no response.
async fn connection(acceptor: Acceptor, socket: TcpStream, counters: Arc<Counters>) {
    let _ = serve(&acceptor, socket, &counters).await;
}

async fn serve(acceptor: &Acceptor, socket: TcpStream, counters: &Counters) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let meter = &*counters.meter;
    let socket = SocketMeter::of(socket, counters.meter.clone());
    let mut stream = meter.of(acceptor.accept_early(socket)).await?;
    let response = [b'.'; LONGEST];
    let mut is_first = true;
    while let Some((exchange, wanted)) = request(&mut stream, meter).await? {
        if is_first && stream.is_early() == counters.early {
            counters.histogram().add(clock::monotonic()?.saturating_sub(wanted));
        }
        let len = message::response_len(exchange).ok_or(io::ErrorKind::InvalidData)?;
        meter.of(stream.write_all(&response[..len])).await?;
        meter.of(stream.flush()).await?;
        if is_first {
            // The answer to early data is on its way; this completes the handshake.
            meter.of(stream.handshake()).await?;
            counters.complete();
        }
        is_first = false;
    }
    meter.of(stream.shutdown()).await
}

/// Reads a request; `None` if the client sends no more.
async fn request(
    stream: &mut ServerStream<MeteredSocket<TcpStream>>,
    meter: &Meter,
) -> io::Result<Option<(u8, Duration)>> {
    let mut head = [0; HEAD];
    if meter.of(stream.read(&mut head[..1])).await? == 0 {
        return Ok(None);
    }
    meter.of(stream.read_exact(&mut head[1..])).await?;
    let (exchange, wanted) = message::read_head(head);
    let len = message::request_len(exchange).ok_or(io::ErrorKind::InvalidData)?;
    let mut rest = [0; LONGEST];
    meter.of(stream.read_exact(&mut rest[HEAD..len])).await?;
    Ok(Some((exchange, wanted)))
}
