//! The pool's tickets, next to this server's own.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tessera::handshake::Reply;
use tessera::resume::{OpenTicket, SessionState, TicketKeys};

use crate::context::SessionContext;
use crate::key::{EnvoyKey, EnvoyKeyError};
use crate::pool::Pool;
use crate::session::BoringSession;

/// Seals sessions so that the pool's Envoys open them, and opens theirs.
///
/// A session that an Envoy can't uphold keeps this server's own form: one with a client certificate, an external PSK, early
/// data, forward-secret or not, or an exchange by a PSK alone; one of another scope or epoch, and one whose server_name is
/// not the pool's. So does every session while no key of the pool seals. A ticket under a key of the pool is never opened as
/// an own one, nor the other way round: they are distinguished by the names of keys.
///
/// An opened session has no client certificate, so it doesn't suffice where one is required. It takes the server_name of
/// its connection. It allows no early data, and counts as classical
/// ([`Ancestry::Classical`](tessera::resume::Ancestry::Classical)) whatever group its ticket records: that is the last of
/// the chain, not the weakest. An attacker with the ticket key can make sessions, as at any server with such keys.
///
/// Whatever is wrong with a ticket costs its client a full handshake, and never an error.
pub struct EnvoyTickets {
    pool: Pool,
    own: Arc<dyn TicketKeys>,
    keys: RwLock<Arc<[EnvoyKey]>>,
}

impl EnvoyTickets {
    /// Creates the tickets of a pool, without keys. `own` seals and opens all others.
    #[must_use]
    pub fn new(pool: Pool, own: Arc<dyn TicketKeys>) -> Self {
        Self { pool, own, keys: RwLock::new(Arc::new([])) }
    }

    /// Replaces all keys, in Envoy's order: the first that still seals does, all open.
    ///
    /// # Errors
    /// Returns an error if two have the same name; the earlier keys stay.
    pub fn install(&self, keys: Vec<EnvoyKey>) -> Result<(), EnvoyKeyError> {
        let has_duplicate = |(at, key): (usize, &EnvoyKey)| {
            keys[..at].iter().any(|earlier| earlier.name() == key.name())
        };
        if keys.iter().enumerate().any(has_duplicate) {
            return Err(EnvoyKeyError::DuplicateName);
        }
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        let earlier = std::mem::replace(&mut *held, keys.into());
        // Wiped here, after the lock is released.
        drop(held);
        drop(earlier);
        Ok(())
    }

    /// Cloned, so that the cryptography runs outside the lock, which no panic can leave half changed.
    fn keys(&self) -> Arc<[EnvoyKey]> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn seal_for_all(&self, session: &SessionState, unix: Duration) -> Option<Vec<u8>> {
        let session = self.pool.session_for_all(session)?;
        let keys = self.keys();
        let key = keys.iter().find(|key| key.seals(unix))?;
        key.seal(session.encode()?)
    }

    /// Without a clock it is unknown whether a key still opens, so its tickets are unknown too.
    fn open_with(&self, key: &EnvoyKey, question: &OpenTicket) -> Option<SessionState> {
        let opens = key.opens(question.unix?);
        let session = opens.then(|| key.session(&question.identity)).flatten()?;
        self.pool.own_session(session, question.server_name.as_deref()?)
    }
}

impl TicketKeys for EnvoyTickets {
    fn seal(&self, session: &SessionState, unix: Duration) -> Option<Vec<u8>> {
        self.seal_for_all(session, unix).or_else(|| self.own.seal(session, unix))
    }

    fn open(&self, question: &OpenTicket) -> Reply<Option<SessionState>> {
        let keys = self.keys();
        match keys.iter().find(|key| key.is_named_by(&question.identity)) {
            Some(key) => Reply::Now(self.open_with(key, question)),
            None => self.own.open(question),
        }
    }

    fn seal_for(&self, purpose: &[u8], contents: &[u8], unix: Duration) -> Option<Vec<u8>> {
        self.own.seal_for(purpose, contents, unix)
    }

    fn open_for(&self, purpose: &[u8], sealed: &[u8], unix: Duration) -> Option<Vec<u8>> {
        self.own.open_for(purpose, sealed, unix)
    }
}

impl EnvoyKey {
    /// Opens a ticket, and returns the context of the server that sealed it; `None` for one of another key, or not of
    /// TLS 1.3. For operators: servers whose contexts differ don't resume each other's sessions, and report no reason.
    #[must_use]
    pub fn context_of(&self, ticket: &[u8]) -> Option<SessionContext> {
        self.session(ticket)?.context.try_into().ok().map(SessionContext)
    }

    fn session(&self, ticket: &[u8]) -> Option<BoringSession> {
        BoringSession::decode(&self.open(ticket)?)
    }
}
