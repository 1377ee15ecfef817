//! Content of the memory vault: secrets and tombstones in slots, found by handle, ordered by age.
//!
//! A slot costs 72 bytes at most, growth included, and 6 to 12 bytes of index. The secret has its own box,
//! because growth moves the slots, and moving leaves copies behind.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use tessera::crypto::SecretBytes;
use tessera::resume::{FlightHandle, TakePurpose};

use crate::memory::Limits;
use crate::memory::accounts::{Account, Accounts, ClientHash};
use crate::memory::list::{Links, List, ListNode};

/// A one-time secret, encoded; wiped when dropped.
pub(crate) type EncodedSecret = SecretBytes;

pub(crate) struct Store {
    /// Maps the hash of a handle to its slot.
    index: HashTable<u32>,
    slots: Vec<Slot>,
    live: Accounts,
    tombstones: List,
    free: List,
    /// The next slot that the sweep checks.
    cursor: usize,
    limits: Limits,
    /// Total bytes of long secrets.
    long_bytes: usize,
    closed: bool,
}

struct Slot {
    handle: FlightHandle,
    links: Links,
    /// For a secret: whole seconds since the Unix epoch, which keeps a slot at 64 bytes.
    expires_at: u32,
    /// For a secret: its account.
    account: Account,
    content: Content,
}

enum Content {
    /// Only here, and only while it is in the list of live secrets.
    Secret(EncodedSecret),
    /// A tombstone; meaningless in free slots.
    Gone(Fate),
}

/// What became of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Used,
    Burned,
    /// Expired, evicted, or never here.
    Unknown,
    /// The vault is closed; its snapshot may have it.
    Moved,
}

/// A snapshot's entry for a flight.
pub(crate) enum Record {
    Live {
        stored: EncodedSecret,
        expires_at: u32,
        /// A number for each named client.
        owner: Option<u32>,
    },
    Gone(Fate),
}

/// A secret to be stored.
pub(crate) struct Incoming<'a> {
    pub(crate) handle: &'a FlightHandle,
    pub(crate) hash: u64,
    pub(crate) stored: EncodedSecret,
    /// In seconds since the Unix epoch.
    pub(crate) expires_at: u32,
    pub(crate) client: Option<ClientHash>,
}

