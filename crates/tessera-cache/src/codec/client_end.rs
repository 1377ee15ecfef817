//! A client's end of a connection, with either carrier: what it knows of the server, and what it learns.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::array;

use tessera::Time;
use tessera::auth::{
    CodecOutcome, DecodedCertificate, HandshakeEnd, PeerCertificate, Role, ServerInfo,
};
use tessera::wire::CertificateCompressionAlgorithm as Id;

use super::client_after::ClientAfter;
use super::learned_form;
use super::offered::{OfferedChain, asked_of};
use crate::bytes::Shared;
use crate::chain_hash::ChainHash;
use crate::client::{
    ClientCache, Destination, HandshakeOutcome, Key, OwnFleetTicket, OwnTicket, ServerChain,
};
use crate::form::Form;
use crate::ids::{TICKETS, Ticket};
use crate::miss_reason::MissReason;
use crate::wire::Content;

pub(super) struct ClientEnd {
    pub(super) cache: Arc<ClientCache>,
    key: Key,
    /// The tickets in the ClientHello, before missing ones.
    pub(super) tickets: [Option<OwnTicket>; TICKETS],
    /// The fleet ticket after them.
    pub(super) fleet: Option<OwnFleetTicket>,
    /// Whether any chain of the server was known, offered or not.
    is_known: bool,
    /// Why known chains of the server are not offered.
    not_offered: Option<MissReason>,
    /// Whether the server takes part.
    pub(super) answers: bool,
    /// Whether it offers to accept a chain of this side as a hash.
    pub(super) is_offered: bool,
    /// This side's chain, once sent; after the handshake, the one that new tickets are for.
    own: Option<ChainHash>,
    sent_cached: bool,
    /// The server's chain that was expected, if it was sent as a hash.
    received: Option<ChainHash>,
    /// After the handshake: why the server's chain was not.
    peer_missed: Option<MissReason>,
    /// The two ends disagree about the meaning of a hash.
    pub(super) disagrees: bool,
    /// Whether the handshake is complete.
    ended: bool,
}

impl Drop for ClientEnd {
    fn drop(&mut self) {
        if self.disagrees || self.received.is_some() && !self.ended {
            self.cache.failed(&self.key);
        }
    }
}

impl ClientEnd {
    /// Starts a connection to this server, and returns what is known of it and has not expired. Takes the next
    /// tickets out of the cache, and drops those for which `may_show` is false.
    pub(super) fn visit(
        cache: Arc<ClientCache>,
        to: &ServerInfo<'_>,
        may_show: impl Fn(&OwnTicket) -> bool,
    ) -> (Self, Destination) {
        let key = Key::of(to);
        // Without a clock, expiry can't be checked here: a memory of chains decides, whose verifier may check no dates.
        let (mut known, shown) = match (to.now.unix, &cache.memory) {
            (None, None) => Default::default(),
            _ => cache.visit(&key),
        };
        let all = known.chains.len();
        let now = to.now.unix.map(|unix| unix.as_secs());
        let is_valid = |it: &ServerChain| match now {
            Some(now) => it.expires_at.is_none_or(|end| now < end),
            None => matches!(it.form, Form::Known(_)),
        };
        known.chains.retain(is_valid);
        let mut tickets = shown.derived.into_iter().flatten().filter(may_show);
        let mut end = Self {
            cache,
            key,
            tickets: array::from_fn(|_| tickets.next()),
            fleet: shown.fleet,
            is_known: all > 0,
            not_offered: None,
            answers: false,
            is_offered: false,
            own: None,
            sent_cached: false,
            received: None,
            peer_missed: None,
            disagrees: false,
            ended: false,
        };
        end.not_offered(MissReason::Expired, all - known.chains.len());
        (end, known)
    }

    /// Notes that this many chains of the server can't be offered.
    pub(super) fn not_offered(&mut self, why: MissReason, chains: usize) {
        if chains > 0 {
            self.cache.count(|metrics| metrics.missed(why, chains as u64));
            self.not_offered.get_or_insert(why);
        }
    }

    /// Prepares a chain of the server to offer. If the cache has only a hash, the verifier must know it.
    pub(super) fn offer<P>(
        &mut self,
        id: Id,
        peer: P,
        chain: &ServerChain,
        now: Time,
    ) -> Option<OfferedChain<P>> {
        let asked = asked_of(Role::Server, Some(&self.key.server_name), now);
        let offered = OfferedChain::new(id, peer, &chain.form, self.cache.memory.as_deref(), asked);
        if offered.is_none() {
            self.not_offered(MissReason::Forgotten, 1);
        }
        offered
    }

    /// Remembers the chain in the body of this side's Certificate.
    pub(super) fn hash_own(&mut self, body: &[u8]) -> Option<ChainHash> {
        self.own = self.cache.hash_own(body);
        self.own
    }

