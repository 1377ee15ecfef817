//! The tickets of clients with more than two: those with concurrent connections.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use crate::ids::KeptTicket;

/// How many tickets of one client are known.
pub(super) const LIVE: usize = 8;

/// How many of them the client's record holds itself.
pub(super) const INLINE: usize = 2;

/// The others, by client.
#[derive(Default)]
pub(super) struct Extras(BTreeMap<u32, Box<ExtraTickets>>);

/// The others of one client.
#[derive(Default)]
pub(super) struct ExtraTickets {
    pub(super) tickets: [Option<KeptTicket>; LIVE - INLINE],
    /// When the ticket at each place came: the longer before `next`, the earlier. Numbers wrap around.
    pub(super) came: [u32; LIVE],
    pub(super) next: u32,
}

impl ExtraTickets {
    /// Returns the place of the oldest ticket, if all places are taken.
    pub(super) fn oldest(&self) -> usize {
        (0..LIVE).max_by_key(|place| self.age(*place)).unwrap_or(0)
    }

    /// Returns how many tickets have come since that at this place, itself included.
    pub(super) fn age(&self, place: usize) -> u32 {
        self.next.wrapping_sub(self.came.get(place).copied().unwrap_or_default())
    }
}

impl Extras {
    pub(super) fn get(&self, client: u32) -> Option<&ExtraTickets> {
        self.0.get(&client).map(|it| &**it)
    }

    pub(super) fn has(&self, client: u32) -> bool {
        self.0.contains_key(&client)
    }

    /// Returns those of a client, creating them if missing: then the client's two own tickets came first.
    pub(super) fn of(&mut self, client: u32) -> &mut ExtraTickets {
        self.0.entry(client).or_insert_with(|| {
            let mut extra = Box::<ExtraTickets>::default();
            extra.came[1] = 1;
            extra.next = INLINE as u32;
            extra
        })
    }

    /// Takes a ticket out; drops the rest when it was the last.
    pub(super) fn take(&mut self, client: u32, place: usize) -> Option<KeptTicket> {
        let extra = self.0.get_mut(&client)?;
        let taken = extra.tickets.get_mut(place.checked_sub(INLINE)?)?.take();
        if extra.tickets.iter().all(Option::is_none) {
            self.0.remove(&client);
        }
        taken
    }

    /// Roughly how many bytes one client's extras take, including their places in the index.
    pub(super) const COST: usize = size_of::<ExtraTickets>() + 24 + 5 * (LIVE - INLINE);
}
