//! The programs that share a UDP socket, by address.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tessera_tokio::Origin;
use tokio::net::UdpSocket;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::side::{Datagram, DatagramSide, recv_from};

/// How many sources a socket may have at a time. New ones above that are refused: a flood from forged addresses must
/// not displace those that are there.
#[derive(Debug, Clone, Copy)]
pub struct SourceLimits {
    /// In all.
    pub sources: usize,
    /// Of one IPv4 address or IPv6 /64.
    pub per_address: usize,
}

/// The socket that sources share.
pub trait SharedSocket: Send + Sync + 'static {
    /// Receives a datagram. Dropping the future loses nothing.
    fn recv_from(&self) -> impl Future<Output = io::Result<Arrival>> + Send;

    /// Sends a datagram.
    fn send_to(
        &self,
        datagram: &[u8],
        to: SocketAddr,
    ) -> impl Future<Output = io::Result<()>> + Send;
}

/// A datagram that a shared socket has received.
pub struct Arrival {
    /// Where it came from.
    pub from: SocketAddr,
    /// Its data.
    pub datagram: Datagram,
    /// Whether a source may begin with it.
    pub begins: bool,
}

impl SharedSocket for UdpSocket {
    async fn recv_from(&self) -> io::Result<Arrival> {
        let (datagram, from) = recv_from(self).await?;
        Ok(Arrival { from, datagram, begins: true })
    }

    async fn send_to(&self, datagram: &[u8], to: SocketAddr) -> io::Result<()> {
        self.send_to(datagram, to).await.map(drop)
    }
}

/// Changes when the program ends.
pub type Ending = watch::Receiver<()>;

/// The sources of a socket.
///
/// For each, up to 128 KiB wait to be received, for all 16 MiB; what comes then is dropped.
pub struct Sources<S> {
    socket: Arc<S>,
    limits: SourceLimits,
    table: Arc<Mutex<Table>>,
    room: Arc<Semaphore>,
    refused: AtomicU64,
}

#[derive(Default)]
struct Table {
    queues: HashMap<SocketAddr, Queue>,
    per_address: HashMap<Origin, usize>,
}

struct Queue {
    waiting: UnboundedSender<Waiting>,
    room: Arc<Semaphore>,
    dropped: Arc<AtomicU64>,
}

/// A datagram, and the room it takes.
type Waiting = (Datagram, [OwnedSemaphorePermit; 2]);

impl<S: SharedSocket> Sources<S> {
    /// Creates the table of a socket.
    pub fn new(socket: S, limits: SourceLimits) -> Self {
        Self {
            socket: Arc::new(socket),
            limits,
            table: Arc::default(),
            room: Arc::new(Semaphore::new(ROOM_OF_ALL)),
            refused: AtomicU64::new(0),
        }
    }

    /// Returns how many datagrams were refused because there were too many sources.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Runs `serve` for each source, until `asked` is ready; then waits for all of them, for at most `drain`.
    ///
    /// # Errors
    /// The socket doesn't work any more.
    pub async fn run<T>(
        &self,
        asked: impl Future<Output = ()>,
        drain: Duration,
        mut serve: impl FnMut(Source<S>, Ending) -> T,
    ) -> io::Result<()>
    where
        T: Future<Output = ()> + Send + 'static,
    {
        let (end, ending) = watch::channel(());
        let mut tasks = JoinSet::new();
        let mut asked = pin!(asked);
        let served = loop {
            tokio::select! {
                () = &mut asked => break Ok(()),
                arrival = self.socket.recv_from() => match arrival {
                    Ok(arrival) => {
                        if let Some(source) = self.deliver(arrival) {
                            tasks.spawn(serve(source, ending.clone()));
                        }
                    }
                    Err(error) => break Err(error),
                },
                Some(_) = tasks.join_next() => (),
            }
        };
        // The sender is gone.
        drop(end);
        let _ = timeout(drain, async { while tasks.join_next().await.is_some() {} }).await;
        served
    }

    /// Delivers a datagram to its source; returns the source if it begins with it.
    fn deliver(&self, arrival: Arrival) -> Option<Source<S>> {
        let Arrival { from, datagram, begins } = arrival;
        let mut table = lock(&self.table);
        let begun = match table.queues.contains_key(&from) {
            false if begins => {
                let begun = self.begin(&mut table, from);
                self.refused.fetch_add(u64::from(begun.is_none()), Ordering::Relaxed);
                begun
            }
            _ => None,
        };
        if let Some(queue) = table.queues.get(&from) {
            queue.push(datagram, &self.room);
        }
        begun
    }

    fn begin(&self, table: &mut Table, from: SocketAddr) -> Option<Source<S>> {
        let origin = Origin::from(from.ip());
        let of_address = table.per_address.get(&origin).copied().unwrap_or(0);
        if table.queues.len() >= self.limits.sources || of_address >= self.limits.per_address {
            return None;
        }
        table.per_address.insert(origin, of_address + 1);
        let (waiting, queue) = unbounded_channel();
        let dropped = Arc::<AtomicU64>::default();
        let room = Arc::new(Semaphore::new(ROOM_OF_ONE));
        table.queues.insert(from, Queue { waiting, room, dropped: dropped.clone() });
        Some(Source {
            address: from,
            queue: tokio::sync::Mutex::new(queue),
            socket: self.socket.clone(),
            table: self.table.clone(),
            dropped,
        })
    }
}

