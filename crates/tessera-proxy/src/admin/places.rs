//! Limits connections so that idle ones can't keep others out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::{AbortHandle, JoinSet};

/// The open connections. A new one replaces the one that has waited longest for its request.
pub(super) struct Places {
    most: usize,
    taken: Vec<(AbortHandle, Arc<IdleMark>)>,
    tasks: JoinSet<()>,
    turns: Arc<AtomicU64>,
}

/// Since when a connection waits for its peer's request.
pub(super) struct IdleMark {
    /// An ever-increasing number.
    since: AtomicU64,
    turns: Arc<AtomicU64>,
}

/// It is answering a request.
const NOT_WAITING: u64 = u64::MAX;

impl Places {
    pub(super) fn new(most: usize) -> Self {
        let (taken, tasks) = (Vec::with_capacity(most), JoinSet::new());
        Self { most, taken, tasks, turns: Arc::default() }
    }

    /// Gives a connection a place and a task. Dropping the future loses only this connection.
    pub(super) async fn give<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        serve: impl FnOnce(Arc<IdleMark>) -> F,
    ) {
        while self.tasks.try_join_next().is_some() {}
        self.taken.retain(|(task, _)| !task.is_finished());
        while self.taken.len() >= self.most {
            let waiting_longest = self.taken.iter().enumerate().min_by_key(|(_, (_, waiting))| {
                // All are answering: then the oldest.
                waiting.since.load(Ordering::Relaxed)
            });
            let Some((place, _)) = waiting_longest else { break };
            let (task, _) = self.taken.remove(place);
            task.abort();
        }
        // The replaced ones end at once.
        while self.tasks.len() >= self.most && self.tasks.join_next().await.is_some() {}
        let waiting = Arc::new(IdleMark { since: AtomicU64::new(0), turns: self.turns.clone() });
        waiting.begins();
        let task = self.tasks.spawn(serve(waiting.clone()));
        self.taken.push((task, waiting));
    }
}

impl IdleMark {
    pub(super) fn begins(&self) {
        self.since.store(self.turns.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }

    pub(super) fn ends(&self) {
        self.since.store(NOT_WAITING, Ordering::Relaxed);
    }
}
