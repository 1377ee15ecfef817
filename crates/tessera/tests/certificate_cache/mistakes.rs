//! Mistakes of codecs, which the engine detects before a peer does.

use std::ops::RangeInclusive;
use std::sync::Arc;

use tessera::auth::{
    CertificateCodec, CertificateCodecFactory, CertificateContents, CertificateNotDecoded,
    CodecRefusal, DecodedCertificate, EncodedCertificate, PeerInfo,
};
use tessera::wire::{
    CertificateCompressionAlgorithm, ExtensionType, HandshakeType, OpaqueExtension,
};
use tessera::{Destination, Error};
use tessera_harness::{Mode, Pair, Scene, at, to};

use crate::in_hello;

/// Scripted: offers these algorithms, and encodes as this one.
#[derive(Clone, Default)]
struct MistakenCodec {
    from: u16,
    to: u16,
    offers: Vec<CertificateCompressionAlgorithm>,
    extension: Option<OpaqueExtension>,
    encodes: Option<u16>,
}

/// A factory of 0xff01 to 0xff03.
fn says(offers: &[u16], extension: Option<u16>) -> MistakenCodec {
    let offers = offers.iter().copied().map(CertificateCompressionAlgorithm).collect();
    let extension =
        extension.map(|typ| OpaqueExtension { typ: ExtensionType(typ), contents: vec![1] });
    MistakenCodec { from: 0xff01, to: 0xff03, offers, extension, encodes: None }
}

impl CertificateCodecFactory for MistakenCodec {
    fn algorithms(&self) -> RangeInclusive<CertificateCompressionAlgorithm> {
        CertificateCompressionAlgorithm(self.from)..=CertificateCompressionAlgorithm(self.to)
    }

    fn codec(
        self: Arc<Self>,
        _: PeerInfo<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        Ok(Some(Box::new((*self).clone())))
    }
}

impl CertificateCodec for MistakenCodec {
    fn offers(&self) -> &[CertificateCompressionAlgorithm] {
        &self.offers
    }

    fn extensions(&self, _: HandshakeType) -> &[OpaqueExtension] {
        self.extension.as_slice()
    }

    fn encode(
        &mut self,
        body: &[u8],
        _: &[CertificateCompressionAlgorithm],
    ) -> Option<EncodedCertificate> {
        let algorithm = CertificateCompressionAlgorithm(self.encodes?);
        Some(EncodedCertificate::new(algorithm, body.to_vec()))
    }

    fn decode(
        &mut self,
        _: CertificateCompressionAlgorithm,
        encoded: &[u8],
        len: usize,
    ) -> Result<DecodedCertificate, CertificateNotDecoded> {
        assert_eq!(encoded.len(), len);
        Ok(DecodedCertificate::new(CertificateContents::Body(encoded.to_vec())))
    }
}

fn full() -> Scene {
    Scene::new(tessera_null_provider::provider(), Mode::Full)
}

/// The results of a client, and of a server with a client that has no codecs, with these factories.
fn outcomes(codecs: &[MistakenCodec]) -> [Option<Error>; 2] {
    let codecs: Vec<_> = codecs.iter().cloned().map(|codec| Arc::new(codec) as _).collect();
    let mut scene = full();
    scene.client.certificate_codecs = codecs.clone();
    let of_client = Pair::start(&scene.client, &scene.server, to(None), at(0)).err();

    let mut scene = full();
    scene.server.certificate_codecs = codecs;
    let started = scene.server.clone().checked().err();
    let of_server = started.or_else(|| {
        let mut pair = scene.pair();
        pair.run();
        pair.to_server.error
    });
    [of_client, of_server]
}

#[track_caller]
fn refused(codecs: &[MistakenCodec]) {
    for outcome in outcomes(codecs) {
        assert!(matches!(outcome, Some(Error::Configuration(_))), "{outcome:?}");
    }
}

