//! Opens connections: for waiting calls, and ahead of need.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{Grant, Inner, State};
use crate::dial::{DialError, Dialler};
use crate::http::client::PoolOptions;
use crate::http::client::addresses::{Cause, Srv};
use crate::http::client::call::Early;
use crate::http::client::connect::{Protocol, Transport};
use crate::http::client::connection::{
    Connection, Http1Driver, Http2Driver, Lease, Owner, Standing, begin_http1, begin_http2,
};
use crate::http::client::error::{CallError, CallErrorKind};

/// Addresses from DNS.
pub(super) struct DnsAddresses {
    srv: Box<Srv>,
    valid_until: Option<Instant>,
}

impl DnsAddresses {
    pub(super) fn new(srv: Box<Srv>) -> Self {
        Self { srv, valid_until: None }
    }
}

/// The destination of a new connection.
pub(super) struct Aim {
    pub(super) dialler: Dialler,
    priority: u16,
    early: bool,
}

/// The owner of a new connection's stream.
enum Driver {
    Http1(Box<Http1Driver>),
    Http2(Box<Http2Driver>),
}

impl Inner {
    /// Opens as many connections as the waiting calls need.
    pub(super) fn open_for_waiting(&self, state: &mut State) {
        if state.unserved(&self.options) == 0 || !self.may_open(state) {
            return;
        }
        // Not for calls that were dropped.
        state.queue.retain(|waiter| !waiter.tell.is_closed());
        self.waiting.store(state.queue.len(), Ordering::SeqCst);
        while state.unserved(&self.options) > 0 && self.may_open(state) {
            self.open(state, false);
        }
    }

    fn may_open(&self, state: &State) -> bool {
        !state.is_closed && state.counted() < self.options.connections
    }

    /// Opens one. `ahead`: it completes its handshake before anything else.
    pub(super) fn open(&self, state: &mut State, ahead: bool) {
        let (Ok(runtime), Some(pool)) = (Handle::try_current(), self.me.upgrade()) else { return };
        state.opening += 1;
        drop(runtime.spawn(async move {
            let opening = PendingConnection { pool, is_counted: true };
            match opening.pool.try_open(ahead).await {
                Ok((connection, driver)) => {
                    let options = opening.pool.options.clone();
                    drop(opening);
                    connection.drive(driver, options).await;
                }
                Err(cause) => opening.failed(&cause),
            }
        }));
    }

    /// Connects to one address, and adds the connection to the pool. The caller must drive it.
    async fn try_open(self: &Arc<Self>, ahead: bool) -> Result<(Arc<Connection>, Driver), Cause> {
        self.refresh().await?;
        let aim = self.aim(ahead)?;
        let address = aim.dialler.address().clone();
        let made = {
            let making = timeout(self.options.connect, self.make(&aim));
            tokio::pin!(making);
            tokio::select! {
                made = &mut making => made,
                () = sleep(self.options.try_next_after) => {
                    self.open_another();
                    making.await
                }
            }
        };
        let made = made.unwrap_or_else(|_| {
            Err(io::Error::new(io::ErrorKind::TimedOut, "no connection in time"))
        });
        let now = Instant::now();
        let mut state = self.state();
        let place = state.places.of(&address);
        match made {
            Ok((connection, driver, lease)) => {
                self.tally.opened.fetch_add(1, Ordering::Relaxed);
                if lease.is_none()
                    && let Some(place) = place
                {
                    place.opened();
                }
                state.protocol = connection.protocol();
                state.connections.push(connection.clone());
                let untaken = lease.and_then(|lease| self.give_flight(&mut state, lease));
                let (old, closed) = (old(&state), state.is_closed);
                drop(state);
                drop(untaken);
                for connection in old {
                    connection.retire();
                }
                if closed {
                    connection.retire();
                }
                Ok((connection, driver))
            }
            Err(error) => {
                self.tally.failed.fetch_add(1, Ordering::Relaxed);
                let names_address = error.get_ref().is_some_and(|inner| inner.is::<DialError>());
                let cause: Cause = Arc::new(match names_address {
                    true => error,
                    false => io::Error::new(error.kind(), format!("{address}: {error}")),
                });
                if let Some(place) = place {
                    place.opening = place.opening.saturating_sub(1);
                    let random = fastrand::f64();
                    place.health.failed(now, self.options.back_off, random, cause.clone());
                }
                Err(cause)
            }
        }
    }

