//! The contents of the store.

use std::time::Duration;

use tessera_store::{Revision, Snapshot};
use tessera_vault::WrappingKeys;

use crate::acknowledgement::Acknowledgement;
use crate::entry::RingEntry;

/// The names below the prefix of a ring:
/// - `next`: the key that is being distributed, with its own lease;
/// - `k/` and a key's id: a key that was activated, with its own lease;
/// - `a/` and a member's name: the member is live (by a lease that it renews), and what it acknowledges.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    prefix: String,
}

impl Names {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    pub(crate) fn all(&self) -> Vec<u8> {
        self.prefix.clone().into_bytes()
    }

    pub(crate) fn next(&self) -> Vec<u8> {
        self.below("next")
    }

    pub(crate) fn keys(&self) -> Vec<u8> {
        self.below("k/")
    }

    pub(crate) fn key(&self, id: &[u8; 16]) -> Vec<u8> {
        [&self.keys()[..], id].concat()
    }

    pub(crate) fn members(&self) -> Vec<u8> {
        self.below("a/")
    }

    pub(crate) fn member(&self, name: &[u8]) -> Vec<u8> {
        [&self.members()[..], name].concat()
    }

    fn below(&self, name: &str) -> Vec<u8> {
        format!("{}{name}", self.prefix).into_bytes()
    }
}

/// The contents of the store, at one moment.
#[derive(Default)]
pub(crate) struct StoredRing {
    pub(crate) active: Vec<RingEntry>,
    pub(crate) next: Option<RingEntry>,
    /// The revision at which the entry `next` was written, readable or not.
    pub(crate) next_revision: Option<Revision>,
    /// The names of all active entries, readable or not.
    pub(crate) active_names: Vec<Vec<u8>>,
    pub(crate) members: Vec<StoredMember>,
    pub(crate) unreadable: usize,
    /// The store's revision.
    pub(crate) revision: Revision,
}

/// A live member.
pub(crate) struct StoredMember {
    pub(crate) name: Vec<u8>,
    /// None: of the first version, or malformed.
    pub(crate) acknowledgement: Option<Acknowledgement>,
}

impl StoredRing {
    pub(crate) fn read(
        snapshot: &Snapshot,
        names: &Names,
        wrapping: &WrappingKeys,
        now: Duration,
    ) -> Self {
        let mut ring = Self { revision: snapshot.revision, ..Self::default() };
        let (next, keys, members) = (names.next(), names.keys(), names.members());
        for stored in &snapshot.entries {
            let entry = || RingEntry::decode(&stored.key, &stored.value, wrapping, now);
            if stored.key == next {
                ring.next_revision = Some(stored.revision);
                ring.next = entry();
                ring.unreadable += usize::from(ring.next.is_none());
            } else if stored.key.starts_with(&keys) {
                ring.active_names.push(stored.key.clone());
                match entry() {
                    Some(entry) => ring.active.push(entry),
                    None => ring.unreadable += 1,
                }
            } else if let Some(name) = stored.key.strip_prefix(&members[..]) {
                ring.members.push(StoredMember {
                    name: name.to_vec(),
                    acknowledgement: Acknowledgement::decode(&stored.value),
                });
            }
        }
        ring
    }

    /// Returns the greatest epoch of the readable keys.
    pub(crate) fn highest_epoch(&self) -> u64 {
        self.active.iter().chain(&self.next).map(|entry| entry.epoch).max().unwrap_or(0)
    }
}
