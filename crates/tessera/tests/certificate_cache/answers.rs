//! What a codec sends to its peer's before there are certificates, and what it learns of the peer.

use tessera::auth::{CodecRefusal, VerifierDigest};
use tessera::handshake::ClientAuthentication;
use tessera::wire::{AlertDescription, ExtensionType, HandshakeType, OpaqueExtension};
use tessera::{Destination, Error};
use tessera_harness::{Hello, Mode, Pair, SERVER_NAME, at, records, rewrite, to, vec16};
use tessera_null_provider::NullVerifier;

use crate::script::{CodecCall, Play, Stage};

const CACHED: ExtensionType = ExtensionType::CACHED_CERTIFICATES;
const OTHER: ExtensionType = ExtensionType(0xff77);

fn says(hello: &[u8]) -> Play {
    Play { hello: Some(hello.to_vec()), ..Play::default() }
}

fn answers(typ: ExtensionType, body: &[u8]) -> Play {
    Play { answer: Some((typ, body.to_vec())), ..Play::default() }
}

fn alerts(pair: &Pair) -> [Option<AlertDescription>; 2] {
    [&pair.to_client, &pair.to_server].map(|it| it.error.as_ref().and_then(Error::alert))
}

/// The answers that the client's codec received.
fn answered(stage: &Stage) -> Vec<Option<Vec<u8>>> {
    let answered = |heard| match heard {
        CodecCall::Answered(answer) => Some(answer),
        _ => None,
    };
    stage.client.heard().into_iter().filter_map(answered).collect()
}

/// After a HelloRetryRequest and in every resumption too.
#[test]
fn a_servers_codec_answers_the_clients() {
    for mode in Mode::ALL {
        for body in [&b""[..], b"answer"] {
            let stage = Stage::new(mode, says(b"hello"), answers(CACHED, body));
            stage.connected();
            assert_eq!(answered(&stage), [Some(body.to_vec())], "{mode:?}");
        }
    }
}

#[test]
fn a_clients_codec_learns_that_there_is_no_answer() {
    for mode in Mode::ALL {
        let mut stage = Stage::new(mode, says(b"hello"), Play::default());
        stage.connected();
        assert_eq!(answered(&stage), [None], "{mode:?}");
        stage.scene.server.certificate_codecs.clear();
        stage.connected();
        assert_eq!(answered(&stage), [None], "{mode:?}");
    }
}

/// A client would end the handshake with unsupported_extension.
#[test]
fn a_codecs_answer_to_what_the_client_did_not_send_stays_away() {
    for mode in [Mode::Full, Mode::PskDhe] {
        for typ in [CACHED, OTHER] {
            let stage = Stage::new(mode, Play::default(), answers(typ, b"answer"));
            stage.connected();
            assert_eq!(answered(&stage), [None], "{mode:?}");
        }
        let stage = Stage::new(mode, says(b"hello"), answers(OTHER, b"answer"));
        stage.connected();
        assert_eq!(answered(&stage), [None], "{mode:?}");
    }
}

#[test]
fn a_client_without_codecs_refuses_the_answer_that_a_codec_would_take() {
    let stage = Stage::new(Mode::Full, Play::default(), Play::default());
    let mut pair = stage.scene.pair();
    pair.client_to_server();
    let flight = pair.intercept_server();
    let answer = [&CACHED.0.to_be_bytes()[..], &vec16(b"")].concat();
    let edit = |message: &mut Vec<u8>| {
        if message[0] == HandshakeType::ENCRYPTED_EXTENSIONS.0 {
            let block = [&message[6..], &answer].concat();
            *message =
                tessera_harness::message(HandshakeType::ENCRYPTED_EXTENSIONS, &vec16(&block));
        }
    };
    pair.deliver_to_client(&rewrite(&flight, || stage.scene.server_sealers(), edit));
    assert_eq!(alerts(&pair)[0], Some(AlertDescription::UNSUPPORTED_EXTENSION));
}

const REFUSALS: [(CodecRefusal, AlertDescription); 2] = [
    (CodecRefusal::Malformed("its length"), AlertDescription::DECODE_ERROR),
    (CodecRefusal::Illegal("twice the same"), AlertDescription::ILLEGAL_PARAMETER),
];

