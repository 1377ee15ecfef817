//! What is counted and logged about moves, as the store shows them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tessera_bindings::{
    Binding, BindingState, BindingTable, ChangedBinding, ClientName, Generation, MoveFailure,
    ProxyName,
};
use tessera_proxy::logging::tracing;

use crate::metrics::{MoveMetrics, MoveStep, observe};
use crate::state::shown;

/// Follows the moves of all orchestrators.
pub(crate) struct Tracker {
    metrics: Arc<MoveMetrics>,
    state: Mutex<Tracked>,
}

#[derive(Default)]
struct Tracked {
    /// The moves that were requested here, until they show.
    called: HashMap<ClientName, (Generation, Instant)>,
    moves: HashMap<ClientName, TrackedMove>,
}

/// A move between its begin and its end.
struct TrackedMove {
    generation: Generation,
    from: ProxyName,
    to: ProxyName,
    /// When it was requested here.
    called: Option<Instant>,
    begun: Instant,
    announced: Option<Instant>,
    switched: Option<Instant>,
}

impl Tracker {
    pub(crate) fn new(metrics: Arc<MoveMetrics>) -> Self {
        Self { metrics, state: Mutex::default() }
    }

    /// Notes when a move that has begun was requested here. Its begin may show before or after this call.
    pub(crate) fn begun(&self, client: &ClientName, binding: &Binding, at: Instant) {
        let is_under_way = matches!(
            binding.state,
            BindingState::Preparing { .. } | BindingState::Announced { .. }
        );
        if !is_under_way {
            return;
        }
        let mut state = self.state();
        match state.moves.get_mut(client) {
            Some(it) if it.generation == binding.generation => {
                if it.called.is_none() {
                    it.called = Some(at);
                    if let Some(announced) = it.announced {
                        observe(&self.metrics.announced, announced.saturating_duration_since(at));
                    }
                }
            }
            _ => drop(state.called.insert(client.clone(), (binding.generation, at))),
        }
    }

    /// Returns how many moves are between their begin and the switch.
    pub(crate) fn moving(&self) -> usize {
        self.state().moves.values().filter(|it| it.switched.is_none()).count()
    }

    /// Follows the table, until that is gone.
    pub(crate) async fn run(self: Arc<Self>, table: BindingTable) {
        let mut changes = table.changed_bindings();
        self.look_at_all(&table);
        while let Some(changed) = changes.next().await {
            match changed {
                ChangedBinding::Of(client) => self.look(&client, table.binding(&client).as_ref()),
                ChangedBinding::All => self.look_at_all(&table),
            }
        }
    }

    fn look_at_all(&self, table: &BindingTable) {
        let mut moving = Vec::new();
        table.for_each_binding(|client, binding| {
            if !matches!(binding.state, BindingState::Stable { .. }) {
                moving.push((client.clone(), binding.clone()));
            }
        });
        // Those that ended unseen as well.
        let earlier: Vec<_> = self.state().moves.keys().cloned().collect();
        for client in earlier {
            self.look(&client, table.binding(&client).as_ref());
        }
        for (client, binding) in moving {
            self.look(&client, Some(&binding));
        }
    }

    fn look(&self, client: &ClientName, binding: Option<&Binding>) {
        let now = Instant::now();
        let mut state = self.state();
        let tracked = &mut *state;
        let is_other =
            |it: &TrackedMove| binding.is_none_or(|binding| binding.generation != it.generation);
        // Another move began, or the client was unbound: this one's end was not seen.
        if tracked.moves.get(client).is_some_and(is_other) {
            tracked.moves.remove(client);
        }
        let Some(binding) = binding else {
            tracked.called.remove(client);
            return;
        };
        let called = tracked.called.get(client).copied();
        if called.is_some_and(|(generation, _)| generation <= binding.generation) {
            tracked.called.remove(client);
        }
        let called = called.filter(|(generation, _)| *generation == binding.generation);
        let (from, to) = match &binding.state {
            BindingState::Stable { owner } => {
                if let Some(ended) = tracked.moves.remove(client) {
                    drop(state);
                    self.end(client, &ended, owner, binding.failure.as_ref());
                }
                return;
            }
            BindingState::Preparing { owner, next, .. }
            | BindingState::Announced { owner, next, .. } => (owner, next),
            BindingState::Switched { owner, earlier, .. } => (earlier, owner),
        };
        let it = tracked.moves.entry(client.clone()).or_insert_with(|| {
            self.metrics.steps.count(MoveStep::Begun);
            TrackedMove {
                generation: binding.generation,
                from: from.clone(),
                to: to.clone(),
                called: called.map(|(_, at)| at),
                begun: now,
                announced: None,
                switched: None,
            }
        });
        let is_preparing = matches!(binding.state, BindingState::Preparing { .. });
        if !is_preparing && it.announced.is_none() {
            self.metrics.steps.count(MoveStep::Announced);
            it.announced = Some(now);
            if let Some(called) = it.called {
                observe(&self.metrics.announced, now.duration_since(called));
            }
        }
        if matches!(binding.state, BindingState::Switched { .. }) && it.switched.is_none() {
            self.metrics.steps.count(MoveStep::Switched);
            it.switched = Some(now);
            let announced = it.announced.unwrap_or(now);
            observe(&self.metrics.switched, now.duration_since(announced));
        }
    }

