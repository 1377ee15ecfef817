//! Shares of a store, so that an authority's chains only evict each other: the certificate caches divide
//! their room the same way (docs/cached-handshakes.md, section 11).

use alloc::boxed::Box;
use alloc::vec::Vec;

use tessera::auth::joined;

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

/// Longer names belong to no real authority, and share one part.
const LONGEST_NAME: usize = 1024;

/// The share of one authority: chains whose end entities name it as their issuer, and which it signed.
pub(crate) struct Share {
    authority: Box<[u8]>,
    /// Ends of the list in order of use; [`NONE`] if it is empty.
    pub(crate) newest: u32,
    pub(crate) oldest: u32,
    pub(crate) entries: usize,
    pub(crate) bytes: usize,
}

/// All shares, by number.
#[derive(Default)]
pub(crate) struct Shares(Vec<Share>);

impl Shares {
    /// Returns the share of this authority (the contents of its Name): its own, or else a new or empty one.
    /// If all numbers are taken, it shares the last one with others. `None` without memory for a new one.
    pub(crate) fn of(&mut self, authority: &[u8]) -> Option<u8> {
        let authority = if authority.len() > LONGEST_NAME { &[] } else { authority };
        let shares = &mut self.0;
        if let Some(its) = shares.iter().position(|it| *it.authority == *authority) {
            return u8::try_from(its).ok();
        }
        let empty = shares.iter().position(|it| it.entries == 0);
        let Ok(at) = u8::try_from(empty.unwrap_or(shares.len())) else { return Some(u8::MAX) };
        let authority = joined(&[authority]).ok()?.into_boxed_slice();
        let (newest, oldest, entries, bytes) = (NONE, NONE, 0, 0);
        let share = Share { authority, newest, oldest, entries, bytes };
        match shares.get_mut(usize::from(at)) {
            Some(empty) => *empty = share,
            None => {
                shares.try_reserve(1).ok()?;
                shares.push(share);
            }
        }
        Some(at)
    }

    pub(crate) fn get_mut(&mut self, number: u8) -> Option<&mut Share> {
        self.0.get_mut(usize::from(number))
    }

    /// Returns the entry to evict for a new one of this share: the least recently used of the share itself,
    /// if it has its due of `limit`, else of the share that has most.
    pub(crate) fn leaves(&self, own: u8, limit: usize, used: fn(&Share) -> usize) -> Option<u32> {
        let parts = self.0.iter().filter(|it| it.entries > 0).count().max(1);
        let due = limit.div_ceil(parts);
        let its_due = |it: &&Share| it.entries > 0 && used(it) >= due;
        let own = self.0.get(usize::from(own)).filter(its_due);
        let share = own.or_else(|| self.0.iter().max_by_key(|it| used(it)))?;
        Some(share.oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::Shares;

    /// The largest numbers that occur on 32-bit systems, with a limit close to the maximum.
    #[test]
    fn the_share_of_a_part_is_right_for_the_largest_numbers_too() {
        let mut shares = Shares::default();
        for (name, bytes) in
            [(b"a", usize::MAX / 2), (b"b", usize::MAX / 3), (b"c", usize::MAX / 6)]
        {
            let number = shares.of(name).unwrap();
            let share = shares.get_mut(number).unwrap();
            (share.entries, share.bytes, share.oldest) = (1, bytes, 10 + u32::from(number));
        }
        let leaves = [0, 1, 2].map(|own| shares.leaves(own, usize::MAX, |it| it.bytes));
        assert_eq!(leaves, [Some(10), Some(11), Some(10)]);
    }
}
