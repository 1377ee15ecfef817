//! The tickets of a store's clients.

use tessera::wire::CertificateCompressionAlgorithm as Id;

use super::{AcceptanceConditions, Store, WithLeaf};
use crate::ids::{KeptTicket, TicketBytes};
use crate::server::extras::{ExtraTickets, Extras, INLINE, LIVE};
use crate::server::keyed::KeyedHasher;
use crate::server::pages::Pages;
use crate::server::record::Record;

/// The owner of a ticket that was taken.
pub(super) enum TicketOwner {
    /// This client, and the id of the ticket.
    Client(u32, Id),
    /// Not taken: its client was accepted under another policy.
    OfAnotherPolicy,
    Nothing,
}

impl Store {
    /// Takes a ticket of a client that this server accepted under this policy. Under another policy it stays
    /// in place: otherwise an attacker with a copy could present it there, and cost the client a ticket.
    pub(super) fn take_one(
        &mut self,
        ticket: &TicketBytes,
        under: AcceptanceConditions,
    ) -> TicketOwner {
        let (records, extras, groups) = (&self.records, &self.extras, &self.groups);
        let (bytes, policy) = (KeptTicket::bytes(ticket), under.policy.map(|it| it.0));
        let mut is_of_another_policy = false;
        let is_it = |number| {
            let is_same = ticket_at(records, extras, number).is_some_and(|it| it.bytes == bytes);
            let group = records.get(split(number).0).and_then(|it| groups.get(it.group));
            let group = group.filter(|group| is_same && group.server == under.server);
            is_of_another_policy |= group.is_some_and(|group| group.policy != policy);
            group.is_some_and(|group| group.policy == policy)
        };
        let found = self.tickets.find(hash_of_ticket(&self.keyed, bytes), is_it);
        let kept = found.and_then(|number| Some((number, ticket_at(records, extras, number)?)));
        match kept {
            Some((number, KeptTicket { id, .. })) => {
                let (client, place) = split(number);
                self.clear(client, place);
                TicketOwner::Client(client, id)
            }
            None if is_of_another_policy => TicketOwner::OfAnotherPolicy,
            None => TicketOwner::Nothing,
        }
    }

    /// Limits a leaf to [`LIVE`] tickets, wherever it was presented: its other records lose theirs first.
    fn make_room_for_ticket(&mut self, client: u32, with_leaf: WithLeaf) {
        let with_leaf = with_leaf.into_iter().flatten();
        if with_leaf.clone().map(|client| self.live(client)).sum::<usize>() < LIVE {
            return;
        }
        for other in with_leaf.filter(|other| *other != client) {
            if let Some(place) = (0..LIVE).find(|place| self.ticket(other, *place).is_some()) {
                self.clear(other, place);
                return;
            }
        }
    }

    pub(super) fn ticket(&self, client: u32, place: usize) -> Option<KeptTicket> {
        ticket_at(&self.records, &self.extras, number_of(client, place))
    }

    /// Returns how many tickets of a record are known.
    pub(super) fn live(&self, client: u32) -> usize {
        (0..LIVE).filter(|place| self.ticket(client, *place).is_some()).count()
    }

    /// Adds tickets, the oldest first; beyond [`LIVE`] the oldest are dropped.
    pub(super) fn add_tickets(
        &mut self,
        client: u32,
        tickets: impl IntoIterator<Item = KeptTicket>,
    ) {
        let own = self.records.get(client).map(|it| &it.own);
        let with_leaf = own.map(|own| self.with_leaf(own)).unwrap_or_default();
        for ticket in tickets {
            self.make_room_for_ticket(client, with_leaf);
            self.add_ticket(client, ticket);
        }
        // Tickets take room too.
        let Some(own) = self.share_of_client(client) else { return };
        while self.bytes > self.limits.bytes {
            let share = self.shares.makes_room(own, self.limits.bytes, |it| it.bytes);
            if self.evict(share).is_none() {
                return;
            }
        }
    }

    fn add_ticket(&mut self, client: u32, ticket: KeptTicket) {
        let places = if self.extras.has(client) { LIVE } else { INLINE };
        let place = (0..places).find(|place| self.ticket(client, *place).is_none());
        let place = match place {
            Some(place) => place,
            // A client with concurrent connections.
            None if places == INLINE => {
                self.charge_of(client, Extras::COST);
                INLINE
            }
            None => {
                let oldest = self.extras.get(client).map_or(0, ExtraTickets::oldest);
                self.clear_in_index(client, oldest);
                oldest
            }
        };
        if places == LIVE || place >= INLINE {
            let extra = self.extras.of(client);
            extra.came[place] = extra.next;
            extra.next = extra.next.wrapping_add(1);
            if let Some(free) = place.checked_sub(INLINE).and_then(|at| extra.tickets.get_mut(at)) {
                *free = Some(ticket);
            }
        }
        if let Some(record) = self.records.get_mut(client) {
            record.put_ticket(place, Some(ticket));
        }
        let (records, extras, keyed) = (&self.records, &self.extras, &self.keyed);
        self.tickets.insert(
            hash_of_ticket(keyed, ticket.bytes),
            number_of(client, place),
            |other| {
                let there = ticket_at(records, extras, other);
                there.map_or(0, |it| hash_of_ticket(keyed, it.bytes))
            },
        );
    }

    /// Removes the ticket at a place, if any.
    pub(super) fn clear(&mut self, client: u32, place: usize) {
        self.clear_in_index(client, place);
        if let Some(record) = self.records.get_mut(client).filter(|_| place < INLINE) {
            record.put_ticket(place, None);
        } else if self.extras.take(client, place).is_some() && !self.extras.has(client) {
            self.discharge_of(client, Extras::COST);
        }
    }

    fn clear_in_index(&mut self, client: u32, place: usize) {
        let number = number_of(client, place);
        if let Some(ticket) = ticket_at(&self.records, &self.extras, number) {
            self.tickets.remove(hash_of_ticket(&self.keyed, ticket.bytes), number);
        }
    }
}

/// Returns the number of a ticket in its index.
fn number_of(client: u32, place: usize) -> u32 {
    client * LIVE as u32 + place as u32
}

fn split(number: u32) -> (u32, usize) {
    (number / LIVE as u32, number as usize % LIVE)
}

fn ticket_at(records: &Pages<Record>, extras: &Extras, number: u32) -> Option<KeptTicket> {
    let (client, place) = split(number);
    match place.checked_sub(INLINE) {
        None => records.get(client)?.ticket(place),
        Some(at) => *extras.get(client)?.tickets.get(at)?,
    }
}

fn hash_of_ticket(keyed: &KeyedHasher, [a, b, c, d, e, f]: [u8; KeptTicket::LEN]) -> u64 {
    keyed.hash([a, b, c, d, e, f, 0, 0], [0; 8])
}
