//! The ticket-key ring: seals with the newest key, opens with all, and can be changed during use.

use std::time::Duration;

use tessera::crypto::Provider;
use tessera::handshake::Reply;
use tessera::resume::{OpenTicket, SessionState, TicketKeys};

use super::key::{RingError, TicketKey};
use super::key_set::KeySet;
use super::sealed::OVERHEAD;

/// Seals sessions into tickets and opens them, under rotating keys.
///
/// Servers of one process share a ring through an [`Arc`](std::sync::Arc); servers of a fleet have one each,
/// with the same keys. Without a key that issues now clients get no tickets, and a ticket under a missing key
/// costs its client a full handshake: neither is an error.
///
/// Expired keys are not used, but their memory is wiped only by [`purge`](Self::purge),
/// [`install`](Self::install) or [`add`](Self::add): a clock that jumps ahead for a moment must not destroy
/// keys. An owner that rotates keys calls one of them anyway.
pub struct TicketKeyRing {
    keys: KeySet,
}

impl TicketKeyRing {
    /// Makes a ring without keys. It seals with the provider's AES-256-GCM, or with its first suite that has
    /// 32-byte keys; servers that share keys need providers that agree in this. With a provider that has
    /// neither, the ring never seals.
    pub fn new(provider: &Provider) -> Self {
        Self { keys: KeySet::new(provider, b"tessera ticket v1") }
    }

    /// Replaces all keys at `now` (since the Unix epoch). Keys that no longer open tickets are checked, but
    /// not kept.
    ///
    /// # Errors
    /// Returns an error if a key is unusable or a duplicate; the ring keeps its old keys.
    pub fn install(&self, keys: Vec<TicketKey>, now: Duration) -> Result<(), RingError> {
        self.keys.install(keys.iter(), now)
    }

    /// Replaces all keys as [`install`](Self::install) does, by copies of keys that stay where they are: moving a key
    /// leaves its secret in the place that it left.
    ///
    /// # Errors
    /// Those of [`install`](Self::install).
    pub fn install_copies<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k TicketKey>,
        now: Duration,
    ) -> Result<(), RingError> {
        self.keys.install(keys.into_iter(), now)
    }

    /// Adds one key at `now` (since the Unix epoch), and destroys those that no longer open tickets.
    ///
    /// # Errors
    /// Returns an error if the key is unusable or already present; the ring keeps its old keys.
    pub fn add(&self, key: TicketKey, now: Duration) -> Result<(), RingError> {
        self.keys.add(key, now)
    }

    /// Destroys a key early; its tickets are unknown from now on. Returns `false` if it is not present.
    pub fn retire(&self, id: &[u8; 16]) -> bool {
        self.keys.retire(id)
    }

    /// Destroys the keys that no longer open tickets at `now` (since the Unix epoch), and returns their
    /// number.
    pub fn purge(&self, now: Duration) -> usize {
        self.keys.purge(now)
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether any key seals at `now`.
    pub(super) fn seals(&self, now: Duration) -> bool {
        self.keys.opens_until(now).is_some()
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// NewSessionTicket has two bytes for a ticket's length (RFC 8446 §4.6.1).
const MAX_LEN: usize = u16::MAX as usize;

impl TicketKeys for TicketKeyRing {
    fn seal(&self, session: &SessionState, unix: Duration) -> Option<Vec<u8>> {
        let plaintext = session.encode();
        let fits = plaintext.len() + OVERHEAD <= MAX_LEN;
        fits.then(|| self.keys.seal(&[], &plaintext, unix)).flatten()
    }

    /// Without a clock it is unknown whether a key still opens, so its tickets are unknown too.
    fn open(&self, question: &OpenTicket) -> Reply<Option<SessionState>> {
        let open = || {
            let fits = question.identity.len() <= MAX_LEN;
            let opened =
                fits.then(|| self.keys.open(&[], &question.identity, question.unix?))??;
            SessionState::decode(&opened)
        };
        Reply::Now(open())
    }

    /// Binds the message to the purpose; a ticket is bound to nothing.
    fn seal_for(&self, purpose: &[u8], contents: &[u8], unix: Duration) -> Option<Vec<u8>> {
        (!purpose.is_empty()).then(|| self.keys.seal(purpose, contents, unix)).flatten()
    }

    fn open_for(&self, purpose: &[u8], sealed: &[u8], unix: Duration) -> Option<Vec<u8>> {
        let opened = (!purpose.is_empty()).then(|| self.keys.open(purpose, sealed, unix));
        opened.flatten().map(|contents| contents.to_vec())
    }
}
