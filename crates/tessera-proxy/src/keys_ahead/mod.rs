//! Key pairs made in idle time, for the handshakes to come.
//!
//! A process whose TLS configurations use [`provider`] has its handshakes take key pairs that a [`KeyFiller`] made before:
//! [`run`](crate::process::run) starts one for it.
//! It makes only kinds that handshakes have asked for, and only while the runtime has been idle for at least half of its
//! time; between two pairs it lets other tasks run, so that none waits for more than one. A burst that empties the pools
//! makes its own, as without them. The processor time is the same, spent earlier: the metrics and the status line show it.

mod load;
mod metrics;
mod warnings;
mod work;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tessera::crypto::Provider;
use tessera::wire::NamedGroup;
use tessera_aws_lc::{FillStep, KeyCounts, KeyKind, KeysAhead, provider_with_keys_ahead};
use tessera_kit::names;
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::sleep;

use self::load::RuntimeLoad;
use self::metrics::KeyMetrics;
use self::warnings::Warnings;
use self::work::FillWork;
use crate::admin::Metrics;
use crate::logging::tracing;

/// Returns a provider whose key pairs are made ahead, for a configuration with these groups; an empty list stands for the
/// provider's own. If one of the groups is rare, keys are made on demand.
#[must_use]
pub fn provider(groups: &[NamedGroup]) -> Provider {
    IS_USED.store(true, Ordering::Relaxed);
    let (ahead, _) = provider_with_keys_ahead();
    match groups.iter().all(|group| ahead.group(*group).is_some()) {
        true => ahead,
        false => names::provider(groups),
    }
}

/// Whether this process has a configuration with [`provider`], so that a filler is worth it.
pub(crate) fn is_used() -> bool {
    IS_USED.load(Ordering::Relaxed)
}

/// Set even for rare groups: a reload may change them.
static IS_USED: AtomicBool = AtomicBool::new(false);

/// The most key pairs of a kind. All four kinds together are some 10 ms of work and a megabyte.
const MOST: usize = 128;

/// How long the filler waits.
const PAUSE: Duration = Duration::from_secs(1);

/// How late a wake may be in an idle process.
const LATE: Duration = Duration::from_millis(20);

/// How long it waits after it made key pairs: a burst may go on.
const PAUSE_AFTER_KEYS: Duration = Duration::from_millis(100);

/// Makes the process's key pairs until it is dropped, which wipes those that were not used.
pub struct KeyFiller {
    keys: KeysAhead,
    work: Arc<FillWork>,
    task: JoinHandle<()>,
}

impl KeyFiller {
    /// Starts it in a task of the current runtime, and registers its metrics: once in a process.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn start(metrics: &Metrics) -> Self {
        let (_, keys) = provider_with_keys_ahead();
        let work = Arc::new(FillWork::default());
        metrics.register_collector(KeyMetrics { keys, work: work.clone() });
        let task = tokio::spawn(keep_full(keys, work.clone()));
        Self { keys, work, task }
    }

    /// Returns a part of a status line, once any key was made: `80 keys made ahead (2 ms of CPU), 60 used, 0 wiped, 12 made on
    /// demand`.
    #[must_use]
    pub fn status(&self) -> Option<String> {
        metrics::status(self.keys, &self.work)
    }
}

impl Drop for KeyFiller {
    fn drop(&mut self) {
        self.task.abort();
        // Without a key pair to make, it only wipes.
        let _ = self.keys.fill(KeyCounts::NONE);
    }
}

impl fmt::Debug for KeyFiller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyFiller").finish_non_exhaustive()
    }
}

async fn keep_full(keys: KeysAhead, work: Arc<FillWork>) {
    let mut load = RuntimeLoad::of(&Handle::current());
    let mut warnings = Warnings::default();
    let mut pause = PAUSE;
    loop {
        let asleep = Instant::now();
        sleep(pause).await;
        // The runtime counts busy time only now and then: a late wake shows a long task at once.
        let is_late = asleep.elapsed() > pause + LATE;
        let made_before = work.made();
        // Even in a busy process, which makes none.
        keys.wipe_old();
        if load.is_idle() && !is_late {
            let step = fill(|| keys.fill(keys.kinds_in_use(MOST)), &work).await;
            if step == FillStep::Failed && warnings.is_due(Instant::now()) {
                tracing::error!(
                    "AWS-LC could make no key pair ahead, perhaps for lack of memory; handshakes may fail too"
                );
            }
        }
        pause = if work.made() > made_before { PAUSE_AFTER_KEYS } else { PAUSE };
    }
}

/// Makes key pairs until none is missing; at most as many as all pools hold, so that a flood can't keep it here.
async fn fill(mut make: impl FnMut() -> FillStep, work: &FillWork) -> FillStep {
    for _ in 0..KeyKind::ALL.len() * MOST {
        let step = work.measure(&mut make);
        if step != FillStep::Made {
            return step;
        }
        yield_now().await;
    }
    FillStep::Made
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[tokio::test]
    async fn a_flood_can_not_keep_it_filling() {
        let work = FillWork::default();
        assert_eq!(fill(|| FillStep::Made, &work).await, FillStep::Made);
        assert_eq!(work.made(), 512);
    }

    #[tokio::test]
    async fn a_failure_stops_it_at_once_is_counted_and_warns_once_a_minute() {
        let (work, mut warnings, mut left) = (FillWork::default(), Warnings::default(), 2);
        let mut source = || match left {
            0 => FillStep::Failed,
            _ => {
                left -= 1;
                FillStep::Made
            }
        };
        assert_eq!(fill(&mut source, &work).await, FillStep::Failed);
        assert_eq!(fill(&mut source, &work).await, FillStep::Failed);
        assert_eq!((work.made(), work.failures()), (2, 2));
        let now = Instant::now();
        let seconds = [0, 1, 59, 60, 61].map(|it| now + Duration::from_secs(it));
        assert_eq!(seconds.map(|now| warnings.is_due(now)), [true, false, false, true, false]);
    }

    #[tokio::test]
    async fn other_tasks_run_between_two_key_pairs() {
        let order = Arc::new(Mutex::new(Vec::new()));
        let log = |what| order.lock().unwrap().push(what);
        let shared = order.clone();
        let requests = tokio::spawn(async move {
            for _ in 0..3 {
                shared.lock().unwrap().push("request");
                yield_now().await;
            }
        });
        let mut left = 3;
        let make = || {
            log("key");
            left -= 1;
            if left > 0 { FillStep::Made } else { FillStep::Full }
        };
        assert_eq!(fill(make, &FillWork::default()).await, FillStep::Full);
        requests.await.unwrap();
        assert_eq!(*order.lock().unwrap(), ["key", "request", "key", "request", "key", "request"]);
    }

    #[test]
    fn only_rare_groups_go_without() {
        let (ahead, _) = provider_with_keys_ahead();
        let is_ahead = |groups: &[NamedGroup]| std::ptr::eq(provider(groups).groups, ahead.groups);
        assert!(is_ahead(&[]));
        assert!(is_ahead(&[NamedGroup::X25519, NamedGroup::SECP256R1]));
        assert!(!is_ahead(&[NamedGroup::X25519, NamedGroup::SECP521R1]));
        assert!(provider(&[NamedGroup::SECP521R1]).group(NamedGroup::SECP521R1).is_some());
    }
}
