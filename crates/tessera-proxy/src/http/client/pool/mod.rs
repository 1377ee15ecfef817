//! The connections to one peer, and the calls that wait for them.

mod open;
mod owner;
mod state;
mod upgrade;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use http::Request;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, sleep_until};

use self::state::{Placement, State, Waiter};
use super::addresses::{Addresses, Target};
use super::call::{Answer, Call, Early};
use super::connect::Connect;
use super::connection::{Connection, Lease, Owner};
use super::error::{CallError, CallErrorKind, Delivery};
use super::exchange::{exchange, prepare};
use super::retry::{Attempts, spare};
use super::{AddressStatus, Counts, PoolOptions, PoolStatus};
use crate::http::body::Body;
use crate::http::deadline::Deadline;

/// The connections to one peer. Can be cloned; after the last clone is dropped, connections without calls end.
///
/// Its connections run in tasks of the tokio runtime in which it is used.
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Inner>,
}

/// The state shared by clones.
pub(super) struct Inner {
    me: Weak<Self>,
    connect: Arc<dyn Connect>,
    options: Arc<PoolOptions>,
    /// `None` if the addresses don't come from DNS.
    srv: Option<tokio::sync::Mutex<open::DnsAddresses>>,
    state: Mutex<State>,
    /// The length of the state's queue, readable without its lock.
    waiting: Arc<AtomicUsize>,
    /// Places for upgrades.
    upgrades: Arc<Semaphore>,
    tally: Tally,
}

#[derive(Default)]
struct Tally {
    calls: AtomicU64,
    opened: AtomicU64,
    failed: AtomicU64,
    retried: AtomicU64,
    resent: AtomicU64,
    early: AtomicU64,
}

impl Pool {
    /// Creates a pool of connections that `connect` makes. Nothing is connected before the first call, unless
    /// connections are kept [`warm`](PoolOptions::warm): this then needs a tokio runtime.
    pub fn new(
        connect: Arc<dyn Connect>,
        addresses: impl Into<Addresses>,
        options: PoolOptions,
    ) -> Self {
        let mut state = State::default();
        let srv = match addresses.into() {
            Addresses::Fixed(targets) => {
                state.places.replace(targets, &options);
                None
            }
            Addresses::Srv(srv) => Some(tokio::sync::Mutex::new(open::DnsAddresses::new(srv))),
        };
        let upgrades = options.upgrades.min(Semaphore::MAX_PERMITS);
        let inner = Arc::new_cyclic(|me| Inner {
            me: me.clone(),
            connect,
            options: Arc::new(options),
            srv,
            state: Mutex::new(state),
            waiting: Arc::default(),
            upgrades: Arc::new(Semaphore::new(upgrades)),
            tally: Tally::default(),
        });
        inner.keep_warm();
        Self { inner }
    }

    /// Sends a request and waits for the head of its response, or the deadline. The request's URI, or its `Host` field,
    /// names scheme and host.
    ///
    /// It is resent if it was surely not executed, and once, on another connection, if it may have been executed and is
    /// [`repeatable`](Call::repeatable); in both cases only if its body is in memory, and it may [still](Call::permission) be
    /// sent.
    pub async fn call(&self, request: Request<Body>, call: Call) -> Result<Answer, CallError> {
        let inner = &*self.inner;
        inner.tally.calls.fetch_add(1, Ordering::Relaxed);
        let mut request = prepare(request)?;
        let mut tries = Attempts::new(&call);
        let mut earlier: Option<CallError> = None;
        let mut avoid: Option<Arc<Connection>> = None;
        loop {
            let granted = match inner.acquire(tries.early(), avoid.as_ref(), call.deadline).await {
                Ok(granted) => granted,
                Err(error) => return Err(error.after(earlier)),
            };
            call.check().map_err(|error| error.after(earlier.clone()))?;
            let spare = spare(&request);
            let connection = granted.lease.connection().clone();
            let is_early = granted.is_early;
            let exchanged = exchange(granted.lease, is_early, request, &inner.options);
            let failure = match call.deadline.limit(exchanged).await {
                Err(_) => {
                    let mut error =
                        CallError::new(CallErrorKind::DeadlineExceeded, Delivery::Maybe);
                    if is_early {
                        error = error.in_flight(connection.early_data());
                    }
                    return Err(error.after(earlier));
                }
                Ok(Ok(response)) => {
                    match spare {
                        Some(spare) if tries.again_later(response.status(), is_early) => {
                            inner.tally.retried.fetch_add(1, Ordering::Relaxed);
                            request = spare;
                            continue;
                        }
                        _ => {}
                    }
                    let resent = tries.resent;
                    return Ok(Answer { response, resent, was_early: is_early, connection });
                }
                Ok(Err(failure)) => failure,
            };
            let Some(next) = failure.request.or(spare) else {
                return Err(failure.error.after(earlier));
            };
            let had_resent = tries.resent;
            if !tries.again_after(&failure.error) {
                return Err(failure.error.after(earlier));
            }
            let counter = if tries.resent && !had_resent {
                &inner.tally.resent
            } else {
                &inner.tally.retried
            };
            counter.fetch_add(1, Ordering::Relaxed);
            // Reuse a connection that refused a stream; any other is ending.
            let is_alive = matches!(failure.error.kind, CallErrorKind::Reset(_));
            avoid = (!is_alive).then_some(connection);
            earlier = Some(failure.error.after(earlier));
            request = next;
        }
    }

