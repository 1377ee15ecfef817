//! The codec of a client's connection.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use tessera::auth::{
    CertificateCodec, CertificateCodecFactory, CertificateNotDecoded, CodecRefusal, Decoded,
    EncodedCertificate, FromClient, HandshakeEnd, PeerCertificate, Role, ToServer,
};
use tessera::wire::{CertificateCompressionAlgorithm as Id, ExtensionType};

use super::offered::{Offered, Received, asked_of};
use super::{ALL_IDS, derive, learned_form, paper};
use crate::chain_hash::ChainHash;
use crate::client::{ClientCache, Destination, Key, Learned, OwnTicket, ServerChain};
use crate::ids::{TICKETS, TicketBytes, public_id, salted_id};
use crate::public_ids::PublicIds;
use crate::wire::{Content, Hello};

impl CertificateCodecFactory for ClientCache {
    fn algorithms(&self) -> RangeInclusive<Id> {
        ALL_IDS
    }

    fn client_codec(self: Arc<Self>, to: &ToServer<'_>) -> Option<Box<dyn CertificateCodec>> {
        if let Some(ticket_extension) = self.carrier.paper() {
            return Some(paper::client_codec(self, ticket_extension, to));
        }
        let key = Key::of(to);
        // Without a clock nobody can tell whether what is known has expired.
        let (known, tickets) = match to.now.unix {
            Some(_) => self.visit(&key),
            None => Default::default(),
        };
        // An imported cache may have those of the other carrier.
        let tickets = tickets.map(|it| it.filter(|(ticket, _)| ALL_IDS.contains(&ticket.id)));
        let extension = self.hello(&tickets)?.write();
        let offered = self.offered(&known, to);
        Some(Box::new(ClientCodec {
            cache: self,
            key,
            tickets,
            extension,
            ids: offered.iter().map(|it| it.id).collect(),
            offered,
            is_known: !known.chains.is_empty(),
            answers: false,
            own: None,
            sent_cached: false,
            received: None,
            ended: false,
        }))
    }

    /// None: a client's cache in a server's configuration does nothing.
    fn server_codec(
        self: Arc<Self>,
        _: &FromClient<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        Ok(None)
    }
}

impl ClientCache {
    /// What the ClientHello says; `None` without random numbers, and then nothing is said.
    fn hello(&self, tickets: &[Option<OwnTicket>; TICKETS]) -> Option<Hello> {
        if tickets.iter().all(Option::is_none) {
            return Some(Hello::TakesPart);
        }
        // A missing ticket looks like one: nobody sees how many there are.
        let mut random: [TicketBytes; TICKETS] = Default::default();
        for bytes in &mut random {
            self.random.fill(bytes).ok()?;
        }
        let [one, other] = [0, 1].map(|at| tickets[at].map_or(random[at], |(it, _)| it.bytes));
        (one != other).then_some(Hello::Tickets([one, other]))
    }

    /// The server's chains that are offered.
    fn offered(&self, known: &Destination, to: &ToServer<'_>) -> Vec<Offered<()>> {
        let id_of = |chain: &ServerChain| match (known.answers, self.public_ids) {
            (true, _) => Some(salted_id(self.sha256, to.random, &chain.hash)),
            (false, PublicIds::ObserversRecogniseChains) => Some(public_id(&chain.hash)),
            (false, PublicIds::Never) => None,
        };
        let now = to.now.unix.map(|unix| unix.as_secs());
        let has_expired =
            |it: &&ServerChain| it.expires_at.zip(now).is_some_and(|(end, now)| end <= now);
        let (expired, valid): (Vec<_>, Vec<_>) = known.chains.iter().partition(has_expired);
        let named = valid.into_iter().filter_map(|chain| Some((id_of(chain)?, chain)));
        let named: Vec<(Id, &ServerChain)> = named.collect();
        // Of two chains with one id nobody could say which is meant.
        let is_unique = |id: Id| named.iter().filter(|(other, _)| *other == id).count() == 1;
        let unique: Vec<_> = named.iter().filter(|(id, _)| is_unique(*id)).collect();
        let asked = asked_of(Role::Server, Some(to.server_name), to.now);
        let offer = |(id, chain): &&(Id, &ServerChain)| {
            Offered::new(*id, (), &chain.form, self.memory.as_deref(), asked)
        };
        let offered: Vec<_> = unique.iter().filter_map(offer).collect();
        self.count(|metrics| {
            metrics.missed_expired += expired.len() as u64;
            metrics.missed_same_id += (named.len() - unique.len()) as u64;
            metrics.missed_forgotten += (unique.len() - offered.len()) as u64;
        });
        offered
    }
}

