//! The ticket-key ring of a fleet, which rotates by itself.
//!
//! Under the prefix of the ring:
//! - `next`: the key that is being distributed, at most one, with its own lease;
//! - `k/` and a key's id: a key that was activated, with its own lease;
//! - `a/` and a server's random id: the server is live (by a lease that it renews), and has these keys.

mod entry;
mod rotation;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use http_body_util::BodyExt;
use tessera::crypto::{Provider, RandomFailed};
use tessera_store::{LeaseId, StoreError};
use tessera_vault::{Rotation, TicketKeyRing, WrappingKeys};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::api::WatchRequest;
use crate::client::EtcdClient;

/// Keeps the ticket keys of a fleet in etcd, and a [`TicketKeyRing`] of this process in step with them.
///
/// A key is introduced in two phases. First it is *distributed*: every live server installs it, to open tickets but not
/// to seal them, and acknowledges it. When all have, it is *activated*, and seals from then on. So no server receives a
/// ticket of another that it can't open, and no clock needs to be right: times only decide when a key stops, with a
/// quarter of an hour to spare on both sides. The first server to see that a step is due performs it, by a transaction
/// that only one of them wins; there is no leader.
///
/// A server that can't reach etcd continues with the keys that it has. After [`RingOptions::counts_as_live_for`] the
/// others no longer wait for it, and tickets under keys that it doesn't have cost their clients a full handshake there:
/// a missing key never fails a handshake.
///
/// Entries of a newer version are left alone: a server that can't read a key doesn't acknowledge it, so the key isn't
/// activated before the last such server is gone. Unknown fields are ignored.
///
/// Keys are wrapped under `wrapping` keys, which don't come from etcd: reading etcd reveals none of them.
pub struct EtcdRing {
    shared: Arc<Shared>,
}

/// How a ring rotates.
///
/// All servers of a fleet need the same options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingOptions {
    /// The prefix of all its keys in etcd.
    pub prefix: String,
    /// How long a key seals. After half of that the next one is distributed.
    pub issue_for: Duration,
    /// How long a key still opens after that: the lifetime of tickets.
    pub open_for: Duration,
    /// How long a server that can't reach etcd counts as live, in whole seconds.
    pub counts_as_live_for: Duration,
    /// How often a server reads etcd, besides watching for changes.
    pub look_every: Duration,
}

impl RingOptions {
    /// Creates options with keys that seal for 12 hours and open for another 24.
    pub fn new(prefix: impl Into<String>) -> Self {
        let Rotation { issue_for, open_for } = Rotation::default();
        Self {
            prefix: prefix.into(),
            issue_for,
            open_for,
            counts_as_live_for: Duration::from_secs(15),
            look_every: Duration::from_secs(3),
        }
    }

    fn rotation(&self) -> Rotation {
        Rotation { issue_for: self.issue_for, open_for: self.open_for }
    }
}

/// What a ring found when it last read etcd.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RingStatus {
    /// How many reads succeeded.
    pub looks: u64,
    /// The ids of the active keys, those that seal the longest first.
    pub active: Vec<[u8; 16]>,
    /// The key that is being distributed.
    pub distributing: Option<[u8; 16]>,
    /// How many live servers have not acknowledged it.
    pub waiting_for: usize,
    /// Entries that this server can't read: of a newer version, or under a wrapping key that it doesn't have.
    pub unreadable: usize,
}

struct Shared {
    client: EtcdClient,
    provider: Provider,
    wrapping: Arc<WrappingKeys>,
    options: RingOptions,
    ring: Arc<TicketKeyRing>,
    clock: Clock,
    /// The id of this server, for its life.
    server: [u8; 16],
    /// Its lease, and its last acknowledgement.
    lease: tokio::sync::Mutex<Option<Membership>>,
    changed: Notify,
    closed: AtomicBool,
    status: Mutex<RingStatus>,
}

struct Membership {
    lease: LeaseId,
    acknowledged: Option<Vec<[u8; 16]>>,
}

/// Since the Unix epoch.
type Clock = Box<dyn Fn() -> Duration + Send + Sync>;

