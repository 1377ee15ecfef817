//! Chains that connections depend on.

use crate::key::Key;
use crate::store::ChainStore;

/// Keeps an entry until dropped, even if it is evicted from the store.
pub(crate) struct Pin {
    store: ChainStore,
    key: Key,
}

impl Pin {
    /// Makes the pin of an entry that the store has counted.
    pub(crate) fn new(store: ChainStore, key: Key) -> Self {
        Self { store, key }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.store.unpin(&self.key);
    }
}
