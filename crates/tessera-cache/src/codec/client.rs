//! The codec of a client's connection.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use core::slice;

use tessera::auth::{
    CertificateCodec, CertificateCodecFactory, CertificateNotDecoded, CodecOutcome, CodecRefusal,
    DecodedCertificate, EncodedCertificate, HandshakeEnd, PeerExtensions, PeerInfo, ServerInfo,
};
use tessera::wire::{
    CertificateCompressionAlgorithm as Id, ExtensionType, HandshakeType, OpaqueExtension,
};

use super::client_end::ClientEnd;
use super::offered::OfferedChains;
#[cfg(feature = "paper")]
use super::paper;
use super::{ALL_IDS, derive};
use crate::chain_hash::ChainHash;
use crate::client::{CHAINS, ClientCache, Destination, OwnTicket, ServerChain};
use crate::ids::{TICKETS, TicketBytes, public_id, salted_id};
use crate::miss_reason::MissReason;
use crate::public_ids::PublicIds;
use crate::wire::Hello;

impl CertificateCodecFactory for ClientCache {
    fn algorithms(&self) -> RangeInclusive<Id> {
        ALL_IDS
    }

    fn codec(
        self: Arc<Self>,
        peer: PeerInfo<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        // A client's cache in a server's configuration does nothing.
        let PeerInfo::Server(to) = peer else { return Ok(None) };
        #[cfg(feature = "paper")]
        if let Some(ticket_extension) = self.carrier.paper() {
            return Ok(Some(paper::client_codec(self, ticket_extension, to)));
        }
        // An imported cache may have tickets of the other carrier.
        let is_of_this = |(ticket, _): &OwnTicket| ALL_IDS.contains(&ticket.id);
        let (mut end, known) = ClientEnd::visit(self, to, is_of_this);
        let Some(contents) = hello(&end) else { return Ok(None) };
        let extension = OpaqueExtension { typ: ExtensionType::CACHED_CERTIFICATES, contents };
        let offered = offered(&mut end, &known, to);
        Ok(Some(Box::new(ClientCodec { end, extension, offered })))
    }
}

/// Builds the contents of the extension in the ClientHello; `None` without randomness or memory, and then nothing is sent.
fn hello(end: &ClientEnd) -> Option<Vec<u8>> {
    if end.tickets[0].is_none() && end.fleet.is_none() {
        return Hello::TakesPart.write();
    }
    // Random bytes replace a missing ticket, so that an observer can't count them.
    let mut random: [TicketBytes; TICKETS] = Default::default();
    for bytes in &mut random {
        end.cache.random(bytes)?;
    }
    let mut shown = random;
    for (bytes, (ticket, _)) in shown.iter_mut().zip(end.tickets.iter().flatten()) {
        *bytes = ticket.bytes;
    }
    let sealed = end.fleet.as_ref().map(|(ticket, _)| &*ticket.sealed);
    (shown[0] != shown[1]).then(|| Hello::Tickets(shown, sealed).write())?
}

/// Returns the server's chains to offer.
fn offered(end: &mut ClientEnd, known: &Destination, to: &ServerInfo<'_>) -> OfferedChains<()> {
    let cache = &*end.cache;
    let id_of = |chain: &ServerChain| match (known.answers, cache.public_ids) {
        (true, _) => Some(salted_id(cache.sha256, to.random, &chain.hash)),
        (false, PublicIds::ObserversRecogniseChains) => Some(public_id(&chain.hash)),
        (false, PublicIds::Never) => None,
    };
    let mut ids = [None; CHAINS];
    for (id, chain) in ids.iter_mut().zip(&known.chains) {
        *id = id_of(chain);
    }
    // An id shared by two chains would be ambiguous.
    let is_unique = |id: &Id| ids.iter().flatten().filter(|other| *other == id).count() == 1;
    let ambiguous = ids.iter().flatten().filter(|id| !is_unique(id)).count();
    end.not_offered(MissReason::SameId, ambiguous);
    let named = ids.iter().zip(&known.chains).filter_map(|(id, chain)| Some(((*id)?, chain)));
    let unique = named.filter(|(id, _)| is_unique(id));
    unique.filter_map(|(id, chain)| end.offer(id, (), chain, to.now)).collect()
}

/// A client's codec for one connection.
struct ClientCodec {
    end: ClientEnd,
    /// The extension in the ClientHello.
    extension: OpaqueExtension,
    /// The offered chains of the server.
    offered: OfferedChains<()>,
}

impl CertificateCodec for ClientCodec {
    fn offers(&self) -> &[Id] {
        self.offered.ids()
    }

    fn extensions(&self, _: HandshakeType) -> &[OpaqueExtension] {
        slice::from_ref(&self.extension)
    }

    fn received(
        &mut self,
        message: HandshakeType,
        extensions: PeerExtensions<'_>,
    ) -> Result<(), CodecRefusal> {
        if message == HandshakeType::ENCRYPTED_EXTENSIONS {
            let answer = extensions.get(self.extension.typ);
            if answer.is_some_and(|body| !body.is_empty()) {
                return Err(CodecRefusal::Malformed("a server's cached_certificates is not empty"));
            }
            self.end.answers = answer.is_some();
        }
        Ok(())
    }

    fn encode(&mut self, body: &[u8], offered: &[Id]) -> Option<EncodedCertificate> {
        self.end.is_offered = offered.iter().any(|id| ALL_IDS.contains(id));
        let own = self.end.hash_own(body)?;
        let id = offered.iter().copied().find(|id| self.stands_for(*id, &own))?;
        Some(EncodedCertificate::new(id, self.end.send(&own, body)?))
    }

    fn decode(
        &mut self,
        id: Id,
        encoded: &[u8],
        len: usize,
    ) -> Result<DecodedCertificate, CertificateNotDecoded> {
        let offered = self.offered.find(id).ok_or(CertificateNotDecoded::Malformed)?;
        let expected = offered.form.hash(self.end.cache.sha256);
        let decoded = offered.decode(expected, encoded, len)?;
        self.end.receive(expected, &decoded, len, encoded.len());
        Ok(decoded)
    }

    fn ended(mut self: Box<Self>, end: &HandshakeEnd<'_>) -> CodecOutcome {
        let offered = !self.offered.is_empty();
        self.end.ended(end, offered, None, |own| Some(derive(end, own)?.map(Some)));
        self.end.outcome(true)
    }
}

impl ClientCodec {
    /// Whether the server knows this side's chain by this id.
    fn stands_for(&self, id: Id, own: &ChainHash) -> bool {
        let tickets = self.end.tickets.iter().flatten();
        let derived = tickets.map(|(ticket, chain)| (ticket.id, chain));
        let fleet = self.end.fleet.iter().map(|(ticket, chain)| (ticket.id, chain));
        let by_ticket = derived.chain(fleet).any(|ticket| ticket == (id, own));
        let public = !self.end.answers && self.end.cache.public_ids != PublicIds::Never;
        by_ticket || public && public_id(own) == id
    }
}
