//! What making key pairs cost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tessera_aws_lc::FillStep;
use tessera_kit::clock;

/// Counts the steps of a filler, and their processor time.
#[derive(Debug, Default)]
pub(super) struct FillWork {
    nanoseconds: AtomicU64,
    made: AtomicU64,
    failures: AtomicU64,
}

impl FillWork {
    /// Runs a step.
    pub(super) fn measure(&self, step: impl FnOnce() -> FillStep) -> FillStep {
        let began = clock::thread_cpu();
        let step = step();
        let spent = clock::thread_cpu().saturating_sub(began).as_nanos();
        self.nanoseconds.fetch_add(u64::try_from(spent).unwrap_or(u64::MAX), Ordering::Relaxed);
        match step {
            FillStep::Made => self.made.fetch_add(1, Ordering::Relaxed),
            FillStep::Failed => self.failures.fetch_add(1, Ordering::Relaxed),
            FillStep::Full => 0,
        };
        step
    }

    /// Returns the processor time of all steps.
    pub(super) fn cpu(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }

    pub(super) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    pub(super) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }
}
