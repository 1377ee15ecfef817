//! The certificate codecs of one connection.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::iter::once;
use core::ops::RangeInclusive;

use super::after_handshake::CodecOutcome;
use super::certificate_codec::{
    CertificateCodec, CertificateCodecFactory, MAX_ALGORITHMS, check_extensions,
};
use super::codec_peer::{CertificateContents, PeerCertificate, PeerExtensions, PeerInfo};
use super::codec_results::{DecodedCertificate, EncodedCertificate};
use super::connection_after::RemainingCodecs;
use super::handshake_end::HandshakeEnd;
use super::verifier::{PeerIdentity, PeerRejected};
use crate::error::{Error, decrypt_error, illegal_parameter, protocol, require};
use crate::limits::{copied, reserve};
use crate::linked::Certificates;
use crate::time::Time;
use crate::wire::{
    AlertDescription, Certificate, CertificateCompressionAlgorithm, CertificateType,
    CompressedCertificate, ExtensionType, Extensions, HANDSHAKE_HEADER_LEN, HandshakeType,
    OpaqueExtension, Writer, write_compression_algorithms, write_extension,
};

/// The codecs of a connection; one without any allocates nothing.
#[derive(Default)]
pub(crate) struct ConnectionCodecs(Option<Certificates<Box<Codecs>>>);

struct Codecs {
    /// Most connections have no other.
    first: Codec,
    others: Vec<Codec>,
    /// What the peer can decode.
    peer_offers: Vec<CertificateCompressionAlgorithm>,
    /// The longest message with a Certificate, in bytes.
    longest: usize,
    /// The peer's certificate, until it is judged.
    received: Option<PeerCertificate>,
    /// The peer's certificate, once it is accepted.
    accepted: Option<PeerCertificate>,
}

pub(super) struct Codec {
    algorithms: RangeInclusive<CertificateCompressionAlgorithm>,
    pub(super) codec: Box<dyn CertificateCodec>,
    /// It decoded the peer's Certificate, and the peer must not learn the verdict.
    conceals: bool,
    /// It decoded another than the peer sent, or one that can't be read: the peer learns that after its proof.
    is_wrong: bool,
}

impl Codec {
    /// Notes how the handshake may go on with what this codec decoded.
    pub(super) fn decoded(&mut self, decoded: &DecodedCertificate) {
        (self.conceals, self.is_wrong) = (decoded.conceals_verdict, !decoded.is_what_was_sent);
    }
}

impl ConnectionCodecs {
    /// Creates the codecs of a connection, which read messages of up to `longest` bytes.
    pub(crate) fn new(
        factories: &[Arc<dyn CertificateCodecFactory>],
        peer: PeerInfo<'_>,
        longest: usize,
    ) -> Result<Self, Error> {
        let Some(linked) = Certificates::linked() else { return Ok(Self(None)) };
        let mut first = None;
        let mut others = Vec::new();
        for factory in factories {
            let algorithms = factory.algorithms();
            if let Some(codec) = factory.clone().codec(peer)? {
                let codec = Codec { algorithms, codec, conceals: false, is_wrong: false };
                match first {
                    None => first = Some(codec),
                    Some(_) => others.push(codec),
                }
            }
        }
        let Some(first) = first else { return Ok(Self(None)) };
        let (message, offers) = match peer {
            PeerInfo::Server(_) => (HandshakeType::CLIENT_HELLO, None),
            PeerInfo::Client(from) => (HandshakeType::CERTIFICATE_REQUEST, Some(from.extensions)),
        };
        let peer_offers = offers.map_or(Ok(Vec::new()), algorithms)?;
        let (received, accepted) = (None, None);
        let codecs = Box::new(Codecs { first, others, peer_offers, longest, received, accepted });
        check_offers(&codecs, message)?;
        Ok(Self(Some(linked.with(codecs))))
    }

