//! A table from hashes to small numbers, in four bytes an entry and hardly more.

use alloc::vec::Vec;

/// Robin Hood hashing with linear probing, in segments that grow by themselves.
///
/// A slot holds a number and how far it is from where its hash would have it. What is at another distance
/// than the search has another hash, so hardly any wrong candidate is looked at in the caller's memory; and
/// removal needs no memory but the table's. A table is between four fifths and nine tenths full. Its segments
/// keep the pause short while one grows: the caller hashes what is in it again.
pub(super) struct Index {
    segments: Vec<Segment>,
}

#[derive(Default)]
struct Segment {
    /// 0: free. Else one more than the distance in the upper 8 bits, the number in the lower 24.
    slots: Vec<u32>,
    used: usize,
}

/// The number of segments.
const SEGMENTS: usize = 256;

/// Numbers in an index are smaller than this.
pub(super) const END: u32 = 1 << 24;

/// The greatest distance that a slot can tell.
const FARTHEST: u32 = 0xfe;

impl Index {
    pub(super) fn new() -> Self {
        let mut segments = Vec::new();
        segments.resize_with(SEGMENTS, Segment::default);
        Self { segments }
    }

    /// The number with this hash that `is_it` says.
    pub(super) fn find(&self, hash: u64, is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let segment = self.segments.get(segment_of(hash))?;
        segment.place(hash, is_it).and_then(|at| segment.slots.get(at)).map(|slot| slot & (END - 1))
    }

    /// Adds a number. `hash_of` gives the hashes of those that are there.
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

    /// How many bytes it takes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.segments.iter().map(|it| size_of::<Segment>() + 4 * it.slots.capacity()).sum()
    }
}

/// The upper bits choose the segment, the others the slot.
fn segment_of(hash: u64) -> usize {
    (hash >> 56) as usize
}

impl Segment {
    /// Where a hash would be if nothing else were there.
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
            // Whoever is nearer to home than this, or nobody: the hash isn't there.
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
        // Hashes are keyed, so that nobody can make many of them the same: too far from home is what only a
        // full table has. What still has no place is forgotten, as it would be by an eviction.
        if !self.try_add(hash, number) && self.used * 2 > self.slots.len() {
            self.grow(&hash_of);
            let _ = self.try_add(hash, number);
        }
    }

    /// Adds a number, and moves those that are nearer to home than it; `false` if something is too far
    /// from home then, and nothing has changed.
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

    /// Whether nothing would be too far from home with one more of this hash.
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
        // Those behind it move one place towards home.
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

    /// Makes room: an eighth more.
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

    /// A cheap hash of numbers.
    fn hash(number: u32) -> u64 {
        (u64::from(number) + 1)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    #[test]
    fn an_index_finds_what_is_there_and_nothing_else() {
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
        let used: usize = index.segments.iter().map(|it| it.used).sum();
        assert_eq!(used, there.len());
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

    /// Nobody who doesn't know the key can make hashes equal; that they are must break nothing.
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
