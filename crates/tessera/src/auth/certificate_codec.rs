//! The forms of a Certificate other than whole (RFC 8879).

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ops::RangeInclusive;

#[cfg(feature = "abbreviations")]
use super::abbreviations::Abbreviations;
use super::after_handshake::CodecOutcome;
use super::codec_peer::{PeerExtensions, PeerInfo};
use super::codec_results::{
    CertificateNotDecoded, CodecRefusal, DecodedCertificate, EncodedCertificate,
};
use super::handshake_end::HandshakeEnd;
use crate::error::{Error, require};
use crate::wire::{CertificateCompressionAlgorithm, HandshakeType, OpaqueExtension, is_grease};

/// Makes the certificate codecs of a configuration's connections: for each connection at most one codec,
/// depending on what is known of its peer.
///
/// State shared by all connections, such as a cache of peers' certificates, belongs to the factory.
/// For plain compression, [`CertificateCompression`](super::CertificateCompression) suffices.
pub trait CertificateCodecFactory: Send + Sync {
    /// Returns the algorithms that the codecs of this factory use. The factories of a configuration share
    /// none.
    fn algorithms(&self) -> RangeInclusive<CertificateCompressionAlgorithm>;

    /// Returns the codec for a connection with this peer, if it needs one. A client's ClientHello is the second after
    /// a HelloRetryRequest. A refusal ends the handshake: the client's extension can't be read, or holds a forbidden
    /// value.
    fn codec(
        self: Arc<Self>,
        peer: PeerInfo<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal>;
}

/// The codec of one connection: it encodes this side's Certificate and decodes the peer's.
///
/// The transcript covers the message as it is sent; what it stands for is then read and judged like a
/// Certificate that came whole. Later versions may call more methods; they will have defaults.
pub trait CertificateCodec: Send + Sync {
    /// Returns the algorithms that this side can decode from this particular peer, in order of preference, each
    /// once; they go into compress_certificate. The list stays the same for the whole connection. The first
    /// 127 of all codecs together are sent (RFC 8879 §3). Default: none.
    fn offers(&self) -> &[CertificateCompressionAlgorithm] {
        &[]
    }

    /// Returns what this side adds to this message: a client to its ClientHello, a server to EncryptedExtensions and
    /// its CertificateRequest. Default: nothing.
    ///
    /// A type must not be known to the engine, GREASE, or used by another codec. Extensions of a ClientHello or a
    /// CertificateRequest stay the same for the whole connection; those of EncryptedExtensions are sent only if the
    /// client sent their types.
    fn extensions(&self, message: HandshakeType) -> &[OpaqueExtension] {
        let _ = message;
        &[]
    }

    /// Receives, on a client, the extensions of EncryptedExtensions or CertificateRequest. A server's codec saw the
    /// ClientHello when it was made. A refusal ends the handshake. Default: ignored.
    ///
    /// EncryptedExtensions arrive once, even if a PSK is used; the server is not authenticated before
    /// [`ended`](Self::ended).
    fn received(
        &mut self,
        message: HandshakeType,
        extensions: PeerExtensions<'_>,
    ) -> Result<(), CodecRefusal> {
        let _ = (message, extensions);
        Ok(())
    }

    /// Encodes the body of this side's Certificate (the message without its frame), with one of the
    /// factory's algorithms that the peer offered.
    ///
    /// `None`, the default, passes it to the next codec; after the last one the Certificate is sent whole. So is it if
    /// the result is empty or has 2^23 bytes or more. Called in every handshake in which this side sends a Certificate, even if the
    /// peer offers nothing: the codec thereby knows what is sent. A slow codec keeps its results in the factory.
    fn encode(
        &mut self,
        body: &[u8],
        offered: &[CertificateCompressionAlgorithm],
    ) -> Option<EncodedCertificate> {
        let _ = (body, offered);
        None
    }

    /// Decodes the body of the peer's Certificate, which the peer announced as this `len` long.
    ///
    /// `len` is never more than the longest Certificate that is read whole (128 KiB). The handshake ends if the
    /// body has another length, unless it [isn't what was sent](DecodedCertificate::is_what_was_sent). The algorithm
    /// is one that this codec offers. Default: an error.
    fn decode(
        &mut self,
        algorithm: CertificateCompressionAlgorithm,
        encoded: &[u8],
        len: usize,
    ) -> Result<DecodedCertificate, CertificateNotDecoded> {
        let _ = (algorithm, encoded, len);
        Err(CertificateNotDecoded::Malformed)
    }

    /// Called on a server when the verifier has rejected the client itself, if this codec decoded the client's
    /// Certificate and [conceals the verdict](DecodedCertificate::conceals_verdict). Default: does nothing.
    ///
    /// The Certificate [is what was sent](DecodedCertificate::is_what_was_sent), and its proof is right
    /// ([`PeerVerifier::is_proof_right`](super::PeerVerifier::is_proof_right)), so the codec may forget the chain. An
    /// attacker who only copied the chain's name must not be able to cause that: it would confirm that the name was
    /// right.
    fn peer_rejected(&mut self) {}

    /// Returns the messages that this codec abbreviates, if any: they bypass [`encode`](Self::encode)
    /// and [`decode`](Self::decode). Default: none.
    #[cfg(feature = "abbreviations")]
    fn abbreviations(&mut self) -> Option<&mut dyn Abbreviations> {
        None
    }

    /// Called when the handshake is complete: the verifier accepted the peer's certificate, if it sent one, and
    /// the peer's Finished was right. Default: returns nothing.
    fn ended(self: Box<Self>, end: &HandshakeEnd<'_>) -> CodecOutcome {
        let _ = end;
        CodecOutcome::default()
    }
}

/// How many algorithms compress_certificate has room for (RFC 8879 §3).
pub(super) const MAX_ALGORITHMS: usize = 127;

/// Checks what types can't.
pub(super) fn check_codecs(factories: &[Arc<dyn CertificateCodecFactory>]) -> Result<(), Error> {
    let collides = |(at, factory): (usize, &Arc<dyn CertificateCodecFactory>)| {
        let own = factory.algorithms();
        let mut earlier = factories.iter().take(at).map(|earlier| earlier.algorithms());
        own.is_empty()
            || earlier.any(|other| own.start() <= other.end() && other.start() <= own.end())
    };
    require(
        factories.len() <= MAX_ALGORITHMS && !factories.iter().enumerate().any(collides),
        "certificate_codecs: at most 127, of different algorithms",
    )
}

/// Checks the extensions that codecs add to a message next to the `owner`'s.
pub(super) fn check_extensions<'c>(
    extensions: impl Iterator<Item = &'c OpaqueExtension> + Clone,
    owner: &[OpaqueExtension],
) -> Result<(), Error> {
    let mut len = 0;
    // There are few: going through them again costs less than a list of their types.
    for (at, OpaqueExtension { typ, contents }) in extensions.clone().enumerate() {
        let is_of_another = extensions.clone().take(at).any(|earlier| earlier.typ == *typ);
        let is_taken = is_of_another || OpaqueExtension::names(owner, *typ);
        require(
            !typ.is_known() && !is_grease(typ.0) && !is_taken,
            "certificate_codecs: the type of a codec's extension is its own",
        )?;
        len += contents.len();
        require(
            len <= MAX_EXTENSIONS,
            "certificate_codecs: the codecs' extensions have at most 4 KiB together",
        )?;
    }
    Ok(())
}

/// The most bytes of the codecs' extensions together: with them a ClientHello, a CertificateRequest or
/// EncryptedExtensions stays below what peers read.
const MAX_EXTENSIONS: usize = 4096;
