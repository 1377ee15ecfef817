//! Certificate codecs with behaviour that a test changes.

use std::ops::RangeInclusive;
use std::sync::Arc;

use tessera::auth::{
    Abbreviations, CertificateCodec, CertificateCodecFactory, CertificateNotDecoded, CodecOutcome,
    CodecRefusal, DecodedCertificate, EncodedCertificate, HandshakeEnd, PeerExtensions, PeerInfo,
};
use tessera::wire::{CertificateCompressionAlgorithm as Id, HandshakeType, OpaqueExtension};

type Codec = Box<dyn CertificateCodec>;

/// A change of a codec: each method calls the codec, unless it is overridden.
#[allow(missing_docs, reason = "they are those of CertificateCodec")]
pub trait CodecChange: Send + Sync + 'static {
    fn extensions<'a>(
        &self,
        codec: &'a dyn CertificateCodec,
        message: HandshakeType,
    ) -> &'a [OpaqueExtension] {
        codec.extensions(message)
    }

    fn encode(
        &mut self,
        codec: &mut dyn CertificateCodec,
        body: &[u8],
        offered: &[Id],
    ) -> Option<EncodedCertificate> {
        codec.encode(body, offered)
    }

    fn ended(&mut self, codec: Box<dyn CertificateCodec>, end: &HandshakeEnd<'_>) -> CodecOutcome {
        codec.ended(end)
    }
}

/// The codecs of a factory, each with the change that the function returns.
pub struct ChangedCodecs<F> {
    /// Makes them.
    pub factory: Arc<dyn CertificateCodecFactory>,
    /// Returns the change of one codec.
    pub change: F,
}

impl<F, C> CertificateCodecFactory for ChangedCodecs<F>
where
    F: Fn() -> C + Send + Sync,
    C: CodecChange,
{
    fn algorithms(&self) -> RangeInclusive<Id> {
        self.factory.algorithms()
    }

    fn codec(self: Arc<Self>, peer: PeerInfo<'_>) -> Result<Option<Codec>, CodecRefusal> {
        let codec = self.factory.clone().codec(peer)?;
        Ok(codec.map(|codec| Box::new(ChangedCodec { codec, change: (self.change)() }) as _))
    }
}

struct ChangedCodec<C> {
    codec: Codec,
    change: C,
}

impl<C: CodecChange> CertificateCodec for ChangedCodec<C> {
    fn offers(&self) -> &[Id] {
        self.codec.offers()
    }

    fn extensions(&self, message: HandshakeType) -> &[OpaqueExtension] {
        self.change.extensions(&*self.codec, message)
    }

    fn received(
        &mut self,
        message: HandshakeType,
        extensions: PeerExtensions<'_>,
    ) -> Result<(), CodecRefusal> {
        self.codec.received(message, extensions)
    }

    fn encode(&mut self, body: &[u8], offered: &[Id]) -> Option<EncodedCertificate> {
        self.change.encode(&mut *self.codec, body, offered)
    }

    fn decode(
        &mut self,
        id: Id,
        encoded: &[u8],
        len: usize,
    ) -> Result<DecodedCertificate, CertificateNotDecoded> {
        self.codec.decode(id, encoded, len)
    }

    fn peer_rejected(&mut self) {
        self.codec.peer_rejected();
    }

    fn abbreviations(&mut self) -> Option<&mut dyn Abbreviations> {
        self.codec.abbreviations()
    }

    fn ended(mut self: Box<Self>, end: &HandshakeEnd<'_>) -> CodecOutcome {
        self.change.ended(self.codec, end)
    }
}
