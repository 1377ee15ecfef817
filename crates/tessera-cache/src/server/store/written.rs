//! All clients, written down.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;

use tessera::auth::VerifierDigest;
use tessera::wire::{CertificateCompressionAlgorithm as Id, CertificateType};

use super::{Remembered, Store, Under};
use crate::bytes::{Bytes, put24};
use crate::chain::Chain;
use crate::form::Form;
use crate::ids::KeptTicket;
use crate::server::extras::LIVE;
use crate::server::keyed::Keyed;
use crate::server::record::form;
use crate::written::{flag, option, put_option};

impl Store {
    /// Writes all clients, of each part of the cache those that were not used for longest first.
    /// Those without a ticket are left out, unless they can be found otherwise.
    pub(in crate::server) fn write(&self, out: &mut Vec<u8>, without_tickets: bool) {
        // Identities are hashes under it.
        self.keyed.key().iter().for_each(|word| out.extend(word.to_be_bytes()));
        let mut issuers = Issuers::default();
        for share in self.shares.iter() {
            let mut next = share.oldest;
            while let Some(record) = self.records.get(next) {
                self.write_client(next, out, &mut issuers, without_tickets);
                next = record.newer;
            }
        }
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
            // Nobody finds it.
            return;
        }
        issuers.put(record.group, &chain.issuers, out);
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

    /// The tickets of a client, the oldest first.
    fn tickets_by_age(&self, client: u32) -> Vec<KeptTicket> {
        let mut places: Vec<usize> = (0..LIVE).collect();
        if let Some(extra) = self.extras.get(client) {
            places.sort_by_key(|place| Reverse(extra.age(*place)));
        }
        places.into_iter().filter_map(|place| self.ticket(client, place)).collect()
    }

    /// What was written, within the limits of this one; `None` if it can't be read.
    pub(in crate::server) fn read(&self, mut from: Bytes<'_>) -> Option<Self> {
        let mut key = [0; 3];
        for word in &mut key {
            *word = u64::from_be_bytes(from.array()?);
        }
        let mut read = Self::empty(Keyed::of_key(key), self.limits);
        read.metrics = self.metrics;
        let mut issuers = Vec::new();
        while !from.is_empty() {
            read.read_client(&mut from, &mut issuers)?;
        }
        Some(read)
    }

    fn read_client(&mut self, from: &mut Bytes<'_>, lists: &mut Vec<Arc<[u8]>>) -> Option<()> {
        let issuers = issuers(from, lists)?;
        let certificate_type = CertificateType(from.u8()?);
        let leaf = from.vec24()?.to_vec();
        let share = self.share_of(&leaf);
        let chain = Chain::new(certificate_type, leaf, issuers)?;
        let server = from.array()?;
        let policy = option(from, |from| from.array::<{ VerifierDigest::LEN }>())?;
        let under = Under { server, policy: policy.map(VerifierDigest) };
        let identity = u32::from_be_bytes(from.array()?);
        let form = Form::Whole(Arc::new(chain));
        let client = self.client(&Remembered { form, under, identity, share });
        if let Some(record) = client.and_then(|client| self.records.get_mut(client)) {
            record.identity = identity;
        }
        let mut tickets = Vec::new();
        for _ in 0..from.u8()? {
            let (bytes, id) = (from.array()?, from.u16()?);
            // Where there is no ticket, there is this id.
            tickets.push(KeptTicket { bytes, id: Id((id != 0).then_some(id)?) });
        }
        if let Some(client) = client {
            self.add_tickets(client, tickets);
        }
        Some(())
    }
}

/// Which lists of issuers are written, by the groups that have them. Clients of one part of the cache can have
/// different ones in any order, and each list is in the cache once: in a file too.
#[derive(Default)]
struct Issuers(BTreeMap<u32, u32>);

impl Issuers {
    /// The list itself the first time, and then its number.
    fn put(&mut self, group: u32, issuers: &[u8], out: &mut Vec<u8>) {
        let written = self.0.get(&group).copied();
        out.push(u8::from(written.is_none()));
        match written {
            Some(number) => out.extend(number.to_be_bytes()),
            None => {
                put24(out, issuers);
                // There are fewer than clients.
                self.0.insert(group, self.0.len() as u32);
            }
        }
    }
}

/// A client's issuers, read: one of the lists before, or a new one.
fn issuers(from: &mut Bytes<'_>, lists: &mut Vec<Arc<[u8]>>) -> Option<Arc<[u8]>> {
    if flag(from)? {
        lists.push(from.vec24()?.into());
        return lists.last().cloned();
    }
    lists.get(u32::from_be_bytes(from.array()?) as usize).cloned()
}
