//! The codec of a client's connection.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use tessera::auth::{
    Abbreviations, Agreed, CertificateCodec, CertificateNotDecoded, CodecRefusal, Decoded,
    DecodedCertificate, EncodedCertificate, HandshakeEnd, PeerCertificate, Role, ServerFlight,
    ToServer,
};
use tessera::wire::{CertificateCompressionAlgorithm as Id, ExtensionType};

use super::super::learned_form;
use super::super::offered::{Offered, Received, asked_of};
use super::wire::{
    CACHED_INFO, CachedInfo, HASH_NOT_OFFERED, Hello, Selected, abbreviated, read_certificate,
    read_request, read_selected_ticket,
};
use super::{NO_ID, derive, expand, request_hash};
use crate::chain::Chain;
use crate::chain_hash::ChainHash;
use crate::client::{ClientCache, Key, Learned, OwnTicket, ServerChain};
use crate::wire::Content;

/// The codec of a connection to this server.
pub(crate) fn client_codec(
    cache: Arc<ClientCache>,
    ticket_extension: ExtensionType,
    to: &ToServer<'_>,
) -> Box<dyn CertificateCodec> {
    let key = Key::of(to);
    // Without a clock nobody can tell whether what is known has expired.
    let (known, tickets) = match to.now.unix {
        Some(_) => cache.visit(&key),
        None => Default::default(),
    };
    let now = to.now.unix.map(|unix| unix.as_secs());
    let asked = asked_of(Role::Server, Some(to.server_name), to.now);
    let mut chains = Vec::new();
    for chain in &known.chains {
        let has_expired = chain.expires_at.zip(now).is_some_and(|(end, now)| end <= now);
        let offered = Offered::new(NO_ID, chain.hash, &chain.form, cache.memory.as_deref(), asked);
        cache.count(|metrics| {
            metrics.missed_expired += u64::from(has_expired);
            metrics.missed_forgotten += u64::from(!has_expired && offered.is_none());
        });
        chains.extend(offered.filter(|_| !has_expired));
    }
    let request = known.request.map(|body| (request_hash(cache.sha256, &body), body));
    let info = CachedInfo {
        certificates: chains.iter().map(|chain| chain.peer).collect(),
        requests: request.iter().map(|(hash, _)| *hash).collect(),
    };
    // A ticket whose chain isn't sent ends the handshake: RFC 7924 has no way back from a selection.
    let has = |chain: &ChainHash| {
        let own = to.own_chains().filter_map(|(typ, own)| Chain::of_certificates(typ, own));
        own.map(|own| own.hash(cache.sha256)).any(|own| own == *chain)
    };
    // An imported cache may have tickets of the other carrier.
    let is_usable = |(ticket, chain): &OwnTicket| ticket.id == NO_ID && has(chain);
    let tickets: Vec<OwnTicket> = tickets.into_iter().flatten().filter(is_usable).collect();
    Box::new(PaperClient {
        cache,
        key,
        hello: (ticket_extension, Hello::write(tickets.iter().map(|(ticket, _)| ticket.bytes))),
        tickets,
        cached_info: info.write(),
        info,
        chains,
        request,
        is_known: !known.chains.is_empty(),
        selected: Selected::default(),
        ticket: None,
        answers: false,
        own: None,
        sent_cached: false,
        received: None,
        requested: None,
        ends_badly: false,
        ended: false,
    })
}

/// What a client's connection carries.
struct PaperClient {
    cache: Arc<ClientCache>,
    key: Key,
    /// BiTHaC's extension in the ClientHello, and the tickets in it.
    hello: (ExtensionType, Vec<u8>),
    tickets: Vec<OwnTicket>,
    /// cached_info in the ClientHello, if there is anything to list.
    cached_info: Option<Vec<u8>>,
    info: CachedInfo,
    /// The server's chains that are offered.
    chains: Vec<Offered<ChainHash>>,
    /// The server's CertificateRequest that is offered: its hash and its body.
    request: Option<([u8; 32], Arc<[u8]>)>,
    /// Whether any chain of the server's was known, offered or not.
    is_known: bool,
    /// What the server abbreviates.
    selected: Selected,
    /// The place of the ticket that the server found.
    ticket: Option<usize>,
    /// Whether the server takes part, beyond RFC 7924.
    answers: bool,
    /// This side's chain, once it is sent.
    own: Option<ChainHash>,
    sent_cached: bool,
    /// The server's chain, if it came as a hash.
    received: Option<Received>,
    /// The body of the server's CertificateRequest, if it came whole.
    requested: Option<Arc<[u8]>>,
    /// The server expects a chain that this side doesn't send.
    ends_badly: bool,
    ended: bool,
}

impl Drop for PaperClient {
    fn drop(&mut self) {
        if self.ends_badly || self.received.is_some() && !self.ended {
            self.cache.failed(&self.key);
        }
    }
}

