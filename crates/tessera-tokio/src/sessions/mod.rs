//! Storage of a client's sessions between connections.

mod file;
mod session_writer;
mod wrapping;

pub use file::FileSessionStore;
pub(crate) use session_writer::SessionWriter;
pub use tessera::resume::SessionStore;

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tessera::resume::ClientSession;

/// Sessions in the memory of this process.
pub struct MemorySessionStore {
    sessions: Mutex<HashMap<String, VecDeque<ClientSession>>>,
    per_server: usize,
    servers: usize,
}

impl MemorySessionStore {
    /// Makes a store for this many sessions of each of this many servers. When it is full, the oldest
    /// session, or the sessions of any server, are evicted.
    pub fn new(per_server: usize, servers: usize) -> Self {
        Self { sessions: Mutex::default(), per_server, servers }
    }
}

impl Default for MemorySessionStore {
    /// Keeps 8 sessions of each of 256 servers.
    fn default() -> Self {
        Self::new(8, 256)
    }
}

impl SessionStore for MemorySessionStore {
    fn put(&self, server_name: &str, session: ClientSession) {
        let mut all = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if self.per_server == 0 || self.servers == 0 {
            return;
        }
        if all.len() >= self.servers
            && !all.contains_key(server_name)
            && let Some(victim) = all.keys().next().cloned()
        {
            all.remove(&victim);
        }
        let sessions = all.entry(server_name.to_owned()).or_default();
        if sessions.len() >= self.per_server {
            sessions.pop_front();
        }
        sessions.push_back(session);
    }

    fn pop(&self, server_name: &str) -> Option<ClientSession> {
        let mut all = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let sessions = all.get_mut(server_name)?;
        let newest = std::iter::from_fn(|| sessions.pop_back()).find(is_fresh);
        if sessions.is_empty() {
            all.remove(server_name);
        }
        newest
    }

    fn retain(&self, keep: &dyn Fn(&ClientSession) -> bool) {
        let mut all = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, sessions| {
            sessions.retain(keep);
            !sessions.is_empty()
        });
    }

    fn blocks(&self) -> bool {
        false
    }
}

/// Whether a session can still be resumed, as far as its ticket and its certificates are concerned. The
/// engine checks the age of its authentication against the configuration.
pub(crate) fn is_fresh(session: &ClientSession) -> bool {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH);
    unix.is_ok_and(|unix| session.state.is_fresh(unix, Duration::MAX))
}