impl ListNode for Slot {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// How many of the oldest secrets each operation checks for expiry, and how many slots in turn: a long-lived
/// secret may hide shorter-lived ones behind it.
const SWEPT: usize = 4;

/// How many slots a purge checks per lock.
const PURGED: usize = 4096;

/// Of 64 bytes each.
const SLOTS_PER_PAGE: usize = 64;

/// Slots are numbered with 32 bits, and shared by secrets and tombstones.
const MAX_ENTRIES: usize = 1 << 30;

impl Store {
    pub(crate) fn new(limits: Limits) -> Self {
        let Limits { secrets, tombstones, .. } = limits;
        let limits = Limits {
            secrets: secrets.min(MAX_ENTRIES),
            tombstones: tombstones.min(MAX_ENTRIES),
            ..limits
        };
        Self {
            index: HashTable::new(),
            slots: Vec::new(),
            live: Accounts::EMPTY,
            tombstones: List::EMPTY,
            free: List::EMPTY,
            cursor: 0,
            limits,
            long_bytes: 0,
            closed: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.live.len()
    }

    /// Whether there is room for expanded keys.
    pub(crate) fn has_room_for_expanded(&self) -> bool {
        self.long_bytes < self.limits.expanded_bytes
    }

    /// Stores a secret. Refuses it if its handle is or was here, if its client is at its limit, if it exceeds
    /// the limit of long secrets, or if there is no room and nothing to evict.
    pub(crate) fn put(&mut self, new: Incoming<'_>, now: u32, hashing: &RandomState) -> bool {
        self.sweep(now, hashing);
        let known = self.find(new.handle, new.hash).is_some();
        let held = new.client.map(|client| self.live.held_by(client));
        let Limits { secrets, per_client, expanded_bytes, .. } = self.limits;
        let long = long_len(&new.stored);
        let most_long = expanded_bytes.saturating_add(expanded_bytes / MORE_LONG);
        let is_too_long = long > 0 && self.long_bytes.saturating_add(long) > most_long;
        let has_enough = held.is_some_and(|held| held >= per_client);
        if self.closed || known || has_enough || is_too_long {
            return false;
        }
        if self.live.len() >= secrets {
            let Some(slot) = self.live.gives_way(new.client, secrets) else { return false };
            self.remove_live(slot, hashing);
        }
        self.long_bytes += long;
        let slot = self.insert(
            new.hash,
            Slot {
                handle: *new.handle,
                links: Links::UNLINKED,
                expires_at: new.expires_at,
                account: Account::NOBODY,
                content: Content::Secret(new.stored),
            },
            hashing,
        );
        let account = self.live.add(new.client, &mut self.slots, slot);
        self.slots[slot as usize].account = account;
        true
    }

    /// Takes a secret out, or returns what is known of it.
    pub(crate) fn take(
        &mut self,
        entry: (&FlightHandle, u64),
        purpose: TakePurpose,
        now: u32,
        hashing: &RandomState,
    ) -> Result<EncodedSecret, Fate> {
        if self.closed {
            return Err(Fate::Moved);
        }
        let Some(slot) = self.find(entry.0, entry.1) else { return Err(Fate::Unknown) };
        let fate = match purpose {
            TakePurpose::Accept => Fate::Used,
            TakePurpose::Burn => Fate::Burned,
        };
        let found = &self.slots[slot as usize];
        match &found.content {
            Content::Gone(fate) => Err(*fate),
            Content::Secret(_) if found.expires_at <= now => {
                self.remove_live(slot, hashing);
                Err(Fate::Unknown)
            }
            Content::Secret(_) => self.bury(slot, fate, hashing).ok_or(Fate::Unknown),
        }
    }

    /// Destroys a secret that is here.
    pub(crate) fn burn(&mut self, entry: (&FlightHandle, u64), hashing: &RandomState) {
        if let Some(slot) = self.find(entry.0, entry.1)
            && matches!(self.slots[slot as usize].content, Content::Secret(_))
        {
            self.bury(slot, Fate::Burned, hashing);
        }
    }

    /// Removes the secrets of a named client, the oldest first; nothing here remembers them.
    pub(crate) fn remove_of(
        &mut self,
        client: ClientHash,
        hashing: &RandomState,
    ) -> Vec<(FlightHandle, EncodedSecret, u32)> {
        let mut removed = Vec::with_capacity(self.live.held_by(client));
        while let Some(slot) = self.live.oldest_of_client(client) {
            removed.extend(self.remove(slot, hashing));
        }
        removed
    }

    /// Removes all content, the oldest first, and then takes and returns nothing.
    pub(crate) fn close(&mut self, hashing: &RandomState) -> Vec<(FlightHandle, Record)> {
        self.closed = true;
        let mut records = Vec::with_capacity(self.live.len() + self.tombstones.len());
        let mut next = self.tombstones.oldest();
        while let Some(slot) = next {
            next = List::after(&mut self.slots, slot);
            let Slot { handle, content, .. } = &self.slots[slot as usize];
            if let Content::Gone(fate) = content {
                records.push((*handle, Record::Gone(*fate)));
            }
        }
        let lists: Vec<_> = self.live.oldest_of_each().collect();
        for (oldest, owner) in lists {
            let mut next = Some(oldest);
            while let Some(slot) = next {
                next = List::after(&mut self.slots, slot);
                if let Some((handle, stored, expires_at)) = self.remove(slot, hashing) {
                    records.push((handle, Record::Live { stored, expires_at, owner }));
                }
            }
        }
        records
    }

    /// Remembers a flight whose key is gone according to a snapshot.
    pub(crate) fn remember(
        &mut self,
        entry: (&FlightHandle, u64),
        fate: Fate,
        hashing: &RandomState,
    ) {
        if self.find(entry.0, entry.1).is_some() {
            return;
        }
        let slot = Slot {
            handle: *entry.0,
            links: Links::UNLINKED,
            expires_at: 0,
            account: Account::NOBODY,
            content: Content::Gone(fate),
        };
        let slot = self.insert(entry.1, slot, hashing);
        self.tombstones.push(&mut self.slots, slot);
        self.trim_tombstones(hashing);
    }

    /// Destroys some of the expired secrets: those among the oldest of clients without a name, since most
    /// expire in the order in which they came, and those that it finds on its way through all slots.
    pub(crate) fn sweep(&mut self, now: u32, hashing: &RandomState) {
        for _ in 0..SWEPT {
            let oldest = self.live.oldest_nameless();
            if !oldest.is_some_and(|slot| self.remove_expired(slot, now, hashing)) {
                break;
            }
        }
        for _ in 0..SWEPT {
            self.cursor = if self.cursor + 1 < self.slots.len() { self.cursor + 1 } else { 0 };
            self.remove_expired(self.cursor as u32, now, hashing);
        }
    }

    /// Destroys the expired secrets among the next few thousand slots from `slot` on; returns the start of
    /// the rest, if any.
    pub(crate) fn purge(&mut self, slot: usize, now: u32, hashing: &RandomState) -> Option<usize> {
        let end = (slot + PURGED).min(self.slots.len());
        for slot in slot..end {
            self.remove_expired(slot as u32, now, hashing);
        }
        (end < self.slots.len()).then_some(end)
    }

    fn remove_expired(&mut self, slot: u32, now: u32, hashing: &RandomState) -> bool {
        let there = self.slots.get(slot as usize);
        let expired = there.is_some_and(|slot| {
            matches!(slot.content, Content::Secret(_)) && slot.expires_at <= now
        });
        if expired {
            self.remove_live(slot, hashing);
        }
        expired
    }

    fn find(&self, handle: &FlightHandle, hash: u64) -> Option<u32> {
        self.index.find(hash, |&slot| self.slots[slot as usize].handle == *handle).copied()
    }

    /// Turns a secret into a tombstone, and returns it by move, so that there is no second copy.
    fn bury(&mut self, slot: u32, fate: Fate, hashing: &RandomState) -> Option<EncodedSecret> {
        let account = self.slots[slot as usize].account;
        self.live.remove(account, &mut self.slots, slot);
        self.tombstones.push(&mut self.slots, slot);
        let buried = &mut self.slots[slot as usize];
        buried.account = Account::NOBODY;
        let secret = std::mem::replace(&mut buried.content, Content::Gone(fate));
        self.trim_tombstones(hashing);
        match secret {
            Content::Secret(stored) => {
                self.long_bytes -= long_len(&stored);
                Some(stored)
            }
            Content::Gone(_) => None,
        }
    }

    /// Removes a secret without a tombstone, and returns it by move.
    fn remove(
        &mut self,
        slot: u32,
        hashing: &RandomState,
    ) -> Option<(FlightHandle, EncodedSecret, u32)> {
        let Slot { handle, expires_at, content, .. } = &mut self.slots[slot as usize];
        let (handle, expires_at) = (*handle, *expires_at);
        let secret = std::mem::replace(content, Content::Gone(Fate::Unknown));
        let removed = match secret {
            Content::Secret(stored) => {
                self.long_bytes -= long_len(&stored);
                Some((handle, stored, expires_at))
            }
            Content::Gone(_) => None,
        };
        self.remove_live(slot, hashing);
        removed
    }

    fn trim_tombstones(&mut self, hashing: &RandomState) {
        if self.tombstones.len() > self.limits.tombstones
            && let Some(oldest) = self.tombstones.oldest()
        {
            self.tombstones.remove(&mut self.slots, oldest);
            self.release(oldest, hashing);
        }
    }

    fn remove_live(&mut self, slot: u32, hashing: &RandomState) {
        let Slot { account, content, .. } = &self.slots[slot as usize];
        let account = *account;
        if let Content::Secret(stored) = content {
            self.long_bytes -= long_len(stored);
        }
        self.live.remove(account, &mut self.slots, slot);
        self.release(slot, hashing);
    }

    /// Forgets a flight, and wipes its secret, if any.
    fn release(&mut self, slot: u32, hashing: &RandomState) {
        let released = &mut self.slots[slot as usize];
        released.content = Content::Gone(Fate::Unknown);
        released.account = Account::NOBODY;
        let hash = hashing.hash_one(released.handle);
        if let Ok(found) = self.index.find_entry(hash, |&other| other == slot) {
            found.remove();
        }
        self.free.push(&mut self.slots, slot);
    }

    /// Puts an entry into a slot and the index, but into no list.
    fn insert(&mut self, hash: u64, new: Slot, hashing: &RandomState) -> u32 {
        let slot = self.unused_slot(new);
        let slots = &self.slots;
        let rehash = |&slot: &u32| hashing.hash_one(slots[slot as usize].handle);
        self.index.insert_unique(hash, slot, rehash);
        slot
    }

    fn unused_slot(&mut self, new: Slot) -> u32 {
        if let Some(slot) = self.free.oldest() {
            self.free.remove(&mut self.slots, slot);
            self.slots[slot as usize] = new;
            return slot;
        }
        // Grow by an eighth instead of doubling: memory matters more here than copying. Small vaults grow by
        // a page.
        if self.slots.len() == self.slots.capacity() {
            self.slots.reserve_exact((self.slots.len() / 8).max(SLOTS_PER_PAGE));
        }
        self.slots.push(new);
        (self.slots.len() - 1) as u32
    }
}

/// Returns how many bytes a secret adds to the long ones: none, or all of them.
fn long_len(stored: &EncodedSecret) -> usize {
    if stored.len() > LONG { stored.len() } else { 0 }
}

/// Seeds are shorter, overhead included.
const LONG: usize = 256;

/// Long secrets put at the same moment may exceed the limit by one part in this many.
const MORE_LONG: usize = 8;

#[cfg(test)]
mod tests;
