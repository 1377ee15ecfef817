//! Signals of a table's changes.

use std::hash::{DefaultHasher, Hash, Hasher};

use tokio::sync::{broadcast, watch};

use crate::names::ClientName;

/// A change of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangedBinding {
    /// Of this client's binding.
    Of(ClientName),
    /// Perhaps of all, and of the live proxies: the store was read again.
    All,
}

/// The changes of a table, in their order.
pub struct ChangedBindings(broadcast::Receiver<ChangedBinding>);

impl ChangedBindings {
    /// Returns the next change; `None` once the table is gone. To a reader that is too slow, everything has changed.
    pub async fn next(&mut self) -> Option<ChangedBinding> {
        match self.0.recv().await {
            Ok(changed) => Some(changed),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(ChangedBinding::All),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

/// In how many parts changes are signalled.
const PARTS: usize = 256;

/// How many changes a reader may be late by.
const LATE: usize = 4096;

/// The signals of one table.
pub(crate) struct Signals {
    /// Counts the changes.
    all: watch::Sender<u64>,
    /// Counts those that concern the clients of each part: many may wait, each for its own.
    parts: Vec<watch::Sender<u64>>,
    /// The clients whose bindings changed.
    bindings: broadcast::Sender<ChangedBinding>,
}

impl Signals {
    pub(crate) fn new() -> Self {
        Self {
            all: watch::Sender::default(),
            parts: (0..PARTS).map(|_| watch::Sender::default()).collect(),
            bindings: broadcast::Sender::new(LATE),
        }
    }

    pub(crate) fn all(&self) -> watch::Receiver<u64> {
        self.all.subscribe()
    }

    pub(crate) fn of(&self, client: &ClientName) -> watch::Receiver<u64> {
        self.part(client).subscribe()
    }

    pub(crate) fn bindings(&self) -> ChangedBindings {
        ChangedBindings(self.bindings.subscribe())
    }

    /// Something has changed.
    pub(crate) fn changed(&self) {
        count(&self.all);
    }

    /// A client's binding has changed.
    pub(crate) fn binding(&self, client: ClientName) {
        count(self.part(&client));
        // There may be no readers.
        let _ = self.bindings.send(ChangedBinding::Of(client));
    }

    /// A proxy has come or gone, or its entry has changed.
    pub(crate) fn proxies(&self) {
        self.parts.iter().for_each(count);
    }

    /// The store was read again.
    pub(crate) fn read_again(&self) {
        self.proxies();
        let _ = self.bindings.send(ChangedBinding::All);
    }

    fn part(&self, client: &ClientName) -> &watch::Sender<u64> {
        let mut hasher = DefaultHasher::new();
        client.hash(&mut hasher);
        &self.parts[hasher.finish() as usize % PARTS]
    }
}

fn count(changes: &watch::Sender<u64>) {
    changes.send_modify(|count| *count += 1);
}