    /// Queries DNS, if its last answer has expired.
    pub(super) async fn refresh(&self) -> Result<(), Cause> {
        let Some(srv) = &self.srv else { return Ok(()) };
        let mut dns = srv.lock().await;
        if dns.valid_until.is_some_and(|until| until > Instant::now()) {
            return Ok(());
        }
        match dns.srv.look_up().await {
            Ok((targets, valid_until)) => {
                dns.valid_until = Some(valid_until);
                self.set_targets(targets);
            }
            // An expired answer is better than none.
            Err(error) if dns.valid_until.is_none() => {
                self.state().not_before = Some(Instant::now() + DNS_PAUSE);
                return Err(Arc::new(error));
            }
            Err(_) => dns.valid_until = Some(Instant::now() + self.options.back_off.1),
        }
        Ok(())
    }

    pub(super) fn aim(&self, ahead: bool) -> Result<Aim, Cause> {
        let mut state = self.state();
        let may_be_early = |early| early == Early::Allowed;
        let early = !ahead
            && state
                .queue
                .iter()
                .any(|waiter| may_be_early(waiter.early) && !waiter.tell.is_closed());
        if let Some(place) = state.places.choose(Instant::now(), fastrand::f64()) {
            place.opening += 1;
            return Ok(Aim {
                dialler: place.dialler.clone(),
                priority: place.target.priority,
                early,
            });
        }
        let cause = state.places.recovery().and_then(|(_, cause)| cause);
        state.not_before = Some(Instant::now() + DNS_PAUSE);
        Err(cause.unwrap_or_else(|| {
            Arc::new(io::Error::new(io::ErrorKind::NotFound, "there is no address"))
        }))
    }

    /// Connects. The lease is for the request of the first flight, if that can carry one.
    async fn make(&self, aim: &Aim) -> io::Result<(Arc<Connection>, Driver, Option<Lease>)> {
        let Transport { stream, protocol } = self.connect.connect(&aim.dialler, aim.early).await?;
        let connection = Connection::new(
            self.me.clone(),
            self.waiting.clone(),
            (aim.dialler.address().clone(), aim.priority),
            protocol,
            self.options.streams,
        );
        let driver = match protocol {
            Protocol::Http1 => {
                let begun = begin_http1(&connection, stream, &self.options).await;
                Driver::Http1(Box::new(begun.map_err(io::Error::other)?))
            }
            Protocol::Http2 => {
                let begun = begin_http2(&connection, stream, &self.options).await;
                Driver::Http2(Box::new(begun.map_err(io::Error::other)?))
            }
        };
        let in_flight = connection.standing() == Standing::InFlight;
        let lease = in_flight.then(|| {
            connection.is_opening();
            connection.take()
        });
        Ok((connection, driver, lease))
    }

    /// Gives the place in a first flight to the first waiting call that may use it; returns it if there is none, and
    /// the flight leaves without a request.
    fn give_flight(&self, state: &mut State, lease: Lease) -> Option<Grant> {
        let mut granted = Grant { lease, is_early: true };
        loop {
            let first = state.queue.iter().position(|waiter| waiter.early == Early::Allowed);
            let Some(waiter) = first.and_then(|index| state.queue.remove(index)) else {
                return Some(granted);
            };
            self.waiting.store(state.queue.len(), Ordering::SeqCst);
            match waiter.tell.send(Ok(granted)) {
                Ok(()) => {
                    self.tally.early.fetch_add(1, Ordering::Relaxed);
                    return None;
                }
                Err(Ok(back)) => granted = back,
                Err(Err(_)) => return None,
            }
        }
    }

