//! Moves the clients of drained proxies to others, as long as the drains last.

use std::sync::Arc;
use std::time::Duration;

use tessera_bindings::{BindingError, BindingState, ClientName, ProxyName, StepRefused};
use tessera_proxy::logging::tracing;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::attempts::Attempts;
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
    attempts: Attempts,
}

/// How often to look at all clients while more moves may begin.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How often to look for clients that come to drained proxies later, or back.
const LOOK_WHEN_DONE_EVERY: Duration = Duration::from_secs(1);

impl Drainer {
    pub(crate) fn new(mover: Arc<Mover>, moves: &MovesSection) -> Self {
        Self {
            mover,
            at_once: moves.drain_at_once,
            pace: Duration::from_secs(1) / moves.drain_per_second.max(1),
            paid_until: Instant::now(),
            attempts: Attempts::default(),
        }
    }

    /// Drains, as long as the process runs.
    pub(crate) async fn run(mut self) {
        let mut changes = self.mover.table.changes();
        loop {
            if self.mover.table.drains().is_empty() {
                self.attempts.clear();
                if changes.changed().await.is_err() {
                    return;
                }
                continue;
            }
            let may_more_begin = self.mover.table.is_current() && self.look().await;
            sleep(if may_more_begin { LOOK_EVERY } else { LOOK_WHEN_DONE_EVERY }).await;
        }
    }

    /// Begins as many moves as may begin now. Returns whether more may begin soon.
    async fn look(&mut self) -> bool {
        let now = Instant::now();
        self.attempts.forget(now);
        let mut placement = Placement::of(&self.mover.table);
        let is_drained =
            |name: &ProxyName| placement.proxies.get(name).is_some_and(|proxy| proxy.is_drained);
        let (mut preparing, mut candidates) = (0, Vec::new());
        let attempts = &mut self.attempts;
        self.mover.table.for_each_binding(|client, binding| {
            if !is_drained(binding.owner()) {
                return;
            }
            match &binding.state {
                BindingState::Preparing { .. } => {
                    preparing += 1;
                    attempts.is_moving(client, now);
                }
                BindingState::Announced { .. } => attempts.is_moving(client, now),
                BindingState::Stable { owner } => {
                    if attempts.is_due(client, now) && candidates.len() < self.at_once {
                        candidates.push((client.clone(), owner.clone()));
                    }
                }
                BindingState::Switched { .. } => (),
            }
        });
        let found = candidates.len();
        candidates.truncate(self.at_once.saturating_sub(preparing).min(self.allowance(now)));
        let is_held_back = preparing > 0 || candidates.len() < found;
        let mut begun = JoinSet::new();
        for (client, owner) in candidates {
            let Some(next) = placement.best(&owner, self.attempts.last(&client)).cloned() else {
                continue;
            };
            placement.place(&owner, &next);
            self.paid_until += self.pace;
            let bindings = self.mover.bindings.clone();
            begun.spawn(async move {
                let result = bindings.begin(&client, &next).await;
                (client, next, result.map(|_| ()))
            });
        }
        let may_more_begin = is_held_back || !begun.is_empty();
        while let Some(joined) = begun.join_next().await {
            let Ok((client, to, result)) = joined else { continue };
            self.note(client, to, result);
        }
        may_more_begin
    }

    /// Returns how many moves may begin now, at most those of a second.
    fn allowance(&mut self, now: Instant) -> usize {
        let earliest = now.checked_sub(Duration::from_secs(1)).unwrap_or(now);
        self.paid_until = self.paid_until.max(earliest);
        let unused = now.saturating_duration_since(self.paid_until);
        usize::try_from(unused.as_nanos() / self.pace.as_nanos().max(1)).unwrap_or(usize::MAX)
    }

    fn note(&mut self, client: ClientName, to: ProxyName, result: Result<(), BindingError>) {
        let drained = &self.mover.metrics.drained;
        let (is_under_way, pause) = match result {
            // Found at its owner again, the move was given up.
            Ok(()) => {
                drained.count(DrainResult::Begun);
                (true, None)
            }
            Err(error) => {
                drained.count(DrainResult::Refused);
                tracing::debug!(%to, "a client of a drained proxy doesn't move yet: {error}");
                match error {
                    BindingError::Refused(StepRefused::TooSoon(wait)) => (false, Some(wait)),
                    _ => (false, None),
                }
            }
        };
        self.attempts.note(client, to, is_under_way, pause);
    }
}
