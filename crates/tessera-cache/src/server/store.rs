//! The clients that a server remembers, found by their tickets.

use alloc::boxed::Box;

use tessera::auth::VerifierDigest;
use tessera::crypto::{Random, RandomFailed};

use super::ServerLimits;
use super::extras::{Extras, INLINE, LIVE};
use super::groups::{Group, Groups};
use super::index::{END, Index};
use super::keyed::Keyed;
use super::pages::Pages;
use super::record::{Record, form, parts};
use super::shares::{NONE, Shares};
use crate::der::issuer;
use crate::form::Form;
use crate::ids::{TICKETS, Ticket, TicketBytes};
use crate::metrics::Metrics;

/// All clients.
pub(super) struct Store {
    keyed: Keyed,
    records: Pages<Record>,
    /// The first of the records that are free.
    free: u32,
    /// Tickets: a record's number, and the place that the ticket has there.
    tickets: Index,
    /// Records, by the last bytes of what they keep for themselves.
    clients: Index,
    extras: Extras,
    groups: Groups,
    shares: Shares,
    limits: ServerLimits,
    entries: usize,
    bytes: usize,
    pub(super) metrics: Metrics,
}

/// A client that was found; it stays what it is until the handshake is over, whatever the store does.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) ticket: Ticket,
    pub(crate) peer: Remembered,
}

/// A chain, and who judged it.
#[derive(Clone)]
pub(crate) struct Remembered {
    pub(crate) form: Form,
    pub(crate) policy: Option<VerifierDigest>,
    /// Its part of the cache.
    pub(crate) share: u32,
}

/// The most clients: what fits into the numbers of an index.
pub(super) const MOST: usize = END as usize / LIVE;

/// What a client takes beside its certificate: its record, and its place in three tables.
const COST: usize = size_of::<Record>() + 3 * 5;

impl Store {
    pub(super) fn new(random: &dyn Random, limits: ServerLimits) -> Result<Self, RandomFailed> {
        let limits = ServerLimits { clients: limits.clients.min(MOST), ..limits };
        Ok(Self {
            keyed: Keyed::new(random)?,
            records: Pages::new(),
            free: NONE,
            tickets: Index::new(),
            clients: Index::new(),
            extras: Extras::default(),
            groups: Groups::default(),
            shares: Shares::default(),
            limits,
            entries: 0,
            bytes: 0,
            metrics: Metrics::default(),
        })
    }

    pub(super) fn metrics(&self) -> Metrics {
        let (entries, bytes) = (self.entries as u64, self.bytes as u64);
        Metrics { entries, bytes, ..self.metrics }
    }

    /// Takes these tickets: nobody finds them again. Gives the client of the first that is known, if it was
    /// accepted under this policy; else it is forgotten.
    pub(super) fn take(
        &mut self,
        tickets: &[TicketBytes; TICKETS],
        policy: Option<VerifierDigest>,
    ) -> Option<Found> {
        let [first, second] = tickets.map(|bytes| self.take_one(bytes));
        let Some((client, ticket)) = first.or(second) else {
            self.metrics.missed_unknown_ticket += 1;
            return None;
        };
        let group = self.groups.get(self.records.get(client)?.group)?;
        if group.policy.map(VerifierDigest) != policy {
            self.metrics.missed_policy += 1;
            self.remove(client);
            return None;
        }
        let share = group.share;
        let form = form(group, &self.records.get(client)?.own)?;
        self.touch(client);
        Some(Found { ticket, peer: Remembered { form, policy, share } })
    }

    /// The part of the cache for clients with certificates like this one, or with raw public keys.
    pub(super) fn share_of(&mut self, leaf: &[u8]) -> u32 {
        self.shares.of(issuer(leaf))
    }

    /// A handshake with this client is complete. If one of its tickets was `presented`, its other ticket of
    /// the same handshake isn't needed any more: the client has newer ones, and both ends know them.
    pub(super) fn learn(&mut self, peer: &Remembered, tickets: [Ticket; TICKETS], presented: bool) {
        let Some(client) = self.client(peer) else { return };
        if presented && !self.extras.has(client) {
            (0..INLINE).for_each(|place| self.clear(client, place));
        }
        tickets.into_iter().for_each(|ticket| self.add_ticket(client, ticket));
    }

