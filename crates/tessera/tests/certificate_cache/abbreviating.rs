//! Scripted codecs that abbreviate messages, and record their calls.

use std::ops::RangeInclusive;
use std::sync::Arc;

use tessera::auth::{
    AbbreviatedMessages, Abbreviations, CertificateCodec, CertificateCodecFactory,
    CertificateContents, CodecOutcome, CodecRefusal, DecodedCertificate, EncodedCertificate,
    HandshakeEnd, PeerExtensions, PeerInfo, ServerFlight,
};
use tessera::wire::{
    CertificateCompressionAlgorithm, CertificateType, ExtensionType, HandshakeType, OpaqueExtension,
};
use tessera_harness::Mode;

use crate::stage;

pub const CACHED_INFO: ExtensionType = ExtensionType(25);
pub const OTHER: ExtensionType = ExtensionType(0xff5d);

/// What messages are abbreviated to.
pub const SHORT_CERTIFICATE: &[u8] = b"\x05short";
pub const SHORT_REQUEST: &[u8] = b"\x03req";

/// What one end's codecs do.
#[derive(Clone, Default)]
pub struct Play {
    pub agreed: AbbreviatedMessages,
    /// Sends abbreviated messages; an end without this breaks what was agreed.
    pub abbreviates: bool,
    /// The bodies that the peer's abbreviated messages stand for.
    pub request: Vec<u8>,
    pub certificate: Vec<u8>,
    /// Reports that the verifier knows the peer's chain.
    pub known: bool,
    pub says_it_is_another: bool,
    pub refuses: Option<CodecRefusal>,
    pub answer: Option<ExtensionType>,
    /// In addition to cached_info.
    pub extension: Option<ExtensionType>,
}

/// Request, type and Certificate.
pub type Flight = (Option<Vec<u8>>, Option<CertificateType>, Vec<u8>);

/// What the codecs of one end recorded.
#[derive(Default, Clone, PartialEq, Eq, Debug)]
pub struct CodecLog {
    /// What the server is about to send.
    pub flight: Option<Flight>,
    pub answered: Vec<Option<Vec<u8>>>,
    pub own: Option<Vec<u8>>,
    pub request: Option<Vec<u8>>,
    pub learned: Option<CertificateContents>,
}

pub type Script = stage::Script<Play, CodecLog>;
pub type Stage = stage::Stage<Play, CodecLog>;

pub const NONE: CertificateCompressionAlgorithm = CertificateCompressionAlgorithm(0xff01);

impl CertificateCodecFactory for Script {
    fn algorithms(&self) -> RangeInclusive<CertificateCompressionAlgorithm> {
        NONE..=NONE
    }

    fn codec(
        self: Arc<Self>,
        _: PeerInfo<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        Ok(Some(ScriptedCodec::boxed(self)))
    }
}

struct ScriptedCodec {
    script: Arc<Script>,
    /// In the first message, a ClientHello for a client.
    hello: Vec<OpaqueExtension>,
    /// In EncryptedExtensions.
    answer: Vec<OpaqueExtension>,
}

impl ScriptedCodec {
    fn boxed(script: Arc<Script>) -> Box<dyn CertificateCodec> {
        let of = |typ, body: &[u8]| OpaqueExtension { typ, contents: body.to_vec() };
        let play = &script.play;
        let info = play.answer.is_none().then(|| of(CACHED_INFO, b"hello"));
        let more = play.extension.map(|typ| of(typ, b"beside"));
        let hello = info.into_iter().chain(more).collect();
        let answer = play.answer.map(|typ| of(typ, b"answer")).into_iter().collect();
        Box::new(Self { script, hello, answer })
    }
}

impl CertificateCodec for ScriptedCodec {
    fn offers(&self) -> &[CertificateCompressionAlgorithm] {
        &[NONE]
    }

    fn extensions(&self, message: HandshakeType) -> &[OpaqueExtension] {
        match message {
            HandshakeType::ENCRYPTED_EXTENSIONS => &self.answer,
            _ => &self.hello,
        }
    }

