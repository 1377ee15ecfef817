//! Chains that the verifier knows: it is asked with a hash, and judges first.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tessera::Error;
use tessera::auth::{
    CertificateContents, PeerAcceptance, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer,
};
use tessera::handshake::{ClientAuthentication, Reply};
use tessera::wire::{AlertDescription, EntryExtensions, SignatureScheme};
use tessera_harness::{Mode, Pair, vec16};
use tessera_null_provider::NullVerifier;

use crate::script::{CodecCall, HASH, HASHED, Play, Stage};

/// Asks for staples, records its questions, and rejects if scripted to.
#[derive(Default)]
struct Judge {
    rejects: Option<PeerRejected>,
    asked: Mutex<Vec<VerifyPeer>>,
    /// Its answer about a proof, and how often it was asked.
    proof_is_right: bool,
    asked_for_proof: AtomicUsize,
}

impl PeerVerifier for Judge {
    fn schemes(&self) -> &[SignatureScheme] {
        NullVerifier.schemes()
    }

    fn entry_extensions(&self) -> EntryExtensions {
        EntryExtensions { status_request: true, signed_certificate_timestamp: false }
    }

    fn policy(&self) -> VerifierPolicy {
        NullVerifier.policy()
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        self.asked.lock().expect("unpoisoned").push(question.clone());
        match &self.rejects {
            Some(rejected) => Reply::Now(Err(rejected.clone())),
            None => NullVerifier.verify(question),
        }
    }

    fn is_proof_right(&self, _: &VerifyPeer) -> bool {
        self.asked_for_proof.fetch_add(1, Ordering::Relaxed);
        self.proof_is_right
    }
}

/// Both ends know the other's chain, and send their own as its hash with these extensions.
struct KnownPeers {
    stage: Stage,
    client: Arc<Judge>,
    server: Arc<Judge>,
}

impl KnownPeers {
    fn new(client_sends: &[u8], server_sends: &[u8]) -> Self {
        let knows = |sends: &[u8]| Play { knows: Some(sends.to_vec()), ..Play::default() };
        Self::playing(knows(client_sends), knows(server_sends), [None, None])
    }

    fn playing(client: Play, server: Play, rejects: [Option<PeerRejected>; 2]) -> Self {
        let mut stage = Stage::new(Mode::Mutual, client, server);
        let [client, server] =
            rejects.map(|rejects| Arc::new(Judge { rejects, ..Judge::default() }));
        stage.scene.client.verifier = client.clone();
        stage.scene.server.client_authentication = ClientAuthentication::Required(server.clone());
        Self { stage, client, server }
    }
}

fn alerts(pair: &Pair) -> [Option<AlertDescription>; 2] {
    [&pair.to_client, &pair.to_server].map(|it| it.error.as_ref().and_then(Error::alert))
}

/// The extension block of an entry with an OCSP response.
fn stapled(response: &[u8]) -> Vec<u8> {
    let status = [&[1, 0][..], &vec16(response)].concat();
    vec16(&[&[0, 5][..], &vec16(&status)].concat())
}

fn ended(heard: &[CodecCall]) -> Option<&Option<CertificateContents>> {
    match heard.last() {
        Some(CodecCall::Ended { peer, .. }) => Some(peer),
        _ => None,
    }
}

#[test]
fn a_verifier_is_asked_for_a_known_chain_with_its_hash_and_what_is_stapled() {
    let staples = [&stapled(b"live")[..], &stapled(b"of the intermediate"), &vec16(b"")].concat();
    let knowing = KnownPeers::new(&[], &staples);
    let pair = knowing.stage.connected();
    for (judge, response) in [(knowing.client, Some(&b"live"[..])), (knowing.server, None)] {
        let asked = judge.asked.lock().expect("unpoisoned");
        let [question] = &asked[..] else { panic!("one question: {asked:?}") };
        assert_eq!((question.chain.len(), question.known), (0, Some(HASH)));
        assert_eq!(question.ocsp_response.as_deref(), response);
    }
    for script in [&knowing.stage.client, &knowing.stage.server] {
        assert_eq!(ended(&script.heard()), Some(&Some(CertificateContents::Known(HASH))));
    }
    // Header, algorithm, two lengths, hash and staples.
    for (len, facts) in [(44, pair.server.facts()), (44 + staples.len(), pair.client.facts())] {
        let transfer = facts.peer_certificate.map(|it| (it.encoded_with, it.len));
        assert_eq!(transfer, Some((Some(HASHED), len as u32)));
    }
    assert_eq!(pair.server.facts().own_certificate, pair.client.facts().peer_certificate);
    assert_eq!(pair.client.facts().own_certificate, pair.server.facts().peer_certificate);
}