impl CertificateCodec for PaperClient {
    /// None: no CompressedCertificate stands for a chain here.
    fn offers(&self) -> &[Id] {
        &[]
    }

    fn extension(&self) -> Option<(ExtensionType, &[u8])> {
        Some((self.hello.0, &self.hello.1))
    }

    fn answered(&mut self, answer: Option<&[u8]>) -> Result<(), CodecRefusal> {
        let Some(answer) = answer else { return Ok(()) };
        self.answers = true;
        self.ticket = read_selected_ticket(answer, self.tickets.len())?;
        Ok(())
    }

    fn encode(&mut self, _: &[u8], _: &[Id]) -> Option<EncodedCertificate> {
        None
    }

    fn decode(&mut self, _: Id, _: &[u8], _: &mut [u8]) -> Result<Decoded, CertificateNotDecoded> {
        Err(CertificateNotDecoded)
    }

    fn is_what_was_sent(&self) -> bool {
        self.received.as_ref().is_none_or(|received| received.matches)
    }

    fn abbreviations(&self) -> Option<&dyn Abbreviations> {
        Some(self)
    }

    fn abbreviations_mut(&mut self) -> Option<&mut dyn Abbreviations> {
        Some(self)
    }

    fn ended(&mut self, end: &HandshakeEnd<'_>) {
        self.ended = true;
        if self.ends_badly {
            return;
        }
        self.count_end(end.peer.is_some());
        let shown = end.peer.and_then(|peer| self.shown(peer, end));
        let own = match end.peer {
            Some(_) => self.own,
            // With a PSK nothing was sent: the tickets stood for this side's chain.
            None => self.tickets.first().map(|(_, chain)| *chain),
        };
        let own = own.filter(|_| self.answers);
        let tickets = own.and_then(|own| Some((own, [Some(derive(end, &own)?), None])));
        let request = self.requested.take();
        let learned = Learned { shown, answers: self.answers, tickets, request };
        self.cache.learn(self.key.clone(), learned);
    }
}

impl Abbreviations for PaperClient {
    fn extension(&self) -> Option<(ExtensionType, &[u8])> {
        self.cached_info.as_deref().map(|body| (CACHED_INFO, body))
    }

    fn answered(&mut self, answer: Option<&[u8]>) -> Result<(), CodecRefusal> {
        if let Some(answer) = answer {
            self.selected = Selected::read(answer, &self.info)?;
        }
        Ok(())
    }

    fn sends(&mut self, _: &ServerFlight<'_>) -> Option<Vec<u8>> {
        None
    }

    fn answer(&self) -> Option<(ExtensionType, &[u8])> {
        None
    }

    fn agreed(&self) -> Agreed {
        let Selected { certificate: peer_certificate, request } = self.selected;
        Agreed { request, own_certificate: self.ticket.is_some(), peer_certificate }
    }

    fn certificate(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let own = self.cache.own.hash(self.cache.sha256, body);
        self.own = own;
        let (_, expected) = self.ticket.and_then(|place| self.tickets.get(place))?;
        // The server takes another chain for an error.
        self.ends_badly = own != Some(*expected);
        let content = Content::write(&own?, body)?;
        self.sent_cached = true;
        self.cache.count(|metrics| metrics.saved(body.len(), content.len()));
        Some(abbreviated(&content))
    }

    fn read_request(&mut self, body: &[u8]) -> Result<Option<Vec<u8>>, CodecRefusal> {
        if !self.selected.request {
            self.requested = (body.len() <= LONGEST_REQUEST).then(|| body.into());
            return Ok(None);
        }
        let hash = read_request(body)?;
        let known = self.request.as_ref().filter(|(offered, _)| *offered == hash);
        Ok(Some(known.ok_or(HASH_NOT_OFFERED)?.1.to_vec()))
    }

    fn read_certificate(&mut self, body: &[u8]) -> Result<DecodedCertificate, CodecRefusal> {
        let content = read_certificate(body)?;
        let named = self.chains.iter().find(|chain| content.starts_with(&chain.peer.0));
        let named = named.ok_or(HASH_NOT_OFFERED)?;
        let (received, decoded, len) = expand(named, named.peer, content)?;
        self.cache.count(|metrics| metrics.received(received.matches, len, content.len()));
        self.received = Some(received);
        Ok(decoded)
    }
}

impl PaperClient {
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
        if !full {
            return;
        }
        self.cache.count(|metrics| {
            metrics.sent_cached += u64::from(self.sent_cached);
            metrics.sent_whole += u64::from(self.own.is_some() && !self.sent_cached);
            match &self.received {
                Some(_) => metrics.received_cached += 1,
                None if !self.is_known => metrics.missed_nothing_cached += 1,
                None if !self.chains.is_empty() => metrics.missed_another_chain += 1,
                // Why nothing was offered is counted already.
                None => (),
            }
        });
    }
}

/// The longest CertificateRequest that is remembered: one with many names of authorities is not worth it.
const LONGEST_REQUEST: usize = 4096;
