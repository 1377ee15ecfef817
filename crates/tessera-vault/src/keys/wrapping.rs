//! Keys that wrap secrets for a store that must not learn them.

use std::time::Duration;

use tessera::crypto::Provider;
use zeroize::Zeroizing;

use super::key::{RingError, TicketKey};
use super::key_set::KeySet;

/// Wraps secrets for stores and files outside this process, and unwraps them, under rotating keys.
///
/// Keys have the form of ticket keys: an id, a secret and four times. The owner must load them from a place
/// that the store can't read, and keep them out of any store of what they wrap. If a store keeps old bytes (a
/// write-ahead log, a backup, a wear-levelling disk), wrapped data is gone when the last copy of its key is:
/// with keys of short epochs, each destroyed at the end of its epoch, that is the end of the epoch.
///
/// A set of keys has one purpose: the same secret in a set for another purpose opens nothing of this one's.
pub struct WrappingKeys {
    keys: KeySet,
}

/// A wrapping key for one epoch.
pub type EpochKey = TicketKey;

/// The use of a set of wrapping keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WrappingPurpose {
    /// One-time secrets in a store across the network.
    Secrets,
    /// Ticket keys in a store outside this process.
    TicketKeys,
    /// The file in which a vault survives a clean shutdown.
    Snapshot,
    /// What services know of a client that moves to another server.
    ClientState,
    /// Cookies that name clients.
    ClientCookie,
}

impl WrappingKeys {
    /// Makes a set without keys, which wraps nothing.
    pub fn new(provider: &Provider, purpose: WrappingPurpose) -> Self {
        let label: &[u8] = match purpose {
            WrappingPurpose::Secrets => b"tessera wrapped secret v1",
            WrappingPurpose::TicketKeys => b"tessera wrapped ticket key v1",
            WrappingPurpose::Snapshot => b"tessera vault snapshot v1",
            WrappingPurpose::ClientState => b"tessera client state v1",
            WrappingPurpose::ClientCookie => b"tessera client cookie v1",
        };
        Self { keys: KeySet::new(provider, label) }
    }

    /// Replaces all keys at `now` (since the Unix epoch). Keys that no longer open are checked, but not kept.
    ///
    /// # Errors
    /// Returns an error if a key is unusable or a duplicate; the set keeps its old keys.
    pub fn install(&self, keys: Vec<EpochKey>, now: Duration) -> Result<(), RingError> {
        self.keys.install(keys.iter(), now)
    }

    /// Adds one key at `now` (since the Unix epoch), and destroys those that no longer open.
    ///
    /// # Errors
    /// Returns an error if the key is unusable or already present; the set keeps its old keys.
    pub fn add(&self, key: EpochKey, now: Duration) -> Result<(), RingError> {
        self.keys.add(key, now)
    }

    /// Destroys the keys that no longer open at `now` (since the Unix epoch), and returns their number.
    /// Forward secrecy of what they wrapped begins here: call it from a timer.
    pub fn purge(&self, now: Duration) -> usize {
        self.keys.purge(now)
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the time until which data wrapped at `unix` can be unwrapped; `None` if no key wraps then.
    pub fn opens_until(&self, unix: Duration) -> Option<Duration> {
        self.keys.opens_until(unix)
    }

    /// Whether the set has the key of a wrapped message; `None` if it is no message.
    #[cfg(unix)]
    pub(crate) fn has_key_of(&self, wrapped: &[u8]) -> Option<bool> {
        self.keys.has_key_of(wrapped)
    }

    /// Wraps a secret at `unix`, bound to `context`: under another context it does not open. `None` if no key
    /// wraps then, or without randomness.
    pub fn wrap(&self, context: &[u8], secret: &[u8], unix: Duration) -> Option<Vec<u8>> {
        self.keys.seal(context, secret, unix)
    }

    /// Unwraps at `unix` a secret wrapped with the same context. `None` if its key is not here, or the
    /// message was changed.
    pub fn unwrap(
        &self,
        context: &[u8],
        wrapped: &[u8],
        unix: Duration,
    ) -> Option<Zeroizing<Vec<u8>>> {
        self.keys.open(context, wrapped, unix)
    }
}
