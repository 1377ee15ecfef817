//! The codec of a client's connection.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use tessera::auth::{
    AbbreviatedMessages, Abbreviations, CertificateCodec, CodecOutcome, CodecRefusal,
    DecodedCertificate, HandshakeEnd, PeerExtensions, ServerFlight, ServerInfo,
};
use tessera::wire::{ExtensionType, HandshakeType, OpaqueExtension};

use super::super::client_end::ClientEnd;
use super::super::offered::OfferedChain;
use super::wire::{
    CACHED_INFO, CachedInfo, CachedInfoAnswer, HASH_NOT_OFFERED, Hello, abbreviated,
    read_certificate, read_request, read_selected_ticket,
};
use super::{NO_ID, derive, expand, request_hash};
use crate::bytes::Shared;
use crate::chain::Chain;
use crate::chain_hash::ChainHash;
use crate::client::{ClientCache, OwnTicket, ServerChain};

/// Makes the codec of a connection to this server.
pub(crate) fn client_codec(
    cache: Arc<ClientCache>,
    ticket_extension: ExtensionType,
    to: &ServerInfo<'_>,
) -> Box<dyn CertificateCodec> {
    let sha256 = cache.sha256;
    // A ticket whose chain isn't sent fails the handshake: in RFC 7924 a selection is final.
    let has = |chain: &ChainHash| {
        let own = to.own_chains().filter_map(|(typ, own)| Chain::of_certificates(typ, own));
        own.map(|own| own.hash(sha256)).any(|own| own == *chain)
    };
    // An imported cache may have tickets of the other carrier.
    let is_usable = |(ticket, chain): &OwnTicket| ticket.id == NO_ID && has(chain);
    let (mut end, known) = ClientEnd::visit(cache, to, is_usable);
    // This carrier has no fleet tickets.
    end.fleet = None;
    let offer = |chain: &ServerChain| end.offer(NO_ID, chain.hash, chain, to.now);
    let chains: Vec<_> = known.chains.iter().filter_map(offer).collect();
    let request = known.request.map(|body| (request_hash(sha256, &body), body));
    let info = CachedInfo {
        certificates: chains.iter().map(|chain| chain.peer).collect(),
        requests: request.iter().map(|(hash, _)| *hash).collect(),
    };
    let tickets = end.tickets.iter().flatten().map(|(ticket, _)| ticket.bytes);
    let hello = OpaqueExtension { typ: ticket_extension, contents: Hello::write(tickets) };
    let cached_info = info.write().map(|contents| OpaqueExtension { typ: CACHED_INFO, contents });
    let extensions = cached_info.into_iter().chain([hello]).collect();
    Box::new(PaperClient {
        ticket_extension,
        extensions,
        end,
        info,
        chains,
        request,
        selected: CachedInfoAnswer::default(),
        ticket: None,
        requested: None,
    })
}

/// A client's codec for one connection.
struct PaperClient {
    end: ClientEnd,
    /// The type of BiTHaC's extension.
    ticket_extension: ExtensionType,
    /// In the ClientHello: cached_info, if there is anything to list, and BiTHaC's.
    extensions: Vec<OpaqueExtension>,
    info: CachedInfo,
    /// The offered chains of the server.
    chains: Vec<OfferedChain<ChainHash>>,
    /// The offered CertificateRequest of the server: its hash and its body.
    request: Option<([u8; 32], Shared)>,
    /// What the server abbreviates.
    selected: CachedInfoAnswer,
    /// The index of the ticket that the server found.
    ticket: Option<usize>,
    /// The body of the server's CertificateRequest, if it was sent in full.
    requested: Option<Shared>,
}

impl CertificateCodec for PaperClient {
    fn extensions(&self, _: HandshakeType) -> &[OpaqueExtension] {
        &self.extensions
    }

    fn received(
        &mut self,
        message: HandshakeType,
        extensions: PeerExtensions<'_>,
    ) -> Result<(), CodecRefusal> {
        if message != HandshakeType::ENCRYPTED_EXTENSIONS {
            return Ok(());
        }
        if let Some(answer) = extensions.get(self.ticket_extension) {
            // Beyond RFC 7924.
            self.end.answers = true;
            self.ticket = read_selected_ticket(answer, self.end.tickets.iter().flatten().count())?;
            self.end.is_offered = self.ticket.is_some();
        }
        if let Some(answer) = extensions.get(CACHED_INFO) {
            self.selected = CachedInfoAnswer::read(answer, &self.info)?;
        }
        Ok(())
    }

    fn abbreviations(&mut self) -> Option<&mut dyn Abbreviations> {
        Some(self)
    }

    fn ended(mut self: Box<Self>, end: &HandshakeEnd<'_>) -> CodecOutcome {
        let (offered, request) = (!self.chains.is_empty(), self.requested.take());
        self.end.ended(end, offered, request, |own| Some([Some(derive(end, own)?), None]));
        self.end.outcome(false)
    }
}

impl Abbreviations for PaperClient {
    fn sends(&mut self, _: &ServerFlight<'_>) -> Option<Vec<u8>> {
        None
    }

    fn agreed(&self) -> AbbreviatedMessages {
        let CachedInfoAnswer { certificate: peer_certificate, request } = self.selected;
        AbbreviatedMessages { request, own_certificate: self.ticket.is_some(), peer_certificate }
    }

    fn certificate(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let own = self.end.hash_own(body);
        let (_, expected) = self.ticket.and_then(|place| self.end.tickets.get(place)?.as_ref())?;
        // The server treats another chain as an error.
        self.end.disagrees = own != Some(*expected);
        Some(abbreviated(&self.end.send(&own?, body)?))
    }

    fn read_request(&mut self, body: &[u8]) -> Result<Option<Vec<u8>>, CodecRefusal> {
        if !self.selected.request {
            let kept = Some(body).filter(|body| body.len() <= LONGEST_REQUEST);
            self.requested = kept.and_then(Shared::copied);
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
        let (decoded, len) = expand(named, named.peer, content)?;
        self.end.receive(named.peer, &decoded, len, content.len());
        Ok(decoded)
    }
}

/// The longest CertificateRequest that is remembered: one with many names of authorities is not worth it.
const LONGEST_REQUEST: usize = 4096;
