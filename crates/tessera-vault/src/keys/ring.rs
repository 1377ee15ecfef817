//! The ticket-key ring: seals with the newest key, opens with all, changes while it runs.

use std::time::Duration;

use tessera::crypto::Provider;
use tessera::handshake::Reply;
use tessera::resume::{OpenTicket, SessionState, TicketKeys};

use super::key::{RingError, TicketKey};
use super::key_set::KeySet;
use super::sealed::OVERHEAD;

/// Seals sessions into tickets and opens them again, under keys that rotate.
///
/// Servers of one process share a ring through an [`Arc`](std::sync::Arc); servers of a fleet have one
/// each, with the same keys. Without a key that issues now clients get no tickets, and a ticket whose key
/// is not here costs its client a full handshake: neither is an error.
///
/// Keys past their time are not used, but their memory is wiped only by [`purge`](Self::purge),
/// [`install`](Self::install) or [`add`](Self::add): a clock that jumps ahead for a moment must not
/// destroy keys. An owner that rotates keys calls one of them anyway.
pub struct TicketKeyRing {
    keys: KeySet,
}

impl TicketKeyRing {
    /// A ring without keys. It seals with the provider's AES-256-GCM, or with its first suite that
    /// has 32-byte keys; servers that share keys need providers that agree in that. A provider with
    /// neither gets a ring that never seals.
    pub fn new(provider: &Provider) -> Self {
        Self { keys: KeySet::new(provider, b"tessera ticket v1") }
    }

    /// Replaces all keys at `now` (since the Unix epoch). Keys that don't open tickets any more are
    /// checked, but not kept.
    ///
    /// # Errors
    /// If a key is unusable or there twice; the ring keeps the keys that it had.
    pub fn install(&self, keys: Vec<TicketKey>, now: Duration) -> Result<(), RingError> {
        self.keys.install(keys, now)
    }

    /// Adds one key at `now` (since the Unix epoch), and destroys those that don't open tickets any
    /// more.
    ///
    /// # Errors
    /// If the key is unusable or already there; the ring keeps the keys that it had.
    pub fn add(&self, key: TicketKey, now: Duration) -> Result<(), RingError> {
        self.keys.add(key, now)
    }

    /// Destroys a key before its time; its tickets are unknown from now on. `false` if it is not
    /// there.
    pub fn retire(&self, id: &[u8; 16]) -> bool {
        self.keys.retire(id)
    }

    /// Destroys the keys that don't open tickets any more at `now` (since the Unix epoch), and returns
    /// how many they were.
    pub fn purge(&self, now: Duration) -> usize {
        self.keys.purge(now)
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether a key seals at `now`.
    pub(super) fn seals(&self, now: Duration) -> bool {
        self.keys.opens_until(now).is_some()
    }

    /// Whether there is none.
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

    /// Without a clock it is unknown whether a key may still open: its tickets are unknown too.
    fn open(&self, question: &OpenTicket) -> Reply<Option<SessionState>> {
        let open = || {
            let fits = question.identity.len() <= MAX_LEN;
            let opened =
                fits.then(|| self.keys.open(&[], &question.identity, question.unix?))??;
            SessionState::decode(&opened)
        };
        Reply::Now(open())
    }

    /// The purpose is what the message is bound to; a ticket is bound to nothing.
    fn seal_for(&self, purpose: &[u8], contents: &[u8], unix: Duration) -> Option<Vec<u8>> {
        (!purpose.is_empty()).then(|| self.keys.seal(purpose, contents, unix)).flatten()
    }

    fn open_for(&self, purpose: &[u8], sealed: &[u8], unix: Duration) -> Option<Vec<u8>> {
        let opened = (!purpose.is_empty()).then(|| self.keys.open(purpose, sealed, unix));
        opened.flatten().map(|contents| contents.to_vec())
    }
}