    fn received(
        &mut self,
        message: HandshakeType,
        extensions: PeerExtensions<'_>,
    ) -> Result<(), CodecRefusal> {
        if message == HandshakeType::ENCRYPTED_EXTENSIONS {
            let answer = extensions.get(CACHED_INFO).map(<[u8]>::to_vec);
            self.script.hear(|heard| heard.answered.push(answer));
        }
        Ok(())
    }

    fn encode(
        &mut self,
        _: &[u8],
        _: &[CertificateCompressionAlgorithm],
    ) -> Option<EncodedCertificate> {
        let agreed = self.script.play.agreed.own_certificate;
        agreed.then(|| EncodedCertificate::new(NONE, b"encoded".to_vec()))
    }

    fn abbreviations(&mut self) -> Option<&mut dyn Abbreviations> {
        Some(self)
    }

    fn ended(self: Box<Self>, end: &HandshakeEnd<'_>) -> CodecOutcome {
        let learned = end.peer.map(|peer| peer.contents.clone());
        self.script.hear(|heard| heard.learned = learned);
        CodecOutcome::default()
    }
}

impl Abbreviations for ScriptedCodec {
    fn sends(&mut self, flight: &ServerFlight<'_>) -> Option<Vec<u8>> {
        let request = flight.request.map(<[u8]>::to_vec);
        let flight = (request, flight.client_type, flight.certificate.to_vec());
        self.script.hear(|heard| heard.flight = Some(flight));
        let Play { abbreviates, agreed, .. } = self.script.play;
        (abbreviates && agreed.request).then(|| SHORT_REQUEST.to_vec())
    }

    fn agreed(&self) -> AbbreviatedMessages {
        self.script.play.agreed
    }

    fn certificate(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        self.script.hear(|heard| heard.own = Some(body.to_vec()));
        let Play { abbreviates, agreed, .. } = self.script.play;
        (abbreviates && agreed.own_certificate).then(|| SHORT_CERTIFICATE.to_vec())
    }

    fn read_request(&mut self, body: &[u8]) -> Result<Option<Vec<u8>>, CodecRefusal> {
        self.script.hear(|heard| heard.request = Some(body.to_vec()));
        match (self.script.play.agreed.request, body) {
            (false, _) => Ok(None),
            (true, SHORT_REQUEST) => Ok(Some(self.script.play.request.clone())),
            (true, _) => Err(CodecRefusal::Malformed("not abbreviated")),
        }
    }

    fn read_certificate(&mut self, body: &[u8]) -> Result<DecodedCertificate, CodecRefusal> {
        self.script.play.refuses.map_or(Ok(()), Err)?;
        let contents = match body {
            SHORT_CERTIFICATE if self.script.play.known => CertificateContents::Known([7; 32]),
            SHORT_CERTIFICATE => CertificateContents::Body(self.script.play.certificate.clone()),
            _ => return Err(CodecRefusal::Malformed("not abbreviated")),
        };
        let mut decoded = DecodedCertificate::new(contents);
        decoded.is_what_was_sent = !self.script.play.says_it_is_another;
        Ok(decoded)
    }
}

impl Stage {
    /// A stage whose ends abbreviate what a first connection sent whole, after `change`.
    pub fn abbreviating(mode: Mode, change: impl FnOnce(&mut Play, &mut Play)) -> Self {
        let server = || Play { answer: Some(CACHED_INFO), ..Play::default() };
        let first = Self::new(Mode::Mutual, Play::default(), server());
        first.connected();
        let (request, _, of_server) = first.server.heard().flight.expect("a full handshake");
        let request = request.expect("the client is asked")[4..].to_vec();
        let of_client = first.client.heard().own.expect("the client has a certificate");
        let agreed =
            AbbreviatedMessages { request: true, own_certificate: true, peer_certificate: true };
        let both = Play { agreed, abbreviates: true, ..Play::default() };
        let mut client = Play { request, certificate: of_server, ..both.clone() };
        let mut server = Play { certificate: of_client, answer: Some(CACHED_INFO), ..both };
        change(&mut client, &mut server);
        Self::new(mode, client, server)
    }
}
