//! One connection: its state, and which calls may use it.

mod connect_setting;
mod http1;
mod http2;
mod keep_alive;
mod owner;
mod pipe;
mod pool_stream;

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use tessera::Facts;
use tessera_tokio::{EarlyDataOutcome, FirstFlightFailure};
use tokio::sync::Notify;

use self::connect_setting::ConnectSetting;
pub(super) use self::http1::{
    Driver as Http1Driver, begin as begin_http1, builder as http1_builder,
    exchange as exchange_http1,
};
pub(super) use self::http2::{
    Driver as Http2Driver, begin as begin_http2, exchange as exchange_http2,
    failure as failure_http2,
};
pub(super) use self::owner::Owner;
use super::connect::Protocol;
use super::flight::Flight;
use crate::address::DialAddress;
use crate::http::body::Body;
use crate::http::place::{Place, Places};

/// The state of a connection, shared by calls, the pool and the task that owns the stream.
pub(super) struct Connection {
    pool: Weak<dyn Owner>,
    /// How many calls wait in the pool.
    waiting: Arc<AtomicUsize>,
    address: DialAddress,
    priority: u16,
    protocol: Protocol,
    pub(super) flight: Flight,
    standing: AtomicU8,
    /// Calls with a place, and how many places there are.
    in_use: AtomicUsize,
    places: AtomicUsize,
    /// Calls since the beginning.
    calls: AtomicU64,
    /// How often the stream was written to.
    writes: AtomicU64,
    /// Whether anything was read since the last check.
    has_read: AtomicBool,
    /// Its address counts it as being opened.
    opens: AtomicBool,
    /// An answer to a PING or to the first flight is overdue.
    is_suspect: AtomicBool,
    sender: Mutex<Option<Sender>>,
    connect: ConnectSetting,
    retired: Notify,
}

/// Passes calls to the connection.
pub(super) enum Sender {
    Http1(hyper::client::conn::http1::SendRequest<Body>),
    Http2(h2::client::SendRequest<Bytes>),
}

/// Which calls a connection may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Standing {
    /// Its first flight is unanswered: only the call in it.
    InFlight = 0,
    Ready = 1,
    /// Only calls that no other connection can take.
    Old = 2,
    /// None any more. Open calls finish.
    Retired = 3,
}

impl Connection {
    pub(super) fn new(
        pool: Weak<dyn Owner>,
        waiting: Arc<AtomicUsize>,
        (address, priority): (DialAddress, u16),
        protocol: Protocol,
        streams: usize,
    ) -> Arc<Self> {
        let places = match protocol {
            Protocol::Http1 => 1,
            Protocol::Http2 => streams,
        };
        Arc::new(Self {
            pool,
            waiting,
            address,
            priority,
            protocol,
            flight: Flight::default(),
            standing: AtomicU8::new(Standing::InFlight as u8),
            in_use: AtomicUsize::new(0),
            places: AtomicUsize::new(places),
            calls: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            has_read: AtomicBool::new(false),
            opens: AtomicBool::new(false),
            is_suspect: AtomicBool::new(false),
            sender: Mutex::new(None),
            connect: ConnectSetting::default(),
            retired: Notify::new(),
        })
    }

    pub(super) fn standing(&self) -> Standing {
        match self.standing.load(Ordering::Acquire) {
            0 => Standing::InFlight,
            1 => Standing::Ready,
            2 => Standing::Old,
            _ => Standing::Retired,
        }
    }

    pub(super) fn address(&self) -> &DialAddress {
        &self.address
    }

    pub(super) fn priority(&self) -> u16 {
        self.priority
    }

    pub(super) fn protocol(&self) -> Protocol {
        self.protocol
    }

    pub(super) fn early_data(&self) -> EarlyDataOutcome {
        self.flight.outcome()
    }

    pub(super) fn facts(&self) -> Option<&Facts> {
        self.flight.facts()
    }

    pub(super) fn in_use(&self) -> usize {
        self.in_use.load(Ordering::SeqCst)
    }

