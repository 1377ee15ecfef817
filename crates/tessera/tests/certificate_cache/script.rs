//! Scripted codecs, which record their calls.

use std::ops::RangeInclusive;
use std::sync::Arc;

use tessera::auth::{
    AfterHandshake, CertificateCodec, CertificateCodecFactory, CertificateContents,
    CertificateNotDecoded, CodecOutcome, CodecRefusal, DecodedCertificate, EncodedCertificate,
    HandshakeEnd, NextTicket, PeerExtensions, PeerIdentity, PeerInfo, VerifierDigest,
};
use tessera::wire::{
    AlertDescription, CertificateCompressionAlgorithm, ExtensionType, HandshakeType,
    OpaqueExtension,
};

use crate::stage;

/// The only algorithm, which encodes a Certificate as its hash.
pub const HASHED: CertificateCompressionAlgorithm = CertificateCompressionAlgorithm(0xff01);

const CACHED: ExtensionType = ExtensionType::CACHED_CERTIFICATES;

/// The chain that the codecs claim to know.
pub const HASH: [u8; 32] = [0x48; 32];

/// The context of every codec's tickets.
pub const CONTEXT: &[u8] = b"which chain";

/// What codecs do.
#[derive(Clone, Default)]
pub struct Play {
    /// In the ClientHello, as cached_certificates.
    pub hello: Option<Vec<u8>>,
    pub answer: Option<(ExtensionType, Vec<u8>)>,
    /// To a ClientHello, or to an answer.
    pub refuses: Option<CodecRefusal>,
    /// Offers to decode, and sends this after the hash.
    pub knows: Option<Vec<u8>>,
    pub says_it_is_another: bool,
    /// Decodes to this, whatever arrives.
    pub expects: Option<Vec<u8>>,
    pub conceals: bool,
    /// Why its own side's Certificate wasn't encoded, and the peer's.
    pub missed: [Option<&'static str>; 2],
    /// Puts this into each ticket, of this type, before its number.
    pub ticket: Option<(ExtensionType, Vec<u8>)>,
    /// Stays after the handshake, and for tickets.
    pub stays: Option<ForTickets>,
}

/// Whether a codec stays for tickets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForTickets(pub bool);

/// The calls to a codec, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodecCall {
    ToServer {
        server_name: String,
        port: Option<u16>,
        protocols: Vec<Vec<u8>>,
        random: [u8; 32],
        policy: Option<VerifierDigest>,
    },
    FromClient {
        protocols: Vec<Vec<u8>>,
        random: [u8; 32],
        policy: Option<VerifierDigest>,
        with_psk: bool,
    },
    Answered(Option<Vec<u8>>),
    Encode {
        body: Vec<u8>,
        offered: Vec<CertificateCompressionAlgorithm>,
    },
    Decode,
    PeerRejected,
    Ended {
        peer: Option<CertificateContents>,
        identity: Option<PeerIdentity>,
        ticket: [u8; 10],
    },
    NextTicket {
        number: u8,
        count: u8,
        lifetime: u32,
    },
    Accepted,
    Refused(AlertDescription),
    Ticket(Vec<u8>),
    Gone,
}

/// The factory of codecs with this script.
pub type Script = stage::Script<Play, Vec<CodecCall>>;
pub type Stage = stage::Stage<Play, Vec<CodecCall>>;

impl Script {
    fn note(&self, heard: CodecCall) {
        self.hear(|all| all.push(heard));
    }
}

impl CertificateCodecFactory for Script {
    fn algorithms(&self) -> RangeInclusive<CertificateCompressionAlgorithm> {
        HASHED..=HASHED
    }

    fn codec(
        self: Arc<Self>,
        peer: PeerInfo<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        match peer {
            PeerInfo::Server(to) => self.note(CodecCall::ToServer {
                server_name: to.server_name.to_owned(),
                port: to.port,
                protocols: to.protocols.to_vec(),
                random: *to.random,
                policy: to.policy,
            }),
            PeerInfo::Client(from) => {
                self.note(CodecCall::FromClient {
                    protocols: from.protocols().map(<[u8]>::to_vec).collect(),
                    random: *from.random,
                    policy: from.policy,
                    with_psk: from.with_psk,
                });
                self.play.refuses.map_or(Ok(()), Err)?;
            }
        }
        let offers = self.play.knows.iter().map(|_| HASHED).collect();
        let of = |(typ, contents)| OpaqueExtension { typ, contents };
        let hello = self.play.hello.clone().map(|body| of((CACHED, body)));
        let answer = self.play.answer.clone().map(of);
        Ok(Some(Box::new(ScriptedCodec { script: self, offers, hello, answer })))
    }
}

