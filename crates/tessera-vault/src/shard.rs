//! One shard of the memory vault: secrets and tombstones in slots, found by id, ordered by age.
//!
//! A slot costs 72 bytes at most, growth included, and 6 to 12 bytes of index; the secret is in a box
//! of its own, because the slots move when there are more of them, and moving leaves copies behind.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use tessera::resume::{Absent, TakePurpose, TicketId};
use zeroize::Zeroizing;

use crate::list::{Linked, Links, List};

/// A one-time secret, encoded; wiped when dropped.
pub(crate) type Stored = Zeroizing<Box<[u8]>>;

pub(crate) struct Shard {
    index: HashTable<u32>,
    slots: Vec<Slot>,
    live: List,
    tombstones: List,
    free: List,
    max_live: usize,
    max_tombstones: usize,
}

struct Slot {
    id: TicketId,
    links: Links,
    content: Content,
}

enum Content {
    /// `expires_at` is in milliseconds since the Unix epoch.
    Secret { stored: Stored, expires_at: u64 },
    /// A tombstone; in free slots it means nothing.
    Gone(Absent),
}

impl Linked for Slot {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// How many of the oldest secrets each operation looks at for expired ones.
const SWEPT: usize = 8;

/// Slots are numbered with 32 bits, and there are secrets and tombstones.
const MAX_ENTRIES: usize = 1 << 30;

impl Shard {
    pub(crate) fn new(max_live: usize, max_tombstones: usize) -> Self {
        Self {
            index: HashTable::new(),
            slots: Vec::new(),
            live: List::EMPTY,
            tombstones: List::EMPTY,
            free: List::EMPTY,
            max_live: max_live.min(MAX_ENTRIES),
            max_tombstones: max_tombstones.min(MAX_ENTRIES),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.live.len()
    }

    /// Keeps a secret; not if its id is or was here, or if there is no room for any.
    pub(crate) fn put(
        &mut self,
        entry: (&TicketId, u64),
        stored: Stored,
        expires_at: u64,
        now: u64,
        hashing: &RandomState,
    ) -> bool {
        let (id, hash) = entry;
        if self.max_live == 0 || self.find(id, hash).is_some() {
            return false;
        }
        self.sweep(now, hashing);
        if self.live.len() >= self.max_live
            && let Some(oldest) = self.live.oldest()
        {
            self.remove_live(oldest, hashing);
        }
        let slot = self.unused_slot(Slot {
            id: *id,
            links: Links::UNLINKED,
            content: Content::Secret { stored, expires_at },
        });
        self.live.push(&mut self.slots, slot);
        let slots = &self.slots;
        let rehash = |&slot: &u32| hashing.hash_one(slots[slot as usize].id);
        self.index.insert_unique(hash, slot, rehash);
        true
    }

    /// Takes a secret out, or says what is known of it.
    pub(crate) fn take(
        &mut self,
        entry: (&TicketId, u64),
        purpose: TakePurpose,
        now: u64,
        hashing: &RandomState,
    ) -> Result<Stored, Absent> {
        let Some(slot) = self.find(entry.0, entry.1) else { return Err(Absent::Unknown) };
        let why = match purpose {
            TakePurpose::Accept => Absent::Used,
            TakePurpose::Burn => Absent::Burned,
        };
        match &mut self.slots[slot as usize].content {
            Content::Gone(absent) => Err(*absent),
            Content::Secret { expires_at, .. } if *expires_at <= now => {
                self.remove_live(slot, hashing);
                Err(Absent::Unknown)
            }
            Content::Secret { .. } => self.bury(slot, why, hashing).ok_or(Absent::Unknown),
        }
    }

    /// Destroys a secret that is here.
    pub(crate) fn burn(&mut self, entry: (&TicketId, u64), hashing: &RandomState) {
        if let Some(slot) = self.find(entry.0, entry.1)
            && matches!(self.slots[slot as usize].content, Content::Secret { .. })
        {
            self.bury(slot, Absent::Burned, hashing);
        }
    }

    /// Destroys expired secrets among the oldest. Most expire in the order in which they came.
    pub(crate) fn sweep(&mut self, now: u64, hashing: &RandomState) -> usize {
        self.remove_expired(now, SWEPT, hashing)
    }

    /// Destroys all expired secrets.
    pub(crate) fn purge(&mut self, now: u64, hashing: &RandomState) -> usize {
        self.remove_expired(now, usize::MAX, hashing)
    }

    fn remove_expired(&mut self, now: u64, at_most: usize, hashing: &RandomState) -> usize {
        let before = self.live.len();
        let mut next = self.live.oldest();
        for _ in 0..at_most.min(before) {
            let Some(slot) = next else { break };
            next = List::after(&mut self.slots, slot);
            if let Content::Secret { expires_at, .. } = self.slots[slot as usize].content
                && expires_at <= now
            {
                self.remove_live(slot, hashing);
            }
        }
        before - self.live.len()
    }

    fn find(&self, id: &TicketId, hash: u64) -> Option<u32> {
        self.index.find(hash, |&slot| self.slots[slot as usize].id == *id).copied()
    }

    /// Makes a secret a tombstone, and gives it out: it moves, so there is no second copy.
    fn bury(&mut self, slot: u32, why: Absent, hashing: &RandomState) -> Option<Stored> {
        self.live.remove(&mut self.slots, slot);
        self.tombstones.push(&mut self.slots, slot);
        let content = &mut self.slots[slot as usize].content;
        let secret = std::mem::replace(content, Content::Gone(why));
        if self.tombstones.len() > self.max_tombstones
            && let Some(oldest) = self.tombstones.oldest()
        {
            self.tombstones.remove(&mut self.slots, oldest);
            self.release(oldest, hashing);
        }
        match secret {
            Content::Secret { stored, .. } => Some(stored),
            Content::Gone(_) => None,
        }
    }

    fn remove_live(&mut self, slot: u32, hashing: &RandomState) {
        self.live.remove(&mut self.slots, slot);
        self.release(slot, hashing);
    }

    /// Forgets an id; the secret, if there is one, is wiped here.
    fn release(&mut self, slot: u32, hashing: &RandomState) {
        let released = &mut self.slots[slot as usize];
        released.content = Content::Gone(Absent::Unknown);
        let hash = hashing.hash_one(released.id);
        if let Ok(found) = self.index.find_entry(hash, |&other| other == slot) {
            found.remove();
        }
        self.free.push(&mut self.slots, slot);
    }

    fn unused_slot(&mut self, new: Slot) -> u32 {
        if let Some(slot) = self.free.oldest() {
            self.free.remove(&mut self.slots, slot);
            self.slots[slot as usize] = new;
            return slot;
        }
        // An eighth at a time, not twice as many: memory counts here more than copying.
        if self.slots.len() == self.slots.capacity() {
            self.slots.reserve_exact(self.slots.len() / 8 + 8);
        }
        self.slots.push(new);
        (self.slots.len() - 1) as u32
    }
}

#[cfg(test)]
mod tests;
