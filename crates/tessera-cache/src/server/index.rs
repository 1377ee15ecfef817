//! A hash table of small numbers, in little more than four bytes per entry.

use alloc::vec::Vec;

/// Robin Hood hashing with linear probing, in segments that grow independently.
///
/// A slot holds a number and its distance from the slot that its hash selects. An entry at another distance
/// than the search has another hash, so hardly any wrong candidate is looked up in the caller's memory; and
/// removal needs no memory but the table's. A table is between four fifths and nine tenths full. Segments
/// keep the pause short when one grows: the caller hashes its entries again.
pub(super) struct Index {
    segments: Vec<Segment>,
}

#[derive(Default)]
struct Segment {
    /// 0: free. Otherwise the distance plus one in the upper 8 bits, the number in the lower 24.
    slots: Vec<u32>,
    used: usize,
}

/// The number of segments.
const SEGMENTS: usize = 256;

/// Exclusive bound of the numbers in an index.
pub(super) const END: u32 = 1 << 24;

/// The greatest distance that a slot can hold.
const FARTHEST: u32 = 0xfe;

impl Index {
    pub(super) fn new() -> Self {
        let mut segments = Vec::new();
        segments.resize_with(SEGMENTS, Segment::default);
        Self { segments }
    }

    /// Returns the number with this hash for which `is_it` is true.
    pub(super) fn find(&self, hash: u64, is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let segment = self.segments.get(segment_of(hash))?;
        segment.place(hash, is_it).and_then(|at| segment.slots.get(at)).map(|slot| slot & (END - 1))
    }

    /// Adds a number. `hash_of` returns the hashes of existing entries.
    pub(super) fn insert(&mut self, hash: u64, number: u32, hash_of: impl Fn(u32) -> u64) {
        if let Some(segment) = self.segments.get_mut(segment_of(hash)) {
            segment.add(hash, number, hash_of);
        }
    }

    /// Removes the number with this hash.
    pub(super) fn remove(&mut self, hash: u64, number: u32) {
        if let Some(segment) = self.segments.get_mut(segment_of(hash)) {
            segment.remove(hash, number);
        }
    }

    /// Returns how many numbers it has.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.segments.iter().map(|it| it.used).sum()
    }

    /// Returns how many bytes it takes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.segments.iter().map(|it| size_of::<Segment>() + 4 * it.slots.capacity()).sum()
    }
}

/// Splits a hash: the upper bits select the segment, the others the slot.
fn segment_of(hash: u64) -> usize {
    (hash >> 56) as usize
}

impl Segment {
    /// Returns the slot of a hash in an empty table.
    fn home(&self, hash: u64) -> usize {
        let below = u128::from(hash << 8);
        ((below * self.slots.len() as u128) >> 64) as usize
    }

    fn after(&self, at: usize) -> usize {
        if at + 1 == self.slots.len() { 0 } else { at + 1 }
    }

