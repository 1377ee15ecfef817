//! The certificate codecs of one connection.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::certificate_codec::{
    CertificateCodec, CertificateCodecFactory, EncodedCertificate, MAX_ALGORITHMS,
};
use super::codec_peer::{FromClient, PeerCertificate, PeerOffer, ToServer};
use super::verifier::PeerIdentity;
use crate::error::{Error, illegal_parameter, protocol};
use crate::limits::MAX_HANDSHAKE_MESSAGE;
use crate::time::Time;
use crate::wire::{
    AlertDescription, CertificateCompressionAlgorithm, CertificateType, CompressedCertificate,
    ExtensionType, HANDSHAKE_HEADER_LEN, Writer, is_grease, write_compression_algorithms,
    write_extension,
};

/// The codecs of a connection; one that has none holds no memory for them.
#[derive(Default)]
pub(crate) struct ConnectionCodecs(Option<Box<Codecs>>);

struct Codecs {
    codecs: Vec<Codec>,
    /// What the peer can decode.
    peer_offers: Vec<CertificateCompressionAlgorithm>,
    /// The peer's certificate, until it is judged.
    received: Option<PeerCertificate>,
    /// The peer's certificate, once it is accepted.
    accepted: Option<PeerCertificate>,
}

struct Codec {
    algorithms: RangeInclusive<CertificateCompressionAlgorithm>,
    codec: Box<dyn CertificateCodec>,
}

type Factories = [Arc<dyn CertificateCodecFactory>];

impl ConnectionCodecs {
    /// The codecs of a client.
    pub(crate) fn of_client(factories: &Factories, to: &ToServer<'_>) -> Result<Self, Error> {
        Self::made(factories, |factory| factory.client_codec(to))
    }

    /// The codecs of a server.
    pub(crate) fn of_server(factories: &Factories, from: &FromClient<'_>) -> Result<Self, Error> {
        let mut made = Self::made(factories, |factory| factory.server_codec(from))?;
        if let Some(codecs) = &mut made.0 {
            codecs.peer_offers = from.offer.algorithms().collect();
        }
        Ok(made)
    }

    fn made(
        factories: &Factories,
        make: impl Fn(Arc<dyn CertificateCodecFactory>) -> Option<Box<dyn CertificateCodec>>,
    ) -> Result<Self, Error> {
        if factories.is_empty() {
            return Ok(Self(None));
        }
        let made = factories.iter().filter_map(|factory| {
            Some(Codec { algorithms: factory.algorithms(), codec: make(factory.clone())? })
        });
        let codecs: Vec<_> = made.collect();
        check(&codecs)?;
        let (peer_offers, received, accepted) = Default::default();
        let codecs = Codecs { codecs, peer_offers, received, accepted };
        Ok(Self(Some(codecs).filter(|it| !it.codecs.is_empty()).map(Box::new)))
    }

    /// A client reads a CertificateRequest.
    pub(crate) fn requested(&mut self, offer: PeerOffer<'_>) {
        if let Some(it) = &mut self.0 {
            it.peer_offers = offer.algorithms().collect();
            it.codecs.iter_mut().for_each(|codec| codec.codec.requested(offer));
        }
    }

    /// Whether this side sends this extension for its codecs.
    pub(crate) fn have(&self, typ: ExtensionType) -> bool {
        match typ {
            ExtensionType::COMPRESS_CERTIFICATE => self.offer_any(),
            _ => self.extensions().any(|(listed, _)| listed == typ),
        }
    }

    /// How long the codecs' own extensions are together, in bytes.
    pub(crate) fn extensions_len(&self) -> usize {
        self.extensions().map(|(_, body)| 4 + body.len()).sum()
    }

    /// Whether a peer may send a CompressedCertificate.
    pub(super) fn offer_any(&self) -> bool {
        self.offers().next().is_some()
    }

    /// Appends the extensions that the codecs send.
    pub(super) fn write_extensions(&self, out: &mut Vec<u8>) {
        if self.offer_any() {
            write_compression_algorithms(out, self.offers());
        }
        for (typ, body) in self.extensions() {
            write_extension(out, typ, |out| out.bytes(body));
        }
    }

    /// Whether the peer can decode anything.
    pub(crate) fn may_encode(&self) -> bool {
        self.0.as_ref().is_some_and(|it| !it.peer_offers.is_empty())
    }

