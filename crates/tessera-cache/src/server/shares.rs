//! Shares of a cache, so that one authority's clients only evict each other.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// No number.
pub(super) const NONE: u32 = u32::MAX;

/// The share of one authority's clients, by the name in their certificates: only that authority can issue
/// them.
#[derive(Clone)]
pub(super) struct Share {
    /// The clients of this share, from the most to the least recently used; [`NONE`] if there is none.
    pub(super) newest: u32,
    pub(super) oldest: u32,
    pub(super) entries: usize,
    pub(super) bytes: usize,
}

/// All shares of a cache.
#[derive(Default)]
pub(super) struct Shares {
    shares: Vec<Share>,
    names: BTreeMap<Box<[u8]>, u32>,
}

/// Further authorities use the last share together.
const SHARES: usize = 256;

/// Longer names belong to no real authority, and use one share together.
const LONGEST_NAME: usize = 1024;

impl Shares {
    /// Returns the share of this authority, a new one if necessary. If all are taken, an empty one is reused.
    pub(super) fn of(&mut self, name: &[u8]) -> u32 {
        let name = if name.len() > LONGEST_NAME { &[] } else { name };
        if let Some(&number) = self.names.get(name) {
            return number;
        }
        let mut number = self.shares.len();
        if number < SHARES {
            self.shares.push(Share { newest: NONE, oldest: NONE, entries: 0, bytes: 0 });
        } else {
            // Shares without clients are reused, so authorities that left don't block others.
            let empty = self.shares.iter().position(|it| it.entries == 0);
            let Some(empty) = empty else { return SHARES as u32 - 1 };
            self.names.retain(|_, number| *number != empty as u32);
            number = empty;
        }
        self.names.insert(name.into(), number as u32);
        number as u32
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Share> {
        self.shares.iter()
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Share> {
        self.shares.get_mut(number as usize)
    }

    /// Returns the share in which to make room for one more client of this share: itself, if it has its due
    /// of `limit` or the others have nothing; otherwise the one that has most.
    pub(super) fn makes_room(&self, own: u32, limit: usize, used: fn(&Share) -> usize) -> u32 {
        let parts = self.shares.iter().filter(|it| it.entries > 0).count().max(1);
        let most = self.shares.iter().enumerate().max_by_key(|(_, it)| used(it));
        let most = most.map_or(own, |(at, _)| at as u32);
        let due = limit.div_ceil(parts);
        let its_due = |it: &&Share| it.entries > 0 && used(it) >= due;
        if self.shares.get(own as usize).filter(its_due).is_some() { own } else { most }
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_NAME, SHARES, Shares};

    /// The largest numbers that occur on 32-bit systems, with a limit close to the maximum.
    #[test]
    fn the_share_of_a_part_is_right_for_the_largest_numbers_too() {
        let mut shares = Shares::default();
        for (name, bytes) in
            [(b"a", usize::MAX / 2), (b"b", usize::MAX / 3), (b"c", usize::MAX / 6)]
        {
            let number = shares.of(name);
            let share = shares.get_mut(number).expect("it was made");
            (share.entries, share.bytes) = (1, bytes);
        }
        let room = [0, 1, 2].map(|own| shares.makes_room(own, usize::MAX, |it| it.bytes));
        assert_eq!(room, [0, 1, 0]);
    }

    fn clients(shares: &mut Shares, number: u32, entries: usize) {
        shares.get_mut(number).expect("a share").entries = entries;
    }

    #[test]
    fn names_that_no_authority_has_use_one_share() {
        let mut shares = Shares::default();
        let long = [1, 2].map(|byte| shares.of(&[byte; LONGEST_NAME + 1]));
        let short = [1, 2].map(|byte| shares.of(&[byte; LONGEST_NAME]));
        assert_eq!(long[0], long[1]);
        assert_ne!(short[0], short[1]);
    }

    #[test]
    fn further_authorities_use_the_last_share() {
        let mut shares = Shares::default();
        for number in 0..SHARES as u32 {
            assert_eq!(shares.of(&number.to_be_bytes()), number);
            clients(&mut shares, number, 1);
        }
        assert_eq!(shares.of(b"another"), SHARES as u32 - 1);
        clients(&mut shares, 7, 0);
        assert_eq!(shares.of(b"another"), 7);
    }

    #[test]
    fn a_share_without_clients_takes_no_part_of_the_others() {
        let mut shares = Shares::default();
        let [most, own, empty] = [b"most", b"own ", b"none"].map(|name| shares.of(name));
        for (number, entries) in [(most, 8), (own, 3), (empty, 0)] {
            clients(&mut shares, number, entries);
        }
        // Its due is five of nine.
        assert_eq!(shares.makes_room(own, 9, |it| it.entries), most);
        clients(&mut shares, own, 5);
        assert_eq!(shares.makes_room(own, 9, |it| it.entries), own);
    }
}
