//! A cache of peers' certificates: a known chain travels as its hash.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

use tessera::auth::{
    CertificateCodec, CertificateCodecFactory, CertificateContents, CertificateNotDecoded,
    CodecOutcome, CodecRefusal, DecodedCertificate, EncodedCertificate, HandshakeEnd,
    PeerExtensions, PeerInfo,
};
use tessera::wire::{
    CertificateCompressionAlgorithm, ExtensionType, HandshakeType, OpaqueExtension,
};

/// In a ClientHello it identifies the client; in a CertificateRequest it asks for that.
pub const HINT: ExtensionType = ExtensionType(0xff77);

/// What one end remembers, for all its connections.
#[derive(Default)]
pub struct Cache {
    /// The client's name for itself.
    hint: Option<Vec<u8>>,
    state: Mutex<State>,
}

#[derive(Default, Clone)]
pub struct State {
    /// The bodies of peers' Certificates, by server_name or hint.
    pub known: HashMap<String, Vec<u8>>,
    /// The learned chains, in order.
    pub learned: Vec<Vec<Vec<u8>>>,
    /// How many own Certificates were sent as a hash, and how many of peers arrived as one.
    pub encoded: usize,
    pub decoded: usize,
    /// The server_name of each connection for which a codec was made.
    pub server_names: Vec<Option<String>>,
    /// The hints of CertificateRequests.
    pub requested: Vec<Option<Vec<u8>>>,
}

impl Cache {
    /// The cache of a client of this name.
    pub fn of_client(name: &str) -> Self {
        Self { hint: Some(name.into()), ..Self::default() }
    }

    pub fn state(&self) -> State {
        self.state.lock().expect("unpoisoned").clone()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().expect("unpoisoned"));
    }

    fn codec_for(
        self: Arc<Self>,
        peer: Option<String>,
        hint: Option<Vec<u8>>,
    ) -> Option<Box<dyn CertificateCodec>> {
        let known = peer.as_ref().and_then(|peer| self.state().known.get(peer).cloned());
        let offers = known.iter().map(|body| id_of(body)).collect();
        let hint = hint.map(|contents| OpaqueExtension { typ: HINT, contents });
        Some(Box::new(ConnectionCodec { cache: self, peer, known, offers, hint }))
    }
}

/// FNV-1a: no attack here.
fn hash(body: &[u8]) -> [u8; 8] {
    let hash = body.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.to_be_bytes()
}

/// The algorithm that represents one chain.
pub fn id_of(body: &[u8]) -> CertificateCompressionAlgorithm {
    let [high, low, ..] = hash(body);
    CertificateCompressionAlgorithm(0xc000 | u16::from_be_bytes([high, low]))
}

impl CertificateCodecFactory for Cache {
    fn algorithms(&self) -> RangeInclusive<CertificateCompressionAlgorithm> {
        CertificateCompressionAlgorithm(0xc000)..=CertificateCompressionAlgorithm(0xffff)
    }

    fn codec(
        self: Arc<Self>,
        peer: PeerInfo<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        Ok(match peer {
            PeerInfo::Server(to) => {
                self.change(|state| state.server_names.push(Some(to.server_name.to_owned())));
                let hint = self.hint.clone();
                self.codec_for(Some(to.server_name.to_owned()), hint)
            }
            PeerInfo::Client(from) if from.with_psk => None,
            PeerInfo::Client(from) => {
                self.change(|state| state.server_names.push(from.server_name.map(str::to_owned)));
                let hint = from.extensions.get(HINT).map(<[u8]>::to_vec);
                let peer = hint.clone().and_then(|hint| String::from_utf8(hint).ok());
                self.codec_for(peer, hint)
            }
        })
    }
}

/// The codec of one connection.
struct ConnectionCodec {
    cache: Arc<Cache>,
    peer: Option<String>,
    known: Option<Vec<u8>>,
    offers: Vec<CertificateCompressionAlgorithm>,
    hint: Option<OpaqueExtension>,
}

impl CertificateCodec for ConnectionCodec {
    fn offers(&self) -> &[CertificateCompressionAlgorithm] {
        &self.offers
    }

    fn extensions(&self, message: HandshakeType) -> &[OpaqueExtension] {
        match message {
            HandshakeType::CLIENT_HELLO | HandshakeType::CERTIFICATE_REQUEST => {
                self.hint.as_slice()
            }
            _ => &[],
        }
    }

    fn received(
        &mut self,
        message: HandshakeType,
        extensions: PeerExtensions<'_>,
    ) -> Result<(), CodecRefusal> {
        if message == HandshakeType::CERTIFICATE_REQUEST {
            let hint = extensions.get(HINT).map(<[u8]>::to_vec);
            self.cache.change(|state| state.requested.push(hint));
        }
        Ok(())
    }

    fn encode(
        &mut self,
        body: &[u8],
        offered: &[CertificateCompressionAlgorithm],
    ) -> Option<EncodedCertificate> {
        let algorithm = id_of(body);
        if !offered.contains(&algorithm) {
            return None;
        }
        self.cache.change(|state| state.encoded += 1);
        Some(EncodedCertificate::new(algorithm, hash(body).to_vec()))
    }

    fn decode(
        &mut self,
        _: CertificateCompressionAlgorithm,
        encoded: &[u8],
        _: usize,
    ) -> Result<DecodedCertificate, CertificateNotDecoded> {
        let known = self.known.as_ref().filter(|known| hash(known) == encoded);
        let known = known.ok_or(CertificateNotDecoded::Malformed)?;
        self.cache.change(|state| state.decoded += 1);
        Ok(DecodedCertificate::new(CertificateContents::Body(known.clone())))
    }

    fn ended(self: Box<Self>, end: &HandshakeEnd<'_>) -> CodecOutcome {
        let Some(peer) = end.peer else { return CodecOutcome::default() };
        let chain = peer.chain().map(<[u8]>::to_vec).collect();
        self.cache.change(|state| {
            state.learned.push(chain);
            if let Some(name) = &self.peer {
                state.known.insert(name.clone(), peer.body().expect("no other form").to_vec());
            }
        });
        CodecOutcome::default()
    }
}
