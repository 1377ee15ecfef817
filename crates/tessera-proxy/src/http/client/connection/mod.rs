//! One connection: who may use it, and what is known of it.

mod http1;
mod http2;
mod keep_alive;
mod owner;
mod pipe;
mod watched;

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use tessera::Facts;
use tessera_tokio::{EarlyDataOutcome, FirstFlightFailure};
use tokio::sync::Notify;

pub(super) use self::http1::{
    Driver as Http1Driver, begin as begin_http1, exchange as exchange_http1,
};
pub(super) use self::http2::{
    Driver as Http2Driver, begin as begin_http2, exchange as exchange_http2,
};
pub(super) use self::owner::Owner;
use super::connect::Protocol;
use super::flight::Flight;
use crate::address::DialAddress;
use crate::http::body::Body;
use crate::http::place::{Place, Places};

/// What calls, the pool and the task that has the stream share of a connection.
pub(super) struct Connection {
    pool: Weak<dyn Owner>,
    /// How many calls wait in the pool.
    waiting: Arc<AtomicUsize>,
    address: DialAddress,
    priority: u16,
    protocol: Protocol,
    pub(super) flight: Flight,
    standing: AtomicU8,
    /// Calls that have a place, and how many may have.
    in_use: AtomicUsize,
    places: AtomicUsize,
    /// Calls since the beginning.
    calls: AtomicU64,
    /// How often the stream was written to.
    writes: AtomicU64,
    /// Something was read since it was asked last.
    has_read: AtomicBool,
    /// Its address counts it as one that is being opened.
    opens: AtomicBool,
    /// The server owes an answer to PING, or to the first flight, for a while.
    is_suspect: AtomicBool,
    sender: Mutex<Option<Sender>>,
    retired: Notify,
}

/// How a call is given to the connection.
pub(super) enum Sender {
    Http1(hyper::client::conn::http1::SendRequest<Body>),
    Http2(h2::client::SendRequest<Bytes>),
}

/// Which calls a connection may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Standing {
    /// Its first flight isn't answered for: none but the one that is in it.
    InFlight = 0,
    Ready = 1,
    /// Only those that no other can take.
    Old = 2,
    /// None any more. Those that are under way end.
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

    /// Takes a place. Only the pool does it, under its lock.
    pub(super) fn take(self: &Arc<Self>) -> Lease {
        self.in_use.fetch_add(1, Ordering::SeqCst);
        self.calls.fetch_add(1, Ordering::Relaxed);
        Lease { connection: self.clone(), place: Place::of(self.clone()) }
    }

    /// A first flight that was given up: the place is for others as soon as the handshake is complete.
    pub(super) fn has_place(&self) -> bool {
        matches!(self.standing(), Standing::Ready | Standing::Old) && self.in_use() < self.places()
    }

    /// It was given to the pool before its handshake is complete.
    pub(super) fn is_opening(&self) {
        self.opens.store(true, Ordering::Relaxed);
    }

    /// The handshake is complete: all calls may come. The stream's lock may be held.
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

    /// Nothing more is to be sent. The stream's lock may be held.
    pub(super) fn refuse_calls(&self) {
        self.standing.store(Standing::Retired as u8, Ordering::Release);
    }

    /// Others go first from now on.
    pub(super) fn grow_old(&self) {
        self.step(Standing::Ready, Standing::Old);
        if let Some(pool) = self.pool.upgrade() {
            pool.maintain();
        }
    }

    /// Takes no call any more, and ends when those under way have ended.
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
        // It fails where it went further already.
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

    pub(super) fn note_write(&self) {
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether it isn't kept warm.
    fn may_close(&self) -> bool {
        self.in_use() == 0 && self.pool.upgrade().is_none_or(|pool| pool.may_close(self))
    }

    /// The address is passed over for a while.
    fn blame_address(&self, cause: impl Error + Send + Sync + 'static) {
        if let Some(pool) = self.pool.upgrade() {
            pool.note_failure(self, Arc::new(cause));
        }
    }

    /// Nobody answered its first flight for a while: another address may answer the calls that wait.
    fn stalls(&self) {
        self.is_suspect.store(true, Ordering::Relaxed);
        if let Some(pool) = self.pool.upgrade() {
            pool.try_next();
        }
    }

    /// Nothing drives it any more.
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

    /// A place may be free for those that wait.
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

/// A call's place on a connection. It is free again when this is dropped.
pub(super) struct Lease {
    connection: Arc<Connection>,
    place: Place,
}

impl Lease {
    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// The place alone, for the body of the response.
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
