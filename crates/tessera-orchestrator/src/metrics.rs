//! Metrics of an orchestrator.

use std::time::Duration;

use tessera_proxy::admin::prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use tessera_proxy::admin::prometheus_client::registry::Unit;
use tessera_proxy::admin::{CounterFamily, Families, Gauges, Label, Labels, Metrics};

tessera_proxy::label! {
    /// A step of a move, as the store has it.
    MoveStep: "step" {
        /// The move began.
        Begun = "begun",
        /// The next proxy is announced.
        Announced = "announced",
        /// The client is at the next proxy.
        Switched = "switched",
        /// No announcement leads to the earlier proxy any more.
        Settled = "settled",
        /// The move was given up.
        Aborted = "aborted",
    }
}

tessera_proxy::label! {
    /// What became of a request to move a client.
    RequestResult: "result" {
        /// The move is where the request waits for, or was there.
        Done = "done",
        /// It is still under way.
        Accepted = "accepted",
        /// It began, and was given up.
        Aborted = "aborted",
        /// It didn't begin.
        Refused = "refused",
        /// A later request took its place in the queue.
        Superseded = "superseded",
        /// The store couldn't be reached, or too much was going on.
        Unavailable = "unavailable",
    }
}

tessera_proxy::label! {
    /// What became of an attempt to move a client of a drained proxy.
    DrainResult: "result" {
        /// The move began.
        Begun = "begun",
        /// It didn't, and is tried again.
        Refused = "refused",
    }
}

/// The metrics, by the conventions of Prometheus. All but those of requests and drains are of the whole pool, at every
/// orchestrator alike.
///
/// | metric | labels | value |
/// |---|---|---|
/// | `tessera_orchestrator_steps_total` | `step`: [`MoveStep`] | steps of moves |
/// | `tessera_orchestrator_requests_total` | `result`: [`RequestResult`] | requests to move a client |
/// | `tessera_orchestrator_drained_total` | `result`: [`DrainResult`] | attempts to move a client of a drained proxy |
/// | `tessera_orchestrator_moves` | | moves between their begin and the switch |
/// | `tessera_orchestrator_waiting` | | requests that wait until their clients can move |
/// | `tessera_orchestrator_clients` | | clients with a binding |
/// | `tessera_orchestrator_announced_seconds` | | from the request here to the announcement |
/// | `tessera_orchestrator_switched_seconds` | | from the announcement to the switch |
pub(crate) struct MoveMetrics {
    pub(crate) steps: CounterFamily<MoveStep>,
    pub(crate) requests: CounterFamily<RequestResult>,
    pub(crate) drained: CounterFamily<DrainResult>,
    pub(crate) announced: Histogram,
    pub(crate) switched: Histogram,
    moves: Gauges,
    waiting: Gauges,
    clients: Gauges,
}

impl MoveMetrics {
    pub(crate) fn register(metrics: &Metrics) -> Self {
        let families = Families(metrics, "tessera_orchestrator_");
        // From a millisecond to about two minutes.
        let histogram = |name: &str, help: &str| {
            let histogram = Histogram::new(exponential_buckets(0.001, 2.0, 18));
            families.of_unit(name, help, Unit::Seconds, histogram)
        };
        Self {
            steps: counters(&families, "steps", "Steps of moves in the pool"),
            requests: counters(&families, "requests", "Requests to move a client"),
            drained: counters(&families, "drained", "Attempts to move a client of a drained proxy"),
            announced: histogram("announced", "From the request here to the announcement"),
            switched: histogram("switched", "From the announcement to the switch"),
            moves: families.gauges("moves", "Moves between their begin and the switch"),
            waiting: families.gauges("waiting", "Requests that wait until their clients can move"),
            clients: families.gauges("clients", "Clients with a binding"),
        }
    }

    pub(crate) fn follow(&self, moves: usize, waiting: usize, clients: usize) {
        for (gauges, count) in
            [(&self.moves, moves), (&self.waiting, waiting), (&self.clients, clients)]
        {
            gauges.get_or_create(&Vec::new()).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }
}

fn counters<L: Label>(families: &Families<'_>, name: &str, help: &str) -> CounterFamily<L> {
    CounterFamily::new(&families.counters(name, help), &Labels::new())
}

/// Adds a duration to a histogram.
pub(crate) fn observe(histogram: &Histogram, time: Duration) {
    histogram.observe(time.as_secs_f64());
}
