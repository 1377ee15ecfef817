//! A member of the ring: its tasks, and what its owner may ask of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tessera::crypto::{Provider, RandomFailed};
use tessera_store::{Store, StoreError};
use tessera_vault::{TicketKeyRing, WrappingKeys};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};

use crate::cache::RingCache;
use crate::change::ChangeError;
use crate::entry::wiped;
use crate::install::Installer;
use crate::known::{KnownKeys, hex};
use crate::options::RingOptions;
use crate::shared::{Clock, Shared, system_clock};
use crate::status::RingStatus;
use crate::stored::Names;
use crate::watched::WatchedEntries;

/// Keeps the ticket keys of a fleet in a store, and the server of this member in step with them.
///
/// A key is introduced in two phases. First it is *distributed*: every live member's server takes it, to open tickets but
/// not to seal them, and the member acknowledges it. With the next rotation it is *activated*, if all have, and seals from
/// then on; in the same step the key after it is distributed. So no server receives a ticket of another that it can't open,
/// and no clock needs to be right: times only decide when a key stops, with [`Rotation::skew`] to spare on both sides. The
/// first member to see that a step is due performs it, by a transaction that only one of them wins; there is no leader.
///
/// A key is distributed a whole rotation before it seals, because some servers know no other way: HAProxy begins to seal
/// with a key when it gets the one after it. The price is that a stolen ring opens tickets of one rotation more.
///
/// A member that can't reach the store continues with the keys that it has, to their end. After
/// [`RingOptions::counts_as_live_for`] the others no longer wait for it, and tickets under keys that it doesn't have cost
/// their clients a full handshake there: a missing key never fails a handshake.
///
/// Entries of a newer version are left alone: a member that can't read a key doesn't acknowledge it, so the key isn't
/// activated before the last such member is gone. Unknown fields are ignored.
///
/// Keys are wrapped under `wrapping` keys, which don't come from the store: reading the store reveals none of them.
///
/// [`Rotation::skew`]: tessera_vault::Rotation::skew
pub struct FleetRing {
    shared: Arc<Shared>,
}

/// What a member works with.
pub struct RingParts {
    /// Where the ring is.
    pub store: Arc<dyn Store>,
    /// Generates and derives keys; its algorithms must be those of all members.
    pub provider: Provider,
    /// Keys for [`WrappingPurpose::TicketKeys`](tessera_vault::WrappingPurpose::TicketKeys), the same at all members.
    pub wrapping: Arc<WrappingKeys>,
    /// The server of this member.
    pub installer: Arc<dyn Installer>,
    /// Keeps the ring, sealed, for a start at which the store can't be reached; `None`: the member then has no keys.
    pub cache: Option<Arc<dyn RingCache>>,
    /// The time since the Unix epoch.
    pub clock: Clock,
}

impl FleetRing {
    /// Opens the ring, whether or not the store can be reached.
    ///
    /// Its tasks run on the tokio runtime in which this is called, and end with the ring.
    ///
    /// # Errors
    /// If the provider has no randomness.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn open(parts: RingParts, options: RingOptions) -> Result<Self, RandomFailed> {
        let mut instance = [0; 16];
        parts.provider.random.fill(&mut instance)?;
        let RingParts { store, provider, wrapping, installer, cache, clock } = parts;
        let name = options.member.name.clone().unwrap_or_else(|| hex(&instance));
        let names = Names::new(&options.prefix);
        let mut known = KnownKeys::default();
        if let Some(cache) = &cache {
            wiped(&provider, || known.restore(&**cache, &names.all(), &wrapping, clock()));
        }
        let shared = Arc::new(Shared {
            store,
            provider,
            wrapping,
            installer,
            cache,
            clock,
            names,
            member: name.into_bytes(),
            options,
            instance,
            turn: tokio::sync::Mutex::default(),
            known: Mutex::new(known),
            lease: Mutex::default(),
            status: Mutex::default(),
            watched: Mutex::default(),
            issuing: watch::Sender::default(),
            changed: Notify::new(),
            closed: AtomicBool::new(false),
        });
        tokio::spawn(look(Arc::downgrade(&shared)));
        tokio::spawn(watch_store(Arc::downgrade(&shared)));
        tokio::spawn(live(Arc::downgrade(&shared)));
        Ok(Self { shared })
    }

    /// Opens the ring of one of Tessera's own servers, and returns it with the keys for
    /// [`ServerConfig::tickets`](tessera::ServerConfig::tickets), which are empty until the store was reached.
    ///
    /// # Errors
    /// If the provider has no randomness.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn of_server(
        store: Arc<dyn Store>,
        provider: &Provider,
        wrapping: Arc<WrappingKeys>,
        options: RingOptions,
    ) -> Result<(Self, Arc<TicketKeyRing>), RandomFailed> {
        let keys = Arc::new(TicketKeyRing::new(provider));
        let parts = RingParts {
            store,
            provider: *provider,
            wrapping,
            installer: keys.clone(),
            cache: None,
            clock: system_clock(),
        };
        Ok((Self::open(parts, options)?, keys))
    }

    /// Returns what the last read of the store found.
    #[must_use]
    pub fn status(&self) -> RingStatus {
        self.shared.status().clone()
    }

    /// Returns the id of the key that seals, which reports each activation.
    #[must_use]
    pub fn issuing(&self) -> watch::Receiver<Option<[u8; 16]>> {
        self.shared.issuing.subscribe()
    }

    /// Activates the next key now, and distributes the one after it.
    ///
    /// # Errors
    /// If a live member doesn't hold the next key, or the store can't be reached.
    pub async fn rotate(&self) -> Result<(), ChangeError> {
        self.shared.rotate().await
    }

    /// Replaces all keys at once, without waiting for acknowledgements: the earlier ones open no ticket any more at members
    /// that reach the store. Their clients make full handshakes. A member that can't reach the store goes on with its keys
    /// until they end.
    ///
    /// # Errors
    /// If the store can't be reached, or other changes win the race five times.
    pub async fn revoke(&self) -> Result<(), ChangeError> {
        self.shared.revoke().await
    }

    /// Gives the keys to the server again, for example because it was restarted.
    pub async fn install_again(&self) {
        self.shared.turn.lock().await.installed = None;
        self.shared.changed.notify_one();
    }

    /// Withdraws this member, so that the others don't wait for it. Its server keeps its keys.
    pub async fn close(&self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        self.shared.changed.notify_waiters();
        // After a look in progress, which may join.
        let _turn = self.shared.turn.lock().await;
        self.shared.withdraw().await;
    }
}

