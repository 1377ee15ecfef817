//! A session store whose sessions can be awaited.

use std::sync::atomic::{AtomicUsize, Ordering};

use tessera::resume::ClientSession;
use tessera_tokio::{MemorySessionStore, SessionStore};

use super::until;

#[derive(Default)]
pub struct Sessions {
    store: MemorySessionStore,
    count: AtomicUsize,
}

impl Sessions {
    /// Waits until there is a session.
    pub async fn come(&self) {
        until("a ticket has come", || self.count.load(Ordering::SeqCst) > 0).await;
    }
}

impl SessionStore for Sessions {
    fn put(&self, server_name: &str, session: ClientSession) {
        self.store.put(server_name, session);
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    fn pop(&self, server_name: &str) -> Option<ClientSession> {
        let session = self.store.pop(server_name)?;
        self.count.fetch_sub(1, Ordering::SeqCst);
        Some(session)
    }
}
