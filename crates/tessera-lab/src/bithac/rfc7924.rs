//! Plain RFC 7924: the server's Certificate and CertificateRequest as hashes, without BiTHaC.

use std::ops::RangeInclusive;
use std::sync::Arc;

use tessera::auth::{
    Abbreviations, CertificateCodec, CertificateCodecFactory, CodecOutcome, CodecRefusal,
    HandshakeEnd, PeerExtensions, PeerInfo,
};
use tessera::wire::{
    CertificateCompressionAlgorithm as Id, ExtensionType, HandshakeType, OpaqueExtension,
};
use tessera_cache::ClientCache;

/// A client's cache on the carrier `paper` that never announces support beyond RFC 7924, so that the server issues it
/// no tickets.
pub(super) struct Rfc7924Cache(pub(super) Arc<ClientCache>);

impl CertificateCodecFactory for Rfc7924Cache {
    fn algorithms(&self) -> RangeInclusive<Id> {
        self.0.algorithms()
    }

    fn codec(
        self: Arc<Self>,
        peer: PeerInfo<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        let Some(codec) = self.0.clone().codec(peer)? else { return Ok(None) };
        let extensions = codec.extensions(HandshakeType::CLIENT_HELLO);
        let cached_info = extensions.iter().find(|it| it.typ == CACHED_INFO).cloned();
        Ok(Some(Box::new(TicketlessCodec { codec, cached_info })))
    }
}

/// A codec that sends no extension but cached_info.
struct TicketlessCodec {
    codec: Box<dyn CertificateCodec>,
    cached_info: Option<OpaqueExtension>,
}

/// RFC 7924 §3.
const CACHED_INFO: ExtensionType = ExtensionType(25);

impl CertificateCodec for TicketlessCodec {
    fn extensions(&self, _: HandshakeType) -> &[OpaqueExtension] {
        self.cached_info.as_slice()
    }

    fn received(
        &mut self,
        message: HandshakeType,
        extensions: PeerExtensions<'_>,
    ) -> Result<(), CodecRefusal> {
        self.codec.received(message, extensions)
    }

    fn abbreviations(&mut self) -> Option<&mut dyn Abbreviations> {
        self.codec.abbreviations()
    }

    fn ended(self: Box<Self>, end: &HandshakeEnd<'_>) -> CodecOutcome {
        self.codec.ended(end)
    }
}