    /// Opens a connection if there is none, without early data, to check whether the peer can be reached.
    ///
    /// # Errors
    /// The reason why it can't.
    pub async fn probe(&self, deadline: Deadline) -> Result<(), CallError> {
        self.inner.acquire_now(Early::Never, None, deadline).await.map(drop)
    }

    /// Like [`probe`](Self::probe), but the connection that it opened stays only for `stay`, in which the server's
    /// tickets arrive, unless a call comes.
    ///
    /// # Errors
    /// The reason why the peer can't be reached.
    pub async fn visit(&self, deadline: Deadline, stay: Duration) -> Result<(), CallError> {
        let granted = self.inner.acquire_now(Early::Never, None, deadline).await?;
        let connection = granted.lease.connection().clone();
        tokio::time::sleep(stay).await;
        // Places are taken under this lock alone.
        let state = self.inner.state();
        let is_unused = connection.calls() == 1;
        if is_unused {
            connection.refuse_calls();
        }
        drop(state);
        drop(granted);
        if is_unused {
            connection.retire();
        }
        Ok(())
    }

    /// Uses these addresses from now on. Connections to others get no more calls.
    pub fn set_targets(&self, targets: Vec<Target>) {
        self.inner.set_targets(targets);
    }

    /// Moves new calls to new connections, because what the present ones rely on was replaced. Open calls finish.
    pub fn renew(&self) {
        let connections = std::mem::take(&mut self.inner.state().connections);
        for connection in connections {
            connection.retire();
        }
    }

    /// Ends connections without calls at once, and the others when their calls have ended; new and waiting calls fail.
    pub fn close(&self) {
        self.inner.close();
    }

    /// Returns the current status.
    pub fn status(&self) -> PoolStatus {
        self.inner.status()
    }
}

/// The longest wait of a call for an address that may be tried again.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A place on a connection.
pub(super) struct Grant {
    pub(super) lease: Lease,
    /// The call is the request of the connection's first flight.
    pub(super) is_early: bool,
}

impl Inner {
    /// Returns a place, soon or later. If no address can be reached now, waits once for one to recover.
    async fn acquire(
        &self,
        early: Early,
        avoid: Option<&Arc<Connection>>,
        deadline: Deadline,
    ) -> Result<Grant, CallError> {
        match self.acquire_now(early, avoid, deadline).await {
            Err(error)
                if matches!(error.kind, CallErrorKind::Unreachable)
                    && self.let_recover(deadline).await =>
            {
                self.acquire_now(early, avoid, deadline).await
            }
            acquired => acquired,
        }
    }

