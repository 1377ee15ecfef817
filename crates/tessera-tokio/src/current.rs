//! A configuration that can be replaced while connections are made with it.

use std::sync::{Arc, PoisonError, RwLock};

use tessera::handshake::Checked;

/// The configuration that new connections use, the same for all clones. A lock is held for as long as
/// a pointer is copied, and never while anything waits.
pub(crate) struct Current<C>(Arc<RwLock<Checked<C>>>);

impl<C> Current<C> {
    pub(crate) fn new(config: Checked<C>) -> Self {
        Self(Arc::new(RwLock::new(config)))
    }

    pub(crate) fn get(&self) -> Checked<C> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn replace(&self, config: Checked<C>) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let earlier = std::mem::replace(&mut *current, config);
        drop(current);
        // What belongs to the owner may do anything when it is dropped.
        drop(earlier);
    }
}

impl<C> Clone for Current<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
