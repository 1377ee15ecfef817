//! What the tasks of a member share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tessera::crypto::Provider;
use tessera_store::{LeaseId, Revision, Store};
use tessera_vault::WrappingKeys;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout};

use crate::acknowledgement::Acknowledgement;
use crate::cache::RingCache;
use crate::install::Installer;
use crate::known::KnownKeys;
use crate::options::RingOptions;
use crate::status::RingStatus;
use crate::stored::Names;
use crate::watched::WatchedEntries;

pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) provider: Provider,
    pub(crate) wrapping: Arc<WrappingKeys>,
    pub(crate) installer: Arc<dyn Installer>,
    pub(crate) cache: Option<Arc<dyn RingCache>>,
    pub(crate) clock: Clock,
    pub(crate) options: RingOptions,
    pub(crate) names: Names,
    /// The name of this member.
    pub(crate) member: Vec<u8>,
    /// Random, for this life of the member.
    pub(crate) instance: [u8; 16],
    /// Held during a whole look or change: there is one at a time.
    pub(crate) turn: tokio::sync::Mutex<Turn>,
    pub(crate) known: Mutex<KnownKeys>,
    /// The lease that shows that this member is live.
    pub(crate) lease: Mutex<Option<LeaseId>>,
    pub(crate) status: Mutex<RingStatus>,
    /// None: no watch is open.
    pub(crate) watched: Mutex<Option<WatchedEntries>>,
    /// The id of the issuing key.
    pub(crate) issuing: watch::Sender<Option<[u8; 16]>>,
    pub(crate) changed: Notify,
    pub(crate) closed: AtomicBool,
}

/// What the last looks led to.
#[derive(Default)]
pub(crate) struct Turn {
    pub(crate) installed: Option<InstalledKeys>,
    /// When the server last confirmed them.
    pub(crate) installed_at: Option<Instant>,
    /// Since when the server refuses keys, and why.
    pub(crate) refusal: Option<(Duration, String)>,
    pub(crate) acknowledged: Option<Acknowledgement>,
    pub(crate) joined_at: Option<Duration>,
    /// The earliest revision of the store that is news to this member.
    pub(crate) needs: Revision,
    /// Another process joined under this member's name.
    pub(crate) is_superseded: bool,
    /// What the cache has: the greatest epoch, and the ids.
    pub(crate) saved: Option<(u64, Vec<[u8; 16]>)>,
}

/// The keys that a server confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InstalledKeys {
    pub(crate) issuing: Option<[u8; 16]>,
    pub(crate) next: Option<[u8; 16]>,
    /// Id, and the fingerprint for acknowledgements, in order.
    pub(crate) keys: Vec<([u8; 16], [u8; 16])>,
}

impl Shared {
    pub(crate) fn status(&self) -> MutexGuard<'_, RingStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn known(&self) -> MutexGuard<'_, KnownKeys> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn watched(&self) -> MutexGuard<'_, Option<WatchedEntries>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lease(&self) -> MutexGuard<'_, Option<LeaseId>> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Ends this member's lease, if it has one.
    pub(crate) async fn withdraw(&self) {
        let lease = self.lease().take();
        if let Some(lease) = lease
            && let Err(error) = self.store.revoke(&lease).await
        {
            tracing::debug!("could not revoke a member's lease, which will expire: {error}");
        }
    }

    /// Waits for a change of the store, for the next look, or until a key's time has come.
    pub(crate) async fn wait(&self) {
        let now = (self.clock)();
        let next = self.known().next_change(now).map(|at| at.saturating_sub(now));
        let pause = next.map_or(self.options.look_every, |next| next.min(self.options.look_every));
        // At least a moment: a time has come when it has passed.
        let _ = timeout(pause.max(Duration::from_millis(1)), self.changed.notified()).await;
    }
}

/// The time since the Unix epoch.
pub type Clock = Box<dyn Fn() -> Duration + Send + Sync>;

/// Returns the system's clock.
#[must_use]
pub fn system_clock() -> Clock {
    let system = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Box::new(move || system().unwrap_or_default())
}
