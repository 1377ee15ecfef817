//! The canaries of a pool: each sidecar gets a ticket at its own server, and offers those of the others there.
//!
//! Tickets travel through the store, sealed under the wrapping keys: a sidecar needs to reach its own server alone.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tessera_kit::clock::unix;
use tessera_proxy::logging::tracing;
use tessera_store::{Change, LeaseId, Store, StoreError, Transaction};
use tessera_vault::WrappingKeys;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::canary::{Canary, CanaryTicket};
use crate::metrics::{CanaryResult, RingMetrics};

/// The canary of one server.
pub(crate) struct ServerCanary {
    pub(crate) canary: Canary,
    pub(crate) address: SocketAddr,
    /// The server's name in the ring.
    pub(crate) member: String,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) wrapping: Arc<WrappingKeys>,
    /// The prefix of the pool's tickets in the store.
    pub(crate) prefix: String,
    /// How often to look.
    pub(crate) every: Duration,
    /// The id of the issuing key.
    pub(crate) issuing: watch::Receiver<Option<[u8; 16]>>,
    pub(crate) metrics: RingMetrics,
    /// The last result by the server that issued the ticket.
    pub(crate) results: CanaryResults,
}

/// The last result of each pair, by the names of the server that issued the ticket and of the one that it was offered to.
pub(crate) type CanaryResults = Arc<Mutex<BTreeMap<(String, String), CanaryResult>>>;

/// How long to wait after a turn that found a problem.
const SOON: Duration = Duration::from_secs(2);

/// How long after an activation to look.
const MOMENT: Duration = Duration::from_millis(500);

/// How many turns a ticket stays in the store.
const TURNS: u32 = 3;

impl ServerCanary {
    /// Looks, until its member leaves the ring.
    pub(crate) async fn run(mut self) {
        let mut problem = None;
        loop {
            let looked = self.turn().await;
            // What doesn't cross is looked at again soon: the other server may only have been later.
            let pause = if looked == Ok(true) { self.every } else { self.every.min(SOON) };
            let failed = looked.err();
            if failed.is_some() && failed != problem {
                let why = failed.as_deref().unwrap_or_default();
                tracing::warn!(member = self.member, "the canary can't look: {why}");
            }
            problem = failed;
            // A look follows each activation, when the other servers have had a moment to take part in it.
            match timeout(pause, self.issuing.changed()).await {
                Ok(Ok(())) => sleep(MOMENT).await,
                // The member has left the ring.
                Ok(Err(_)) => return,
                Err(_) => (),
            }
        }
    }

    /// Returns whether all tickets were resumed.
    async fn turn(&self) -> Result<bool, String> {
        let mut all = true;
        let own = self.canary.ticket(self.address).await;
        let own = own.map_err(|error| format!("no ticket at {}: {error}", self.address))?;
        self.publish(&own).await.map_err(|error| error.to_string())?;
        let snapshot = self.store.read(self.prefix.as_bytes()).await;
        for entry in snapshot.map_err(|error| error.to_string())?.entries {
            let name = entry.key.strip_prefix(self.prefix.as_bytes()).unwrap_or_default();
            let from = String::from_utf8_lossy(name).into_owned();
            let opened = self.wrapping.unwrap(&entry.key, &entry.value, unix());
            // Of a newer version, or under another wrapping key.
            let Some(ticket) = opened.and_then(|bytes| CanaryTicket::import(&bytes)) else {
                continue;
            };
            // Not of the resumption: there the client prefers the group that it had.
            let has_same_group = ticket.group() == own.group();
            let result = match self.canary.resumes(self.address, ticket).await {
                Ok(true) if has_same_group => CanaryResult::Resumed,
                Ok(true) => CanaryResult::OtherGroup,
                Ok(false) => CanaryResult::Full,
                Err(_) => CanaryResult::Failed,
            };
            all &= result == CanaryResult::Resumed;
            self.record(from, result);
        }
        Ok(all)
    }

    async fn publish(&self, ticket: &CanaryTicket) -> Result<(), StoreError> {
        let key = [self.prefix.as_bytes(), self.member.as_bytes()].concat();
        let Some(value) = self.wrapping.wrap(&key, &ticket.export(), unix()) else { return Ok(()) };
        // A lease each turn: a sidecar that ends leaves nothing for long.
        let lease: LeaseId = self.store.grant(self.every.saturating_mul(TURNS)).await?;
        let put = Change::Put { key, value, lease: Some(lease) };
        let transaction = Transaction { conditions: Vec::new(), changes: vec![put] };
        self.store.commit(transaction).await.map(drop)
    }

    fn record(&self, from: String, result: CanaryResult) {
        self.metrics.canary(&from, &self.member, result);
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        let pair = (from, self.member.clone());
        let before = results.insert(pair.clone(), result);
        drop(results);
        if result != CanaryResult::Resumed && before != Some(result) {
            let (from, to) = pair;
            tracing::warn!(
                from,
                to,
                "a ticket of one server was offered to the other: {}",
                result.text()
            );
        }
    }
}
