//! Clients, found by what they show.

use tessera::crypto::Hash;
use tessera::wire::{CertificateCompressionAlgorithm as Id, CertificateType};

use super::tickets::Taken;
use super::{Remembered, Store, Under, hash_of};
use crate::form::Form;
use crate::ids::TicketBytes;
use crate::missed::Missed;
use crate::server::record::form;
use crate::server::sealed::{Contents, Tail, tail};

/// A client that was found; it stays what it is until the handshake is over, whatever the store does.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) id: Id,
    /// Which of the tickets that were shown it was found by.
    pub(crate) place: usize,
    pub(crate) peer: Remembered,
}

impl Store {
    /// Takes those of these tickets that are of clients which this server accepted under this policy: nobody finds
    /// them again. Gives the client of the first that is known, if `may_offer` says so of its kind; one that has
    /// expired is forgotten.
    pub(in crate::server) fn take(
        &mut self,
        tickets: &[TicketBytes],
        under: Under,
        unix: u64,
        may_offer: impl Fn(CertificateType) -> bool,
    ) -> Result<Found, Missed> {
        let (mut first, mut is_of_another_policy) = (None, false);
        for (place, bytes) in tickets.iter().enumerate() {
            match self.take_one(bytes, under) {
                Taken::Client(client, id) => first = first.or(Some((client, id, place))),
                Taken::OfAnotherPolicy => is_of_another_policy = true,
                Taken::Nothing => (),
            }
        }
        if first.is_none() && is_of_another_policy {
            return Err(self.missed(Missed::Policy));
        }
        let (client, id, place) = first.ok_or(Missed::UnknownTicket)?;
        let peer = self.usable(client, under, unix, may_offer)?;
        Ok(Found { id, place, peer })
    }

    /// The client of this server with the chain that a sealed ticket names. Nothing is taken. Clients under other
    /// policies aren't looked at: else whoever copied a ticket could have them forgotten there.
    pub(in crate::server) fn find_chain(
        &mut self,
        sha256: &dyn Hash,
        named: &Contents,
        under: Under,
        unix: u64,
        may_offer: impl Fn(CertificateType) -> bool,
    ) -> Result<Remembered, Missed> {
        let Contents { chain, tail: own_tail, .. } = named;
        let whole = self.find_with_tail(own_tail, under, |form| match form {
            Form::Whole(whole) => whole.hash(sha256) == *chain,
            Form::Known(_) => false,
        });
        let as_hash = |form: &Form| matches!(form, Form::Known(hash) if hash == chain);
        let client = whole.or_else(|| self.find_with_tail(&tail(&chain.0), under, as_hash));
        let client = client.ok_or(Missed::UnknownTicket)?;
        self.usable(client, under, unix, may_offer)
    }

    /// The client that was accepted under this, with such a form whose own part ends so.
    fn find_with_tail(
        &self,
        end: &Tail,
        under: Under,
        is_it: impl Fn(&Form) -> bool,
    ) -> Option<u32> {
        let policy = under.policy.map(|it| it.0);
        self.clients.find(hash_of(&self.keyed, end), |number| {
            let record = self.records.get(number);
            let group = record.and_then(|record| self.groups.get(record.group));
            record.zip(group).is_some_and(|(record, group)| {
                tail(&record.own) == *end
                    && (group.server, group.policy) == (under.server, policy)
                    && form(group, &record.own).is_some_and(|form| is_it(&form))
            })
        })
    }

    /// What is remembered of this client, if it may be offered now.
    fn usable(
        &mut self,
        client: u32,
        under: Under,
        unix: u64,
        may_offer: impl Fn(CertificateType) -> bool,
    ) -> Result<Remembered, Missed> {
        let peer = self.remembered(client, under).ok_or(Missed::UnknownTicket)?;
        let (expires_at, typ) = match &peer.form {
            Form::Whole(chain) => (chain.expires_at(), chain.certificate_type),
            Form::Known(_) => (None, CertificateType::X509),
        };
        if expires_at.is_some_and(|end| end <= unix) {
            self.remove(client);
            return Err(self.missed(Missed::Expired));
        }
        self.touch(client);
        match may_offer(typ) {
            true => Ok(peer),
            false => Err(self.missed(Missed::AnotherChain)),
        }
    }

    fn remembered(&self, client: u32, under: Under) -> Option<Remembered> {
        let record = self.records.get(client)?;
        let group = self.groups.get(record.group)?;
        let form = form(group, &record.own)?;
        Some(Remembered { form, under, identity: record.identity, share: group.share })
    }

    /// Counts it.
    fn missed(&mut self, why: Missed) -> Missed {
        self.metrics.missed(why, 1);
        why
    }
}
