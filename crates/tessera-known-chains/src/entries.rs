//! A bounded table of records; evicts the least recently used of an authority.

use alloc::vec::Vec;
use core::mem;

use hashbrown::HashTable;

use crate::key::{Key, short};
use crate::record::Record;
use crate::shares::{NONE, Shares};

/// The capacity of a store. When it is full, the least recently used chains are evicted: those of the
/// authority that has most, or of the new chain's own, once that has its share. So a peer with many
/// certificates of one authority can only evict chains of that authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreBounds {
    /// Maximum number of chains.
    pub entries: usize,
    /// Maximum bytes, table overhead included.
    pub bytes: usize,
}

impl Default for StoreBounds {
    /// Returns 4,096 chains, and 2 MiB.
    fn default() -> Self {
        Self { entries: 4096, bytes: 2 << 20 }
    }
}

/// Slots in pieces of equal size, so that growth moves nothing and leaves little empty; an index of four
/// bytes each; and for each authority a linked list of its slots in order of use.
pub(crate) struct Entries {
    bounds: StoreBounds,
    pieces: Vec<Vec<Slot>>,
    index: HashTable<u32>,
    shares: Shares,
    /// The first empty slot; its `older` links to the next one.
    empty: u32,
    bytes: usize,
}

struct Slot {
    /// `None` if the slot is empty.
    record: Option<Record>,
    newer: u32,
    older: u32,
}

impl Slot {
    fn is_of(&self, key: &Key) -> bool {
        self.record.as_ref().is_some_and(|record| record.is_of(key))
    }
}

const PIECE: usize = 64;

impl Entries {
    /// Cost of an entry besides its record: a slot, and its part of the index.
    const OVERHEAD: usize = size_of::<Slot>() + 8;

