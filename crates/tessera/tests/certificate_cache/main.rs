//! Certificates that the other end already knows, through codecs that learn: what is offered to which peer,
//! what is learned and when, and which mistakes of a codec the engine detects.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::expect_used, clippy::panic)]

mod abbreviating;
mod abbreviations;
mod after;
mod answers;
mod cache;
mod ends;
mod known;
mod mistakes;
mod script;
mod stage;

use std::sync::Arc;

use tessera::auth::{
    CertificateCompression, CertificateNotDecoded, PeerAcceptance, PeerIdentity, PeerRejected,
    PeerVerifier, PrivateKey, VerifierPolicy, VerifyPeer,
};
use tessera::wire::{
    AlertDescription, CertificateCompressionAlgorithm, ExtensionType, HandshakeType,
    SignatureScheme,
};
use tessera::{ClientQuestion, Destination, Error, Reply};
use tessera_harness::{Hello, Mode, Pair, SERVER_NAME, Scene, at, records, rewrite, to};
use tessera_null_provider::NullVerifier;

use cache::{Cache, HINT, id_of};

const CLIENT: &str = "pump 7";

/// Two ends with a cache each.
struct Ends {
    scene: Scene,
    client: Arc<Cache>,
    server: Arc<Cache>,
}

impl Ends {
    fn new(mode: Mode) -> Self {
        let client = Arc::new(Cache::of_client(CLIENT));
        let server = Arc::new(Cache::default());
        let mut scene = Scene::new(tessera_null_provider::provider(), mode);
        scene.client.certificate_codecs = vec![client.clone()];
        scene.server.certificate_codecs = vec![server.clone()];
        Self { scene, client, server }
    }

    /// Makes a connection that works; returns how many bytes client and server sent.
    fn connect(&self) -> (usize, usize) {
        let mut pair = self.scene.pair();
        pair.run();
        assert!(pair.to_client.complete && pair.to_server.complete, "{:?}", pair.to_client.error);
        (pair.client_sent.len(), pair.server_sent.len())
    }

    fn nothing_learned(&self) -> bool {
        [&self.client, &self.server].iter().all(|cache| cache.state().learned.is_empty())
    }
}

/// The body of this extension in the first ClientHello.
fn in_hello(pair: &Pair, typ: ExtensionType) -> Option<Vec<u8>> {
    let flight = pair.client_output.as_slice();
    Hello::read(&records(flight)[0][5..]).extension(typ).cloned()
}

#[test]
fn a_certificate_chain_that_is_known_travels_as_its_hash() {
    let ends = Ends::new(Mode::Mutual);
    let (client, server) = ends.connect();
    let learned = vec![vec![vec![0x30; 300]]];
    for cache in [&ends.client, &ends.server] {
        let state = cache.state();
        assert_eq!((state.encoded, state.decoded), (0, 0));
        assert_eq!(state.learned, learned);
    }
    let (client_again, server_again) = ends.connect();
    for cache in [&ends.client, &ends.server] {
        let state = cache.state();
        assert_eq!((state.encoded, state.decoded), (1, 1));
        assert_eq!(state.learned.len(), 2);
    }
    // 300 bytes less, and one more offer.
    assert!(server_again < server - 250 && client_again < client - 250);
}

#[test]
fn a_certificate_codec_is_made_once_for_a_connection_and_sees_where_it_goes() {
    let ends = Ends::new(Mode::Mutual);
    ends.connect();
    for cache in [&ends.client, &ends.server] {
        assert_eq!(cache.state().server_names, [Some(SERVER_NAME.to_owned())]);
    }
}

#[test]
fn a_server_makes_no_certificate_codec_for_a_resumption() {
    let ends = Ends::new(Mode::PskDhe);
    let mut pair = ends.scene.pair();
    pair.run();
    // The full handshake from which the session comes, and the resumption.
    assert_eq!(ends.client.state().server_names.len(), 2);
    assert_eq!(ends.server.state().server_names.len(), 1);
}

#[test]
fn the_extension_of_a_certificate_codec_goes_both_ways() {
    let ends = Ends::new(Mode::Mutual);
    assert_eq!(in_hello(&ends.scene.pair(), HINT), Some(CLIENT.into()));
    ends.connect();
    assert_eq!(ends.client.state().requested, [Some(CLIENT.as_bytes().to_vec())]);
    let known = ends.server.state().known;
    assert_eq!(known.keys().collect::<Vec<_>>(), [CLIENT]);
}

