//! The forms in which a Certificate travels other than whole (RFC 8879).

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::codec_peer::{FromClient, PeerCertificate, PeerOffer, ToServer};
use crate::error::Error;
use crate::time::Time;
use crate::wire::{CertificateCompressionAlgorithm, ExtensionType};

/// Makes the certificate codecs of a configuration's connections: one codec for each connection, from
/// what is known of its peer, or none.
///
/// What is known to all connections, such as a cache of peers' certificates, belongs to the factory.
/// A handshake that resumes sends no certificates: then a server makes no codec, and a client's is
/// dropped unused. Compression needs less: see
/// [`CertificateCompression`](super::CertificateCompression).
pub trait CertificateCodecFactory: Send + Sync {
    /// The algorithms that the codecs of this factory use. The factories of a configuration share
    /// none.
    fn algorithms(&self) -> RangeInclusive<CertificateCompressionAlgorithm>;

    /// The codec for a client's connection.
    fn client_codec(self: Arc<Self>, to: &ToServer<'_>) -> Option<Box<dyn CertificateCodec>>;

    /// The codec for a server's connection; after a HelloRetryRequest it sees the second ClientHello.
    fn server_codec(self: Arc<Self>, from: &FromClient<'_>) -> Option<Box<dyn CertificateCodec>>;
}

/// The codec of one connection: it encodes this side's Certificate and decodes the peer's.
///
/// The transcript covers the message as it is sent; what it stands for is then read and judged like a
/// Certificate that came whole. Later versions may call more methods; they will have defaults.
pub trait CertificateCodec: Send + Sync {
    /// The algorithms that this side can decode from this very peer, in order of preference, each
    /// once: they go into compress_certificate. The list stays the same for the whole connection. Of
    /// all codecs together the first 127 are named (RFC 8879 §3).
    fn offers(&self) -> &[CertificateCompressionAlgorithm];

    /// One more extension for this side's ClientHello or CertificateRequest, with its body. The type
    /// is none that the engine knows, no GREASE, and no other codec's; it stays the same for the whole
    /// connection. An answer to it in EncryptedExtensions is ignored. Default: none.
    fn extension(&self) -> Option<(ExtensionType, &[u8])> {
        None
    }

    /// To a client's codec: what the server's CertificateRequest says. A server's codec has seen the
    /// ClientHello when it was made. Default: nothing is remembered.
    fn requested(&mut self, offer: PeerOffer<'_>) {
        let _ = offer;
    }

    /// Encodes the body of this side's Certificate (the message without its frame), with one of the
    /// factory's algorithms that the peer offered. `None`: the next codec is asked, and after the
    /// last one the Certificate is sent whole. So it is if the result is empty, or longer than 2^23
    /// bytes. It is called in every handshake, so a codec that takes its time keeps its results in
    /// the factory.
    fn encode(
        &mut self,
        body: &[u8],
        offered: &[CertificateCompressionAlgorithm],
    ) -> Option<EncodedCertificate>;

    /// Decodes the body of the peer's Certificate into `body`, which is as long as the peer announced,
    /// and never longer than the longest Certificate that is read whole (128 KiB). The algorithm is
    /// one that this codec offers. Returns the length of what was decoded; unless it fills `body`,
    /// the handshake ends.
    fn decode(
        &mut self,
        algorithm: CertificateCompressionAlgorithm,
        encoded: &[u8],
        body: &mut [u8],
    ) -> Result<usize, CertificateNotDecoded>;

    /// The handshake is complete: the verifier accepted this certificate of the peer's, and the
    /// peer's Finished was right. Called at most once, and last. Default: nothing is remembered.
    fn learn(&mut self, peer: &PeerCertificate, now: Time) {
        let _ = (peer, now);
    }
}

/// The body of a Certificate, encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodedCertificate {
    /// How it is encoded.
    pub algorithm: CertificateCompressionAlgorithm,
    /// What goes into CompressedCertificate.
    pub encoded: Vec<u8>,
}

impl EncodedCertificate {
    /// The contents of a CompressedCertificate.
    pub fn new(algorithm: CertificateCompressionAlgorithm, encoded: Vec<u8>) -> Self {
        Self { algorithm, encoded }
    }
}

/// A peer's Certificate can't be decoded, or is longer than the peer announced: the handshake ends
/// with bad_certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CertificateNotDecoded;

impl core::fmt::Display for CertificateNotDecoded {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the peer's encoded certificate can't be decoded")
    }
}

impl core::error::Error for CertificateNotDecoded {}

/// The most algorithms that compress_certificate has room for (RFC 8879 §3).
pub(super) const MAX_ALGORITHMS: usize = 127;

/// Checks what can't be checked by types.
pub(super) fn check_codecs(factories: &[Arc<dyn CertificateCodecFactory>]) -> Result<(), Error> {
    let collides = |(at, factory): (usize, &Arc<dyn CertificateCodecFactory>)| {
        let own = factory.algorithms();
        let mut earlier = factories.iter().take(at).map(|earlier| earlier.algorithms());
        own.is_empty()
            || earlier.any(|other| own.start() <= other.end() && other.start() <= own.end())
    };
    if factories.len() > MAX_ALGORITHMS || factories.iter().enumerate().any(collides) {
        return Err(Error::Configuration(
            "certificate_codecs: at most 127, of different algorithms",
        ));
    }
    Ok(())
}
