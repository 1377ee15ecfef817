//! The forms in which a Certificate travels other than whole (RFC 8879).

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::abbreviations::Abbreviations;
use super::after_handshake::{AfterHandshake, NextTicket};
use super::codec_peer::{FromClient, PeerOffer, ToServer};
use super::codec_results::{CertificateNotDecoded, CodecRefusal, Decoded, EncodedCertificate};
use super::handshake_end::HandshakeEnd;
use crate::error::{Error, require};
use crate::wire::{CertificateCompressionAlgorithm, ExtensionType};

/// Makes the certificate codecs of a configuration's connections: one codec for each connection, from
/// what is known of its peer, or none.
///
/// What is known to all connections, such as a cache of peers' certificates, belongs to the factory.
/// A handshake with a PSK sends no certificates: then a server makes the codec of
/// [`server_codec_with_psk`](Self::server_codec_with_psk), and a client's has nothing to encode or decode.
/// Compression needs less: see [`CertificateCompression`](super::CertificateCompression).
pub trait CertificateCodecFactory: Send + Sync {
    /// The algorithms that the codecs of this factory use. The factories of a configuration share
    /// none.
    fn algorithms(&self) -> RangeInclusive<CertificateCompressionAlgorithm>;

    /// The codec for a client's connection.
    fn client_codec(self: Arc<Self>, to: &ToServer<'_>) -> Option<Box<dyn CertificateCodec>>;

    /// The codec for a server's connection; after a HelloRetryRequest it sees the second ClientHello.
    /// A refusal ends the handshake: the client's extension can't be read, or says what it may not.
    fn server_codec(
        self: Arc<Self>,
        from: &FromClient<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal>;

    /// The codec for a server's connection that uses a PSK, in which no certificates are sent: only its
    /// [`answer`](CertificateCodec::answer), its [`ended`](CertificateCodec::ended) and what follows that are
    /// called. Default: none.
    fn server_codec_with_psk(
        self: Arc<Self>,
        from: &FromClient<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        let _ = from;
        Ok(None)
    }
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
    /// connection. Default: none.
    fn extension(&self) -> Option<(ExtensionType, &[u8])> {
        None
    }

    /// To a server's codec: what it answers the client with, one extension in EncryptedExtensions with
    /// its body. The rules of [`extension`](Self::extension) hold for its type, and it is sent only if the
    /// client sent that type. Default: none.
    fn answer(&self) -> Option<(ExtensionType, &[u8])> {
        None
    }

    /// To a client's codec: the body of the server's answer to [`extension`](Self::extension), or `None`
    /// if there is none. Called once, also where a PSK is used; the server is not authenticated before
    /// [`ended`](Self::ended). A refusal ends the handshake. Default: whatever comes is ignored.
    fn answered(&mut self, answer: Option<&[u8]>) -> Result<(), CodecRefusal> {
        let _ = answer;
        Ok(())
    }

    /// To a client's codec: what the server's CertificateRequest says. A server's codec has seen the
    /// ClientHello when it was made. Default: nothing is remembered.
    fn requested(&mut self, offer: PeerOffer<'_>) {
        let _ = offer;
    }

    /// Encodes the body of this side's Certificate (the message without its frame), with one of the
    /// factory's algorithms that the peer offered. `None`: the next codec is asked, and after the
    /// last one the Certificate is sent whole. So it is if the result is empty, or has 2^23 bytes
    /// or more. It is called in every handshake in which this side sends a Certificate, also where the
    /// peer offers nothing: so a codec knows what is sent, and one that takes its time keeps its results
    /// in the factory.
    fn encode(
        &mut self,
        body: &[u8],
        offered: &[CertificateCompressionAlgorithm],
    ) -> Option<EncodedCertificate>;

    /// Decodes the body of the peer's Certificate into `body`, which is as long as the peer announced,
    /// and never longer than the longest Certificate that is read whole (128 KiB). Unless it fills
    /// `body`, the handshake ends, but for [`Decoded::Expected`], and for [`Decoded::Known`], which says that
    /// the chain is known, where the verifier needs to hear no more than which one. The algorithm is one
    /// that this codec offers.
    fn decode(
        &mut self,
        algorithm: CertificateCompressionAlgorithm,
        encoded: &[u8],
        body: &mut [u8],
    ) -> Result<Decoded, CertificateNotDecoded>;

    /// Whether what [`decode`](Self::decode) gave is what the peer encoded: asked when the verifier has
    /// judged the peer, its proof included. A codec that goes on with what it expected, where the peer
    /// named something else, says no here, and the handshake ends with decrypt_error, as if the proof were
    /// wrong, whatever the verdict is: who can't prove anything learns nothing. Default: it is.
    fn is_what_was_sent(&self) -> bool {
        true
    }

    /// Whether a refusal by the verifier ends the handshake with decrypt_error, whatever its own alert is:
    /// where that would tell somebody who took a name for a chain from the wire whose chain it is. Asked
    /// where the verifier refuses the peer; the error here keeps the reason. Default: it does not.
    fn conceals_verdict(&self) -> bool {
        false
    }

    /// To a server's codec that [conceals the verdict](Self::conceals_verdict): the verifier has rejected the client,
    /// whose chain [is what was sent](Self::is_what_was_sent), and whose proof is right
    /// ([`PeerVerifier::is_proof_right`](super::PeerVerifier::is_proof_right)). So it is the client itself. Whoever
    /// has only copied what names its chain must not have it forgotten: else he would learn whether he named the right
    /// one. Default: nothing is done.
    fn peer_rejected(&mut self) {}

    /// The messages that this codec abbreviates, if it does: they take no part in [`encode`](Self::encode)
    /// and [`decode`](Self::decode). Default: none.
    fn abbreviations(&self) -> Option<&dyn Abbreviations> {
        None
    }

    /// The same.
    fn abbreviations_mut(&mut self) -> Option<&mut dyn Abbreviations> {
        None
    }

    /// The handshake is complete: the verifier accepted the peer's certificate, if it sent one, and the
    /// peer's Finished was right. Called at most once; only [`own_missed`](Self::own_missed),
    /// [`peer_missed`](Self::peer_missed), [`ticket_extension`](Self::ticket_extension) and
    /// [`after`](Self::after) come later, and before that the type of [`extension`](Self::extension). Default:
    /// nothing is remembered.
    fn ended(&mut self, end: &HandshakeEnd<'_>) {
        let _ = end;
    }

    /// After [`ended`](Self::ended), for the connection's facts: why this codec didn't encode this side's
    /// Certificate, in a word of its own. `None` if it did, or has nothing to say. Default: nothing.
    fn own_missed(&self) -> Option<&'static str> {
        None
    }

    /// The same of the peer's Certificate: why the peer didn't send it in a form of this codec's.
    fn peer_missed(&self) -> Option<&'static str> {
        None
    }

    /// To a server's codec, after [`ended`](Self::ended): one extension for the NewSessionTicket that is
    /// sent next, with its body. Called for each ticket of the handshake; not at all where none is sent.
    /// The rules of [`extension`](Self::extension) hold for its type, and it needs no extension of the
    /// client's: who doesn't recognise it ignores it (RFC 8446 §4.6.1). Default: none.
    fn ticket_extension(&mut self, next: &NextTicket) -> Option<(ExtensionType, Vec<u8>)> {
        let _ = next;
        None
    }

    /// To a client's codec, after [`ended`](Self::ended), and last: what goes on hearing of the
    /// connection. Default: nothing.
    fn after(self: Box<Self>) -> Option<Box<dyn AfterHandshake>> {
        None
    }
}

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
    require(
        factories.len() <= MAX_ALGORITHMS && !factories.iter().enumerate().any(collides),
        "certificate_codecs: at most 127, of different algorithms",
    )
}
