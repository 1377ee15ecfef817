//! Export and import of all clients.

use alloc::collections::BTreeMap;
use alloc::vec::{self, Vec};
use core::cmp::Reverse;

use tessera::auth::VerifierDigest;
use tessera::wire::{CertificateCompressionAlgorithm as Id, CertificateType};

use super::{AcceptanceConditions, ClientEntry, Store};
use crate::bytes::{Bytes, Shared, put24};
use crate::chain::Chain;
use crate::form::Form;
use crate::ids::KeptTicket;
use crate::metrics::Metrics;
use crate::server::ServerLimits;
use crate::server::extras::LIVE;
use crate::server::keyed::KeyedHasher;
use crate::server::record::form;
use crate::written::{flag, option, put_option};

/// A store being written, in pieces: in between other threads use it.
pub(in crate::server) struct ExportCursor {
    /// How many earlier stores there were.
    before: u64,
    /// Those still to be written.
    clients: vec::IntoIter<u32>,
    issuers: Issuers,
    /// Whether clients without tickets are written too.
    without_tickets: bool,
}

/// The progress of writing a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum ExportProgress {
    InPart,
    AsAWhole,
    /// Stopped: another store has replaced it.
    ReplacedInBetween,
}

/// How many clients are written in one piece, which takes about a millisecond.
const PIECE: usize = 1024;

impl Store {
    /// Starts to write all clients, in each share the least recently used first. Clients without a ticket are
    /// left out, unless they can be found otherwise.
    pub(in crate::server) fn begin_to_write(
        &self,
        out: &mut Vec<u8>,
        without_tickets: bool,
    ) -> ExportCursor {
        // The key of the identity hashes.
        self.keyed.key().iter().for_each(|word| out.extend(word.to_be_bytes()));
        let mut clients = Vec::with_capacity(self.entries);
        for share in self.shares.iter() {
            let mut next = share.oldest;
            while let Some(record) = self.records.get(next) {
                clients.push(next);
                next = record.newer;
            }
        }
        let (clients, issuers) = (clients.into_iter(), Issuers::default());
        ExportCursor { before: self.before, clients, issuers, without_tickets }
    }

    /// Writes the next piece. Clients that have left meanwhile aren't written; those in their place may be.
    pub(in crate::server) fn write_more(
        &self,
        writing: &mut ExportCursor,
        out: &mut Vec<u8>,
    ) -> ExportProgress {
        if self.before != writing.before {
            return ExportProgress::ReplacedInBetween;
        }
        let ExportCursor { clients, issuers, without_tickets, .. } = writing;
        for client in clients.by_ref().take(PIECE) {
            self.write_client(client, out, issuers, *without_tickets);
        }
        if clients.len() == 0 { ExportProgress::AsAWhole } else { ExportProgress::InPart }
    }

    fn write_client(
        &self,
        client: u32,
        out: &mut Vec<u8>,
        issuers: &mut Issuers,
        without_tickets: bool,
    ) {
        let Some(record) = self.records.get(client) else { return };
        let Some(group) = self.groups.get(record.group) else { return };
        let Some(Form::Whole(chain)) = form(group, &record.own) else { return };
        let tickets = self.tickets_by_age(client);
        if tickets.is_empty() && !without_tickets {
            // It can't be found.
            return;
        }
        issuers.put(&chain.issuers, out);
        out.push(chain.certificate_type.0);
        put24(out, &chain.leaf);
        out.extend(group.server);
        put_option(out, group.policy, |out, policy| out.extend(policy));
        out.extend(record.identity.to_be_bytes());
        // At most eight.
        out.push(tickets.len() as u8);
        for ticket in tickets {
            out.extend(ticket.bytes);
            out.extend(ticket.id.0.to_be_bytes());
        }
    }

    /// Returns the tickets of a client, the oldest first.
    fn tickets_by_age(&self, client: u32) -> Vec<KeptTicket> {
        let mut places: Vec<usize> = (0..LIVE).collect();
        if let Some(extra) = self.extras.get(client) {
            places.sort_by_key(|place| Reverse(extra.age(*place)));
        }
        places.into_iter().filter_map(|place| self.ticket(client, place)).collect()
    }

    /// Reads an export of this version, within these limits; `None` if it can't be read.
    pub(in crate::server) fn read(
        limits: ServerLimits,
        version: u8,
        mut from: Bytes<'_>,
    ) -> Option<Self> {
        let mut key = [0; 3];
        for word in &mut key {
            *word = u64::from_be_bytes(from.array()?);
        }
        let mut read = Self::empty(KeyedHasher::of_key(key), limits);
        let mut lists = Vec::new();
        while !from.is_empty() {
            let issuers = issuers(&mut from, &mut lists, version)?;
            read.read_client(&mut from, issuers)?;
        }
        Some(read)
    }

    /// Replaces this store with another one, which continues its counters.
    pub(in crate::server) fn replace(&mut self, mut read: Self) -> Self {
        let evicted = self.metrics.evicted + read.metrics.evicted;
        read.metrics = Metrics { evicted, ..self.metrics };
        read.before = self.before + 1;
        core::mem::replace(self, read)
    }

