//! Parts of a cache, so that one authority's clients evict each other and nobody else.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// No number.
pub(super) const NONE: u32 = u32::MAX;

/// The part of one authority's clients, by the name in their certificates: only it can issue them.
#[derive(Clone)]
pub(super) struct Share {
    /// The clients of this part, from the one used last to the one not used for longest; [`NONE`] if there
    /// is none.
    pub(super) newest: u32,
    pub(super) oldest: u32,
    pub(super) entries: usize,
    pub(super) bytes: usize,
}

/// All parts of a cache.
#[derive(Default)]
pub(super) struct Shares {
    shares: Vec<Share>,
    names: BTreeMap<Box<[u8]>, u32>,
}

/// Authorities beyond these share the last part.
const SHARES: usize = 256;

/// Names that are longer are those of no real authority, and stand together.
const LONGEST_NAME: usize = 1024;

impl Shares {
    /// The part of this authority, made if there is none. One that nobody is in is given to
    /// another where there are no more.
    pub(super) fn of(&mut self, name: &[u8]) -> u32 {
        let name = if name.len() > LONGEST_NAME { &[] } else { name };
        if let Some(&number) = self.names.get(name) {
            return number;
        }
        let mut number = self.shares.len();
        if number < SHARES {
            self.shares.push(Share { newest: NONE, oldest: NONE, entries: 0, bytes: 0 });
        } else {
            // Those who were here once don't keep others from having a part.
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

    /// Where room has to be made for one more of this part: in the part itself, if it has as much as its
    /// due of `limit`, or the others have nothing; else in the one that has most.
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
    use super::Shares;

    /// Numbers as they are where a word has 32 bits, and a limit is not far from its end.
    #[test]
    fn what_a_part_is_due_is_right_for_the_largest_numbers_too() {
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
}