impl Queue {
    fn push(&self, datagram: Datagram, room_of_all: &Arc<Semaphore>) {
        let size = u32::try_from(datagram.len() + OVERHEAD).unwrap_or(u32::MAX);
        let room = |of: &Arc<Semaphore>| of.clone().try_acquire_many_owned(size).ok();
        let sent = match (room(&self.room), room(room_of_all)) {
            (Some(one), Some(all)) => self.waiting.send((datagram, [one, all])).is_ok(),
            _ => false,
        };
        self.dropped.fetch_add(u64::from(!sent), Ordering::Relaxed);
    }
}

/// A program that sends to a shared socket. Dropping it ends it: what comes from its address then begins another.
pub struct Source<S> {
    address: SocketAddr,
    queue: tokio::sync::Mutex<UnboundedReceiver<Waiting>>,
    socket: Arc<S>,
    table: Arc<Mutex<Table>>,
    dropped: Arc<AtomicU64>,
}

impl<S> Source<S> {
    /// Returns its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns how many of its datagrams were dropped because there was no room.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Returns a datagram that has arrived already, if there is one.
    pub fn try_recv(&mut self) -> Option<Datagram> {
        self.queue.get_mut().try_recv().ok().map(|(datagram, _)| datagram)
    }
}

impl<S: SharedSocket> DatagramSide for Source<S> {
    type Received = Datagram;

    async fn recv(&self) -> io::Result<Option<Datagram>> {
        let received = self.queue.lock().await.recv().await;
        Ok(received.map(|(datagram, _)| datagram))
    }

    async fn send(&self, datagram: &[u8]) -> io::Result<bool> {
        // The first error may be a report about an earlier datagram, to another source.
        Ok(self.socket.send_to(datagram, self.address).await.is_ok()
            || self.socket.send_to(datagram, self.address).await.is_ok())
    }
}

impl<S> Drop for Source<S> {
    fn drop(&mut self) {
        let mut table = lock(&self.table);
        table.queues.remove(&self.address);
        let origin = Origin::from(self.address.ip());
        if let Some(count) = table.per_address.get_mut(&origin) {
            *count -= 1;
            if *count == 0 {
                table.per_address.remove(&origin);
            }
        }
    }
}

fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most memory for datagrams that wait, in bytes: of one source, and of all.
const ROOM_OF_ONE: usize = 128 * 1024;
const ROOM_OF_ALL: usize = 16 * 1024 * 1024;

/// What a datagram takes besides its data, in bytes.
const OVERHEAD: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    async fn sources(limits: SourceLimits) -> Sources<UdpSocket> {
        Sources::new(UdpSocket::bind("127.0.0.1:0").await.unwrap(), limits)
    }

    fn arrival(address: [u8; 4], port: u16, len: usize) -> Arrival {
        let datagram = Datagram::new(&vec![7; len]);
        Arrival { from: (address, port).into(), datagram, begins: true }
    }

    #[tokio::test]
    async fn what_waits_is_bounded_for_each_source_and_for_all() {
        let sources = sources(SourceLimits { sources: 1000, per_address: 1000 }).await;
        let mut begun = Vec::new();
        for port in 0..200 {
            begun.extend(sources.deliver(arrival([192, 0, 2, 1], port, 10_000)));
            for _ in 0..20 {
                assert!(sources.deliver(arrival([192, 0, 2, 1], port, 10_000)).is_none());
            }
        }
        assert_eq!((begun.len(), sources.refused()), (200, 0));
        let kept = begun.iter().map(|source| 21 - source.dropped() as usize);
        let kept: Vec<_> = kept.collect();
        assert_eq!(kept[0], ROOM_OF_ONE / (10_000 + OVERHEAD));
        assert_eq!(kept.iter().sum::<usize>(), ROOM_OF_ALL / (10_000 + OVERHEAD));
        // What is received makes room.
        assert_eq!(begun[0].recv().await.unwrap().unwrap().len(), 10_000);
        let (dropped, last) = (begun[199].dropped(), begun[199].address().port());
        assert!(sources.deliver(arrival([192, 0, 2, 1], last, 10_000)).is_none());
        assert_eq!(begun[199].dropped(), dropped);
    }

    #[tokio::test]
    async fn sources_are_bounded_in_all_and_for_each_address_and_none_is_displaced() {
        let sources = sources(SourceLimits { sources: 3, per_address: 2 }).await;
        let begin = |address, port| sources.deliver(arrival(address, port, 1));
        let one = begin([192, 0, 2, 1], 1).unwrap();
        let _two = begin([192, 0, 2, 1], 2).unwrap();
        assert!(begin([192, 0, 2, 1], 3).is_none());
        let _three = begin([192, 0, 2, 2], 1).unwrap();
        assert!(begin([192, 0, 2, 3], 1).is_none());
        assert_eq!(sources.refused(), 2);
        drop(one);
        assert!(begin([192, 0, 2, 1], 3).is_some());
        assert!(lock(&sources.table).per_address.len() == 2);
        let begins_nothing = Arrival { begins: false, ..arrival([192, 0, 2, 1], 4, 1) };
        assert!(sources.deliver(begins_nothing).is_none());
        assert_eq!(sources.refused(), 2);
    }
}