    pub(crate) fn new(bounds: StoreBounds) -> Self {
        let (pieces, index, shares) = (Vec::new(), HashTable::new(), Shares::default());
        Self { bounds, pieces, index, shares, empty: NONE, bytes: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the record, and makes it the most recently used.
    pub(crate) fn get(&mut self, key: &Key) -> Option<&Record> {
        let at = self.find(key)?;
        let cost = self.unlink(at);
        self.link(at, cost);
        self.slot(at)?.record.as_ref()
    }

    /// Adds a record for a chain of this authority, or replaces the record with its key; `left` gets the
    /// evicted ones. Returns the record if it isn't kept: it is larger than the whole table, or there is no memory for
    /// its place.
    pub(crate) fn insert(
        &mut self,
        mut record: Record,
        authority: &[u8],
        mut left: impl FnMut(Record),
    ) -> Option<Record> {
        let key = record.key();
        self.remove(&key);
        let cost = Self::OVERHEAD + record.len();
        if self.bounds.entries == 0 || cost > self.bounds.bytes {
            return Some(record);
        }
        let Some(share) = self.shares.of(authority) else { return Some(record) };
        record.count_in(share);
        loop {
            let leaves = if self.len() >= self.bounds.entries {
                self.shares.leaves(share, self.bounds.entries, |it| it.entries)
            } else if self.bytes + cost > self.bounds.bytes {
                self.shares.leaves(share, self.bounds.bytes, |it| it.bytes)
            } else {
                break;
            };
            let leaves = leaves.and_then(|at| self.slot(at)?.record.as_ref()).map(Record::key);
            match leaves.and_then(|key| self.remove(&key)) {
                Some(record) => left(record),
                None => return Some(record),
            }
        }
        let Some(at) = self.place() else { return Some(record) };
        let Self { pieces, index, .. } = self;
        let hash = |at: &u32| {
            get(pieces, *at).and_then(|slot| slot.record.as_ref()).map_or(0, |it| short(&it.key()))
        };
        if index.try_reserve(1, hash).is_err() {
            self.give_back(at);
            return Some(record);
        }
        index.insert_unique(short(&key), at, hash);
        if let Some(slot) = self.slot_mut(at) {
            slot.record = Some(record);
        }
        self.bytes += cost;
        self.link(at, cost);
        None
    }

    pub(crate) fn remove(&mut self, key: &Key) -> Option<Record> {
        let Self { pieces, index, .. } = self;
        let is_it = |at: &u32| get(pieces, *at).is_some_and(|slot| slot.is_of(key));
        let at = index.find_entry(short(key), is_it).ok()?.remove().0;
        self.bytes -= self.unlink(at);
        self.give_back(at)
    }

    fn find(&self, key: &Key) -> Option<u32> {
        let is_it = |at: &u32| self.slot(*at).is_some_and(|slot| slot.is_of(key));
        self.index.find(short(key), is_it).copied()
    }

    /// Takes an empty slot, or a new one at the end. `None` without memory for it.
    fn place(&mut self) -> Option<u32> {
        if let Some(empty) = self.slot(self.empty) {
            let next = empty.older;
            return Some(mem::replace(&mut self.empty, next));
        }
        if self.pieces.last().is_none_or(|piece| piece.len() == PIECE) {
            let mut piece = Vec::new();
            piece.try_reserve_exact(PIECE.min(self.bounds.entries)).ok()?;
            self.pieces.try_reserve(1).ok()?;
            self.pieces.push(piece);
        }
        let full = (self.pieces.len() - 1) * PIECE;
        let piece = self.pieces.last_mut()?;
        let at = u32::try_from(full + piece.len()).ok().filter(|at| *at != NONE)?;
        piece.push(Slot { record: None, newer: NONE, older: NONE });
        Some(at)
    }

    /// Empties a slot, and returns its record.
    fn give_back(&mut self, at: u32) -> Option<Record> {
        let empty = mem::replace(&mut self.empty, at);
        let slot = self.slot_mut(at)?;
        slot.older = empty;
        slot.record.take()
    }

    /// Makes an entry the newest one of its share.
    fn link(&mut self, at: u32, cost: usize) {
        let Some(share) = self.share(at).and_then(|share| self.shares.get_mut(share)) else {
            return;
        };
        share.entries += 1;
        share.bytes += cost;
        let older = mem::replace(&mut share.newest, at);
        if older == NONE {
            share.oldest = at;
        }
        if let Some(slot) = self.slot_mut(at) {
            (slot.newer, slot.older) = (NONE, older);
        }
        if let Some(slot) = self.slot_mut(older) {
            slot.newer = at;
        }
    }

    /// Removes an entry from its share, and returns its cost.
    fn unlink(&mut self, at: u32) -> usize {
        let Some(Slot { record: Some(record), newer, older }) = self.slot(at) else { return 0 };
        let (share, newer, older) = (record.share(), *newer, *older);
        let cost = Self::OVERHEAD + record.len();
        if let Some(share) = self.shares.get_mut(share) {
            share.entries -= 1;
            share.bytes -= cost;
            if newer == NONE {
                share.newest = older;
            }
            if older == NONE {
                share.oldest = newer;
            }
        }
        if let Some(slot) = self.slot_mut(newer) {
            slot.older = older;
        }
        if let Some(slot) = self.slot_mut(older) {
            slot.newer = newer;
        }
        cost
    }

    fn share(&self, at: u32) -> Option<u8> {
        Some(self.slot(at)?.record.as_ref()?.share())
    }

    fn slot(&self, at: u32) -> Option<&Slot> {
        get(&self.pieces, at)
    }

    fn slot_mut(&mut self, at: u32) -> Option<&mut Slot> {
        let at = at as usize;
        self.pieces.get_mut(at / PIECE)?.get_mut(at % PIECE)
    }
}

fn get(pieces: &[Vec<Slot>], at: u32) -> Option<&Slot> {
    let at = at as usize;
    pieces.get(at / PIECE)?.get(at % PIECE)
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::{Entries, Key, Record, StoreBounds};
    use crate::record::VerifiedChain;

    fn key(number: u32) -> Key {
        let mut key = [0; 16];
        key[..4].copy_from_slice(&number.to_be_bytes());
        key
    }

    fn record(number: u32, identity: &[u8]) -> Record {
        let (not_before, not_after) = (0, 1);
        let found = VerifiedChain {
            not_before,
            not_after,
            certificates: 1,
            list_len: 3,
            public_key: b"",
            identity,
        };
        Record::new(&key(number), &found).unwrap()
    }

    fn insert(entries: &mut Entries, number: u32, identity: &[u8]) -> Vec<u32> {
        insert_of(entries, b"authority", number, identity)
    }

    fn insert_of(
        entries: &mut Entries,
        authority: &[u8],
        number: u32,
        identity: &[u8],
    ) -> Vec<u32> {
        let mut left = Vec::new();
        entries.insert(record(number, identity), authority, |record| {
            left.push(u32::from_be_bytes(record.key()[..4].try_into().unwrap()));
        });
        left
    }

    #[test]
    fn the_least_recently_used_entry_leaves() {
        let mut entries = Entries::new(StoreBounds { entries: 3, bytes: usize::MAX });
        for number in 0..3 {
            assert!(insert(&mut entries, number, b"").is_empty());
        }
        assert!(entries.get(&key(0)).is_some());
        assert_eq!(insert(&mut entries, 3, b""), [1]);
        assert!(insert(&mut entries, 2, b"").is_empty());
        assert_eq!(insert(&mut entries, 4, b""), [0]);
        assert!(entries.get(&key(1)).is_none() && entries.get(&key(0)).is_none());
        assert_eq!(entries.len(), 3);
    }

    #[test]
    fn an_entry_that_is_too_large_pushes_out_as_many_as_it_takes() {
        let room = |len: usize| Entries::OVERHEAD + record(0, &vec![0; len]).len();
        let mut entries = Entries::new(StoreBounds { entries: 9, bytes: 3 * room(0) });
        for number in 0..3 {
            insert(&mut entries, number, b"");
        }
        assert_eq!(insert(&mut entries, 3, &[0; 1]), [0, 1]);
        assert_eq!((entries.len(), entries.bytes()), (2, room(0) + room(1)));
        assert!(insert(&mut entries, 4, &vec![0; 3 * room(0)]).is_empty());
        assert_eq!(entries.len(), 2);
    }

    #[test]
    fn a_table_without_room_keeps_nothing() {
        for bounds in [StoreBounds { entries: 0, bytes: 999 }, StoreBounds { entries: 9, bytes: 0 }]
        {
            let mut entries = Entries::new(bounds);
            insert(&mut entries, 0, b"");
            assert_eq!((entries.len(), entries.bytes()), (0, 0));
        }
    }

    #[test]
    fn filling_the_table_evicts_only_entries_of_the_same_authority() {
        let byte_bound = 4 * (Entries::OVERHEAD + record(0, b"").len());
        for bounds in [
            StoreBounds { entries: 4, bytes: usize::MAX },
            StoreBounds { entries: usize::MAX, bytes: byte_bound },
        ] {
            let mut entries = Entries::new(bounds);
            assert!(insert_of(&mut entries, b"a", 100, b"").is_empty());
            for number in 0..3 {
                assert!(insert_of(&mut entries, b"b", number, b"").is_empty());
            }
            // `b` exceeds its share.
            for number in 3..20 {
                assert_eq!(insert_of(&mut entries, b"b", number, b""), [number - 3]);
            }
            // `a` grows to its share, and then evicts its own.
            assert_eq!(insert_of(&mut entries, b"a", 101, b""), [17]);
            assert_eq!(insert_of(&mut entries, b"a", 102, b""), [100]);
            // Another authority gets room from those that have most.
            assert_eq!(insert_of(&mut entries, b"c", 200, b""), [18]);
            assert_eq!(insert_of(&mut entries, b"c", 201, b""), [101]);
            assert!([102, 19, 200, 201].iter().all(|it| entries.get(&key(*it)).is_some()));
        }
    }

    #[test]
    fn authorities_beyond_the_last_number_are_together_and_numbers_are_used_again() {
        let mut entries = Entries::new(StoreBounds { entries: 1000, bytes: usize::MAX });
        for number in 0..300_u32 {
            insert_of(&mut entries, &number.to_be_bytes(), number, b"");
        }
        let share = |entries: &mut Entries, number| entries.get(&key(number)).unwrap().share();
        assert_eq!(
            [0, 254, 255, 256, 299].map(|it| share(&mut entries, it)),
            [0, 254, 255, 255, 255]
        );
        entries.remove(&key(7));
        insert_of(&mut entries, b"another", 300, b"");
        assert_eq!(share(&mut entries, 300), 7);
        insert_of(&mut entries, b"another", 301, b"");
        assert_eq!(share(&mut entries, 301), 7);
    }

    /// Compares with a list that is searched from its beginning.
    #[test]
    fn entries_are_those_of_a_simple_list() {
        let mut entries = Entries::new(StoreBounds { entries: 150, bytes: usize::MAX });
        let mut list: Vec<u32> = Vec::new();
        let mut random = 1_u64;
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (number, what) = ((random >> 33) as u32 % 300, (random >> 50) % 4);
            let known = list.iter().position(|it| *it == number);
            match what {
                0 => {
                    assert_eq!(entries.remove(&key(number)).is_some(), known.is_some());
                    known.map(|at| list.remove(at));
                }
                1 => {
                    let left = insert(&mut entries, number, b"");
                    known.map(|at| list.remove(at));
                    list.push(number);
                    let expected = if list.len() > 150 { vec![list.remove(0)] } else { vec![] };
                    assert_eq!(left, expected);
                }
                _ => {
                    assert_eq!(entries.get(&key(number)).is_some(), known.is_some());
                    if let Some(at) = known {
                        let number = list.remove(at);
                        list.push(number);
                    }
                }
            }
            assert_eq!(entries.len(), list.len());
        }
        assert_eq!(entries.pieces.len(), 3);
        assert_eq!(entries.bytes(), list.len() * (Entries::OVERHEAD + record(0, b"").len()));
    }
}
