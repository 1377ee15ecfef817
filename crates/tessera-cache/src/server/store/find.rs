//! Lookup of clients by their tickets.

use alloc::vec::Vec;

use tessera::wire::{CertificateCompressionAlgorithm as Id, CertificateType};

use super::tickets::TicketOwner;
use super::{AcceptanceConditions, ClientEntry, Store, hash_of};
use crate::form::Form;
use crate::ids::TicketBytes;
use crate::miss_reason::MissReason;
use crate::server::fleet::{Contents, tail};
use crate::server::record::form;

/// A client that was found; unchanged until the handshake is over, whatever the store does.
#[derive(Clone)]
pub(crate) struct ClientMatch {
    pub(crate) id: Id,
    /// The index of the presented ticket that found it, which the paper's answer names.
    #[cfg_attr(not(feature = "paper"), expect(dead_code))]
    pub(crate) place: usize,
    pub(crate) peer: ClientEntry,
}

impl Store {
    /// Takes those of these tickets that belong to clients which this server accepted under this policy, so
    /// that they aren't found again. Returns the client of the first known one, if `may_offer` accepts its
    /// kind; an expired one is forgotten.
    pub(in crate::server) fn take(
        &mut self,
        tickets: &[TicketBytes],
        under: AcceptanceConditions,
        unix: u64,
        may_offer: impl Fn(CertificateType) -> bool,
    ) -> Result<ClientMatch, MissReason> {
        let (mut first, mut is_of_another_policy) = (None, false);
        for (place, bytes) in tickets.iter().enumerate() {
            match self.take_one(bytes, under) {
                TicketOwner::Client(client, id) => first = first.or(Some((client, id, place))),
                TicketOwner::OfAnotherPolicy => is_of_another_policy = true,
                TicketOwner::Nothing => (),
            }
        }
        if first.is_none() && is_of_another_policy {
            return Err(self.missed(MissReason::Policy));
        }
        let (client, id, place) = first.ok_or(MissReason::UnknownTicket)?;
        let peer = self.remembered(client, under).ok_or(MissReason::UnknownTicket)?;
        let expires_at = peer.form.expires_at();
        let peer = self.usable(client, peer, expires_at, unix, may_offer)?;
        Ok(ClientMatch { id, place, peer })
    }

    /// Returns the clients of this server that may have the chain that a fleet ticket names. Hashing them is
    /// left to the caller, outside the lock, so that no other thread waits for it, however long they are and
    /// however often the ticket is presented. Nothing is taken. Clients under other policies are skipped:
    /// otherwise an attacker with a copied ticket could have them forgotten there.
    pub(in crate::server) fn candidates(
        &self,
        named: &Contents,
        under: AcceptanceConditions,
    ) -> Vec<(u32, Form)> {
        let mut found = Vec::new();
        // If only hashes are kept, they are found by their own last bytes.
        for end in [named.tail, tail(&named.chain.0)] {
            self.clients.find(hash_of(&self.keyed, &end), |number| {
                if found.len() == CANDIDATES {
                    return true;
                }
                let ends_so = self.records.get(number).is_some_and(|it| tail(&it.own) == end);
                let client = ends_so.then(|| self.remembered(number, under)).flatten();
                found.extend(client.map(|it| (number, it.form)));
                false
            });
        }
        found
    }

    /// Returns what is remembered of one of the [`candidates`](Self::candidates), if it still exists and may
    /// be offered now.
    pub(in crate::server) fn use_candidate(
        &mut self,
        (client, form): (u32, &Form),
        expires_at: Option<u64>,
        under: AcceptanceConditions,
        unix: u64,
        may_offer: impl Fn(CertificateType) -> bool,
    ) -> Result<ClientEntry, MissReason> {
        let peer = self.remembered(client, under).filter(|it| it.form.is_still(form));
        let peer = peer.ok_or(MissReason::UnknownTicket)?;
        self.usable(client, peer, expires_at, unix, may_offer)
    }

    /// Returns what is remembered of this client, if it was accepted under this.
    fn remembered(&self, client: u32, under: AcceptanceConditions) -> Option<ClientEntry> {
        let record = self.records.get(client)?;
        let group = self.groups.get(record.group)?;
        let policy = under.policy.map(|it| it.0);
        let is_under = (group.server, group.policy) == (under.server, policy);
        let form = is_under.then(|| form(group, &record.own))??;
        Some(ClientEntry { form, under, identity: record.identity, share: group.share })
    }

    /// Returns it, if it may be offered now.
    fn usable(
        &mut self,
        client: u32,
        peer: ClientEntry,
        expires_at: Option<u64>,
        unix: u64,
        may_offer: impl Fn(CertificateType) -> bool,
    ) -> Result<ClientEntry, MissReason> {
        if expires_at.is_some_and(|end| end <= unix) {
            self.remove(client);
            return Err(self.missed(MissReason::Expired));
        }
        self.touch(client);
        let typ = match &peer.form {
            Form::Whole(chain) => chain.certificate_type,
            Form::Known(_) => CertificateType::X509,
        };
        match may_offer(typ) {
            true => Ok(peer),
            false => Err(self.missed(MissReason::AnotherChain)),
        }
    }

