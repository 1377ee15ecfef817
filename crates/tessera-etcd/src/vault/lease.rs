//! Leases for a time: one for everything that is put while it is the newest.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::api::LeaseId;
use crate::client::{EtcdClient, EtcdError};

/// A lease per secret would cost etcd more than the secret. So each serves for a while, and lives for that
/// while and the longest lifetime of a secret after it. Nobody renews it: what a server put outlives the
/// server.
pub(super) struct Leases {
    lifetime: Duration,
    state: Mutex<State>,
}

struct State {
    newest: Option<(LeaseId, Instant)>,
    /// etcd gave none; it is not asked again before.
    not_before: Instant,
}

/// How long a lease serves. When it ends, all that lives by it goes in one step, in which etcd answers nobody:
/// 70 ms for 20,000 keys, a second for 100,000.
const SERVES: Duration = Duration::from_secs(60);

/// How long nobody asks again for a lease that etcd didn't give.
const PAUSE: Duration = Duration::from_millis(500);

impl Leases {
    /// Leases for what lives `lifetime` at most.
    pub(super) fn new(lifetime: Duration) -> Self {
        let state = State { newest: None, not_before: Instant::now() };
        Self { lifetime, state: Mutex::new(state) }
    }

    /// The lease of this time; `None` if etcd gives none.
    pub(super) async fn current(&self, client: &EtcdClient) -> Option<LeaseId> {
        let mut state = timeout_at(client.deadline(), self.state.lock()).await.ok()?;
        let now = Instant::now();
        if let Some((lease, until)) = &state.newest
            && now < *until
        {
            return Some(lease.clone());
        }
        if now < state.not_before {
            return None;
        }
        match client.grant(SERVES.saturating_add(self.lifetime)).await {
            Ok(lease) => {
                // Counted from before the grant: it has at least the lifetime left then.
                state.newest = Some((lease.clone(), now + SERVES));
                Some(lease)
            }
            Err(error) => {
                tracing::warn!("no lease for one-time keys: {error}");
                state.not_before = Instant::now() + PAUSE;
                None
            }
        }
    }

    /// A request failed that used this lease. If it has ended, as it may if this machine slept, the next
    /// who asks gets another.
    pub(super) fn after(&self, error: &EtcdError, lease: &LeaseId) {
        let EtcdError::Unknown(why) = error else { return };
        if why.contains("lease not found")
            && let Ok(mut state) = self.state.try_lock()
            && state.newest.as_ref().is_some_and(|(newest, _)| newest == lease)
        {
            state.newest = None;
        }
    }
}
