//! Requests that wait until their clients can move: one for each client, the last one wins.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tessera_bindings::ClientName;
use tokio::sync::oneshot;

/// The waiting requests of this process. Each ends with its caller's connection.
pub(crate) struct Queue {
    most: usize,
    waiting: Mutex<HashMap<ClientName, Waiter>>,
    /// Numbers the places.
    next: AtomicU64,
}

struct Waiter {
    number: u64,
    _superseded: oneshot::Sender<()>,
}

/// A request's place, until it is dropped.
pub(crate) struct QueuePlace {
    queue: Arc<Queue>,
    client: ClientName,
    number: u64,
    superseded: oneshot::Receiver<()>,
}

impl Queue {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, waiting: Mutex::default(), next: AtomicU64::new(0) }
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting().len()
    }

    /// Waits in place of an earlier request for the client. None: too many others wait.
    pub(crate) fn enter(self: &Arc<Self>, client: &ClientName) -> Option<QueuePlace> {
        let mut waiting = self.waiting();
        if !waiting.contains_key(client) && waiting.len() >= self.most {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, superseded) = oneshot::channel();
        // The earlier one learns of it as its sender is dropped.
        waiting.insert(client.clone(), Waiter { number, _superseded: sender });
        Some(QueuePlace { queue: self.clone(), client: client.clone(), number, superseded })
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<ClientName, Waiter>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueuePlace {
    /// Completes when a later request for the client has come.
    pub(crate) async fn superseded(&mut self) {
        let _ = (&mut self.superseded).await;
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        let mut waiting = self.queue.waiting();
        if waiting.get(&self.client).is_some_and(|waiter| waiter.number == self.number) {
            waiting.remove(&self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn the_last_request_of_a_client_waits_and_the_number_is_bounded() {
        let queue = Arc::new(Queue::new(2));
        let client = |name: &str| ClientName::new(name).unwrap();
        let mut first = queue.enter(&client("a")).unwrap();
        let _other = queue.enter(&client("b")).unwrap();
        assert!(queue.enter(&client("c")).is_none(), "two wait");
        let mut second = queue.enter(&client("a")).unwrap();
        first.superseded().await;
        drop(first);
        assert_eq!(queue.len(), 2, "the later one still waits");
        let not_superseded = timeout(Duration::ZERO, second.superseded()).await;
        assert!(not_superseded.is_err());
        drop(second);
        assert!(queue.enter(&client("c")).is_some());
    }
}