    async fn acquire_now(
        &self,
        early: Early,
        avoid: Option<&Arc<Connection>>,
        deadline: Deadline,
    ) -> Result<Grant, CallError> {
        let waiting = {
            let mut state = self.state();
            match state.find(avoid, &self.options) {
                Placement::Place { lease, open_ahead } => {
                    if open_ahead {
                        self.open(&mut state, true);
                    }
                    return Ok(Grant { lease, is_early: false });
                }
                Placement::Nothing => self.enqueue(&mut state, early, avoid)?,
            }
        };
        // A place may have become free before the call was queued.
        self.serve();
        match deadline.limit(waiting).await {
            Ok(Ok(granted)) => granted,
            Ok(Err(_)) => Err(CallError::unsent(CallErrorKind::Closed)),
            Err(_) => {
                let cause = self.state().places.recovery().and_then(|(_, cause)| cause);
                Err(CallError::unsent(CallErrorKind::DeadlineExceeded).because_of(cause))
            }
        }
    }

    /// Waits until a failed address may be tried again, if that is soon; returns whether it waited. A restarting server
    /// is avoided for a moment, and may be the only one left.
    async fn let_recover(&self, deadline: Deadline) -> bool {
        let Some((until, _)) = self.state().places.recovery() else { return false };
        let is_soon = until <= deadline.at_most(LONGEST_PAUSE).instant();
        if is_soon {
            sleep_until(until).await;
        }
        is_soon
    }

    fn enqueue(
        &self,
        state: &mut State,
        early: Early,
        avoid: Option<&Arc<Connection>>,
    ) -> Result<oneshot::Receiver<Result<Grant, CallError>>, CallError> {
        if state.is_closed {
            return Err(CallError::unsent(CallErrorKind::Closed));
        }
        if state.connections.is_empty() && state.opening == 0 && self.all_sick(state) {
            let cause = state.places.recovery().and_then(|(_, cause)| cause);
            return Err(CallError::unsent(CallErrorKind::Unreachable).because_of(cause));
        }
        if state.queue.len() >= self.options.waiting {
            state.queue.retain(|waiter| !waiter.tell.is_closed());
            if state.queue.len() >= self.options.waiting {
                return Err(CallError::unsent(CallErrorKind::Busy));
            }
        }
        let (tell, told) = oneshot::channel();
        state.queue.push_back(Waiter { tell, early, avoid: avoid.map(Arc::downgrade) });
        self.waiting.store(state.queue.len(), Ordering::SeqCst);
        self.open_for_waiting(state);
        Ok(told)
    }

    fn all_sick(&self, state: &State) -> bool {
        let now = Instant::now();
        let mut places = state.places.iter().peekable();
        places.peek().is_some() && places.all(|place| place.health.is_sick(now))
    }

    fn set_targets(&self, targets: Vec<Target>) {
        let mut state = self.state();
        state.places.replace(targets, &self.options);
        let left = state.retain_known();
        drop(state);
        for connection in left {
            connection.retire();
        }
        self.keep_warm();
    }

    fn close(&self) {
        self.upgrades.close();
        let mut state = self.state();
        state.is_closed = true;
        let queue = std::mem::take(&mut state.queue);
        self.waiting.store(0, Ordering::SeqCst);
        let connections = std::mem::take(&mut state.connections);
        drop(state);
        drop(queue);
        for connection in connections {
            connection.retire();
        }
    }

    fn status(&self) -> PoolStatus {
        let state = self.state();
        let now = Instant::now();
        let addresses = state.places.iter().map(|place| AddressStatus {
            target: place.target.clone(),
            is_sick: place.health.is_sick(now),
            failures: place.health.failures(),
            connections: state.connections_to(&place.target.address),
        });
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        PoolStatus {
            connections: state.connections.len(),
            ready: state.connections.iter().filter(|connection| connection.is_ready()).count(),
            opening: state.opening,
            in_use: state.connections.iter().map(|connection| connection.in_use()).sum(),
            upgrades: self.options.upgrades.saturating_sub(self.upgrades.available_permits()),
            waiting: state.queue.len(),
            addresses: addresses.collect(),
            counts: Counts {
                calls: read(&self.tally.calls),
                opened: read(&self.tally.opened),
                failed: read(&self.tally.failed),
                retried: read(&self.tally.retried),
                resent: read(&self.tally.resent),
                early: read(&self.tally.early),
            },
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let connections = std::mem::take(&mut self.state().connections);
        for connection in connections {
            connection.retire();
        }
    }
}
