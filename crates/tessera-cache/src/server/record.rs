//! A server's record of one client, in 48 bytes and its certificate.

use alloc::boxed::Box;

use tessera::wire::{CertificateCompressionAlgorithm as Id, CertificateType};

use super::extras::INLINE;
use super::groups::{Group, Kind};
use super::shares::NONE;
use crate::bytes::Shared;
use crate::chain::Chain;
use crate::chain_hash::ChainHash;
use crate::form::Form;
use crate::ids::KeptTicket;

/// A client.
pub(super) struct Record {
    /// What its [`Kind`] specifies.
    pub(super) own: Box<[u8]>,
    pub(super) group: u32,
    /// Its neighbours in its share of the cache, by time of last use. In a free record, `newer` is the next
    /// free one.
    pub(super) newer: u32,
    pub(super) older: u32,
    /// The client's identity: see [`ClientEntry`](super::store::ClientEntry).
    pub(super) identity: u32,
    tickets: [[u8; KeptTicket::LEN]; INLINE],
    /// 0: no ticket.
    ids: [u16; INLINE],
}

const _: () = assert!(size_of::<usize>() > 8 || size_of::<Record>() <= 48);

impl Record {
    pub(super) fn new(own: Box<[u8]>, group: u32) -> Self {
        let (tickets, ids) = Default::default();
        Self { own, group, newer: NONE, older: NONE, identity: 0, tickets, ids }
    }

    pub(super) fn ticket(&self, place: usize) -> Option<KeptTicket> {
        let id = *self.ids.get(place)?;
        (id != 0).then(|| KeptTicket { bytes: self.tickets[place], id: Id(id) })
    }

    /// Sets the ticket at a place; those from [`INLINE`] on are elsewhere, and nothing happens.
    pub(super) fn put_ticket(&mut self, place: usize, ticket: Option<KeptTicket>) {
        if let Some((bytes, id)) = self.tickets.get_mut(place).zip(self.ids.get_mut(place)) {
            *bytes = ticket.map_or_else(Default::default, |it| it.bytes);
            *id = ticket.map_or(0, |it| it.id.0);
        }
    }
}

/// Splits a chain into what its record keeps, and what it shares with others.
pub(super) fn parts(form: &Form) -> (Kind, &[u8], Shared) {
    match form {
        Form::Whole(chain) => {
            (Kind::of(chain.certificate_type), &chain.leaf, chain.issuers.clone())
        }
        Form::Known(hash) => (Kind::Known, &hash.0, Shared::default()),
    }
}

/// Joins these parts to a chain.
pub(super) fn form(group: &Group, own: &[u8]) -> Option<Form> {
    let certificate_type = match group.kind {
        Kind::Certificate => CertificateType::X509,
        Kind::RawPublicKey => CertificateType::RAW_PUBLIC_KEY,
        Kind::Known => return Some(Form::Known(ChainHash(own.try_into().ok()?))),
    };
    Chain::new(certificate_type, own.into(), group.issuers.clone()).map(Form::Whole)
}