    /// Counts the end of a move, and writes its line.
    fn end(
        &self,
        client: &ClientName,
        ended: &TrackedMove,
        owner: &ProxyName,
        failure: Option<&MoveFailure>,
    ) {
        let is_done = ended.to == *owner;
        self.metrics.steps.count(if is_done { MoveStep::Settled } else { MoveStep::Aborted });
        let from = ended.called.unwrap_or(ended.begun);
        let millis = |time: Option<Instant>| time.map(|it| in_millis(it.duration_since(from)));
        tracing::info!(
            client = shown(client),
            generation = ended.generation.0,
            from = %ended.from,
            to = %ended.to,
            requested_here = ended.called.is_some(),
            announced_after_ms = millis(ended.announced),
            switched_after_ms = millis(ended.switched),
            why = failure.map(tracing::field::display),
            "{}",
            if is_done { "a client has moved" } else { "the move of a client was given up" },
        );
    }

    fn state(&self) -> MutexGuard<'_, Tracked> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn in_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use tessera_bindings::{Import, MoveTimes};
    use tessera_proxy::admin::Metrics;

    use super::*;

    #[test]
    fn each_step_of_a_move_is_counted_once_even_if_some_were_not_seen() {
        let all = Metrics::new();
        let metrics = Arc::new(MoveMetrics::register(&all));
        let tracker = Tracker::new(metrics.clone());
        let second = Duration::from_secs(1);
        let times = MoveTimes { dwell: second, prepare: second, announce: second, drain: second };
        let (client, [a, b]) =
            (ClientName::new("c").unwrap(), ["a", "b"].map(|n| ProxyName(n.into())));
        let bound = Binding::new(a.clone(), second);
        let begun = bound.begin(&b, &times, second).unwrap();
        let number = begun.generation;
        let import = Import {
            version: 0,
            keeps_state: false,
            resumption: String::new(),
            life: String::new(),
        };
        let prepared = begun.prepared(number, &b, import).unwrap();
        let announced = prepared.announce(number, &times, second).unwrap();
        let switched = announced.switch(number, &b, &times, second).unwrap();
        let settled = switched.settle(number, 9 * second).unwrap();
        let counts = || {
            [
                MoveStep::Begun,
                MoveStep::Announced,
                MoveStep::Switched,
                MoveStep::Settled,
                MoveStep::Aborted,
            ]
            .map(|step| metrics.steps.get(step))
        };
        tracker.look(&client, Some(&bound));
        let called = Instant::now();
        tracker.begun(&client, &begun, called);
        for binding in [&begun, &prepared, &announced, &announced, &switched, &switched, &settled] {
            tracker.look(&client, Some(binding));
        }
        assert_eq!(counts(), [1, 1, 1, 1, 0]);
        for binding in [&switched, &settled, &settled] {
            tracker.look(&client, Some(binding));
        }
        assert_eq!(counts(), [2, 2, 2, 2, 0], "two steps were not seen");
        for binding in [&announced, &announced.abort(number).unwrap()] {
            tracker.look(&client, Some(binding));
        }
        assert_eq!(counts(), [3, 3, 2, 2, 1]);
        tracker.look(&client, Some(&begun));
        tracker.look(&client, Some(&announced));
        // The store's answer comes after its watch.
        tracker.begun(&client, &begun, called);
        tracker.begun(&client, &begun, called);
        let announced_after = all.text();
        assert!(announced_after.contains("announced_seconds_count 2"), "{announced_after}");
        assert_eq!(tracker.moving(), 1);
        tracker.look(&client, None);
        assert_eq!(tracker.moving(), 0);
    }
}
