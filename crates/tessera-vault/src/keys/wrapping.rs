//! Keys that wrap secrets for a store that is not to know them.

use std::time::Duration;

use tessera::crypto::Provider;
use zeroize::Zeroizing;

use super::key::{RingError, TicketKey};
use super::key_set::KeySet;

/// Wraps secrets for stores and files outside this process, and unwraps them again, under keys that
/// rotate.
///
/// Keys have the form of ticket keys: an id, a secret and four times. The owner brings them from a place
/// that the store can't read, and they lie in no store that keeps what they wrap. Where a store keeps
/// old bytes (a write-ahead log, a backup, a disk that wears evenly), what was wrapped is gone when the
/// last copy of its key is: with keys of short epochs, each destroyed at the end of its own, that is the
/// end of the epoch.
///
/// A set of keys has one purpose: the same secret in a set for another opens nothing of this one's.
pub struct WrappingKeys {
    keys: KeySet,
}

/// A wrapping key for one epoch.
pub type EpochKey = TicketKey;

/// What a set of wrapping keys is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WrappingPurpose {
    /// One-time secrets in a store across the network.
    Secrets,
    /// Ticket keys in a store outside this process.
    TicketKeys,
    /// The file in which a vault survives a clean shutdown.
    Snapshot,
}

impl WrappingKeys {
    /// A set without keys, which wraps nothing.
    pub fn new(provider: &Provider, purpose: WrappingPurpose) -> Self {
        let label: &[u8] = match purpose {
            WrappingPurpose::Secrets => b"tessera wrapped secret v1",
            WrappingPurpose::TicketKeys => b"tessera wrapped ticket key v1",
            WrappingPurpose::Snapshot => b"tessera vault snapshot v1",
        };
        Self { keys: KeySet::new(provider, label) }
    }

    /// Replaces all keys at `now` (since the Unix epoch). Keys that don't open any more are checked, but
    /// not kept.
    ///
    /// # Errors
    /// If a key is unusable or there twice; the set keeps the keys that it had.
    pub fn install(&self, keys: Vec<EpochKey>, now: Duration) -> Result<(), RingError> {
        self.keys.install(keys, now)
    }

    /// Adds one key at `now` (since the Unix epoch), and destroys those that don't open any more.
    ///
    /// # Errors
    /// If the key is unusable or already there; the set keeps the keys that it had.
    pub fn add(&self, key: EpochKey, now: Duration) -> Result<(), RingError> {
        self.keys.add(key, now)
    }

    /// Destroys the keys that don't open any more at `now` (since the Unix epoch), and returns how many
    /// they were. Forward secrecy of what they wrapped begins here: call it from a timer.
    pub fn purge(&self, now: Duration) -> usize {
        self.keys.purge(now)
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Until when what is wrapped at `unix` can be unwrapped; `None` if no key wraps then.
    pub fn opens_until(&self, unix: Duration) -> Option<Duration> {
        self.keys.opens_until(unix)
    }

    /// Whether the key is here under which something was wrapped; `None` if it is nothing that was.
    #[cfg(unix)]
    pub(crate) fn has_key_of(&self, wrapped: &[u8]) -> Option<bool> {
        self.keys.has_key_of(wrapped)
    }

    /// Wraps a secret at `unix`, bound to `context`: under another it does not open. `None` if no key
    /// wraps then, or there is no randomness.
    pub fn wrap(&self, context: &[u8], secret: &[u8], unix: Duration) -> Option<Vec<u8>> {
        self.keys.seal(context, secret, unix)
    }

    /// Unwraps at `unix` what was wrapped with the same context. `None` if its key is not here, or it is
    /// not what was wrapped.
    pub fn unwrap(
        &self,
        context: &[u8],
        wrapped: &[u8],
        unix: Duration,
    ) -> Option<Zeroizing<Vec<u8>>> {
        self.keys.open(context, wrapped, unix)
    }
}
