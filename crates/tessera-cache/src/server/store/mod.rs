//! The clients that a server remembers.

mod find;
mod order;
mod tickets;
mod written;

use alloc::boxed::Box;

use tessera::auth::VerifierDigest;
use tessera::crypto::{Random, RandomFailed};

pub(crate) use self::find::ClientMatch;
pub(super) use self::written::ExportProgress;
use crate::chain_hash::first;
use crate::der::issuer;
use crate::form::Form;
use crate::ids::{KeptTicket, Ticket};
use crate::metrics::Metrics;
use crate::server::ServerLimits;
use crate::server::extras::{Extras, INLINE, LIVE};
use crate::server::fleet::{Tail, tail};
use crate::server::groups::{Group, Groups, ServerName};
use crate::server::index::{END, Index};
use crate::server::keyed::KeyedHasher;
use crate::server::pages::Pages;
use crate::server::record::{Record, parts};
use crate::server::shares::{NONE, Shares};

/// All clients.
pub(super) struct Store {
    keyed: KeyedHasher,
    records: Pages<Record>,
    /// The first free record.
    free: u32,
    /// Tickets: a record's number, and the ticket's place there.
    pub(super) tickets: Index,
    /// Records, by the last bytes of what they keep.
    clients: Index,
    pub(super) extras: Extras,
    groups: Groups,
    pub(super) shares: Shares,
    pub(super) limits: ServerLimits,
    entries: usize,
    bytes: usize,
    /// How many earlier stores it has replaced.
    before: u64,
    pub(super) metrics: Metrics,
}

/// A client's chain, and the conditions under which it was accepted.
#[derive(Clone)]
pub(crate) struct ClientEntry {
    pub(crate) form: Form,
    pub(crate) under: AcceptanceConditions,
    /// The identity from the verifier, as a keyed hash; 0 if there was none. Two names collide with a chance
    /// of 2^-32: then an attacker with a copied ticket gets its own session accepted as that client's. It
    /// can't try names offline, since only this server has the key; each try costs a connection and a ticket.
    /// A full hash would cost 28 more bytes per client.
    pub(crate) identity: u32,
    /// Its share of the cache.
    pub(crate) share: u32,
}

impl ClientEntry {
    /// Whether both are one chain, accepted under the same conditions.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        self.form == other.form && self.under == other.under
    }
}

/// The conditions under which a client was accepted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct AcceptanceConditions {
    pub(crate) server: ServerName,
    pub(crate) policy: Option<VerifierDigest>,
}

/// Maximum number of clients: bounded by the numbers of an index.
pub(super) const MOST: usize = END as usize / LIVE;

/// Maximum number of records for one leaf, one per server.
const RECORDS: usize = 2;

/// The records for one leaf.
type WithLeaf = [Option<u32>; RECORDS];

/// The cost of a client besides its certificate: its record, and its place in three tables.
const COST: usize = size_of::<Record>() + 3 * 5;

impl Store {
    pub(super) fn new(random: &dyn Random, limits: ServerLimits) -> Result<Self, RandomFailed> {
        let mut store = Self::empty(KeyedHasher::new(random)?, limits);
        store.limit(limits);
        Ok(store)
    }

    /// Applies these limits from now on.
    pub(super) fn limit(&mut self, limits: ServerLimits) {
        self.limits = ServerLimits { clients: limits.clients.min(MOST), ..limits };
    }

    fn empty(keyed: KeyedHasher, limits: ServerLimits) -> Self {
        Self {
            keyed,
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
            before: 0,
            metrics: Metrics::default(),
        }
    }

    pub(super) fn metrics(&self) -> Metrics {
        let (entries, bytes) = (self.entries as u64, self.bytes as u64);
        Metrics { entries, bytes, ..self.metrics }
    }

    /// Returns the share of the cache for clients with certificates like this one, or with raw public keys.
    pub(super) fn share_of(&mut self, leaf: &[u8]) -> u32 {
        self.shares.of(issuer(leaf))
    }

    /// Returns an identity in the form to be remembered: see [`ClientEntry::identity`].
    pub(super) fn identity(&self, blob: &[u8]) -> u32 {
        if blob.is_empty() { 0 } else { (self.keyed.hash_all(blob) as u32).max(1) }
    }

    /// Learns a client after a complete handshake. If one of its tickets was `presented`, the other ticket of
    /// that handshake is no longer needed: the client has newer ones, and both ends know them. If two are
    /// left, they belong to a concurrent connection that ended first.
    pub(super) fn learn(&mut self, peer: &ClientEntry, tickets: &[Ticket], presented: bool) {
        let Some(client) = self.client(peer) else { return };
        self.metrics.learned += 1;
        if let Some(record) = self.records.get_mut(client) {
            record.identity = peer.identity;
        }
        if presented && !self.extras.has(client) && self.live(client) < INLINE {
            (0..INLINE).for_each(|place| self.clear(client, place));
        }
        self.add_tickets(client, tickets.iter().map(|ticket| KeptTicket::of(*ticket)));
    }