    /// Encodes the body of this side's Certificate with the first codec that does it.
    pub(crate) fn encode(&mut self, body: &[u8]) -> Option<EncodedCertificate> {
        let Codecs { codecs, peer_offers, .. } = &mut **self.0.as_mut()?;
        codecs.iter_mut().find_map(|codec| {
            let made = codec.codec.encode(body, peer_offers)?;
            // What the peer didn't offer, or what has no place in the message, isn't sent.
            let readable = codec.algorithms.contains(&made.algorithm)
                && peer_offers.contains(&made.algorithm)
                && (1..1 << 23).contains(&made.encoded.len());
            readable.then_some(made)
        })
    }

    /// Decodes the peer's Certificate.
    pub(super) fn decode(&mut self, message: &CompressedCertificate<'_>) -> Result<Vec<u8>, Error> {
        let algorithm = message.algorithm;
        let offered = self.offers().any(|offered| offered == algorithm);
        let mut codecs = self.0.iter_mut().flat_map(|it| &mut it.codecs);
        let codec = codecs.find(|codec| offered && codec.algorithms.contains(&algorithm));
        let codec = codec.ok_or(illegal_parameter(
            "a Certificate is compressed with an algorithm that was not offered",
        ))?;
        // RFC 8879 §4, §5: the announced length bounds the memory before anything is decompressed.
        if message.uncompressed_len > MAX_HANDSHAKE_MESSAGE - HANDSHAKE_HEADER_LEN {
            return Err(bad_certificate("a compressed Certificate is too long"));
        }
        let mut body = alloc::vec![0; message.uncompressed_len];
        match codec.codec.decode(algorithm, message.compressed, &mut body) {
            Ok(len) if len == body.len() => Ok(body),
            Ok(_) => Err(bad_certificate("a compressed Certificate is shorter than announced")),
            Err(_) => Err(bad_certificate("a compressed Certificate can't be decompressed")),
        }
    }

    /// Keeps the peer's certificate until the handshake is complete.
    pub(super) fn keep(&mut self, typ: CertificateType, body: impl FnOnce() -> Vec<u8>) {
        if let Some(it) = &mut self.0 {
            it.received = Some(PeerCertificate::new(typ, body()));
        }
    }

    /// The verifier accepted the peer.
    pub(crate) fn accept(&mut self, peer: &PeerIdentity) {
        if let Some(it) = &mut self.0 {
            let received = it.received.take();
            it.accepted = received
                .map(|received| PeerCertificate { expires_at: peer.expires_at, ..received });
        }
    }

    /// The handshake is complete: both Finished messages are right, and nothing is left to encode.
    pub(crate) fn learn(self, now: Time) {
        let Some(it) = self.0 else { return };
        let Codecs { mut codecs, accepted, .. } = *it;
        if let Some(peer) = accepted {
            codecs.iter_mut().for_each(|codec| codec.codec.learn(&peer, now));
        }
    }

    /// What this side can decode, in order of preference.
    fn offers(&self) -> impl Iterator<Item = CertificateCompressionAlgorithm> {
        let codecs = self.0.iter().flat_map(|it| &it.codecs);
        codecs.flat_map(|codec| codec.codec.offers()).copied().take(MAX_ALGORITHMS)
    }

    fn extensions(&self) -> impl Iterator<Item = (ExtensionType, &[u8])> {
        let codecs = self.0.iter().flat_map(|it| &it.codecs);
        codecs.filter_map(|codec| codec.codec.extension())
    }
}

/// Checks what codecs offer: mistakes of their authors, before a peer stumbles over them.
fn check(codecs: &[Codec]) -> Result<(), Error> {
    let mut extensions: Vec<ExtensionType> = Vec::new();
    let mut len = 0;
    for Codec { algorithms, codec } in codecs {
        let offers = codec.offers();
        let twice = |at: usize| offers[..at].contains(&offers[at]);
        if !offers.iter().all(|offer| algorithms.contains(offer)) || (0..offers.len()).any(twice) {
            return Err(Error::Configuration(
                "certificate_codecs: a codec offers its factory's algorithms, each once",
            ));
        }
        if let Some((typ, body)) = codec.extension() {
            if typ.is_known() || is_grease(typ.0) || extensions.contains(&typ) {
                return Err(Error::Configuration(
                    "certificate_codecs: the type of a codec's extension is its own",
                ));
            }
            len += body.len();
            if len > MAX_EXTENSIONS {
                return Err(Error::Configuration(
                    "certificate_codecs: the codecs' extensions have at most 4 KiB together",
                ));
            }
            extensions.push(typ);
        }
    }
    Ok(())
}

/// How long the codecs' extensions may be together, in bytes: a ClientHello or a CertificateRequest with
/// them stays below what peers read.
const MAX_EXTENSIONS: usize = 4096;

const fn bad_certificate(reason: &'static str) -> Error {
    protocol(AlertDescription::BAD_CERTIFICATE, reason)
}
