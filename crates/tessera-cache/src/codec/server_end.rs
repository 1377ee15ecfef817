//! A server's end of a connection, with either carrier: the client it finds by tickets, and the client it
//! learns.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use tessera::Time;
use tessera::auth::{
    AfterHandshake, ClientInfo, CodecOutcome, DecodedCertificate, HandshakeEnd, NextTicket,
    PeerCertificate, Role,
};
use tessera::wire::{
    CertificateCompressionAlgorithm as Id, CertificateType, ExtensionType, OpaqueExtension,
};

use super::learned_form;
use super::offered::{OfferedChain, asked_of};
use crate::chain_hash::ChainHash;
use crate::ids::TicketBytes;
use crate::miss_reason::MissReason;
use crate::server::{AcceptanceConditions, ClientEntry, ClientMatch, ServerCache, Tail, tail_of};
use crate::wire::Content;

pub(super) struct ServerEnd {
    pub(super) cache: Arc<ServerCache>,
    /// Whether a PSK is used.
    pub(super) psk: bool,
    pub(super) under: AcceptanceConditions,
    /// Whether this side's chain was sent as a hash; `None` before it is sent.
    sent_cached: Option<bool>,
    /// Why it was not.
    own_missed: Option<MissReason>,
    /// Why no chain is offered to this client, although it presented tickets.
    not_offered: Option<MissReason>,
    /// The client's chain that was expected, if it was sent as a hash, and what is remembered of it.
    received: Option<(ChainHash, ClientEntry)>,
    /// After the handshake: why it was not.
    peer_missed: Option<MissReason>,
    /// After the handshake: the client's chain that new tickets are for.
    ticketed: Option<(ChainHash, Tail)>,
}

impl AfterHandshake for ServerEnd {
    /// Seals a fleet ticket for this client, which every server of the fleet can open.
    fn ticket_extension(&mut self, next: &NextTicket) -> Option<OpaqueExtension> {
        let ticket = self.cache.seal(self.ticketed?, self.under, next.now.unix?)?;
        let typ = ExtensionType::CACHED_CERTIFICATES;
        Some(OpaqueExtension { typ, contents: ticket.write() })
    }
}

impl ServerEnd {
    pub(super) fn new(cache: Arc<ServerCache>, from: &ClientInfo<'_>) -> Self {
        let under = cache.under(from);
        Self {
            cache,
            psk: from.with_psk,
            under,
            sent_cached: None,
            own_missed: None,
            not_offered: None,
            received: None,
            peer_missed: None,
            ticketed: None,
        }
    }

    /// Takes the client's tickets, and returns the client they belong to. A ticket of another carrier has an
    /// id outside this range, and finds no client here.
    pub(super) fn take(
        &mut self,
        tickets: &[TicketBytes],
        sealed: Option<&[u8]>,
        now: Time,
        ids: RangeInclusive<Id>,
        may_be: impl Fn(CertificateType) -> bool,
    ) -> Option<ClientMatch> {
        let found = self.find(tickets, sealed, now, may_be);
        let found = found
            .and_then(|it| ids.contains(&it.id).then_some(it).ok_or(MissReason::UnknownTicket));
        self.not_offered = found.as_ref().err().copied();
        // The cache has counted the other reasons. With a PSK no chain is missed.
        if self.not_offered == Some(MissReason::UnknownTicket) && !self.psk {
            self.cache.count(|metrics| metrics.missed(MissReason::UnknownTicket, 1));
        }
        found.ok()
    }

    /// Finds the client by these tickets. Without a clock they aren't looked up, because expiry can't be
    /// checked. The fleet ticket is opened if none of the others is known.
    fn find(
        &self,
        tickets: &[TicketBytes],
        sealed: Option<&[u8]>,
        now: Time,
        may_be: impl Fn(CertificateType) -> bool,
    ) -> Result<ClientMatch, MissReason> {
        let unix = now.unix.ok_or(MissReason::UnknownTicket)?;
        match (self.cache.take(tickets, self.under, unix.as_secs(), &may_be), sealed) {
            (Err(MissReason::UnknownTicket), Some(sealed)) => {
                self.cache.open(sealed, self.under, unix, &may_be)
            }
            (found, _) => found,
        }
    }

    /// Prepares a client's chain to offer. If the cache has only a hash, the verifier must know it; a hash
    /// that it doesn't know is removed from the cache.
    pub(super) fn offer(
        &mut self,
        id: Id,
        client: ClientEntry,
        now: Time,
    ) -> Option<OfferedChain<ClientEntry>> {
        let (form, memory) = (client.form.clone(), self.cache.memory.as_deref());
        let asked = asked_of(Role::Client, None, now);
        let offered = OfferedChain::new(id, client.clone(), &form, memory, asked);
        if offered.is_none() {
            self.not_offered = Some(MissReason::Forgotten);
            self.cache.count(|metrics| metrics.missed(MissReason::Forgotten, 1));
            self.cache.forget(&client);
        }
        offered
    }