impl Drop for FleetRing {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        self.shared.changed.notify_waiters();
    }
}

/// Reads the store after each change, and at intervals.
async fn look(shared: Weak<Shared>) {
    // From the cache, before the store is reached.
    if let Some(ring) = shared.upgrade() {
        let mut turn = ring.turn.lock().await;
        ring.enforce(&mut turn).await;
    }
    loop {
        let Some(ring) = shared.upgrade().filter(|ring| !ring.is_closed()) else { return };
        let mut turn = ring.turn.lock().await;
        let again = match ring.look(&mut turn).await {
            Ok(again) => again,
            Err(error) => {
                ring.set_problem(Some(format!(
                    "the ticket-key ring keeps its current keys, until these end: {error}"
                )));
                // Times are enforced here, whatever becomes of the store.
                ring.enforce(&mut turn).await;
                false
            }
        };
        drop(turn);
        if !again {
            ring.wait().await;
        }
    }
}

/// How long to gather the acknowledgements of a key before a look at them.
const SETTLE: Duration = Duration::from_millis(50);

/// Watches for changes. Without it they are only noticed a little later.
async fn watch_store(shared: Weak<Shared>) {
    loop {
        let Some(ring) = shared.upgrade().filter(|ring| !ring.is_closed()) else { return };
        let ended = ring.watch().await;
        *ring.watched() = None;
        if let Err(error) = ended {
            tracing::debug!("the ticket-key ring can't watch for changes: {error}");
        }
        let pause = ring.options.look_every;
        drop(ring);
        tokio::time::sleep(pause).await;
    }
}

/// Renews the lease that shows that this member is live.
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
        let prefix = self.names.all();
        let read = self.store.read(&prefix).await?;
        let mut changes = self.store.watch(&prefix, read.revision).await?;
        // Changes may have happened between the last look and this read.
        *self.watched() = Some(WatchedEntries::new(read));
        self.changed.notify_one();
        let members = self.names.members();
        let mut settles = None;
        while !self.is_closed() {
            let wake = settles.unwrap_or_else(|| Instant::now() + self.options.look_every);
            let Ok(events) = timeout_at(wake, changes.next()).await else {
                if settles.take().is_some() {
                    self.changed.notify_one();
                }
                continue;
            };
            let events = events?;
            // A key is urgent. Acknowledgements come from all members at once, and only count together.
            let is_urgent = !events.iter().all(|event| event.key().starts_with(&members));
            if let Some(watched) = &mut *self.watched() {
                events.into_iter().for_each(|event| watched.apply(event));
            }
            match is_urgent {
                true => self.changed.notify_one(),
                false => drop(settles.get_or_insert_with(|| Instant::now() + SETTLE)),
            }
        }
        Ok(())
    }

    async fn stay_alive(&self) {
        let lease = self.lease().clone();
        let Some(lease) = lease else { return };
        // Without an answer too: late requests would keep a member live that can't follow the ring.
        if !matches!(self.store.keep_alive(&lease).await, Ok(true)) {
            let mut current = self.lease();
            if current.as_ref() == Some(&lease) {
                *current = None;
            }
            drop(current);
            self.changed.notify_one();
        }
    }
}