#[test]
fn a_cached_chain_is_offered_only_to_the_server_that_it_is_of() {
    let ends = Ends::new(Mode::Full);
    let offered = |name: &str| {
        let destination = Destination { server_name: name.into(), ..Destination::default() };
        in_hello(&ends.scene.start_to(destination, at(0)), ExtensionType::COMPRESS_CERTIFICATE)
    };
    assert_eq!(offered(SERVER_NAME), None);
    ends.connect();
    let id = id_of(&ends.client.state().known[SERVER_NAME]).0.to_be_bytes();
    assert_eq!(offered(SERVER_NAME), Some(vec![2, id[0], id[1]]));
    assert_eq!(offered("other.example"), None);
}

#[test]
fn a_new_certificate_chain_comes_whole_and_replaces_the_cached_one() {
    let mut ends = Ends::new(Mode::Full);
    ends.connect();
    ends.scene.server.credentials[0].chain = vec![vec![0x31; 200], vec![0x32; 100]];
    ends.connect();
    let state = ends.client.state();
    assert_eq!((state.decoded, state.learned.len()), (0, 2));
    assert_eq!(state.learned[1], [vec![0x31; 200], vec![0x32; 100]]);
    ends.connect();
    assert_eq!(ends.client.state().decoded, 1);
}

#[test]
fn both_client_hellos_offer_the_same_cached_chains() {
    let ends = Ends::new(Mode::Retry);
    ends.connect();
    ends.connect();
    assert_eq!(ends.client.state().decoded, 1);
}

#[test]
fn a_resumption_teaches_a_certificate_codec_nothing() {
    let ends = Ends::new(Mode::PskDhe);
    // The scene's session comes from a full handshake.
    let mut pair = ends.scene.pair();
    assert_eq!(ends.client.state().learned.len(), 1);
    pair.run();
    assert!(pair.to_client.complete && pair.client.facts().psk.is_some());
    let state = ends.client.state();
    assert_eq!((state.learned.len(), state.decoded), (1, 0));
}

#[test]
fn a_codec_learns_a_chain_whose_verifier_answers_later() {
    let mut ends = Ends::new(Mode::Full);
    ends.scene.client.verifier = Arc::new(AnsweringVerifier(None));
    let mut pair = ends.scene.pair();
    pair.run();
    let Some(ClientQuestion::VerifyPeer(asked)) = pair.client_questions.pop() else {
        panic!("the server's certificate")
    };
    assert!(ends.nothing_learned());
    let accepted = Ok(PeerIdentity::default().into());
    pair.client.answer(asked.token, accepted, at(0), &mut pair.client_output).expect("an answer");
    pair.deliver_to_client(&[]);
    assert!(pair.to_client.complete);
    assert_eq!(ends.client.state().learned.len(), 1);
}

/// Rejects every server so, or answers later.
struct AnsweringVerifier(Option<PeerRejected>);

impl PeerVerifier for AnsweringVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        NullVerifier.schemes()
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("tests: no peer at once")
    }

    fn verify(&self, _: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        self.0.clone().map_or(Reply::Later, |rejected| Reply::Now(Err(rejected)))
    }
}

#[test]
fn a_codec_learns_nothing_of_a_peer_that_is_rejected() {
    let mut ends = Ends::new(Mode::Full);
    let (alert, reason) = (AlertDescription::UNKNOWN_CA, String::new());
    ends.scene.client.verifier = Arc::new(AnsweringVerifier(Some(PeerRejected { alert, reason })));
    let mut pair = ends.scene.pair();
    pair.run();
    assert!(matches!(pair.to_client.error, Some(Error::PeerRejected(_))));
    assert!(ends.nothing_learned());
}

fn flip_finished(message: &mut [u8]) {
    if message[0] == HandshakeType::FINISHED.0
        && let Some(last) = message.last_mut()
    {
        *last ^= 1;
    }
}

#[test]
fn a_codec_learns_nothing_of_a_server_whose_finished_is_wrong() {
    let ends = Ends::new(Mode::Full);
    let mut pair = ends.scene.pair();
    pair.client_to_server();
    let flight = pair.intercept_server();
    pair.deliver_to_client(&rewrite(
        &flight,
        || ends.scene.server_sealers(),
        |message| flip_finished(message),
    ));
    let alert = pair.to_client.error.as_ref().and_then(Error::alert);
    assert_eq!(alert, Some(AlertDescription::DECRYPT_ERROR));
    assert!(ends.nothing_learned());
}

