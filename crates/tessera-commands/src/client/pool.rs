//! The sessions of a load: each connection takes one, and its ticket becomes the next.

use std::sync::{Mutex, PoisonError};

use tessera::resume::ClientSession;
use tessera_tokio::SessionStore;

/// Sessions with the server of a load.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<ClientSession>>);

impl Pool {
    pub(super) fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl SessionStore for Pool {
    fn put(&self, _: &str, session: ClientSession) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(session);
    }

    fn pop(&self, _: &str) -> Option<ClientSession> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn blocks(&self) -> bool {
        false
    }
}