    /// Returns what replaces this side's chain, for the body of its Certificate.
    pub(super) fn send(&mut self, own: &ChainHash, body: &[u8]) -> Option<Vec<u8>> {
        let content = Content::write(own, body)?;
        self.sent_cached = true;
        self.cache.count(|metrics| metrics.saved(body.len(), content.len()));
        Some(content)
    }

    /// Notes that the server's chain was received in `content` bytes, in place of a body of `body` bytes.
    pub(super) fn receive(
        &mut self,
        expected: ChainHash,
        decoded: &DecodedCertificate,
        body: usize,
        content: usize,
    ) {
        self.cache.count(|metrics| metrics.received(decoded.is_what_was_sent, body, content));
        self.received = Some(expected);
    }

    /// Remembers the server after a complete handshake, with the tickets derived for a chain of this side.
    /// `offered`: chains of the server were offered.
    pub(super) fn ended(
        &mut self,
        end: &HandshakeEnd<'_>,
        offered: bool,
        request: Option<Shared>,
        derive: impl FnOnce(&ChainHash) -> Option<[Option<Ticket>; TICKETS]>,
    ) {
        self.ended = true;
        if self.disagrees {
            return;
        }
        if end.peer.is_some() {
            self.count(offered);
        }
        let shown = end.peer.and_then(|peer| self.shown(peer, end));
        let own = match end.peer {
            Some(_) => self.own,
            // With a PSK nothing was sent: the tickets stood for this side's chain.
            None => self.shown_for(),
        };
        self.own = own.filter(|_| self.answers);
        let tickets = self.own.and_then(|own| Some((own, derive(&own)?)));
        let learned = HandshakeOutcome { shown, answers: self.answers, tickets, request };
        self.cache.learn(self.key.clone(), learned);
    }

    /// Returns the chain of this side that all tickets in the ClientHello stand for.
    fn shown_for(&self) -> Option<ChainHash> {
        let derived = self.tickets[0].map(|(_, chain)| chain);
        derived.or(self.fleet.as_ref().map(|(_, chain)| *chain))
    }

    /// Returns the reasons for whole certificates, and the observer of the rest of the connection if it is needed: for
    /// the server's verdict on a chain sent as a hash and, with `for_tickets`, for fleet tickets for this side's
    /// chain.
    pub(super) fn outcome(&self, for_tickets: bool) -> CodecOutcome {
        let (cache, key, sent_cached) = (self.cache.clone(), self.key.clone(), self.sent_cached);
        let own = self.own.filter(|_| for_tickets && !self.disagrees);
        let is_of_interest = sent_cached || own.is_some();
        CodecOutcome {
            own_missed: self.own_missed().map(MissReason::name),
            peer_missed: self.peer_missed.map(MissReason::name),
            after: is_of_interest
                .then(|| Box::new(ClientAfter { cache, key, sent_cached, own }) as _),
        }
    }

    /// Returns the server's chain in the form to be remembered.
    fn shown(&self, peer: &PeerCertificate, end: &HandshakeEnd<'_>) -> Option<ServerChain> {
        let asked = asked_of(Role::Server, Some(&self.key.server_name), end.now);
        let (hash, form) = learned_form(&self.cache, peer, self.received, asked)?;
        Some(ServerChain { hash, form, expires_at: peer.expires_at })
    }

    /// Returns why this side's chain was not sent as a hash, as far as a client can tell.
    fn own_missed(&self) -> Option<MissReason> {
        let shows_tickets = self.tickets[0].is_some() || self.fleet.is_some();
        match self.sent_cached {
            true => None,
            false if self.is_offered => Some(MissReason::AnotherChain),
            false if !self.is_known => Some(MissReason::NothingCached),
            false if !self.answers => Some(MissReason::TakesNoPart),
            false if !shows_tickets => Some(MissReason::NoTicket),
            false => Some(MissReason::UnknownTicket),
        }
    }

    /// Counts how certificates were sent. `offered`: chains of the server were offered.
    fn count(&mut self, offered: bool) {
        let why = match self.not_offered {
            _ if !self.is_known => MissReason::NothingCached,
            _ if offered => MissReason::AnotherChain,
            Some(why) => why,
            // It would have been offered to a server that takes part.
            None => MissReason::TakesNoPart,
        };
        self.peer_missed = self.received.is_none().then_some(why);
        // The reason for offering nothing is already counted.
        let missed = self.peer_missed.filter(|_| offered || self.not_offered.is_none());
        self.cache.count(|metrics| {
            metrics.sent_cached += u64::from(self.sent_cached);
            metrics.sent_whole += u64::from(self.own.is_some() && !self.sent_cached);
            metrics.received_cached += u64::from(self.received.is_some());
            if let Some(why) = missed {
                metrics.missed(why, 1);
            }
        });
    }
}
