//! Spare connections: handshake done ahead, no early data.

use std::future::{Future, poll_fn};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use zeroize::Zeroizing;

use crate::metrics::{GaugeGuard, SpareEvent, TunnelMetrics};

/// Makes connections for a [`SparePool`].
pub trait Source: Send + Sync + 'static {
    /// The type of the connections.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Makes a connection and completes its handshake.
    fn connect(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// The configuration that new connections are made with. Connections of earlier generations are replaced.
    fn generation(&self) -> u64;
}

/// Keeps connections ready. Each is handed out once, the newest first: it is the most likely to be alive.
///
/// An idle connection is read, so that its end is noticed and it is replaced; what the server sends first is kept for
/// the program. It is also replaced after 3 minutes, because routers forget idle connections. If none can be made, the
/// next attempt follows after 0.1 to 10 seconds; meanwhile each program's connection is made on demand.
pub struct SparePool<C: Source> {
    shared: Arc<Shared<C>>,
    /// One for each place; aborted when the pool is dropped.
    keepers: Mutex<JoinSet<()>>,
}

/// A connection that was kept ready.
pub struct Spare<S> {
    /// The connection.
    pub stream: S,
    /// What the server sent first, at most [`MAX_RECEIVED`] bytes.
    pub received: Zeroizing<Vec<u8>>,
}

/// Enough for the greeting of a server that speaks first. Anything beyond stays in the socket.
pub const MAX_RECEIVED: usize = 4096;

/// A connection removed from the pool, and why.
type Removal<S> = (SpareEvent, S);

type Places<S> = Vec<Option<Box<Idle<S>>>>;

struct Shared<C: Source> {
    source: C,
    metrics: Arc<TunnelMetrics>,
    places: Mutex<Places<C::Stream>>,
    /// Limits how many are made at the same time.
    fills: Semaphore,
}

/// A connection waiting in its place.
struct Idle<S> {
    spare: Spare<S>,
    made: Instant,
    generation: u64,
    /// The task to wake when the connection is taken or replaced.
    keeper: Option<Waker>,
    _held: Option<GaugeGuard>,
}

impl<C: Source> SparePool<C> {
    /// Starts filling `count` places. Needs a tokio runtime.
    pub fn new(source: C, count: usize, metrics: Arc<TunnelMetrics>) -> Self {
        let places = Mutex::new((0..count).map(|_| None).collect());
        let fills = Semaphore::new(FILLS);
        let shared = Arc::new(Shared { source, metrics, places, fills });
        let mut keepers = JoinSet::new();
        for place in 0..count {
            keepers.spawn(keep(shared.clone(), place));
        }
        Self { shared, keepers: Mutex::new(keepers) }
    }

    /// Takes a connection, if there is one, and refills its place.
    pub fn take(&self) -> Option<Spare<C::Stream>> {
        let spare = self.shared.take();
        let event = if spare.is_some() { SpareEvent::Used } else { SpareEvent::Missed };
        self.shared.metrics.spare_event(event);
        spare
    }

    /// Replaces the connections of an earlier [generation](Source::generation). None of them is handed out any more.
    pub fn renew(&self) {
        let mut places = self.shared.places();
        for idle in places.iter_mut().flatten() {
            wake(idle);
        }
    }

    /// Shuts down all connections in order, and makes no more.
    pub async fn close(&self) {
        let mut keepers =
            mem::take(&mut *self.keepers.lock().unwrap_or_else(PoisonError::into_inner));
        keepers.shutdown().await;
        let idle: Vec<_> = self.shared.places().iter_mut().filter_map(Option::take).collect();
        let mut ends: JoinSet<()> = idle.into_iter().map(|idle| end(idle.spare.stream)).collect();
        while ends.join_next().await.is_some() {}
    }
}

/// Keeps a place filled.
async fn keep<C: Source>(shared: Arc<Shared<C>>, place: usize) {
    let mut pause = FIRST_PAUSE;
    loop {
        if let Err(error) = shared.fill(place).await {
            shared.metrics.spare_event(SpareEvent::FillFailed);
            tracing::debug!(%error, "a spare connection can't be made");
        } else {
            let made = Instant::now();
            let age = jitter(MAX_AGE);
            let idle = timeout(age, poll_fn(|cx| shared.poll_idle(place, cx))).await;
            let removed = match idle {
                Ok(removed) => removed,
                Err(_) => shared.remove(place, SpareEvent::Aged),
            };
            let Some((event, stream)) = removed else {
                // It was taken.
                pause = FIRST_PAUSE;
                continue;
            };
            shared.metrics.spare_event(event);
            end(stream).await;
            // Pause before retrying a server that closes each connection at once.
            if event != SpareEvent::Ended || made.elapsed() >= LAST_PAUSE {
                pause = FIRST_PAUSE;
                continue;
            }
        }
        sleep(jitter(pause)).await;
        pause = (2 * pause).min(LAST_PAUSE);
    }
}

