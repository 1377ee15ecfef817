//! Plain RFC 7924: the server's Certificate and CertificateRequest as hashes, without BiTHaC.

use std::ops::RangeInclusive;
use std::sync::Arc;

use tessera::auth::{
    Abbreviations, CertificateCodec, CertificateCodecFactory, CertificateNotDecoded, ClientInfo,
    CodecRefusal, DecodedCertificate, EncodedCertificate, HandshakeEnd, PeerOffer, ServerInfo,
};
use tessera::wire::CertificateCompressionAlgorithm as Id;
use tessera_cache::ClientCache;

/// A client's cache on the carrier `paper` that never announces support beyond RFC 7924, so that the server issues it
/// no tickets.
pub(super) struct Rfc7924Cache(pub(super) Arc<ClientCache>);

impl CertificateCodecFactory for Rfc7924Cache {
    fn algorithms(&self) -> RangeInclusive<Id> {
        self.0.algorithms()
    }

    fn client_codec(self: Arc<Self>, to: &ServerInfo<'_>) -> Option<Box<dyn CertificateCodec>> {
        Some(Box::new(TicketlessCodec(self.0.clone().client_codec(to)?)))
    }

    fn server_codec(
        self: Arc<Self>,
        _: &ClientInfo<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        Ok(None)
    }
}

/// A codec without its own extension: cached_info is one of its abbreviations.
struct TicketlessCodec(Box<dyn CertificateCodec>);

impl CertificateCodec for TicketlessCodec {
    fn offers(&self) -> &[Id] {
        self.0.offers()
    }

    fn requested(&mut self, offer: PeerOffer<'_>) {
        self.0.requested(offer);
    }

    fn encode(&mut self, body: &[u8], offered: &[Id]) -> Option<EncodedCertificate> {
        self.0.encode(body, offered)
    }

    fn decode(
        &mut self,
        algorithm: Id,
        encoded: &[u8],
        len: usize,
    ) -> Result<DecodedCertificate, CertificateNotDecoded> {
        self.0.decode(algorithm, encoded, len)
    }

    fn abbreviations(&self) -> Option<&dyn Abbreviations> {
        self.0.abbreviations()
    }

    fn abbreviations_mut(&mut self) -> Option<&mut dyn Abbreviations> {
        self.0.abbreviations_mut()
    }

    fn ended(&mut self, end: &HandshakeEnd<'_>) {
        self.0.ended(end);
    }
}