    pub(super) fn places(&self) -> usize {
        self.places.load(Ordering::Relaxed)
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    pub(super) fn is_ready(&self) -> bool {
        matches!(self.standing(), Standing::Ready | Standing::Old) && !self.is_suspect()
    }

    pub(super) fn is_suspect(&self) -> bool {
        self.is_suspect.load(Ordering::Relaxed)
    }

    /// Takes a place. Called only by the pool, under its lock.
    pub(super) fn take(self: &Arc<Self>) -> Lease {
        self.in_use.fetch_add(1, Ordering::SeqCst);
        self.calls.fetch_add(1, Ordering::Relaxed);
        Lease { connection: self.clone(), place: Place::of(self.clone()) }
    }

    /// Whether a place is free, which may also be that of an abandoned first flight once the handshake is complete.
    pub(super) fn has_place(&self) -> bool {
        matches!(self.standing(), Standing::Ready | Standing::Old) && self.in_use() < self.places()
    }

    /// Notes that the pool got the connection before its handshake was complete.
    pub(super) fn is_opening(&self) {
        self.opens.store(true, Ordering::Relaxed);
    }

    /// Opens it to all calls, after the handshake. The caller may hold the stream's lock.
    pub(super) fn settle(&self) {
        self.step(Standing::InFlight, Standing::Ready);
        self.is_suspect.store(false, Ordering::Relaxed);
        if self.opens.swap(false, Ordering::Relaxed)
            && let Some(pool) = self.pool.upgrade()
        {
            pool.note_opened(self);
        }
        self.has_changed();
    }

    /// Refuses new calls. The caller may hold the stream's lock.
    pub(super) fn refuse_calls(&self) {
        self.standing.store(Standing::Retired as u8, Ordering::Release);
    }

    /// Makes the pool prefer other connections.
    pub(super) fn grow_old(&self) {
        self.step(Standing::Ready, Standing::Old);
        if let Some(pool) = self.pool.upgrade() {
            pool.maintain();
        }
    }

    /// Refuses new calls, and ends when the open ones have ended.
    pub(super) fn retire(&self) {
        self.refuse_calls();
        let sender = self.sender().take();
        drop(sender);
        self.retired.notify_one();
        if let Some(pool) = self.pool.upgrade() {
            pool.forget(self);
        }
    }

    fn step(&self, from: Standing, to: Standing) {
        // Fails if the standing has already advanced further.
        let _ = self.standing.compare_exchange(
            from as u8,
            to as u8,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
    }

    pub(super) fn set_sender(&self, sender: Sender) {
        *self.sender() = Some(sender);
    }

    fn sender(&self) -> MutexGuard<'_, Option<Sender>> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note_read(&self) {
        self.has_read.store(true, Ordering::Relaxed);
    }

    /// Returns how often the stream was written to.
    pub(super) fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    pub(super) fn note_write(&self) {
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether it may close: it has no calls and isn't kept warm.
    fn may_close(&self) -> bool {
        self.in_use() == 0 && self.pool.upgrade().is_none_or(|pool| pool.may_close(self))
    }

    /// Avoids the address for a while.
    fn blame_address(&self, cause: impl Error + Send + Sync + 'static) {
        if let Some(pool) = self.pool.upgrade() {
            pool.note_failure(self, Arc::new(cause));
        }
    }

    /// Its first flight is unanswered for a while: another address may serve the waiting calls.
    fn stalls(&self) {
        self.is_suspect.store(true, Ordering::Relaxed);
        if let Some(pool) = self.pool.upgrade() {
            pool.try_next();
        }
    }

    /// Called when the connection's task ends.
    fn ended(&self) {
        if self.opens.swap(false, Ordering::Relaxed)
            && let Some(pool) = self.pool.upgrade()
        {
            pool.note_unopened(self);
        }
        if let Some(error) = self.flight.error()
            && let FirstFlightFailure::ConnectionFailed { .. } = error.reason()
        {
            self.blame_address(error);
        }
        self.retire();
    }

    /// Serves waiting calls, since a place may be free.
    fn has_changed(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0
            && let Some(pool) = self.pool.upgrade()
        {
            pool.serve();
        }
    }
}

impl Places for Connection {
    fn release(self: Arc<Self>) {
        if self.protocol == Protocol::Http1 && !self.is_free_again() {
            return;
        }
        self.in_use.fetch_sub(1, Ordering::SeqCst);
        self.has_changed();
    }
}

/// A call's place on a connection, released when dropped.
pub(super) struct Lease {
    connection: Arc<Connection>,
    place: Place,
}

impl Lease {
    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Returns only the place, for the body of the response.
    fn into_place(self) -> Place {
        self.place
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("address", &self.address)
            .field("protocol", &self.protocol)
            .field("standing", &self.standing())
            .field("in_use", &self.in_use())
            .finish_non_exhaustive()
    }
}