#[test]
fn a_refusal_by_a_servers_codec_ends_the_handshake() {
    for mode in Mode::ALL {
        for (refusal, alert) in REFUSALS {
            let mut stage = Stage::new(mode, says(b"hello"), Play::default());
            let session = stage.scene.session();
            let refusing = Play { refuses: Some(refusal), ..Play::default() };
            stage.scene.server.certificate_codecs = vec![crate::script::Script::new(refusing)];
            let mut pair = stage.scene.start(session, at(0));
            pair.run();
            assert_eq!(alerts(&pair)[1], Some(alert), "{mode:?}");
            assert_eq!(pair.to_client.error, Some(Error::AlertReceived(alert)), "{mode:?}");
        }
    }
}

#[test]
fn a_refusal_by_a_clients_codec_ends_the_handshake() {
    for mode in Mode::ALL {
        for (refusal, alert) in REFUSALS {
            let mut stage = Stage::new(mode, says(b"hello"), answers(CACHED, b"answer"));
            let session = stage.scene.session();
            let refusing = Play { refuses: Some(refusal), ..says(b"hello") };
            stage.scene.client.certificate_codecs = vec![crate::script::Script::new(refusing)];
            let mut pair = stage.scene.start(session, at(0));
            pair.run();
            assert_eq!(alerts(&pair)[0], Some(alert), "{mode:?}");
            assert_eq!(pair.to_server.error, Some(Error::AlertReceived(alert)), "{mode:?}");
        }
    }
}

#[test]
fn an_answer_whose_type_is_taken_or_grease_is_refused() {
    for mode in [Mode::Full, Mode::PskDhe] {
        for (answer, owner) in [
            (answers(ExtensionType::ALPN, b""), None),
            (answers(ExtensionType(0x1a1a), b""), None),
            (answers(OTHER, b""), Some(OTHER)),
            (answers(OTHER, &[0; 4097]), None),
        ] {
            let mut stage = Stage::new(mode, says(b"hello"), Play::default());
            let session = stage.scene.session();
            stage.scene.server.certificate_codecs = vec![crate::script::Script::new(answer)];
            let own = |typ| OpaqueExtension { typ, contents: Vec::new() };
            stage.scene.server.extensions = owner.map(own).into_iter().collect();
            let mut pair = stage.scene.start(session, at(0));
            pair.run();
            let error = pair.to_server.error;
            assert!(matches!(error, Some(Error::Configuration(_))), "{mode:?} {error:?}");
        }
    }
}

#[test]
fn a_clients_codec_sees_where_the_connection_goes_and_under_what() {
    let mut stage = Stage::new(Mode::Retry, says(b"hello"), Play::default());
    stage.scene.client.protocols = vec![b"h2".to_vec(), b"mqtt".to_vec()];
    for port in [None, Some(8883)] {
        let mut pair = stage.scene.start_to(Destination { port, ..to(None) }, at(0));
        let first = records(pair.client_output.as_slice())[0][5..].to_vec();
        pair.run();
        assert!(pair.to_client.complete && pair.client.facts().hello_retry);
        let expected = CodecCall::ToServer {
            server_name: SERVER_NAME.to_owned(),
            port,
            protocols: stage.scene.client.protocols.clone(),
            random: first[6..38].try_into().expect("32 bytes"),
            policy: Some(null_verifier()),
        };
        assert_eq!(stage.client.heard()[0], expected);
        assert!(Hello::read(&first).extension(CACHED).is_some());
    }
}

/// Once per connection, for the ClientHello that ServerHello answers.
#[test]
fn a_servers_codec_sees_the_clients_extension() {
    for mode in Mode::ALL {
        let mut stage = Stage::new(mode, says(b"hello"), Play::default());
        stage.scene.client.protocols = vec![b"h2".to_vec(), b"mqtt".to_vec()];
        for policy in [None, Some(null_verifier())] {
            stage.scene.server.client_authentication = match policy {
                None => ClientAuthentication::None,
                Some(_) => ClientAuthentication::Optional(std::sync::Arc::new(NullVerifier)),
            };
            let pair = stage.connected();
            let made = |heard: &CodecCall| matches!(heard, CodecCall::FromClient { .. });
            let heard: Vec<_> = stage.server.heard().into_iter().filter(made).collect();
            let CodecCall::ToServer { random, .. } = stage.client.heard()[0] else {
                panic!("the codec is made first")
            };
            let protocols = stage.scene.client.protocols.clone();
            let with_psk = pair.server.facts().psk.is_some();
            assert_eq!(with_psk, mode.resumes());
            let expected = CodecCall::FromClient { protocols, random, policy, with_psk };
            assert_eq!(heard, [expected], "{mode:?}");
        }
    }
}

fn null_verifier() -> VerifierDigest {
    use tessera::auth::PeerVerifier;
    VerifierDigest::of(&NullVerifier.policy(), &tessera_null_provider::provider())
}
