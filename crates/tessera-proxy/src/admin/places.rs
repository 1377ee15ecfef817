//! Who may be connected: no more than a few, and never only those who say nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::{AbortHandle, JoinSet};

/// The connections that there are. The one that has waited longest for its request gives way to a new one.
pub(super) struct Places {
    most: usize,
    taken: Vec<(AbortHandle, Arc<Waiting>)>,
    tasks: JoinSet<()>,
    turns: Arc<AtomicU64>,
}

/// Since when a connection waits for a request of its peer.
pub(super) struct Waiting {
    /// A number that only grows.
    since: AtomicU64,
    turns: Arc<AtomicU64>,
}

/// It has a request, and answers it.
const NOT_WAITING: u64 = u64::MAX;

impl Places {
    pub(super) fn new(most: usize) -> Self {
        let (taken, tasks) = (Vec::with_capacity(most), JoinSet::new());
        Self { most, taken, tasks, turns: Arc::default() }
    }

    /// Gives a connection a place, and a task. Dropping the future loses none but this one.
    pub(super) async fn give<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        serve: impl FnOnce(Arc<Waiting>) -> F,
    ) {
        while self.tasks.try_join_next().is_some() {}
        self.taken.retain(|(task, _)| !task.is_finished());
        while self.taken.len() >= self.most {
            let waiting_longest = self.taken.iter().enumerate().min_by_key(|(_, (_, waiting))| {
                // All answer: then the first of them, which has been here longest.
                waiting.since.load(Ordering::Relaxed)
            });
            let Some((place, _)) = waiting_longest else { break };
            let (task, _) = self.taken.remove(place);
            task.abort();
        }
        // Those who gave way are gone at once.
        while self.tasks.len() >= self.most && self.tasks.join_next().await.is_some() {}
        let waiting = Arc::new(Waiting { since: AtomicU64::new(0), turns: self.turns.clone() });
        waiting.begins();
        let task = self.tasks.spawn(serve(waiting.clone()));
        self.taken.push((task, waiting));
    }
}

impl Waiting {
    pub(super) fn begins(&self) {
        self.since.store(self.turns.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }

    pub(super) fn ends(&self) {
        self.since.store(NOT_WAITING, Ordering::Relaxed);
    }
}