/// As in a Certificate that is sent whole.
#[test]
fn staples_of_a_known_chain_are_read_strictly() {
    let sct = vec16(&[&[0, 18][..], &vec16(&vec16(&vec16(b"sct")))].concat());
    for (extensions, alert) in [
        (vec![0], AlertDescription::DECODE_ERROR),
        (vec![0, 1, 0], AlertDescription::DECODE_ERROR),
        (stapled(b""), AlertDescription::DECODE_ERROR),
        ([vec16(b""), stapled(b"")].concat(), AlertDescription::DECODE_ERROR),
        // Not asked for.
        (sct, AlertDescription::UNSUPPORTED_EXTENSION),
        (vec16(b"").repeat(101), AlertDescription::BAD_CERTIFICATE),
    ] {
        let pair = KnownPeers::new(&[], &extensions).stage.connect();
        assert_eq!(alerts(&pair)[0], Some(alert), "{extensions:?}");
        let pair = KnownPeers::new(&extensions, &[]).stage.connect();
        assert_eq!(alerts(&pair)[1], Some(alert), "{extensions:?}");
    }
    KnownPeers::new(&vec16(b"").repeat(100), &vec16(b"").repeat(100)).stage.connected();
}

#[test]
fn a_chain_that_is_not_what_was_sent_ends_the_handshake_after_its_proof() {
    let honest = || Play { knows: Some(Vec::new()), ..Play::default() };
    let doubts = || Play { says_it_is_another: true, ..honest() };
    let no = [None, None];
    let of_server = KnownPeers::playing(doubts(), honest(), no.clone());
    let of_client = KnownPeers::playing(honest(), doubts(), no);
    for (at, knowing, script) in
        [(0, &of_server, &of_server.stage.client), (1, &of_client, &of_client.stage.server)]
    {
        let pair = knowing.stage.connect();
        assert_eq!(alerts(&pair)[at], Some(AlertDescription::DECRYPT_ERROR));
        let heard = script.heard();
        assert_eq!(heard.last(), Some(&CodecCall::Decode), "{heard:?}");
        let judge = [&knowing.client, &knowing.server][at];
        assert_eq!(judge.asked.lock().expect("unpoisoned").len(), 1);
        let facts = [pair.client.facts(), pair.server.facts()][at];
        assert!(facts.peer.is_none() && !facts.handshake_complete);
    }
}

/// The verdict is about the expected chain, and the peer named another.
#[test]
fn a_chain_that_is_not_what_was_sent_conceals_why_the_verifier_rejects() {
    let doubts = || Play { knows: Some(Vec::new()), says_it_is_another: true, ..Play::default() };
    let rejected = PeerRejected { alert: AlertDescription::UNKNOWN_CA, reason: "whose?".into() };
    let honest = || Play { knows: Some(Vec::new()), ..Play::default() };
    let of_server = KnownPeers::playing(doubts(), honest(), [Some(rejected.clone()), None]);
    let of_client = KnownPeers::playing(honest(), doubts(), [None, Some(rejected)]);
    for (at, knowing, script) in
        [(0, &of_server, &of_server.stage.client), (1, &of_client, &of_client.stage.server)]
    {
        let pair = knowing.stage.connect();
        let error = [&pair.to_client, &pair.to_server][at].error.clone();
        let Some(Error::PeerRejected(refused)) = error else { panic!("{error:?}") };
        assert_eq!(refused.alert, AlertDescription::DECRYPT_ERROR);
        assert!(refused.reason.contains("whose?") && refused.reason.contains("UNKNOWN_CA"));
        let heard = script.heard();
        assert!(ended(&heard).is_none(), "{heard:?}");
    }
}