    /// Returns a server's answers to these extensions of the ClientHello. No answer may have the type of one
    /// of the `owner`'s extensions.
    pub(crate) fn answers<'c>(
        &'c self,
        hello: Extensions<'c>,
        owner: &[OpaqueExtension],
    ) -> Result<impl Iterator<Item = (ExtensionType, &'c [u8])> + use<'c>, Error> {
        let answers = || extensions_of(self.codecs(), HandshakeType::ENCRYPTED_EXTENSIONS);
        check_extensions(answers(), owner)?;
        let sent = answers().filter(move |it| hello.iter().any(|(typ, _)| typ == it.typ));
        Ok(sent.map(|it| (it.typ, &it.contents[..])))
    }

    /// Hands a client's codecs the extensions of a message of the server.
    pub(crate) fn received(
        &mut self,
        message: HandshakeType,
        extensions: PeerExtensions<'_>,
    ) -> Result<(), Error> {
        let Some(it) = &mut self.0 else { return Ok(()) };
        it.peer_offers = algorithms(extensions)?;
        for Codec { codec, .. } in it.iter_mut() {
            codec.received(message, extensions)?;
        }
        Ok(())
    }

    /// Returns whether a client sends this extension for its codecs.
    pub(crate) fn have(&self, typ: ExtensionType) -> bool {
        match typ {
            _ if self.0.is_none() => false,
            ExtensionType::COMPRESS_CERTIFICATE => self.offer_any(),
            _ => self.in_hello().any(|it| it.typ == typ),
        }
    }

    /// Returns the total length of the codecs' own extensions of a ClientHello, in bytes.
    pub(crate) fn extensions_len(&self) -> usize {
        match self.0 {
            None => 0,
            Some(_) => self.in_hello().map(|it| 4 + it.contents.len()).sum(),
        }
    }

    /// Returns whether a peer may send a CompressedCertificate.
    pub(super) fn offer_any(&self) -> bool {
        self.0.is_some() && self.offers().next().is_some()
    }

    /// Appends the extensions that the codecs send in a ClientHello or a CertificateRequest.
    pub(super) fn write_extensions(&self, message: HandshakeType, out: &mut Vec<u8>) {
        if self.0.is_none() {
            return;
        }
        if self.offer_any() {
            write_compression_algorithms(out, self.offers());
        }
        for extension in extensions_of(self.codecs(), message) {
            write_extension(out, extension.typ, |out| out.bytes(&extension.contents));
        }
    }

    /// Returns whether there are any, so that this side's Certificate may be sent encoded.
    pub(crate) fn may_encode(&self) -> bool {
        self.0.is_some()
    }

    /// Encodes the body of this side's Certificate with the first codec that returns a result.
    pub(crate) fn encode(&mut self, body: &[u8]) -> Option<EncodedCertificate> {
        let Codecs { first, others, peer_offers, .. } = &mut ***self.0.as_mut()?;
        once(first).chain(others).find_map(|codec| {
            let made = codec.codec.encode(body, peer_offers)?;
            // Don't send what the peer didn't offer, or what doesn't fit the message.
            let readable = codec.algorithms.contains(&made.algorithm)
                && peer_offers.contains(&made.algorithm)
                && (1..1 << 23).contains(&made.encoded.len());
            readable.then_some(made)
        })
    }

    /// Decodes the peer's Certificate.
    pub(super) fn decode(
        &mut self,
        message: &CompressedCertificate<'_>,
    ) -> Result<DecodedCertificate, Error> {
        let algorithm = message.algorithm;
        let offered = self.offers().any(|offered| offered == algorithm);
        let longest = self.0.as_ref().map_or(0, |it| it.longest);
        let mut codecs = self.codecs_mut();
        let codec = codecs.find(|codec| offered && codec.algorithms.contains(&algorithm));
        let codec = codec.ok_or(illegal_parameter(
            "a Certificate is compressed with an algorithm that was not offered",
        ))?;
        // RFC 8879 §4, §5: the announced length bounds the memory before anything is decompressed.
        let len = message.uncompressed_len;
        if len + HANDSHAKE_HEADER_LEN > longest {
            return Err(bad_certificate("a compressed Certificate is too long"));
        }
        let decoded = codec.codec.decode(algorithm, message.compressed, len)?;
        codec.decoded(&decoded);
        match &decoded.contents {
            CertificateContents::Body(body) if decoded.is_what_was_sent && body.len() != len => {
                Err(bad_certificate("a compressed Certificate has another length than announced"))
            }
            _ => Ok(decoded),
        }
    }

    /// Keeps the peer's certificate until the handshake is complete.
    pub(super) fn keep(
        &mut self,
        typ: CertificateType,
        contents: impl FnOnce() -> Result<CertificateContents, Error>,
    ) -> Result<(), Error> {
        if let Some(it) = &mut self.0 {
            it.received = Some(PeerCertificate::new(typ, contents()?));
        }
        Ok(())
    }

    /// Returns the peer's certificate as far as it could be read. Where the peer must not learn the reason of a
    /// refusal, an unreadable one continues without its extensions up to the proof, and no further: an earlier
    /// alert would confirm the name that came with the extensions.
    pub(super) fn read_or_concealed(
        &mut self,
        read: Result<Certificate, Error>,
    ) -> Result<Certificate, Error> {
        let Some(it) = self.0.as_mut().filter(|_| read.is_err()) else { return read };
        let Some(codec) = it.iter_mut().find(|codec| codec.conceals) else { return read };
        codec.is_wrong = true;
        without_extensions(it.received.as_ref().ok_or(GONE)?)
    }

    /// Handles the rejection of a client by the server's verifier. Checks the proof wherever the client named a
    /// chain, rightly or wrongly: the time that it takes must not reveal which.
    pub(crate) fn peer_rejected(&mut self, is_proof_right: impl FnOnce() -> bool) {
        let Some(codec) = self.codecs_mut().find(|codec| codec.conceals) else { return };
        if is_proof_right() && !codec.is_wrong {
            codec.codec.peer_rejected();
        }
    }

    /// Returns the alert to send after the verifier's refusal; the reason stays local.
    pub(crate) fn refusal(&self, rejected: PeerRejected) -> PeerRejected {
        let PeerRejected { alert, reason } = rejected;
        // After a wrong name, the verdict is about another chain than the peer's.
        if !self.codecs().any(|codec| codec.conceals || codec.is_wrong) {
            return PeerRejected { alert, reason };
        }
        let reason = alloc::format!("{reason} ({alert:?}, which is not sent to the peer)");
        PeerRejected { alert: AlertDescription::DECRYPT_ERROR, reason }
    }

    /// Handles the verifier's acceptance of the peer, and the hash of its chain if the verifier computed it.
    pub(crate) fn accept(
        &mut self,
        peer: &PeerIdentity,
        chain_hash: Option<[u8; 32]>,
    ) -> Result<(), Error> {
        let Some(it) = &mut self.0 else { return Ok(()) };
        if it.iter().any(|codec| codec.is_wrong) {
            return Err(decrypt_error("the peer's proof doesn't match the chain that it named"));
        }
        let received = it.received.take();
        let expires_at = peer.expires_at;
        it.accepted =
            received.map(|received| PeerCertificate { expires_at, chain_hash, ..received });
        Ok(())
    }

    /// Ends the handshake for the codecs: both Finished messages are right, and nothing is left to encode.
    /// `derive` makes their tickets. Returns why this side's Certificate and the peer's weren't encoded, and what
    /// remains of the codecs.
    pub(crate) fn ended(
        self,
        identity: Option<&PeerIdentity>,
        now: Time,
        derive: &dyn Fn(&[u8], &mut [u8]),
    ) -> ([Option<&'static str>; 2], RemainingCodecs) {
        let (Some(it), Some(linked)) = (self.0, Certificates::linked()) else {
            return Default::default();
        };
        let Codecs { first, others, accepted, .. } = *it.into_inner();
        let end = HandshakeEnd::new(accepted.as_ref(), identity, now, derive);
        let (mut own, mut peer, mut remaining) = (None, None, RemainingCodecs::default());
        for Codec { codec, .. } in once(first).chain(others) {
            let typ = codec.extensions(HandshakeType::CLIENT_HELLO).first().map(|it| it.typ);
            let CodecOutcome { own_missed, peer_missed, after } = codec.ended(&end);
            (own, peer) = (own.or(own_missed), peer.or(peer_missed));
            if let Some(after) = after {
                remaining.add(linked.with((typ, after)));
            }
        }
        ([own, peer], remaining)
    }

    pub(super) fn codecs_mut(&mut self) -> impl Iterator<Item = &mut Codec> {
        self.0.iter_mut().flat_map(|it| it.iter_mut())
    }

    fn codecs(&self) -> impl Iterator<Item = &Codec> + Clone {
        self.0.iter().flat_map(|it| it.iter())
    }

    /// Returns what this side can decode, in order of preference.
    fn offers(&self) -> impl Iterator<Item = CertificateCompressionAlgorithm> {
        self.codecs().flat_map(|codec| codec.codec.offers()).copied().take(MAX_ALGORITHMS)
    }

    fn in_hello(&self) -> impl Iterator<Item = &OpaqueExtension> {
        extensions_of(self.codecs(), HandshakeType::CLIENT_HELLO)
    }
}

impl Codecs {
    fn iter(&self) -> impl Iterator<Item = &Codec> + Clone {
        once(&self.first).chain(&self.others)
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut Codec> {
        once(&mut self.first).chain(&mut self.others)
    }
}

/// Returns what a peer can decode.
fn algorithms(
    extensions: PeerExtensions<'_>,
) -> Result<Vec<CertificateCompressionAlgorithm>, Error> {
    let mut offered = Vec::new();
    reserve(&mut offered, extensions.algorithms().count())?;
    offered.extend(extensions.algorithms());
    Ok(offered)
}

/// Returns the codecs' extensions of a message.
fn extensions_of<'c>(
    codecs: impl Iterator<Item = &'c Codec> + Clone,
    message: HandshakeType,
) -> impl Iterator<Item = &'c OpaqueExtension> + Clone {
    codecs.flat_map(move |it| it.codec.extensions(message))
}