    /// Tries another address in parallel to a slow one.
    pub(super) fn open_another(&self) {
        let mut state = self.state();
        let now = Instant::now();
        let other =
            state.places.iter().any(|place| place.opening == 0 && !place.health.is_sick(now));
        if other && !state.queue.is_empty() && self.may_open(&state) {
            self.open(&mut state, false);
        }
    }

    /// Keeps the configured number of warm connections, to the best addresses that can be reached.
    pub(super) fn keep_warm(&self) {
        let mut state = self.state();
        if state.is_closed {
            return;
        }
        let live = state.live().count();
        let is_missing = live + state.opening < self.options.warm;
        let used = state.live().map(|connection| connection.priority()).min();
        let now = Instant::now();
        // Replace connections to addresses of second choice once the first choice has recovered.
        let better = |state: &State| {
            let better = state.places.iter().filter(|place| Some(place.target.priority) < used);
            better.map(|place| place.health.sick_until().unwrap_or(now)).min()
        };
        let better = better(&state);
        let at = match (is_missing, better) {
            (false, None) => return,
            (true, _) if !self.all_sick(&state) => now,
            (true, _) => state.places.recovery().map_or(now, |(at, _)| at),
            (false, Some(at)) => at,
        };
        let at = state.not_before.map_or(at, |not_before| not_before.max(at));
        if at <= now {
            if state.opening == 0 && self.may_open(&state) {
                self.open(&mut state, true);
            }
            return;
        }
        if state.is_pausing {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        state.is_pausing = true;
        let pool = self.me.clone();
        drop(runtime.spawn(async move {
            sleep_until(at).await;
            if let Some(pool) = pool.upgrade() {
                pool.state().is_pausing = false;
                pool.keep_warm();
            }
        }));
    }
}

/// How long to wait before querying an unknown name again, if no call waits for it.
const DNS_PAUSE: Duration = Duration::from_secs(1);

/// Returns the connections that a new one replaces.
fn old(state: &State) -> Vec<Arc<Connection>> {
    let old = state.connections.iter().filter(|c| c.standing() == Standing::Old);
    old.cloned().collect()
}

/// A connection being opened; counted until dropped.
struct PendingConnection {
    pool: Arc<Inner>,
    is_counted: bool,
}

impl PendingConnection {
    fn end(&mut self, state: &mut State) {
        if std::mem::take(&mut self.is_counted) {
            state.opening = state.opening.saturating_sub(1);
        }
    }

    /// Tries the next address, or fails the waiting calls if there is none.
    fn failed(mut self, cause: &Cause) {
        let pool = self.pool.clone();
        let now = Instant::now();
        let mut state = pool.state();
        self.end(&mut state);
        let mut failed = Vec::new();
        if !state.queue.is_empty() {
            let other = state.places.iter().any(|place| !place.health.is_sick(now));
            if other && pool.may_open(&state) {
                pool.open(&mut state, false);
            } else if state.opening == 0 && state.connections.is_empty() {
                failed.extend(state.queue.drain(..));
                pool.waiting.store(0, Ordering::SeqCst);
            }
        }
        drop(state);
        for waiter in failed {
            let error = CallError::unsent(CallErrorKind::Unreachable);
            // The call may have been dropped.
            let _ = waiter.tell.send(Err(error.because_of(Some(cause.clone()))));
        }
    }
}

impl Drop for PendingConnection {
    fn drop(&mut self) {
        let pool = self.pool.clone();
        let mut state = pool.state();
        self.end(&mut state);
        drop(state);
        pool.serve();
        pool.keep_warm();
    }
}

impl Connection {
    async fn drive(self: Arc<Self>, driver: Driver, options: Arc<PoolOptions>) {
        match driver {
            Driver::Http1(driver) => self.drive_http1(*driver, options).await,
            Driver::Http2(driver) => self.drive_http2(*driver, options).await,
        }
    }
}
