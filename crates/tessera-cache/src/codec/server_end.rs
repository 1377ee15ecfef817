//! A server's end of a connection, whichever carrier it uses: whom it knows by tickets, and whom it learns.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use tessera::Time;
use tessera::auth::{FromClient, HandshakeEnd, NextTicket, PeerCertificate, Role};
use tessera::wire::{CertificateCompressionAlgorithm as Id, CertificateType};

use super::learned_form;
use super::offered::{Offered, Received, asked_of};
use crate::chain_hash::ChainHash;
use crate::ids::TicketBytes;
use crate::missed::Missed;
use crate::server::{Found, Remembered, ServerCache, Tail, Under, tail_of};
use crate::wire::{Content, FleetTicket};

pub(super) struct ServerEnd {
    pub(super) cache: Arc<ServerCache>,
    /// Whether a PSK is used.
    pub(super) psk: bool,
    pub(super) under: Under,
    /// Whether this side's chain was sent as a hash, once it is sent.
    sent_cached: Option<bool>,
    /// Why it was not.
    pub(super) own_missed: Option<Missed>,
    /// Why no chain is offered to this client, though it shows tickets.
    not_offered: Option<Missed>,
    /// The client's chain, if it came as a hash, and what is remembered of it.
    received: Option<(Received, Remembered)>,
    /// When the handshake is complete: why it didn't.
    pub(super) peer_missed: Option<Missed>,
    /// The client's chain that new tickets are for, when the handshake is complete.
    ticketed: Option<(ChainHash, Tail)>,
}

impl ServerEnd {
    pub(super) fn new(cache: Arc<ServerCache>, from: &FromClient<'_>, psk: bool) -> Self {
        let under = cache.under(from);
        Self {
            cache,
            psk,
            under,
            sent_cached: None,
            own_missed: None,
            not_offered: None,
            received: None,
            peer_missed: None,
            ticketed: None,
        }
    }

    /// Takes the client's tickets, and gives whom they are of. A ticket of another carrier has an id that is none of
    /// these, and is for nobody here.
    pub(super) fn take(
        &mut self,
        tickets: &[TicketBytes],
        sealed: Option<&[u8]>,
        now: Time,
        ids: RangeInclusive<Id>,
        may_be: impl Fn(CertificateType) -> bool,
    ) -> Option<Found> {
        let found = self.find(tickets, sealed, now, may_be);
        let found =
            found.and_then(|it| ids.contains(&it.id).then_some(it).ok_or(Missed::UnknownTicket));
        self.not_offered = found.as_ref().err().copied();
        // The cache has counted the other reasons. With a PSK no chain is missed.
        if self.not_offered == Some(Missed::UnknownTicket) && !self.psk {
            self.cache.count(|metrics| metrics.missed(Missed::UnknownTicket, 1));
        }
        found.ok()
    }

    /// The client that is found by these tickets. They aren't looked up without a clock: nobody could tell whether
    /// what is known has expired. The fleet ticket is opened if none of the others is known.
    fn find(
        &self,
        tickets: &[TicketBytes],
        sealed: Option<&[u8]>,
        now: Time,
        may_be: impl Fn(CertificateType) -> bool,
    ) -> Result<Found, Missed> {
        let unix = now.unix.ok_or(Missed::UnknownTicket)?;
        match (self.cache.take(tickets, self.under, unix.as_secs(), &may_be), sealed) {
            (Err(Missed::UnknownTicket), Some(sealed)) => {
                self.cache.open(sealed, self.under, unix, &may_be)
            }
            (found, _) => found,
        }
    }

    /// A fleet ticket for this client, which every server of the fleet can open.
    pub(super) fn seal(&self, next: &NextTicket) -> Option<FleetTicket> {
        self.cache.seal(self.ticketed?, self.under, next.now.unix?)
    }

    /// A client whose chain is offered. Where the cache has only a hash, the verifier has to know it; what it doesn't
    /// know leaves the cache.
    pub(super) fn offer(
        &mut self,
        id: Id,
        client: Remembered,
        now: Time,
    ) -> Option<Offered<Remembered>> {
        let (form, memory) = (client.form.clone(), self.cache.memory.as_deref());
        let asked = asked_of(Role::Client, None, now);
        let offered = Offered::new(id, client.clone(), &form, memory, asked);
        if offered.is_none() {
            self.not_offered = Some(Missed::Forgotten);
            self.cache.count(|metrics| metrics.missed(Missed::Forgotten, 1));
            self.cache.forget(&client);
        }
        offered
    }