/// Checks what codecs offer, so that their authors' mistakes fail here, not at a peer.
fn check_offers(codecs: &Codecs, message: HandshakeType) -> Result<(), Error> {
    for Codec { algorithms, codec, .. } in codecs.iter() {
        let offers = codec.offers();
        let twice = |at: usize| offers[..at].contains(&offers[at]);
        require(
            offers.iter().all(|offer| algorithms.contains(offer)) && !(0..offers.len()).any(twice),
            "certificate_codecs: a codec offers its factory's algorithms, each once",
        )?;
    }
    check_extensions(extensions_of(codecs.iter(), message), &[])
}

/// Returns a certificate without its extensions.
fn without_extensions(kept: &PeerCertificate) -> Result<Certificate, Error> {
    let known = match kept.contents {
        CertificateContents::Body(_) => None,
        CertificateContents::Known(hash) => Some(hash),
    };
    let mut chain = Vec::new();
    reserve(&mut chain, kept.chain().count())?;
    for certificate in kept.chain() {
        chain.push(copied(certificate)?);
    }
    let (certificate_type, ocsp_response, sct_list) = (kept.certificate_type, None, None);
    Ok(Certificate { certificate_type, chain, known, ocsp_response, sct_list })
}

const GONE: Error = Error::Internal("a certificate that was decoded is gone");

const fn bad_certificate(reason: &'static str) -> Error {
    protocol(AlertDescription::BAD_CERTIFICATE, reason)
}