    /// Notes that this side's chain is sent in full, for this reason, unless [`send`](Self::send) follows.
    pub(super) fn send_whole(&mut self, why: MissReason) {
        (self.sent_cached, self.own_missed) = (Some(false), Some(why));
    }

    /// Returns what replaces this side's chain, for the body of its Certificate.
    pub(super) fn send(&mut self, own: &ChainHash, body: &[u8]) -> Option<Vec<u8>> {
        let content = Content::write(own, body)?;
        (self.sent_cached, self.own_missed) = (Some(true), None);
        self.cache.count(|metrics| metrics.saved(body.len(), content.len()));
        Some(content)
    }

    /// Notes that this client's chain was received in `content` bytes, in place of a body of `body` bytes. The
    /// verdict is concealed: an attacker with a copied ticket must not learn from alerts whose it is.
    pub(super) fn receive(
        &mut self,
        client: ClientEntry,
        expected: ChainHash,
        decoded: &mut DecodedCertificate,
        body: usize,
        content: usize,
    ) {
        self.cache.count(|metrics| metrics.received(decoded.is_what_was_sent, body, content));
        self.received = Some((expected, client));
        decoded.conceals_verdict = true;
    }

    /// Forgets the client: the verifier has rejected it, not its proof, so its entry is useless.
    pub(super) fn peer_rejected(&self) {
        if let Some((_, client)) = &self.received {
            self.cache.forget(client);
        }
    }

    /// Returns the client and its chain after a complete handshake; `found` is the client that its tickets
    /// identified, if any.
    pub(super) fn client(
        &mut self,
        end: &HandshakeEnd<'_>,
        found: Option<&ClientEntry>,
    ) -> Option<(ChainHash, ClientEntry)> {
        let identity = self.cache.identity(end.identity);
        let (hash, client) = match end.peer {
            Some(peer) => self.shown(peer, identity, end),
            None if self.psk => self.of_session(found?, identity),
            None => None,
        }?;
        self.ticketed = Some((hash, tail_of(&client.form)));
        Some((hash, client))
    }

    /// Identifies a client that comes with a PSK, and so presents no certificate, by its ticket, if the
    /// session that it resumes is of the same client. Otherwise the ticket is a copy: from new tickets,
    /// derived from its own session and another client's chain, an attacker could find out which chain that
    /// is.
    fn of_session(&self, client: &ClientEntry, identity: u32) -> Option<(ChainHash, ClientEntry)> {
        let is_same = identity != 0 && client.identity == identity;
        is_same.then(|| (client.form.hash(self.cache.sha256), client.clone()))
    }

    /// Returns the client's chain in the form to be remembered.
    fn shown(
        &self,
        peer: &PeerCertificate,
        identity: u32,
        end: &HandshakeEnd<'_>,
    ) -> Option<(ChainHash, ClientEntry)> {
        let expected = self.received.as_ref().map(|(expected, _)| *expected);
        let share = self.received.as_ref().map(|(_, known)| known.share);
        let asked = asked_of(Role::Client, None, end.now);
        let (hash, form) = learned_form(&self.cache, peer, expected, asked)?;
        let share = share.unwrap_or_else(|| self.cache.share_of(peer));
        Some((hash, ClientEntry { form, under: self.under, identity, share }))
    }

    /// Counts how certificates were sent. `offered`: chains of clients were offered.
    pub(super) fn count(&mut self, end: &HandshakeEnd<'_>, offered: bool) {
        let (came, is_cached) = (end.peer.is_some(), self.received.is_some());
        let why = match self.not_offered {
            _ if offered => MissReason::AnotherChain,
            Some(why) => why,
            None => MissReason::NothingCached,
        };
        self.peer_missed = (came && !is_cached).then_some(why);
        // The reason for offering nothing is already counted.
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

    /// Returns the reasons for whole certificates and, with `for_tickets`, what seals fleet tickets.
    pub(super) fn outcome(self, for_tickets: bool) -> CodecOutcome {
        let is_needed = for_tickets && self.ticketed.is_some() && self.cache.has_fleet_tickets();
        CodecOutcome {
            own_missed: self.own_missed.map(MissReason::name),
            peer_missed: self.peer_missed.map(MissReason::name),
            after: is_needed.then(|| Box::new(self) as _),
        }
    }
}