impl EtcdRing {
    /// Opens the ring, whether or not etcd can be reached.
    ///
    /// Its tasks run on the tokio runtime in which this is called, and end with the ring. `wrapping` keys are for
    /// [`WrappingPurpose::TicketKeys`](tessera_vault::WrappingPurpose::TicketKeys).
    ///
    /// # Errors
    /// If the provider has no randomness.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn open(
        client: EtcdClient,
        provider: &Provider,
        wrapping: Arc<WrappingKeys>,
        options: RingOptions,
    ) -> Result<Self, RandomFailed> {
        let system = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let clock = Box::new(move || system().unwrap_or_default());
        Self::open_with_clock(client, provider, wrapping, options, clock)
    }

    /// Opens the ring with this clock (since the Unix epoch), which tests set wrong.
    ///
    /// # Errors
    /// Like [`open`](Self::open).
    ///
    /// # Panics
    /// Like [`open`](Self::open).
    pub fn open_with_clock(
        client: EtcdClient,
        provider: &Provider,
        wrapping: Arc<WrappingKeys>,
        options: RingOptions,
        clock: Box<dyn Fn() -> Duration + Send + Sync>,
    ) -> Result<Self, RandomFailed> {
        let mut server = [0; 16];
        provider.random.fill(&mut server)?;
        let shared = Arc::new(Shared {
            client,
            provider: *provider,
            wrapping,
            options,
            ring: Arc::new(TicketKeyRing::new(provider)),
            clock,
            server,
            lease: tokio::sync::Mutex::new(None),
            changed: Notify::new(),
            closed: AtomicBool::new(false),
            status: Mutex::default(),
        });
        tokio::spawn(look(Arc::downgrade(&shared)));
        tokio::spawn(watch(Arc::downgrade(&shared)));
        tokio::spawn(live(Arc::downgrade(&shared)));
        Ok(Self { shared })
    }

    /// Returns the ring, for [`ServerConfig::tickets`](tessera::ServerConfig::tickets).
    ///
    /// It is empty until etcd was reached.
    pub fn keys(&self) -> Arc<TicketKeyRing> {
        self.shared.ring.clone()
    }

    /// Returns what the last read of etcd found.
    pub fn status(&self) -> RingStatus {
        self.shared.status().clone()
    }

    /// Withdraws this server, so that the others don't wait for it.
    ///
    /// The keys stay.
    pub async fn close(self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        if let Some(alive) = self.shared.lease.lock().await.take()
            && let Err(error) = self.shared.client.revoke(&alive.lease).await
        {
            tracing::debug!("could not revoke a server's lease, which will expire: {error}");
        }
    }
}

impl Drop for EtcdRing {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        self.shared.changed.notify_waiters();
    }
}

impl Shared {
    fn status(&self) -> std::sync::MutexGuard<'_, RingStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    fn key(&self, name: &str) -> Vec<u8> {
        format!("{}{name}", self.options.prefix).into_bytes()
    }
}

/// Reads etcd after each change, and at intervals.
async fn look(shared: Weak<Shared>) {
    loop {
        let Some(ring) = shared.upgrade().filter(|ring| !ring.is_closed()) else { return };
        let again = match ring.look().await {
            Ok(again) => again,
            Err(error) => {
                tracing::warn!("the ticket-key ring keeps its current keys: {error}");
                false
            }
        };
        if !again {
            let _ = timeout(ring.options.look_every, ring.changed.notified()).await;
        }
    }
}

/// Watches for changes. Without it they are only noticed a little later.
async fn watch(shared: Weak<Shared>) {
    loop {
        let Some(ring) = shared.upgrade().filter(|ring| !ring.is_closed()) else { return };
        if let Err(error) = ring.watch().await {
            tracing::debug!("the ticket-key ring can't watch for changes: {error}");
        }
        tokio::time::sleep(ring.options.look_every).await;
    }
}

/// Renews the lease that shows that this server is live.
async fn live(shared: Weak<Shared>) {
    loop {
        let Some(ring) = shared.upgrade().filter(|ring| !ring.is_closed()) else { return };
        ring.stay_alive().await;
        let pause = ring.options.counts_as_live_for / 3;
        drop(ring);
        tokio::time::sleep(pause).await;
    }
}

impl Shared {
    async fn watch(&self) -> Result<(), StoreError> {
        let request = WatchRequest::new(&self.key(""), 0);
        let (mut events, _sender) = self.client.stream(&request).await?;
        // Changes may have happened between the last read and the watch.
        self.changed.notify_one();
        while !self.is_closed() {
            // Changes are read afresh: an event only matters as a signal.
            match timeout(self.options.look_every, events.frame()).await {
                Ok(Some(Ok(_))) => self.changed.notify_one(),
                Ok(Some(Err(error))) => return Err(StoreError::Unknown(error.to_string())),
                Ok(None) => return Ok(()),
                Err(_) => (),
            }
        }
        Ok(())
    }

    async fn stay_alive(&self) {
        let lease = self.lease.lock().await.as_ref().map(|alive| alive.lease.clone());
        let Some(lease) = lease else { return };
        if matches!(self.client.keep_alive(&lease).await, Ok(false)) {
            *self.lease.lock().await = None;
            self.changed.notify_one();
        }
    }
}
