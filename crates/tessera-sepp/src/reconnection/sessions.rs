//! The client's sessions: everything in a session is judged again before it is offered.

use std::sync::Arc;
use std::time::Duration;

use tessera::resume::ClientSession;
use tessera_kit::clock::unix;
use tessera_tokio::{MemorySessionStore, SessionStore};

use super::identity_refusal::IdentityRefusal;
use super::modes::Ticket;
use super::standing::{Purpose, Standing};
use crate::identity::{Direction, Identity, Listener};
use crate::names::Fqdn;

/// The sessions with one peer. One that is no longer valid is dropped, and never offered.
pub struct PeerSessions {
    standing: Arc<Standing>,
    peer: Fqdn,
    kept: Arc<MemorySessionStore>,
}

impl PeerSessions {
    /// Creates an empty store.
    pub fn new(standing: Arc<Standing>, peer: Fqdn) -> Self {
        Self { standing, peer, kept: Arc::new(MemorySessionStore::new(KEPT, NAMES)) }
    }

    /// Returns the same sessions, as another configuration judges them.
    pub fn under(&self, standing: Arc<Standing>) -> Self {
        Self { standing, peer: self.peer.clone(), kept: self.kept.clone() }
    }

    fn judge(&self, session: &ClientSession) -> Result<(), IdentityRefusal> {
        let identity = session.state.peer.as_ref().and_then(Identity::decode);
        let identity = identity.ok_or(IdentityRefusal::Unreadable)?;
        if identity.peer != self.peer {
            return Err(IdentityRefusal::UnknownPeer);
        }
        let purpose = Purpose { direction: Direction::Outgoing, listener: Listener::N32f };
        let now = unix();
        self.standing.resumes(&identity, purpose, now)?;
        let peer = self.standing.known().get(&self.peer).ok_or(IdentityRefusal::UnknownPeer)?;
        let ticket = Ticket {
            age: Some(Duration::from_millis(session.state.age_millis(now))),
            // The configuration of the connection enforces these modes too.
            without_key_exchange: false,
            replayable_early_data: false,
        };
        peer.modes.allow(&ticket).map(|_| ())
    }
}

impl SessionStore for PeerSessions {
    fn put(&self, server_name: &str, session: ClientSession) {
        self.kept.put(server_name, session);
    }

    fn pop(&self, server_name: &str) -> Option<ClientSession> {
        let pop = || self.kept.pop(server_name);
        std::iter::from_fn(pop).find(|session| match self.judge(session) {
            Ok(()) => true,
            Err(why) => {
                let peer = self.peer.as_str();
                tracing::info!(peer, why = why.as_str(), "a session is not resumed");
                false
            }
        })
    }

    fn retain(&self, keep: &dyn Fn(&ClientSession) -> bool) {
        self.kept.retain(keep);
    }

    fn blocks(&self) -> bool {
        false
    }
}

/// The number of connections that can resume at once, for each name of the peer's N32-f.
const KEPT: usize = 32;
const NAMES: usize = 4;