    /// Forgets clients that were accepted under other policies.
    pub(super) fn retain(&mut self, keep: impl Fn(Option<[u8; VerifierDigest::LEN]>) -> bool) {
        for client in 0..self.records.len() {
            let group = self.records.get(client).and_then(|it| self.groups.get(it.group));
            if group.is_some_and(|group| !keep(group.policy)) {
                self.remove(client);
            }
        }
    }

    fn take_one(&mut self, bytes: TicketBytes) -> Option<(u32, Ticket)> {
        let (records, extras) = (&self.records, &self.extras);
        let is_it = |number| ticket_at(records, extras, number).is_some_and(|it| it.bytes == bytes);
        let number = self.tickets.find(self.keyed.hash(bytes, [0; 8]), is_it)?;
        let (client, place) = split(number);
        let ticket = ticket_at(records, extras, number)?;
        self.clear(client, place);
        Some((client, ticket))
    }

    /// The number of a client, which is the one used last from now on; it is added if it is new. `None` if
    /// it doesn't fit.
    fn client(&mut self, peer: &Remembered) -> Option<u32> {
        let (kind, own, issuers) = parts(&peer.form);
        let group = Group { share: peer.share, policy: peer.policy.map(|it| it.0), kind, issuers };
        if let Some(known) = self.groups.find(&group).and_then(|group| self.find(&own, group)) {
            self.touch(known);
            return Some(known);
        }
        self.add(own.into_boxed_slice(), &group)
    }

    fn find(&self, own: &[u8], group: u32) -> Option<u32> {
        let is_it = |number| {
            self.records.get(number).is_some_and(|it| it.group == group && *it.own == *own)
        };
        self.clients.find(hash_of_tail(&self.keyed, own), is_it)
    }

    fn add(&mut self, own: Box<[u8]>, group: &Group) -> Option<u32> {
        let cost = COST + own.len() + self.groups.cost_to_join(group);
        if cost > self.limits.bytes || self.limits.clients == 0 {
            return None;
        }
        while self.entries >= self.limits.clients {
            self.evict(self.shares.makes_room(group.share, self.limits.clients, |it| it.entries))?;
        }
        while self.bytes + cost > self.limits.bytes {
            self.evict(self.shares.makes_room(group.share, self.limits.bytes, |it| it.bytes))?;
        }
        let hash = hash_of_tail(&self.keyed, &own);
        let (number, group_cost) = self.groups.join(group);
        let charged = COST + own.len();
        let record = Record::new(own, number);
        let client = match self.records.get_mut(self.free) {
            Some(free) => {
                let client = self.free;
                self.free = free.newer;
                *free = record;
                client
            }
            None => self.records.push(record),
        };
        let (records, keyed) = (&self.records, &self.keyed);
        self.clients.insert(hash, client, |other| {
            records.get(other).map_or(0, |it| hash_of_tail(keyed, &it.own))
        });
        self.entries += 1;
        if let Some(share) = self.shares.get_mut(group.share) {
            share.entries += 1;
        }
        self.charge(group.share, charged + group_cost);
        self.link(client, group.share);
        Some(client)
    }

    fn add_ticket(&mut self, client: u32, ticket: Ticket) {
        let is_free = |it: &Self, place: usize| {
            ticket_at(&it.records, &it.extras, number_of(client, place)).is_none()
        };
        let places = if self.extras.has(client) { LIVE } else { INLINE };
        let place = (0..places).find(|place| is_free(self, *place));
        let place = match place {
            Some(place) => place,
            // A client with several connections at a time.
            None if places == INLINE => {
                self.charge_of(client, Extras::COST);
                INLINE
            }
            None => {
                let came = self.extras.get(client).map(|it| it.came).unwrap_or_default();
                let oldest = (0..LIVE).min_by_key(|place| came[*place]).unwrap_or(0);
                self.clear_in_index(client, oldest);
                oldest
            }
        };
        if places == LIVE || place >= INLINE {
            let extra = self.extras.of(client);
            extra.came[place] = extra.next;
            extra.next += 1;
            if let Some(free) = place.checked_sub(INLINE).and_then(|at| extra.tickets.get_mut(at)) {
                *free = Some(ticket);
            }
        }
        if let Some(record) = self.records.get_mut(client).filter(|_| place < INLINE) {
            record.put_ticket(place, Some(ticket));
        }
        let (records, extras, keyed) = (&self.records, &self.extras, &self.keyed);
        self.tickets.insert(keyed.hash(ticket.bytes, [0; 8]), number_of(client, place), |other| {
            let there = ticket_at(records, extras, other);
            there.map_or(0, |it| keyed.hash(it.bytes, [0; 8]))
        });
    }