impl<C: Source> Shared<C> {
    async fn fill(&self, place: usize) -> io::Result<()> {
        let _turn = self.fills.acquire().await.map_err(io::Error::other)?;
        // Before connecting: a reload in between makes this connection outdated.
        let generation = self.source.generation();
        let spare = Spare { stream: self.source.connect().await?, received: Zeroizing::default() };
        let made = Instant::now();
        self.metrics.spare_event(SpareEvent::Filled);
        let _held = self.metrics.spare();
        let idle = Idle { spare, made, generation, keeper: None, _held };
        self.places()[place] = Some(Box::new(idle));
        Ok(())
    }

    /// Ready when a connection must be replaced, or was taken (`None`).
    fn poll_idle(&self, place: usize, cx: &mut Context<'_>) -> Poll<Option<Removal<C::Stream>>> {
        let mut places = self.places();
        let Some(idle) = &mut places[place] else { return Poll::Ready(None) };
        let event = if idle.generation != self.source.generation() {
            SpareEvent::Withdrawn
        } else {
            idle.keeper = Some(cx.waker().clone());
            ready!(idle.spare.poll_end(cx));
            SpareEvent::Ended
        };
        drop(places);
        Poll::Ready(self.remove(place, event))
    }

    fn remove(&self, place: usize, event: SpareEvent) -> Option<Removal<C::Stream>> {
        self.places()[place].take().map(|idle| (event, idle.spare.stream))
    }

    fn take(&self) -> Option<Spare<C::Stream>> {
        let mut places = self.places();
        let generation = self.source.generation();
        let by_age = |place: &&mut Option<Box<Idle<C::Stream>>>| {
            place.as_ref().filter(|idle| idle.generation == generation).map(|idle| idle.made)
        };
        while let Some(newest) =
            places.iter_mut().filter(|place| by_age(place).is_some()).max_by_key(by_age)
        {
            let mut idle = newest.take()?;
            wake(&mut idle);
            // It may have ended since its keeper last polled it.
            let mut cx = Context::from_waker(Waker::noop());
            if idle.spare.poll_end(&mut cx).is_pending() {
                return Some(idle.spare);
            }
            self.metrics.spare_event(SpareEvent::Ended);
        }
        None
    }

    fn places(&self) -> MutexGuard<'_, Places<C::Stream>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake<S>(idle: &mut Idle<S>) {
    if let Some(keeper) = idle.keeper.take() {
        keeper.wake();
    }
}

impl<S: AsyncRead + Unpin> Spare<S> {
    /// Ready when the connection has ended or failed. Data received before is kept.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let mut buffer = Zeroizing::new([0; 512]);
            let room = buffer.len().min(MAX_RECEIVED - self.received.len());
            if room == 0 {
                // Stop reading: the program's connection reads the rest, and notices the end.
                return Poll::Pending;
            }
            let mut buffer = ReadBuf::new(&mut buffer[..room]);
            match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {
                    // Reserve once: a growing buffer leaves copies behind.
                    let more = MAX_RECEIVED - self.received.len();
                    self.received.reserve_exact(more);
                    self.received.extend_from_slice(buffer.filled());
                }
                _ => return Poll::Ready(()),
            }
        }
    }
}

/// Sends a close_notify, waiting at most a second.
async fn end<S: AsyncWrite + Unpin>(mut stream: S) {
    let _ = timeout(Duration::from_secs(1), stream.shutdown()).await;
}

/// Returns between three quarters of `time` and all of it, so that what started together doesn't stay in step.
fn jitter(time: Duration) -> Duration {
    // Needs no secrecy, only variety.
    let share = RandomState::new().hash_one(()) as u32;
    time * 3 / 4 + (time / 4).mul_f64(f64::from(share) / f64::from(u32::MAX))
}

/// How many are made at the same time: a server limits the handshakes of an address.
const FILLS: usize = 8;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(10);

/// Less than four minutes, after which the first cloud routers forget an idle connection.
const MAX_AGE: Duration = Duration::from_secs(180);

#[cfg(test)]
mod tests;
