//! Metrics of a proxy.

use tessera_proxy::admin::prometheus_client::metrics::counter::Counter;
use tessera_proxy::admin::{CounterFamily, Counters, Families, Gauges, Metrics as Registry};

tessera_proxy::label! {
    /// What became of a client's request.
    RequestResult: "result" {
        /// A service answered.
        Served = "served",
        /// The proxy that owns the client answered.
        Forwarded = "forwarded",
        /// This proxy refused it.
        Refused = "refused",
        /// The service, or the other proxy, failed.
        Failed = "failed",
    }
}

tessera_proxy::label! {
    /// A step of a move that this proxy took.
    MoveStep: "step" {
        /// It has prepared for a client, which is announced this proxy.
        Announced = "announced",
        /// The client's first request came here.
        Switched = "switched",
        /// What the client's earlier owner changed last didn't come.
        ChangesLost = "changes-lost",
        /// It took over a client of a proxy that is gone.
        TakenOver = "taken-over",
        /// Of these: without the client's state, which is gone with that proxy.
        WithoutState = "without-state",
        /// An instance couldn't be made to forget what it has of a client from an earlier time.
        NotForgotten = "not-forgotten",
        /// It couldn't prepare.
        Failed = "failed",
    }
}

/// The metrics, by the conventions of Prometheus.
///
/// | metric | labels | value |
/// |---|---|---|
/// | `tessera_edge_requests_total` | `result`: [`RequestResult`] | requests of clients, those that other proxies forward included |
/// | `tessera_edge_move_steps_total` | `step`: [`MoveStep`] | steps of moves |
/// | `tessera_edge_moved_keys_total` | | one-time keys that went to another proxy with their client |
/// | `tessera_edge_left_clients_total` | | clients with state that this proxy owned when it ended |
/// | `tessera_edge_bindings` | | clients of the whole pool that have a binding |
/// | `tessera_edge_lease_held` | | 1 while this proxy is surely live for the others, else 0 |
#[derive(Clone)]
pub(crate) struct Metrics {
    requests: std::sync::Arc<CounterFamily<RequestResult>>,
    steps: std::sync::Arc<CounterFamily<MoveStep>>,
    moved_keys: Counter,
    left_clients: Counter,
    bindings: Gauges,
    lease_held: Gauges,
}

impl Metrics {
    pub(crate) fn register(metrics: &Registry) -> Self {
        let families = Families(metrics, "tessera_edge_");
        let requests = families
            .counters("requests", "Requests of clients, those that other proxies forward included");
        let steps = families.counters("move_steps", "Steps of moves that this proxy took");
        Self {
            requests: CounterFamily::new(&requests, &Vec::new()).into(),
            steps: CounterFamily::new(&steps, &Vec::new()).into(),
            moved_keys: single(&families.counters(
                "moved_keys",
                "One-time keys that went to another proxy with their client",
            )),
            left_clients: single(&families.counters(
                "left_clients",
                "Clients with state that this proxy owned when it ended",
            )),
            bindings: families.gauges("bindings", "Clients of the whole pool that have a binding"),
            lease_held: families
                .gauges("lease_held", "Whether this proxy is surely live for the others: 1, or 0"),
        }
    }

    pub(crate) fn request(&self, result: RequestResult) {
        self.requests.count(result);
    }

    pub(crate) fn step(&self, step: MoveStep) {
        self.steps.count(step);
    }

    pub(crate) fn moved_keys(&self, count: usize) {
        self.moved_keys.inc_by(count as u64);
    }

    pub(crate) fn left_clients(&self, count: u64) {
        self.left_clients.inc_by(count);
    }

    #[cfg(test)]
    pub(crate) fn left(&self) -> u64 {
        self.left_clients.get()
    }

    #[cfg(test)]
    pub(crate) fn steps(&self, step: MoveStep) -> u64 {
        self.steps.get(step)
    }

    pub(crate) fn follow(&self, bindings: usize, is_held: bool) {
        let count = i64::try_from(bindings).unwrap_or(i64::MAX);
        self.bindings.get_or_create(&Vec::new()).set(count);
        self.lease_held.get_or_create(&Vec::new()).set(is_held.into());
    }
}

/// Returns the counter of a family without labels, which is exposed from the start: at 0.
fn single(family: &Counters) -> Counter {
    family.get_or_create_owned(&Vec::new())
}