    fn place(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<usize> {
        let mut at = self.home(hash);
        for distance in 0..=FARTHEST {
            let slot = *self.slots.get(at)?;
            // An entry closer to home, or a free slot: the hash isn't there.
            if slot >> 24 <= distance {
                return None;
            }
            if slot >> 24 == distance + 1 && is_it(slot & (END - 1)) {
                return Some(at);
            }
            at = self.after(at);
        }
        None
    }

    fn add(&mut self, hash: u64, number: u32, hash_of: impl Fn(u32) -> u64) {
        // Nine tenths.
        if (self.used + 1) * 10 > self.slots.len() * 9 {
            self.grow(&hash_of);
        }
        // Hashes are keyed, so an attacker can't make many of them equal: only in a full table is an entry
        // too far from home. What still has no place is forgotten, as by an eviction.
        if !self.try_add(hash, number) && self.used * 2 > self.slots.len() {
            self.grow(&hash_of);
            let _ = self.try_add(hash, number);
        }
    }

    /// Adds a number, and moves entries closer to home than it; `false`, with nothing changed, if an entry
    /// would be too far from home.
    fn try_add(&mut self, hash: u64, number: u32) -> bool {
        if self.slots.is_empty() || !self.has_room(hash) {
            return false;
        }
        let mut at = self.home(hash);
        let mut carried = 1 << 24 | number;
        loop {
            let next = self.after(at);
            let Some(slot) = self.slots.get_mut(at) else { return false };
            if *slot == 0 {
                *slot = carried;
                self.used += 1;
                return true;
            }
            if *slot >> 24 < carried >> 24 {
                core::mem::swap(slot, &mut carried);
            }
            carried += 1 << 24;
            at = next;
        }
    }

    /// Whether no entry would be too far from home with one more of this hash.
    fn has_room(&self, hash: u64) -> bool {
        let (mut at, mut distance) = (self.home(hash), 1);
        for _ in 0..self.slots.len() {
            match self.slots.get(at).map_or(0, |slot| slot >> 24) {
                0 => return true,
                there => distance = there.min(distance) + 1,
            }
            if distance > FARTHEST {
                return false;
            }
            at = self.after(at);
        }
        false
    }

    fn remove(&mut self, hash: u64, number: u32) {
        let Some(mut at) = self.place(hash, |there| there == number) else { return };
        self.used -= 1;
        // The entries after it move one place towards home.
        loop {
            let next = self.after(at);
            let moved = self.slots.get(next).copied().unwrap_or(0);
            let stays = moved >> 24 <= 1;
            if let Some(slot) = self.slots.get_mut(at) {
                *slot = if stays { 0 } else { moved - (1 << 24) };
            }
            if stays {
                return;
            }
            at = next;
        }
    }

    /// Grows the segment by an eighth.
    fn grow(&mut self, hash_of: &impl Fn(u32) -> u64) {
        let len = self.slots.len() + (self.slots.len() / 8).max(8);
        let larger = Self { slots: alloc::vec![0; len], used: 0 };
        let smaller = core::mem::replace(self, larger);
        for slot in smaller.slots.into_iter().filter(|slot| *slot != 0) {
            let number = slot & (END - 1);
            self.try_add(hash_of(number), number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::Index;

    /// Computes a cheap hash of a number.
    fn hash(number: u32) -> u64 {
        (u64::from(number) + 1)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    #[test]
    fn an_index_finds_its_entries_and_nothing_else() {
        let mut index = Index::new();
        let mut there = HashMap::new();
        let mut state = 1u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = (state >> 40) as u32 % 20_000;
            if there.remove(&number).is_some() {
                index.remove(hash(number), number);
            } else {
                index.insert(hash(number), number, hash);
                there.insert(number, ());
            }
        }
        for number in 0..20_000 {
            let found = index.find(hash(number), |it| it == number);
            assert_eq!(found.is_some(), there.contains_key(&number), "{number}");
        }
        assert_eq!(index.len(), there.len());
    }

    #[test]
    fn an_index_looks_at_few_wrong_candidates() {
        let mut index = Index::new();
        (0..100_000).for_each(|number| index.insert(hash(number), number, hash));
        let mut looked_at = 0;
        for number in 0..100_000 {
            let found = index.find(hash(number), |it| {
                looked_at += 1;
                it == number
            });
            assert_eq!(found, Some(number));
        }
        assert!(looked_at < 160_000, "{looked_at}");
    }

    #[test]
    fn an_index_takes_little_more_than_four_bytes_an_entry() {
        let mut index = Index::new();
        (0..100_000).for_each(|number| index.insert(hash(number), number, hash));
        assert!(index.bytes() < 520_000, "{}", index.bytes());
    }

    /// Only an attacker with the key can make hashes equal; even then nothing may break.
    #[test]
    fn an_index_survives_equal_hashes() {
        let mut index = Index::new();
        (0..1000).for_each(|number| index.insert(7, number, |_| 7));
        let found = (0..1000).filter(|number| index.find(7, |it| it == *number).is_some()).count();
        assert!((200..1000).contains(&found), "{found}");
        (0..1000).for_each(|number| index.remove(7, number));
        assert_eq!(index.find(7, |_| true), None);
    }
}
