//! The sums.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::observer::{Observer, during};
use crate::operation::Operation;

/// Counts and times of one end, of all its threads.
pub(super) struct Tally {
    sums: [Sum; Operation::ALL.len()],
    /// Nanoseconds since some moment.
    now: fn() -> u64,
    /// The measured time of an empty operation, in nanoseconds.
    clock_cost: u64,
}

#[derive(Default)]
struct Sum {
    count: AtomicU64,
    nanos: AtomicU64,
}

/// An operation that has begun.
pub(super) struct RunningOperation {
    at: u64,
    /// The time nested in the surrounding operation before, in nanoseconds.
    nested_outside: u64,
}

thread_local! {
    /// The time of the operations inside the present one, in nanoseconds.
    static NESTED: Cell<u64> = const { Cell::new(0) };
}

impl Tally {
    /// Sums by the machine's monotonic clock.
    pub(super) fn new() -> Self {
        static CLOCK_COST: OnceLock<u64> = OnceLock::new();
        let clock_cost = *CLOCK_COST.get_or_init(|| cost_of(monotonic));
        Self { sums: Default::default(), now: monotonic, clock_cost }
    }

    /// Sums by another clock.
    #[cfg(test)]
    pub(super) fn by(now: fn() -> u64) -> Self {
        Self { sums: Default::default(), now, clock_cost: cost_of(now) }
    }

    /// Returns how often an operation ended since the last call, and the nanoseconds that these took.
    pub(super) fn take(&self, operation: Operation) -> (u64, u64) {
        let Sum { count, nanos } = &self.sums[operation.index()];
        (count.swap(0, Ordering::Relaxed), nanos.swap(0, Ordering::Relaxed))
    }
}

impl Observer for Tally {
    const SUITES: bool = true;
    type Begun = RunningOperation;

    fn begin(&self, _: Operation) -> RunningOperation {
        let nested_outside = NESTED.replace(0);
        RunningOperation { at: (self.now)(), nested_outside }
    }

    fn end(&self, operation: Operation, begun: RunningOperation) {
        let passed = (self.now)().saturating_sub(begun.at);
        let inside = NESTED.replace(begun.nested_outside + passed + self.clock_cost);
        let own = passed.saturating_sub(inside).saturating_sub(self.clock_cost);
        let Sum { count, nanos } = &self.sums[operation.index()];
        count.fetch_add(1, Ordering::Relaxed);
        nanos.fetch_add(own, Ordering::Relaxed);
    }
}

/// Returns the median measured time of nothing.
fn cost_of(now: fn() -> u64) -> u64 {
    let measured = Tally { sums: Default::default(), now, clock_cost: 0 };
    let mut costs: Vec<u64> = (0..1001)
        .map(|_| {
            during(&measured, Operation::Hash, || ());
            measured.take(Operation::Hash).1
        })
        .collect();
    costs.sort_unstable();
    costs[costs.len() / 2]
}

/// Returns the monotonic time since the first call.
fn monotonic() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
