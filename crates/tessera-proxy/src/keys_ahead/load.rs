//! How busy the runtime is.

use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeMetrics};

/// Whether the runtime's workers have been idle, from one call to the next.
pub(super) struct RuntimeLoad {
    runtime: RuntimeMetrics,
    /// When it was last called, and the sum of the workers' busy times by then.
    last: (Instant, Duration),
}

impl RuntimeLoad {
    pub(super) fn of(runtime: &Handle) -> Self {
        let runtime = runtime.metrics();
        let last = (Instant::now(), busy(&runtime));
        Self { runtime, last }
    }

    /// Whether its workers were idle for at least half of the time since the last call.
    pub(super) fn is_idle(&mut self) -> bool {
        let now = (Instant::now(), busy(&self.runtime));
        let (elapsed, spent) = (now.0 - self.last.0, now.1.saturating_sub(self.last.1));
        self.last = now;
        let workers = u32::try_from(self.runtime.num_workers()).unwrap_or(u32::MAX);
        is_idle(elapsed, spent, workers)
    }
}

fn busy(runtime: &RuntimeMetrics) -> Duration {
    (0..runtime.num_workers()).map(|worker| runtime.worker_total_busy_duration(worker)).sum()
}

fn is_idle(elapsed: Duration, spent: Duration, workers: u32) -> bool {
    spent.saturating_mul(2) <= elapsed.saturating_mul(workers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_is_idle_if_half_of_its_workers_time_is_left() {
        let ms = Duration::from_millis;
        assert!(is_idle(ms(100), ms(50), 1));
        assert!(!is_idle(ms(100), ms(51), 1));
        assert!(is_idle(ms(100), ms(100), 2));
        assert!(!is_idle(ms(100), ms(101), 2));
    }

    #[test]
    fn a_runtime_with_a_busy_worker_is_not_idle() {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let task = runtime.spawn(async {
            let mut load = RuntimeLoad::of(&Handle::current());
            // Often: a runtime updates its metrics after some sixty steps.
            for _ in 0..300 {
                std::thread::sleep(Duration::from_millis(1));
                tokio::task::yield_now().await;
            }
            load.is_idle()
        });
        assert!(!runtime.block_on(task).unwrap());
    }
}