struct ScriptedCodec {
    script: Arc<Script>,
    offers: Vec<CertificateCompressionAlgorithm>,
    hello: Option<OpaqueExtension>,
    answer: Option<OpaqueExtension>,
}

impl CertificateCodec for ScriptedCodec {
    fn offers(&self) -> &[CertificateCompressionAlgorithm] {
        &self.offers
    }

    fn extensions(&self, message: HandshakeType) -> &[OpaqueExtension] {
        match message {
            HandshakeType::ENCRYPTED_EXTENSIONS => self.answer.as_slice(),
            _ => self.hello.as_slice(),
        }
    }

    fn received(
        &mut self,
        message: HandshakeType,
        extensions: PeerExtensions<'_>,
    ) -> Result<(), CodecRefusal> {
        if message != HandshakeType::ENCRYPTED_EXTENSIONS {
            return Ok(());
        }
        self.script.note(CodecCall::Answered(extensions.get(CACHED).map(<[u8]>::to_vec)));
        self.script.play.refuses.map_or(Ok(()), Err)
    }

    fn encode(
        &mut self,
        body: &[u8],
        offered: &[CertificateCompressionAlgorithm],
    ) -> Option<EncodedCertificate> {
        self.script.note(CodecCall::Encode { body: body.to_vec(), offered: offered.to_vec() });
        let extensions = self.script.play.knows.as_ref()?;
        Some(EncodedCertificate::new(HASHED, [&HASH[..], extensions].concat()))
    }

    fn decode(
        &mut self,
        _: CertificateCompressionAlgorithm,
        encoded: &[u8],
        _: usize,
    ) -> Result<DecodedCertificate, CertificateNotDecoded> {
        self.script.note(CodecCall::Decode);
        let play = &self.script.play;
        let (hash, entry_extensions) =
            encoded.split_first_chunk().ok_or(CertificateNotDecoded::Malformed)?;
        let expected = play.expects.clone().map(CertificateContents::Body);
        let contents = expected.unwrap_or(CertificateContents::Known(*hash));
        let mut decoded = DecodedCertificate::new(contents);
        decoded.entry_extensions = entry_extensions.to_vec();
        decoded.is_what_was_sent = !play.says_it_is_another;
        decoded.conceals_verdict = play.conceals;
        Ok(decoded)
    }

    fn peer_rejected(&mut self) {
        self.script.note(CodecCall::PeerRejected);
    }

    fn ended(self: Box<Self>, end: &HandshakeEnd<'_>) -> CodecOutcome {
        let mut ticket = [0; 10];
        end.ticket(CONTEXT, &mut ticket).expect("short");
        let peer = end.peer.map(|peer| peer.contents.clone());
        let identity = end.identity.cloned();
        self.script.note(CodecCall::Ended { peer, identity, ticket });
        let Play { missed: [own_missed, peer_missed], ticket, stays, .. } = &self.script.play;
        let remains = ticket.is_some() || stays.is_some();
        let after = remains.then(|| Box::new(RemainingCodec(self.script.clone())) as _);
        CodecOutcome { own_missed: *own_missed, peer_missed: *peer_missed, after }
    }
}

/// What remains of a codec.
struct RemainingCodec(Arc<Script>);

impl AfterHandshake for RemainingCodec {
    fn ticket_extension(&mut self, next: &NextTicket) -> Option<OpaqueExtension> {
        let (typ, before) = self.0.play.ticket.clone()?;
        let NextTicket { number, count, lifetime, .. } = *next;
        self.0.note(CodecCall::NextTicket { number, count, lifetime });
        Some(OpaqueExtension { typ, contents: [&before[..], &[number]].concat() })
    }

    fn accepted(&mut self) -> bool {
        self.0.note(CodecCall::Accepted);
        self.0.play.stays == Some(ForTickets(true))
    }

    fn refused(&mut self, alert: AlertDescription) {
        self.0.note(CodecCall::Refused(alert));
    }

    fn ticket(&mut self, body: &[u8]) {
        self.0.note(CodecCall::Ticket(body.to_vec()));
    }
}

impl Drop for RemainingCodec {
    fn drop(&mut self) {
        if self.0.play.stays.is_some() {
            self.0.note(CodecCall::Gone);
        }
    }
}