    /// Counts the reason.
    fn missed(&mut self, why: MissReason) -> MissReason {
        self.metrics.missed(why, 1);
        why
    }
}

/// How many chains are hashed for one ticket. One is the right one; others with the same end are made on
/// purpose.
const CANDIDATES: usize = 4;

#[cfg(test)]
mod tests {
    use tessera::auth::VerifierDigest;
    use tessera::wire::CertificateType;

    use super::{AcceptanceConditions, ClientEntry, Contents, Form, Id, Store};
    use crate::chain::Chain;
    use crate::chain_hash::ChainHash;
    use crate::server::fleet::tail_of;
    use crate::server::tests::{NOW, certificate, learn, store, under};
    use crate::vectors::sha256;

    /// A client that sends other certificates after its leaf has another chain; under another name or policy
    /// no client is found or forgotten.
    #[test]
    fn a_chain_is_found_by_its_description_in_a_fleet_ticket() {
        const ONE: &[u8] = &[0, 0, 2, 1, 1];
        const OTHER: &[u8] = &[0, 0, 2, 2, 2];
        let mut store = store(100, 1 << 20);
        learn(&mut store, 1, 7, ONE);
        learn(&mut store, 1, 8, ONE);
        let named = |client: u32, issuers: &[u8]| {
            let leaf = certificate(1, client);
            let chain =
                Chain::new(CertificateType::X509, leaf.into(), issuers.into()).expect("a chain");
            let (id, server, hash) = (Id(0xc000), [1; 16], chain.hash(sha256()));
            let tail = tail_of(&Form::Whole(chain));
            Contents { chain: hash, tail, server, id, issued_at: NOW }
        };
        let find = |store: &mut Store, named: &Contents, under| {
            let candidates = store.candidates(named, under);
            let is_it = |(_, form): &&(u32, Form)| form.hash(sha256()) == named.chain;
            let (client, form) = candidates.iter().find(is_it)?;
            let peer = store.use_candidate((*client, form), None, under, NOW, |_| true).ok()?;
            Some(peer.form.hash(sha256()))
        };
        for client in [7, 8] {
            let named = named(client, ONE);
            assert_eq!(find(&mut store, &named, under(1)), Some(named.chain));
            let stricter =
                AcceptanceConditions { policy: Some(VerifierDigest([3; 32])), ..under(1) };
            for elsewhere in [under(2), stricter] {
                assert_eq!(find(&mut store, &named, elsewhere), None);
            }
            // Without the end of the leaf it isn't found.
            let blind = Contents { tail: Default::default(), ..named };
            assert_eq!(find(&mut store, &blind, under(1)), None);
        }
        assert_eq!(find(&mut store, &named(7, OTHER), under(1)), None);
        assert_eq!(find(&mut store, &named(9, ONE), under(1)), None);
        // Another list replaces the first.
        learn(&mut store, 1, 7, OTHER);
        assert_eq!(find(&mut store, &named(7, ONE), under(1)), None);
        let other = named(7, OTHER);
        assert_eq!(find(&mut store, &other, under(1)), Some(other.chain));
        // Hashes are found by their own end.
        let hash = ChainHash([9; 32]);
        let form = Form::Known(hash);
        store.learn(&ClientEntry { form, under: under(1), identity: 0, share: 0 }, &[], false);
        let known = Contents { chain: hash, tail: [4; 16], ..other };
        assert_eq!(find(&mut store, &known, under(1)), Some(hash));
        assert_eq!(store.metrics().entries, 3);
        // A client that connects while one is being hashed doesn't replace it.
        let before = store.candidates(&other, under(1));
        let [(client, form)] = &before[..] else { panic!("{}", before.len()) };
        store.retain(|_| false);
        for client in 10..20 {
            learn(&mut store, 1, client, ONE);
        }
        assert!(store.use_candidate((*client, form), None, under(1), NOW, |_| true).is_err());
    }

    /// An attacker that chooses its raw key, or the key's end, can make many with another client's end.
    #[test]
    fn few_chains_are_hashed_for_one_fleet_ticket() {
        let mut store = store(100, 1 << 20);
        let chain = |client: u8| {
            let key = [&[0x30, client][..], &[7; 30]].concat();
            Chain::new(CertificateType::RAW_PUBLIC_KEY, key.into(), [].into()).expect("a key")
        };
        for client in 0..50 {
            let form = Form::Whole(chain(client));
            store.learn(&ClientEntry { form, under: under(1), identity: 0, share: 0 }, &[], false);
        }
        assert_eq!(store.metrics().entries, 50);
        let hash = chain(0).hash(sha256());
        let (id, server) = (Id(0xc000), [1; 16]);
        let named = Contents { chain: hash, tail: [7; 16], server, id, issued_at: NOW };
        assert_eq!(store.candidates(&named, under(1)).len(), 4);
        assert!(store.candidates(&named, under(2)).is_empty());
    }
}
