//! The tickets of clients that have more than two: those with several connections at a time.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use crate::ids::KeptTicket;

/// How many tickets of one client are known.
pub(super) const LIVE: usize = 8;

/// How many of them are with the client itself.
pub(super) const INLINE: usize = 2;

/// The others, by client.
#[derive(Default)]
pub(super) struct Extras(BTreeMap<u32, Box<Extra>>);

/// The others of one client.
#[derive(Default)]
pub(super) struct Extra {
    pub(super) tickets: [Option<KeptTicket>; LIVE - INLINE],
    /// When each of all came, in places: the longer before `next`, the earlier. Numbers begin again after the
    /// last one.
    pub(super) came: [u32; LIVE],
    pub(super) next: u32,
}

impl Extra {
    /// The place of the ticket that came first, where all places have one.
    pub(super) fn oldest(&self) -> usize {
        (0..LIVE).max_by_key(|place| self.age(*place)).unwrap_or(0)
    }

    /// How many tickets have come since that of this place, itself included.
    pub(super) fn age(&self, place: usize) -> u32 {
        self.next.wrapping_sub(self.came.get(place).copied().unwrap_or_default())
    }
}

impl Extras {
    pub(super) fn get(&self, client: u32) -> Option<&Extra> {
        self.0.get(&client).map(|it| &**it)
    }

    pub(super) fn has(&self, client: u32) -> bool {
        self.0.contains_key(&client)
    }

    /// Those of a client, made if there are none: then the two of the client itself came first.
    pub(super) fn of(&mut self, client: u32) -> &mut Extra {
        self.0.entry(client).or_insert_with(|| {
            let mut extra = Box::<Extra>::default();
            extra.came[1] = 1;
            extra.next = INLINE as u32;
            extra
        })
    }

    /// Takes a ticket out; the rest goes when it was the last.
    pub(super) fn take(&mut self, client: u32, place: usize) -> Option<KeptTicket> {
        let extra = self.0.get_mut(&client)?;
        let taken = extra.tickets.get_mut(place.checked_sub(INLINE)?)?.take();
        if extra.tickets.iter().all(Option::is_none) {
            self.0.remove(&client);
        }
        taken
    }

    /// About how many bytes those of one client take, with their places in the index.
    pub(super) const COST: usize = size_of::<Extra>() + 24 + 5 * (LIVE - INLINE);
}