/// The alert is that of a bad signature, whatever the verifier's is; the local error has the reason.
#[test]
fn a_codec_conceals_why_the_verifier_rejects() {
    let honest = || Play { knows: Some(Vec::new()), ..Play::default() };
    let conceals = || Play { conceals: true, ..honest() };
    let rejected =
        PeerRejected { alert: AlertDescription::CERTIFICATE_EXPIRED, reason: "too old".into() };
    let of_server = KnownPeers::playing(conceals(), honest(), [Some(rejected.clone()), None]);
    let of_client = KnownPeers::playing(honest(), conceals(), [None, Some(rejected)]);
    for (at, knowing) in [(0, of_server), (1, of_client)] {
        let pair = knowing.stage.connect();
        let error = [&pair.to_client, &pair.to_server][at].error.clone();
        let Some(Error::PeerRejected(refused)) = error else { panic!("{error:?}") };
        assert_eq!(refused.alert, AlertDescription::DECRYPT_ERROR);
        assert!(refused.reason.contains("too old") && refused.reason.contains("EXPIRED"));
        let told = [&pair.to_server, &pair.to_client][at].error.clone();
        assert_eq!(told, Some(Error::AlertReceived(AlertDescription::DECRYPT_ERROR)));
    }
}

/// An attacker who copied the name of a chain must not be able to evict it, and timing must not reveal whether the
/// name was right.
#[test]
fn a_servers_codec_learns_of_a_refusal_only_of_the_peer_it_named() {
    for (conceals, is_another, proof_is_right) in [
        (true, false, true),
        (true, false, false),
        (true, true, true),
        (true, true, false),
        (false, false, true),
    ] {
        let honest = || Play { knows: Some(Vec::new()), ..Play::default() };
        let says_it_is_another = is_another;
        let named = || Play { conceals, says_it_is_another, ..honest() };
        for at_server in [true, false] {
            let plays = if at_server { [honest(), named()] } else { [named(), honest()] };
            let [client, server] = plays;
            let mut knowing = KnownPeers::playing(client, server, [None, None]);
            let (alert, reason) = (AlertDescription::CERTIFICATE_REVOKED, String::new());
            let rejects = Some(PeerRejected { alert, reason });
            let judge = Arc::new(Judge { rejects, proof_is_right, ..Judge::default() });
            let scene = &mut knowing.stage.scene;
            match at_server {
                true => {
                    let judge = ClientAuthentication::Required(judge.clone());
                    scene.server.client_authentication = judge;
                }
                false => scene.client.verifier = judge.clone(),
            }
            knowing.stage.connect();
            let Stage { client, server, .. } = &knowing.stage;
            let script = if at_server { server } else { client };
            let hears = at_server && conceals && !is_another && proof_is_right;
            let what = (conceals, is_another, proof_is_right, at_server);
            assert_eq!(script.heard().contains(&CodecCall::PeerRejected), hears, "{what:?}");
            let asked = judge.asked_for_proof.load(Ordering::Relaxed);
            assert_eq!(asked, usize::from(at_server && conceals), "{what:?}");
        }
    }
}

/// The expected chain's length differs from what was announced.
#[test]
fn a_codec_goes_on_with_the_chain_that_it_expected_up_to_the_proof() {
    let expected = [&[0, 0, 0, 8, 0, 0, 3][..], b"der", &[0, 0]].concat();
    for (says_it_is_another, alert, questions) in
        [(true, AlertDescription::DECRYPT_ERROR, 1), (false, AlertDescription::BAD_CERTIFICATE, 0)]
    {
        let honest = Play { knows: Some(Vec::new()), ..Play::default() };
        let expects =
            Play { expects: Some(expected.clone()), says_it_is_another, ..honest.clone() };
        let of_server = KnownPeers::playing(expects.clone(), honest.clone(), [None, None]);
        let of_client = KnownPeers::playing(honest, expects, [None, None]);
        for (at, knowing) in [(0, of_server), (1, of_client)] {
            let pair = knowing.stage.connect();
            assert_eq!(alerts(&pair)[at], Some(alert));
            let judge = [&knowing.client, &knowing.server][at];
            let asked = judge.asked.lock().expect("unpoisoned");
            assert_eq!(asked.len(), questions);
            assert!(asked.iter().all(|question| question.chain == [b"der"]));
        }
    }
}