    /// Reads what follows the issuers of a client.
    fn read_client(&mut self, from: &mut Bytes<'_>, issuers: Shared) -> Option<()> {
        let certificate_type = CertificateType(from.u8()?);
        let leaf = from.vec24()?;
        let share = self.share_of(leaf);
        let chain = Chain::new(certificate_type, leaf.into(), issuers)?;
        let server = from.array()?;
        let policy = option(from, |from| from.array::<{ VerifierDigest::LEN }>())?;
        let under = AcceptanceConditions { server, policy: policy.map(VerifierDigest) };
        let identity = u32::from_be_bytes(from.array()?);
        let form = Form::Whole(chain);
        let client = self.client(&ClientEntry { form, under, identity, share });
        if let Some(record) = client.and_then(|client| self.records.get_mut(client)) {
            record.identity = identity;
        }
        let mut tickets = Vec::new();
        for _ in 0..from.u8()? {
            let (bytes, id) = (from.array()?, from.u16()?);
            // Without a ticket the id is 0.
            tickets.push(KeptTicket { bytes, id: Id((id != 0).then_some(id)?) });
        }
        if let Some(client) = client {
            self.add_tickets(client, tickets);
        }
        Some(())
    }
}

/// The lists of issuers already written, by address, which can't be reused while they are held here. Clients
/// of one share can have different ones in any order, and the cache holds each list once per group: so does a
/// file.
#[derive(Default)]
struct Issuers(BTreeMap<usize, (u32, Shared)>);

impl Issuers {
    /// Writes the list itself the first time, and later its number.
    fn put(&mut self, issuers: &Shared, out: &mut Vec<u8>) {
        let place = issuers.as_ptr().addr();
        let written = self.0.get(&place).map(|(number, _)| *number);
        out.push(u8::from(written.is_none()));
        match written {
            Some(number) => out.extend(number.to_be_bytes()),
            None => {
                put24(out, issuers);
                // There are fewer than clients.
                self.0.insert(place, (self.0.len() as u32, issuers.clone()));
            }
        }
    }
}

/// The first version with numbered lists of issuers.
const WITH_NUMBERS: u8 = 2;

/// Reads a client's issuers: an earlier list, or a new one.
fn issuers(from: &mut Bytes<'_>, lists: &mut Vec<Shared>, version: u8) -> Option<Shared> {
    if flag(from)? {
        lists.push(from.vec24()?.into());
        return lists.last().cloned();
    }
    if version < WITH_NUMBERS {
        // The previous client's.
        return lists.last().cloned();
    }
    lists.get(u32::from_be_bytes(from.array()?) as usize).cloned()
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::{Bytes, ExportProgress, Store, WITH_NUMBERS};
    use crate::server::tests::{NOW, learn, store, under};
    use crate::written::CacheKind;

    fn written(store: &Store) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writing = store.begin_to_write(&mut out, false);
        assert_eq!(store.write_more(&mut writing, &mut out), ExportProgress::AsAWhole);
        out
    }

    /// It can't be found, unless by its public id.
    #[test]
    fn a_client_without_tickets_is_written_only_on_request() {
        let mut store = store(9, 1 << 20);
        let tickets = learn(&mut store, 1, 1, &[]);
        for ticket in tickets {
            assert!(store.take(&[ticket.bytes], under(1), NOW, |_| true).is_ok());
        }
        let entries = |without_tickets| {
            let mut out = Vec::new();
            let mut writing = store.begin_to_write(&mut out, without_tickets);
            assert_eq!(store.write_more(&mut writing, &mut out), ExportProgress::AsAWhole);
            let read = Store::read(store.limits, CacheKind::Clients.version(), Bytes(&out));
            read.expect("what it wrote").metrics().entries
        };
        assert_eq!((entries(true), entries(false)), (1, 0));
    }

    #[test]
    fn a_servers_file_of_the_version_before_lists_had_numbers_is_read() {
        let mut store = store(9, 1 << 20);
        for client in 0..3 {
            learn(&mut store, 1, client, &[7; 30]);
        }
        let now = written(&store);
        // The key, the list, and three clients, two of which have its number.
        let (key, list, number) = (24, 1 + 3 + 30, 4);
        let client = (now.len() - key - list - 2 * (1 + number)) / 3;
        let mut earlier = now[..key + list + client].to_vec();
        for others in now[key + list + client..].chunks(1 + number + client) {
            earlier.push(others[0]);
            earlier.extend_from_slice(&others[1 + number..]);
        }
        let read = |version, bytes| Store::read(store.limits, version, Bytes(bytes));
        for (version, bytes) in [(CacheKind::Clients.version(), &now), (WITH_NUMBERS - 1, &earlier)]
        {
            assert!(written(&read(version, bytes).expect("what it wrote")) == now, "{version}");
        }
        assert!(read(WITH_NUMBERS, &earlier).is_none());
    }
}
