//! Moves the clients of drained proxies to others, as long as the drains last.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tessera_bindings::{BindingError, BindingState, ClientName, ProxyName, StepRefused};
use tessera_proxy::logging::tracing;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::{Mover, Placement};
use crate::config::MovesSection;
use crate::metrics::DrainResult;

/// Moves the clients of drained proxies. Every orchestrator has one: those that choose the same client agree in the store.
pub(crate) struct Drainer {
    mover: Arc<Mover>,
    at_once: usize,
    /// The time between two moves, on average.
    pace: Duration,
    /// Up to when the pace is used.
    paid_until: Instant,
    /// The clients that were tried.
    tried: HashMap<ClientName, Attempt>,
}

struct Attempt {
    to: ProxyName,
    next: Instant,
    count: u32,
}

/// How often to look for clients while something is drained.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The first pause before a client is tried again; it doubles each time, up to the longest.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How long a client that was tried is remembered.
const REMEMBER: Duration = Duration::from_secs(600);

impl Drainer {
    pub(crate) fn new(mover: Arc<Mover>, moves: &MovesSection) -> Self {
        Self {
            mover,
            at_once: moves.drain_at_once,
            pace: Duration::from_secs(1) / moves.drain_per_second.max(1),
            paid_until: Instant::now(),
            tried: HashMap::new(),
        }
    }

    /// Drains, as long as the process runs.
    pub(crate) async fn run(mut self) {
        let mut changes = self.mover.table.changes();
        loop {
            if self.mover.table.drains().is_empty() {
                self.tried.clear();
                if changes.changed().await.is_err() {
                    return;
                }
                continue;
            }
            if self.mover.table.is_current() {
                self.look().await;
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Begins as many moves as may begin now.
    async fn look(&mut self) {
        let now = Instant::now();
        self.tried.retain(|_, attempt| now < attempt.next + REMEMBER);
        let mut placement = Placement::of(&self.mover.table);
        let is_drained =
            |name: &ProxyName| placement.proxies.get(name).is_some_and(|proxy| proxy.is_drained);
        if !placement.proxies.values().any(|proxy| proxy.is_drained && proxy.clients > 0) {
            return;
        }
        let (mut preparing, mut candidates) = (0, Vec::new());
        self.mover.table.for_each_binding(|client, binding| match &binding.state {
            BindingState::Preparing { owner, .. } if is_drained(owner) => preparing += 1,
            BindingState::Stable { owner } if is_drained(owner) => {
                let waits = self.tried.get(client).is_some_and(|attempt| now < attempt.next);
                if !waits && candidates.len() < self.at_once {
                    candidates.push((client.clone(), owner.clone()));
                }
            }
            _ => (),
        });
        candidates.truncate(self.at_once.saturating_sub(preparing).min(self.allowance(now)));
        let mut begun = JoinSet::new();
        for (client, owner) in candidates {
            let before = self.tried.get(&client).map(|attempt| &attempt.to);
            let Some(next) = placement.best(&owner, before).cloned() else { continue };
            placement.place(&owner, &next);
            self.paid_until += self.pace;
            let bindings = self.mover.bindings.clone();
            begun.spawn(async move {
                let result = bindings.begin(&client, &next).await;
                (client, next, result.map(|_| ()))
            });
        }
        while let Some(joined) = begun.join_next().await {
            let Ok((client, to, result)) = joined else { continue };
            self.note(client, to, result);
        }
    }

    /// Returns how many moves may begin now, at most those of a second.
    fn allowance(&mut self, now: Instant) -> usize {
        let earliest = now.checked_sub(Duration::from_secs(1)).unwrap_or(now);
        self.paid_until = self.paid_until.max(earliest);
        let unused = now.saturating_duration_since(self.paid_until);
        usize::try_from(unused.as_nanos() / self.pace.as_nanos().max(1)).unwrap_or(usize::MAX)
    }

    fn note(&mut self, client: ClientName, to: ProxyName, result: Result<(), BindingError>) {
        let count = self.tried.get(&client).map_or(0, |attempt| attempt.count);
        let doubled = PAUSE.saturating_mul(1 << count.min(6)).min(LONGEST_PAUSE);
        let mut pause = doubled + Duration::from_millis(fastrand::u64(..250));
        let drained = &self.mover.metrics.drained;
        match result {
            // Found at its owner again, the move was given up.
            Ok(()) => drained.count(DrainResult::Begun),
            Err(error) => {
                drained.count(DrainResult::Refused);
                if let BindingError::Refused(StepRefused::TooSoon(wait)) = &error {
                    pause = *wait;
                }
                tracing::debug!(%to, "a client of a drained proxy doesn't move yet: {error}");
            }
        }
        let next = Instant::now() + pause;
        self.tried.insert(client, Attempt { to, next, count: count.saturating_add(1) });
    }
}