#[test]
fn certificate_codecs_may_offer_different_algorithms_of_their_own() {
    let other = MistakenCodec { from: 1, to: 1, ..says(&[1], Some(0xff78)) };
    assert_eq!(outcomes(&[says(&[0xff01, 0xff03], Some(0xff77)), other]), [None, None]);
}

#[test]
fn codec_factories_whose_algorithms_overlap_are_refused() {
    for (from, to) in [(0xff03, 0xff04), (0xff00, 0xff01), (0xff02, 0xff02), (0, 0xffff)] {
        refused(&[says(&[], None), MistakenCodec { from, to, ..MistakenCodec::default() }]);
    }
    // An empty range.
    refused(&[MistakenCodec { from: 2, to: 1, ..MistakenCodec::default() }]);
}

#[test]
fn a_codec_that_offers_what_is_not_its_own_or_offers_it_twice_is_refused() {
    for offers in [&[0xff04][..], &[0xff01, 1], &[0xff01, 0xff02, 0xff01]] {
        refused(&[says(offers, None)]);
    }
}

#[test]
fn a_codec_whose_extension_is_taken_or_grease_is_refused() {
    for typ in [ExtensionType::SERVER_NAME, ExtensionType::PRE_SHARED_KEY, ExtensionType::COOKIE] {
        refused(&[says(&[], Some(typ.0))]);
    }
    for grease in [0x0a0a, 0x4a4a, 0xfafa] {
        refused(&[says(&[], Some(grease))]);
    }
    let other = MistakenCodec { from: 1, to: 1, ..says(&[], Some(0xff77)) };
    refused(&[says(&[], Some(0xff77)), other]);
    let long = Some(OpaqueExtension { typ: ExtensionType(0xff77), contents: vec![0; 4097] });
    refused(&[MistakenCodec { extension: long, ..says(&[], None) }]);
}

/// RFC 8879 §3.
#[test]
fn a_client_names_at_most_127_certificate_compression_algorithms() {
    let mut scene = full();
    let all = (0x8000..0x8100).map(CertificateCompressionAlgorithm).collect();
    let many = MistakenCodec { from: 0x8000, to: 0xffff, offers: all, ..MistakenCodec::default() };
    scene.client.certificate_codecs = vec![Arc::new(many)];
    let mut pair = scene.pair();
    let named = in_hello(&pair, ExtensionType::COMPRESS_CERTIFICATE).expect("named");
    assert_eq!((named.len(), named[0]), (255, 254));
    pair.run();
    assert!(pair.to_client.complete);
}

/// A Certificate that the peer couldn't read is sent whole.
#[test]
fn a_certificate_encoded_in_a_way_that_the_peer_did_not_offer_is_sent_whole() {
    for (encodes, works) in [(0xff01, true), (0xff02, false), (0xff04, false)] {
        let mut scene = full();
        scene.client.certificate_codecs = vec![Arc::new(says(&[0xff01], None))];
        let plain = says(&[], None);
        scene.server.certificate_codecs =
            vec![Arc::new(MistakenCodec { encodes: Some(encodes), ..plain.clone() })];
        let mut pair = scene.pair();
        pair.run();
        assert!(pair.to_client.complete, "{:?}", pair.to_client.error);
        scene.server.certificate_codecs = vec![Arc::new(plain)];
        let mut whole = scene.pair();
        whole.run();
        // The encoded form is the body itself after eight bytes.
        let more = pair.server_sent.len() - whole.server_sent.len();
        assert_eq!(more, if works { 8 } else { 0 });
    }
}

#[test]
fn an_owners_extension_of_a_codecs_type_is_refused() {
    let mut scene = full();
    scene.client.certificate_codecs = vec![Arc::new(says(&[0xff01], Some(0xff77)))];
    let extension = OpaqueExtension { typ: ExtensionType(0xff77), contents: Vec::new() };
    let destination = Destination { extensions: vec![extension], ..to(None) };
    let refused = Pair::start(&scene.client, &scene.server, destination, at(0)).err();
    assert!(matches!(refused, Some(Error::Configuration(_))), "{refused:?}");
}