    /// This side's chain is sent whole, for this reason, unless [`send`](Self::send) comes after this.
    pub(super) fn send_whole(&mut self, why: Missed) {
        (self.sent_cached, self.own_missed) = (Some(false), Some(why));
    }

    /// What is sent in place of this side's chain, for the body of its Certificate.
    pub(super) fn send(&mut self, own: &ChainHash, body: &[u8]) -> Option<Vec<u8>> {
        let content = Content::write(own, body)?;
        (self.sent_cached, self.own_missed) = (Some(true), None);
        self.cache.count(|metrics| metrics.saved(body.len(), content.len()));
        Some(content)
    }

    /// This client's chain came as so many bytes, in place of a body of so many.
    pub(super) fn receive(
        &mut self,
        client: Remembered,
        received: Received,
        body: usize,
        content: usize,
    ) {
        self.cache.count(|metrics| metrics.received(received.matches, body, content));
        self.received = Some((received, client));
    }

    pub(super) fn is_what_was_sent(&self) -> bool {
        self.received.as_ref().is_none_or(|(received, _)| received.matches)
    }

    /// Who copied a ticket must not learn from alerts whose it is.
    pub(super) fn conceals_verdict(&self) -> bool {
        self.received.is_some()
    }

    /// The verifier has rejected the client itself: what is known of it has no use any more.
    pub(super) fn peer_rejected(&self) {
        if let Some((_, client)) = &self.received {
            self.cache.forget(client);
        }
    }

    /// The handshake is complete: the client that was here, and its chain; by its tickets somebody was `found`, or
    /// nobody.
    pub(super) fn client(
        &mut self,
        end: &HandshakeEnd<'_>,
        found: Option<&Remembered>,
    ) -> Option<(ChainHash, Remembered)> {
        let identity = self.cache.identity(end.identity);
        let (hash, client) = match end.peer {
            Some(peer) => self.shown(peer, identity, end),
            None if self.psk => self.of_session(found?, identity),
            None => None,
        }?;
        self.ticketed = Some((hash, tail_of(&client.form)));
        Some((hash, client))
    }

    /// A client that comes with a PSK shows nothing; its ticket says who it is, if the session that it resumes is
    /// of the same client. Else somebody has copied the ticket: with new ones derived from a session of his own and
    /// the chain of another he could find out which chain that is.
    fn of_session(&self, client: &Remembered, identity: u32) -> Option<(ChainHash, Remembered)> {
        let is_same = identity != 0 && client.identity == identity;
        is_same.then(|| (client.form.hash(self.cache.sha256), client.clone()))
    }

    /// The client's chain, as it is remembered.
    fn shown(
        &self,
        peer: &PeerCertificate,
        identity: u32,
        end: &HandshakeEnd<'_>,
    ) -> Option<(ChainHash, Remembered)> {
        let expected = self.received.as_ref().map(|(received, _)| received.expected);
        let share = self.received.as_ref().map(|(_, known)| known.share);
        let asked = asked_of(Role::Client, None, end.now);
        let (hash, form) = learned_form(&self.cache, peer, expected, asked)?;
        let share = share.unwrap_or_else(|| self.cache.share_of(peer));
        Some((hash, Remembered { form, under: self.under, identity, share }))
    }

    /// Counts how certificates travelled. Clients' chains were `offered`, or none was.
    pub(super) fn count(&mut self, end: &HandshakeEnd<'_>, offered: bool) {
        let (came, is_cached) = (end.peer.is_some(), self.received.is_some());
        let why = match self.not_offered {
            _ if offered => Missed::AnotherChain,
            Some(why) => why,
            None => Missed::NothingCached,
        };
        self.peer_missed = (came && !is_cached).then_some(why);
        // Why nothing was offered is counted already.
        let missed = self.peer_missed.filter(|_| offered || self.not_offered.is_none());
        self.cache.count(|metrics| {
            metrics.sent_cached += u64::from(self.sent_cached == Some(true));
            metrics.sent_whole += u64::from(self.sent_cached == Some(false));
            metrics.received_cached += u64::from(came && is_cached);
            if let Some(why) = missed {
                metrics.missed(why, 1);
            }
        });
    }
}