#[test]
fn a_codec_learns_nothing_of_a_client_whose_finished_is_wrong() {
    let ends = Ends::new(Mode::Mutual);
    let mut pair = ends.scene.pair();
    pair.client_to_server();
    pair.server_to_client();
    let flight = pair.intercept_client();
    pair.deliver_to_server(&rewrite(
        &flight,
        || ends.scene.client_sealers(),
        |message| flip_finished(message),
    ));
    let alert = pair.to_server.error.as_ref().and_then(Error::alert);
    assert_eq!(alert, Some(AlertDescription::DECRYPT_ERROR));
    // The client's handshake is complete; the server's is not.
    assert_eq!(ends.client.state().learned.len(), 1);
    assert!(ends.server.state().learned.is_empty());
}

#[test]
fn a_codec_learns_nothing_while_its_own_sides_signature_is_missing() {
    let mut ends = Ends::new(Mode::Mutual);
    let schemes = NullVerifier.schemes().to_vec();
    ends.scene.client.credentials[0].key = PrivateKey::Elsewhere(schemes);
    let mut pair = ends.scene.pair();
    pair.run();
    assert_eq!((pair.to_client.complete, pair.client_questions.len()), (false, 1));
    assert!(ends.nothing_learned());
}

#[test]
fn a_hash_of_another_chain_ends_the_handshake() {
    let ends = Ends::new(Mode::Full);
    ends.connect();
    let mut pair = ends.scene.pair();
    pair.client_to_server();
    let flight = pair.intercept_server();
    let edit = |message: &mut Vec<u8>| {
        if message[0] == HandshakeType::COMPRESSED_CERTIFICATE.0
            && let Some(last) = message.last_mut()
        {
            *last ^= 1;
        }
    };
    pair.deliver_to_client(&rewrite(&flight, || ends.scene.server_sealers(), edit));
    let alert = pair.to_client.error.as_ref().and_then(Error::alert);
    assert_eq!(alert, Some(AlertDescription::BAD_CERTIFICATE));
    assert_eq!(ends.client.state().learned.len(), 1);
}

/// Puts a byte before the body.
struct PrefixCodec;

impl CertificateCompression for PrefixCodec {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm(7)
    }

    fn compress(&self, body: &[u8]) -> Option<Vec<u8>> {
        Some([&[7], body].concat())
    }

    fn decompress(&self, from: &[u8], body: &mut [u8]) -> Result<usize, CertificateNotDecoded> {
        let rest = from.strip_prefix(&[7]).filter(|rest| rest.len() == body.len());
        body.copy_from_slice(rest.ok_or(CertificateNotDecoded::Malformed)?);
        Ok(body.len())
    }
}

#[test]
fn the_next_certificate_codec_encodes_what_the_first_leaves_whole() {
    let mut ends = Ends::new(Mode::Full);
    let (_, whole) = ends.connect();
    let mut ends_of_two = Ends::new(Mode::Full);
    ends_of_two.scene.client.certificate_codecs.push(Arc::new(PrefixCodec));
    ends_of_two.scene.server.certificate_codecs.push(Arc::new(PrefixCodec));
    // The extra byte, and what CompressedCertificate adds.
    let (_, longer) = ends_of_two.connect();
    assert_eq!(longer, whole + 1 + 8);
    assert_eq!(ends_of_two.client.state().learned, ends.client.state().learned);
    ends_of_two.connect();
    assert_eq!(ends_of_two.client.state().decoded, 1);
    // Only the server has it: the client can't decode it.
    ends = Ends::new(Mode::Full);
    ends.scene.server.certificate_codecs.push(Arc::new(PrefixCodec));
    assert_eq!(ends.connect().1, whole);
}

#[test]
fn a_client_without_certificate_codecs_offers_no_compression() {
    let scene = Scene::new(tessera_null_provider::provider(), Mode::Full);
    let pair = scene.start_to(to(None), at(0));
    assert_eq!(in_hello(&pair, ExtensionType::COMPRESS_CERTIFICATE), None);
    assert_eq!(in_hello(&pair, HINT), None);
}
