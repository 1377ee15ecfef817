//! The codec of a client's connection.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use tessera::auth::{
    CertificateCodec, CertificateCodecFactory, CertificateNotDecoded, CodecRefusal, Decoded,
    EncodedCertificate, FromClient, HandshakeEnd, PeerCertificate, ToServer, VerifierDigest,
};
use tessera::wire::{CertificateCompressionAlgorithm as Id, ExtensionType};

use super::shown::Shown;
use super::{ALL_IDS, derive};
use crate::chain::Chain;
use crate::chain_hash::ChainHash;
use crate::client::{ClientCache, Destination, Key, Learned, OwnTicket, ServerChain};
use crate::form::Form;
use crate::ids::{TICKETS, TicketBytes, public_id, salted_id};
use crate::public_ids::PublicIds;
use crate::wire::{Content, Hello};

impl CertificateCodecFactory for ClientCache {
    fn algorithms(&self) -> RangeInclusive<Id> {
        ALL_IDS
    }

    fn client_codec(self: Arc<Self>, to: &ToServer<'_>) -> Option<Box<dyn CertificateCodec>> {
        let key = Key::of(to);
        let (known, tickets) = self.visit(&key);
        let extension = self.hello(&tickets)?.write();
        let (shown, offers) = self.offered(&known, to);
        Some(Box::new(ClientCodec {
            known_chains: known.chains.len(),
            cache: self,
            key,
            tickets,
            extension,
            offers,
            chains: shown,
            answers: false,
            own: None,
            sent_cached: false,
            received: None,
        }))
    }

    fn server_codec(
        self: Arc<Self>,
        _: &FromClient<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        // A client's cache in a server's configuration does nothing.
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

    /// The server's chains that are offered, and their ids.
    fn offered(&self, known: &Destination, to: &ToServer<'_>) -> (Vec<ServerChain>, Vec<Id>) {
        let id_of = |chain: &ServerChain| match (known.answers, self.public_ids) {
            (true, _) => Some(salted_id(self.sha256, to.random, &chain.hash)),
            (false, PublicIds::ObserversRecogniseChains) => Some(public_id(&chain.hash)),
            (false, PublicIds::Never) => None,
        };
        let now = to.now.unix.map(|unix| unix.as_secs());
        let mut chains: Vec<(Id, ServerChain)> = Vec::new();
        for chain in &known.chains {
            if chain.expires_at.zip(now).is_some_and(|(expires_at, now)| expires_at <= now) {
                self.count(|metrics| metrics.missed_expired += 1);
            } else if matches!(chain.form, Form::Known(..))
                && !self.memory_knows(&chain.hash, to.policy)
            {
                self.count(|metrics| metrics.missed_policy += 1);
            } else if let Some(id) = id_of(chain) {
                chains.push((id, chain.clone()));
            }
        }
        // Of two chains with one id nobody could say which is meant.
        let unique = |id: Id| chains.iter().filter(|(other, _)| *other == id).count() == 1;
        let twice = chains.iter().filter(|(id, _)| !unique(*id)).count();
        if twice > 0 {
            self.count(|metrics| metrics.missed_same_id += twice as u64);
        }
        let offered = chains.iter().filter(|(id, _)| unique(*id));
        offered.map(|(id, chain)| (chain.clone(), *id)).unzip()
    }

    fn memory_knows(&self, chain: &ChainHash, policy: Option<VerifierDigest>) -> bool {
        self.memory.as_ref().is_some_and(|memory| memory.knows(chain, policy))
    }
}

/// What a client's connection carries.
struct ClientCodec {
    cache: Arc<ClientCache>,
    key: Key,
    /// How many chains of the server were known, offered or not.
    known_chains: usize,
    /// The tickets in the ClientHello.
    tickets: [Option<OwnTicket>; TICKETS],
    /// The extension in the ClientHello.
    extension: Vec<u8>,
    /// The ids that are offered, and the chains that they stand for.
    offers: Vec<Id>,
    chains: Vec<ServerChain>,
    /// Whether the server takes part.
    answers: bool,
    /// This side's chain, once it is sent.
    own: Option<ChainHash>,
    sent_cached: bool,
    /// The server's chain, if it came as a hash.
    received: Option<Shown>,
}

impl ClientCodec {
    /// Whether the server knows this side's chain by this id.
    fn stands_for(&self, id: Id, own: &ChainHash) -> bool {
        let mut tickets = self.tickets.iter().flatten();
        let by_ticket = tickets.any(|(ticket, chain)| ticket.id == id && chain == own);
        let public = !self.answers && self.cache.public_ids != PublicIds::Never;
        by_ticket || public && public_id(own) == id
    }
}

impl CertificateCodec for ClientCodec {
    fn offers(&self) -> &[Id] {
        &self.offers
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
        let at = self.offers.iter().position(|offered| *offered == id);
        let expected = at.and_then(|at| self.chains.get(at)).ok_or(CertificateNotDecoded)?;
        let (shown, decoded) = Shown::decode(expected.hash, &expected.form, encoded, body)?;
        self.cache.count(|metrics| shown.count(body.len(), encoded.len(), metrics));
        self.received = Some(shown);
        Ok(decoded)
    }

    fn is_what_was_sent(&self) -> bool {
        self.received.as_ref().is_none_or(|shown| shown.matches)
    }

    fn ended(&mut self, end: &HandshakeEnd<'_>) {
        let shown = end.peer.and_then(|peer| self.shown(peer));
        // With a PSK nothing was sent: the tickets stood for this side's chain.
        let resumed = end.peer.is_none().then(|| self.tickets.iter().flatten().next());
        let own = resumed.map_or(self.own, |ticket| ticket.map(|(_, chain)| *chain));
        let tickets = own.filter(|_| self.answers).and_then(|own| Some((own, derive(end, &own)?)));
        self.count_end(end.peer.is_some());
        let learned = Learned { shown, answers: self.answers, tickets };
        self.cache.learn(self.key.clone(), learned);
    }
}

impl ClientCodec {
    /// The server's chain, as it is remembered.
    fn shown(&self, peer: &PeerCertificate) -> Option<ServerChain> {
        let (hash, form) = match (Chain::of_peer(peer), &self.received) {
            (None, received) => {
                let received = received.as_ref()?;
                (received.hash, received.form.clone())
            }
            (Some(chain), received) => {
                // What came as a hash need not be hashed.
                let received = received.as_ref().map(|received| received.hash);
                let hash = received.unwrap_or_else(|| chain.hash(self.cache.sha256));
                let known = self.cache.memory_knows(&hash, self.policy());
                let outline = chain.outline();
                (
                    hash,
                    if known { Form::Known(hash, outline) } else { Form::Whole(Arc::new(chain)) },
                )
            }
        };
        Some(ServerChain { hash, form, expires_at: peer.expires_at })
    }

    fn policy(&self) -> Option<VerifierDigest> {
        self.key.policy.map(VerifierDigest)
    }

    fn count_end(&self, full: bool) {
        if !full {
            return;
        }
        self.cache.count(|metrics| {
            if self.own.is_some() {
                let counter = if self.sent_cached {
                    &mut metrics.sent_cached
                } else {
                    &mut metrics.sent_whole
                };
                *counter += 1;
            }
            match &self.received {
                Some(_) => metrics.received_cached += 1,
                None if self.known_chains == 0 => metrics.missed_nothing_cached += 1,
                // Those that were not offered are counted already.
                None if !self.offers.is_empty() => metrics.missed_another_chain += 1,
                None => (),
            }
        });
    }
}