    /// Removes the ticket at a place, if there is one.
    fn clear(&mut self, client: u32, place: usize) {
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
            self.tickets.remove(self.keyed.hash(ticket.bytes, [0; 8]), number);
        }
    }

    /// Makes room: the client of this part that was not used for longest leaves.
    fn evict(&mut self, share: u32) -> Option<()> {
        let oldest = self.shares.get_mut(share).map(|it| it.oldest).filter(|it| *it != NONE)?;
        self.remove(oldest);
        self.metrics.evicted += 1;
        Some(())
    }

    fn remove(&mut self, client: u32) {
        (0..LIVE).for_each(|place| self.clear(client, place));
        let Some(record) = self.records.get(client) else { return };
        let Some(share) = self.groups.get(record.group).map(|it| it.share) else { return };
        self.clients.remove(hash_of_tail(&self.keyed, &record.own), client);
        let freed = COST + record.own.len() + self.groups.leave(record.group);
        self.unlink(client, share);
        self.bytes -= freed;
        self.entries -= 1;
        if let Some(share) = self.shares.get_mut(share) {
            share.bytes -= freed;
            share.entries -= 1;
        }
        if let Some(record) = self.records.get_mut(client) {
            *record = Record::new(Box::default(), NONE);
            record.newer = self.free;
            self.free = client;
        }
    }

    fn share_of_client(&self, client: u32) -> Option<u32> {
        Some(self.groups.get(self.records.get(client)?.group)?.share)
    }

    fn charge_of(&mut self, client: u32, bytes: usize) {
        if let Some(share) = self.share_of_client(client) {
            self.charge(share, bytes);
        }
    }

    fn charge(&mut self, share: u32, bytes: usize) {
        self.bytes += bytes;
        if let Some(share) = self.shares.get_mut(share) {
            share.bytes += bytes;
        }
    }

    fn discharge_of(&mut self, client: u32, bytes: usize) {
        let share = self.share_of_client(client).and_then(|share| self.shares.get_mut(share));
        if let Some(share) = share {
            share.bytes -= bytes;
            self.bytes -= bytes;
        }
    }

    /// The client is the one used last.
    fn touch(&mut self, client: u32) {
        if let Some(share) = self.share_of_client(client) {
            self.unlink(client, share);
            self.link(client, share);
        }
    }

    fn link(&mut self, client: u32, share: u32) {
        let Some(share) = self.shares.get_mut(share) else { return };
        let second = core::mem::replace(&mut share.newest, client);
        if share.oldest == NONE {
            share.oldest = client;
        }
        if let Some(record) = self.records.get_mut(client) {
            (record.newer, record.older) = (NONE, second);
        }
        if let Some(second) = self.records.get_mut(second) {
            second.newer = client;
        }
    }

    fn unlink(&mut self, client: u32, share: u32) {
        let Some(record) = self.records.get(client) else { return };
        let (newer, older) = (record.newer, record.older);
        let Some(share) = self.shares.get_mut(share) else { return };
        match self.records.get_mut(newer) {
            Some(newer) => newer.older = older,
            None => share.newest = older,
        }
        match self.records.get_mut(older) {
            Some(older) => older.newer = newer,
            None => share.oldest = newer,
        }
    }
}

/// The number of a ticket in its index.
fn number_of(client: u32, place: usize) -> u32 {
    client * LIVE as u32 + place as u32
}

fn split(number: u32) -> (u32, usize) {
    (number / LIVE as u32, number as usize % LIVE)
}

fn ticket_at(records: &Pages<Record>, extras: &Extras, number: u32) -> Option<Ticket> {
    let (client, place) = split(number);
    match place.checked_sub(INLINE) {
        None => records.get(client)?.ticket(place),
        Some(at) => *extras.get(client)?.tickets.get(at)?,
    }
}

/// The hash of the last bytes: in a certificate they are of its signature, which its owner doesn't choose.
fn hash_of_tail(keyed: &Keyed, own: &[u8]) -> u64 {
    let mut tail = [0; 16];
    let taken = own.len().min(tail.len());
    tail[..taken].copy_from_slice(&own[own.len() - taken..]);
    let (a, b) = tail.split_at(8);
    keyed.hash(crate::chain_hash::first(a), crate::chain_hash::first(b))
}
