//! Leases shared by all secrets put during an interval.

use std::time::Duration;

use tessera_store::{LeaseId, StoreError};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::client::EtcdClient;

/// A lease per secret would cost etcd more than the secret. So each lease serves for an interval, and lives for that
/// and the longest lifetime of a secret after it. Leases are not renewed: secrets outlive the server that put them.
pub(super) struct Leases {
    lifetime: Duration,
    state: Mutex<State>,
}

struct State {
    newest: Option<(LeaseId, Instant)>,
    /// etcd failed to grant one; no request before this.
    not_before: Instant,
}

/// How long a lease serves. When it ends, etcd deletes everything under it in one step, during which it answers no
/// requests: 70 ms for 20,000 keys, a second for 100,000.
const SERVES: Duration = Duration::from_secs(60);

/// How long to wait after etcd failed to grant a lease.
const PAUSE: Duration = Duration::from_millis(500);

impl Leases {
    /// Creates leases for secrets that live `lifetime` at most.
    pub(super) fn new(lifetime: Duration) -> Self {
        let state = State { newest: None, not_before: Instant::now() };
        Self { lifetime, state: Mutex::new(state) }
    }

    /// Returns the present lease; `None` if etcd grants none.
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
                // Counted from before the grant, so that it still has at least the lifetime then.
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

    /// Drops the lease if a request with it failed. It may have ended, if this machine slept; the next caller gets
    /// another.
    pub(super) fn after(&self, error: &StoreError, lease: &LeaseId) {
        let (StoreError::Refused(why) | StoreError::Unknown(why)) = error else { return };
        if why.contains("lease not found")
            && let Ok(mut state) = self.state.try_lock()
            && state.newest.as_ref().is_some_and(|(newest, _)| newest == lease)
        {
            state.newest = None;
        }
    }
}