    /// Forgets a client, with its tickets.
    pub(super) fn forget(&mut self, peer: &ClientEntry) {
        let (own, group) = self.kept_as(peer);
        if let Some(client) = self.among(self.with_leaf(own), &group) {
            self.remove(client);
        }
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

    /// Returns the number of a client, which becomes the most recently used; adds it if it is new. `None` if
    /// it doesn't fit.
    fn client(&mut self, peer: &ClientEntry) -> Option<u32> {
        let (own, group) = self.kept_as(peer);
        let known = self.with_leaf(own);
        if let Some(client) = self.among(known, &group) {
            self.touch(client);
            return Some(client);
        }
        self.make_room_for_chain(known, &group);
        self.add(own, &group)
    }

    /// Splits a client's data into its own, and what it shares with others.
    fn kept_as<'p>(&mut self, peer: &'p ClientEntry) -> (&'p [u8], Group) {
        let (kind, own, issuers) = parts(&peer.form);
        let policy = peer.under.policy.map(|it| it.0);
        // Connections may outlive an import that removed their share.
        let is_there = self.shares.get_mut(peer.share).is_some();
        let share = if is_there { peer.share } else { self.shares.of(&[]) };
        (own, Group { share, server: peer.under.server, policy, kind, issuers })
    }

    /// Returns the record of this group among those with a leaf.
    fn among(&self, with_leaf: WithLeaf, group: &Group) -> Option<u32> {
        let number = self.groups.find(group)?;
        let is_it = |client: &u32| self.records.get(*client).is_some_and(|it| it.group == number);
        with_leaf.into_iter().flatten().find(is_it)
    }

    /// Returns the records of clients with this leaf: a client may send other certificates after it, connect
    /// to other servers and so on.
    fn with_leaf(&self, own: &[u8]) -> WithLeaf {
        let mut found = WithLeaf::default();
        let mut places = found.iter_mut();
        self.clients.find(hash_of_tail(&self.keyed, own), |number| {
            let is_it = self.records.get(number).is_some_and(|it| *it.own == *own);
            let place = if is_it { places.next() } else { None };
            if let Some(place) = place {
                *place = Some(number);
            }
            places.len() == 0
        });
        found
    }

    /// Removes other chains of the same leaf: what follows a leaf is its owner's choice, so it must not
    /// multiply what is kept. A new list replaces the previous one at the same server, and across servers
    /// there are at most [`RECORDS`].
    fn make_room_for_chain(&mut self, known: WithLeaf, new: &Group) {
        let is_replaced = |client: &u32| {
            let record = self.records.get(*client);
            let group = record.and_then(|record| self.groups.get(record.group));
            group.is_some_and(|group| group.server == new.server && group.policy == new.policy)
        };
        let replaced = known.map(|client| client.filter(is_replaced));
        let mut others = known.map(|client| client.filter(|client| !is_replaced(client)));
        others.sort_by_key(|client| client.map(|client| self.live(client)));
        let too_many = (others.iter().flatten().count() + 1).saturating_sub(RECORDS);
        let too_many = others.into_iter().flatten().take(too_many);
        for client in replaced.into_iter().flatten().chain(too_many) {
            self.remove(client);
        }
    }

    fn add(&mut self, own: &[u8], group: &Group) -> Option<u32> {
        let charged = COST + own.len();
        if charged + group.cost() > self.limits.bytes || self.limits.clients == 0 {
            return None;
        }
        while self.entries >= self.limits.clients {
            self.evict(self.shares.makes_room(group.share, self.limits.clients, |it| it.entries))?;
        }
        // An evicted client may be the last of the group, which then costs as much again.
        while self.bytes + charged + self.groups.cost_to_join(group) > self.limits.bytes {
            self.evict(self.shares.makes_room(group.share, self.limits.bytes, |it| it.bytes))?;
        }
        let hash = hash_of_tail(&self.keyed, own);
        let (number, group_cost) = self.groups.join(group);
        let record = Record::new(own.into(), number);
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

    /// Makes room: evicts the least recently used client of this share.
    pub(super) fn evict(&mut self, share: u32) -> Option<()> {
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
}

/// Hashes the last bytes: in a certificate they are part of its signature, which its owner can't choose.
fn hash_of_tail(keyed: &KeyedHasher, own: &[u8]) -> u64 {
    hash_of(keyed, &tail(own))
}

fn hash_of(keyed: &KeyedHasher, tail: &Tail) -> u64 {
    let (a, b) = tail.split_at(8);
    keyed.hash(first(a), first(b))
}