/// What a client's connection carries.
struct ClientCodec {
    cache: Arc<ClientCache>,
    key: Key,
    /// The tickets in the ClientHello.
    tickets: [Option<OwnTicket>; TICKETS],
    /// The extension in the ClientHello.
    extension: Vec<u8>,
    /// The server's chains that are offered, and their ids.
    offered: Vec<Offered<()>>,
    ids: Vec<Id>,
    /// Whether any chain of the server's was known, offered or not.
    is_known: bool,
    /// Whether the server takes part.
    answers: bool,
    /// This side's chain, once it is sent.
    own: Option<ChainHash>,
    sent_cached: bool,
    /// The server's chain, if it came as a hash.
    received: Option<Received>,
    /// Whether the handshake is complete.
    ended: bool,
}

impl Drop for ClientCodec {
    fn drop(&mut self) {
        if self.received.is_some() && !self.ended {
            self.cache.failed(&self.key);
        }
    }
}

impl CertificateCodec for ClientCodec {
    fn offers(&self) -> &[Id] {
        &self.ids
    }

    fn extension(&self) -> Option<(ExtensionType, &[u8])> {
        Some((ExtensionType::CACHED_CERTIFICATES, &self.extension))
    }

    fn answered(&mut self, answer: Option<&[u8]>) -> Result<(), CodecRefusal> {
        if answer.is_some_and(|body| !body.is_empty()) {
            return Err(CodecRefusal::Malformed("a server's cached_certificates is not empty"));
        }
        self.answers = answer.is_some();
        Ok(())
    }

    fn encode(&mut self, body: &[u8], offered: &[Id]) -> Option<EncodedCertificate> {
        let own = self.cache.own.hash(self.cache.sha256, body)?;
        self.own = Some(own);
        let id = offered.iter().copied().find(|id| self.stands_for(*id, &own))?;
        let content = Content::write(&own, body)?;
        self.sent_cached = true;
        self.cache.count(|metrics| metrics.saved(body.len(), content.len()));
        Some(EncodedCertificate::new(id, content))
    }

    fn decode(
        &mut self,
        id: Id,
        encoded: &[u8],
        body: &mut [u8],
    ) -> Result<Decoded, CertificateNotDecoded> {
        let offered = self.offered.iter().find(|it| it.id == id).ok_or(CertificateNotDecoded)?;
        let expected = offered.form.hash(self.cache.sha256);
        let (received, decoded) = offered.decode(expected, encoded, body)?;
        self.cache.count(|metrics| metrics.received(received.matches, body.len(), encoded.len()));
        self.received = Some(received);
        Ok(decoded)
    }

    fn is_what_was_sent(&self) -> bool {
        self.received.as_ref().is_none_or(|received| received.matches)
    }

    fn ended(&mut self, end: &HandshakeEnd<'_>) {
        self.ended = true;
        self.count_end(end.peer.is_some());
        let shown = end.peer.and_then(|peer| self.shown(peer, end));
        let own = match end.peer {
            Some(_) => self.own,
            // With a PSK nothing was sent: the tickets stood for this side's chain.
            None => self.tickets.iter().flatten().map(|(_, chain)| *chain).next(),
        };
        let own = own.filter(|_| self.answers);
        let tickets = own.and_then(|own| Some((own, derive(end, &own)?.map(Some))));
        let learned = Learned { shown, answers: self.answers, tickets, request: None };
        self.cache.learn(self.key.clone(), learned);
    }
}

impl ClientCodec {
    /// Whether the server knows this side's chain by this id.
    fn stands_for(&self, id: Id, own: &ChainHash) -> bool {
        let mut tickets = self.tickets.iter().flatten();
        let by_ticket = tickets.any(|(ticket, chain)| ticket.id == id && chain == own);
        let public = !self.answers && self.cache.public_ids != PublicIds::Never;
        by_ticket || public && public_id(own) == id
    }

    /// The server's chain, as it is remembered.
    fn shown(&self, peer: &PeerCertificate, end: &HandshakeEnd<'_>) -> Option<ServerChain> {
        let asked = asked_of(Role::Server, Some(&self.key.server_name), end.now);
        let expected = self.received.as_ref().map(|received| received.expected);
        let cache = &*self.cache;
        let (hash, form) =
            learned_form(cache.sha256, peer, expected, cache.memory.as_deref(), asked)?;
        Some(ServerChain { hash, form, expires_at: peer.expires_at })
    }

    fn count_end(&self, full: bool) {
        self.cache.count(|metrics| {
            if !full {
                return;
            }
            metrics.sent_cached += u64::from(self.sent_cached);
            metrics.sent_whole += u64::from(self.own.is_some() && !self.sent_cached);
            match &self.received {
                Some(_) => metrics.received_cached += 1,
                None if !self.is_known => metrics.missed_nothing_cached += 1,
                None if !self.ids.is_empty() => metrics.missed_another_chain += 1,
                // Why nothing was offered is counted already.
                None => (),
            }
        });
    }
}
