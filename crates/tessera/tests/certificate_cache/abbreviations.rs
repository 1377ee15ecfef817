//! Messages that codecs abbreviate: which end may, when, and what else may come in their place.

use tessera::Error;
use tessera::auth::{AbbreviatedMessages, CertificateContents, CodecRefusal};
use tessera::wire::{
    AlertDescription, CertificateType, ExtensionType, HandshakeType, OpaqueExtension,
};
use tessera_harness::{Hello, Mode, Pair, at, records, rewrite, to};

use crate::abbreviating::{
    CACHED_INFO, OTHER, Play, SHORT_CERTIFICATE, SHORT_REQUEST, Script, Stage,
};

fn alerts(pair: &Pair) -> [Option<AlertDescription>; 2] {
    [&pair.to_client, &pair.to_server].map(|it| it.error.as_ref().and_then(Error::alert))
}

#[test]
fn abbreviated_messages_replace_whole_ones_in_both_directions() {
    let whole = Stage::abbreviating(Mode::Mutual, |client, server| {
        (client.agreed, server.agreed) = Default::default();
    });
    let stage = Stage::abbreviating(Mode::Mutual, |_, _| ());
    let [before, after] = [&whole, &stage].map(Stage::connected);
    let client = stage.client.heard();
    assert_eq!(client.learned, whole.client.heard().learned);
    assert_eq!(stage.server.heard().learned, whole.server.heard().learned);
    assert_eq!(client.request.as_deref(), Some(SHORT_REQUEST));
    let len = (4 + SHORT_CERTIFICATE.len()) as u32;
    for facts in [after.client.facts(), after.server.facts()] {
        for transfer in [facts.own_certificate, facts.peer_certificate] {
            assert_eq!(transfer.map(|it| (it.encoded_with, it.len)), Some((None, len)));
        }
    }
    assert!(after.client_sent.len() < before.client_sent.len());
    assert!(after.server_sent.len() < before.server_sent.len());
}

#[test]
fn a_verifier_is_asked_by_its_hash_for_a_chain_that_an_abbreviated_certificate_names() {
    let stage = Stage::abbreviating(Mode::Mutual, |client, server| {
        (client.known, server.known) = (true, true);
    });
    stage.connected();
    for script in [stage.client, stage.server] {
        assert_eq!(script.heard().learned, Some(CertificateContents::Known([7; 32])));
    }
}

/// After a HelloRetryRequest in both ClientHellos.
#[test]
fn the_extension_for_abbreviations_is_sent_and_answered() {
    for mode in Mode::ALL {
        let server = Play { answer: Some(CACHED_INFO), ..Play::default() };
        let client = Play { extension: Some(OTHER), ..Play::default() };
        let stage = Stage::new(mode, client, server);
        let pair = stage.connected();
        let hello = Hello::read(&records(&pair.client_sent)[0][5..]);
        assert_eq!(hello.extension(CACHED_INFO).map(|it| &it[..]), Some(&b"hello"[..]));
        assert_eq!(hello.extension(OTHER).map(|it| &it[..]), Some(&b"beside"[..]));
        assert_eq!(stage.client.heard().answered.last(), Some(&Some(b"answer".to_vec())));
    }
}

#[test]
fn a_server_that_abbreviates_knows_what_it_is_going_to_send() {
    for (mode, asked) in [(Mode::Full, false), (Mode::Retry, false), (Mode::Mutual, true)] {
        let server = Play { answer: Some(CACHED_INFO), ..Play::default() };
        let stage = Stage::new(mode, Play::default(), server);
        stage.connected();
        let heard = stage.server.heard();
        let (request, client_type, certificate) = heard.flight.expect("full");
        assert_eq!(Some(certificate), heard.own);
        assert_eq!(client_type, asked.then_some(CertificateType::X509), "{mode:?}");
        let body = request.map(|it| {
            assert_eq!(it[0], HandshakeType::CERTIFICATE_REQUEST.0);
            it[4..].to_vec()
        });
        assert_eq!((body.is_some(), body), (asked, stage.client.heard().request));
    }
}

#[test]
fn nothing_may_be_abbreviated_where_a_psk_is_used() {
    for mode in Mode::ALL.into_iter().filter(|mode| mode.resumes()) {
        for agreed in [[true, false, false], [false, true, false], [false, false, true]] {
            let [request, own_certificate, peer_certificate] = agreed;
            let agreed = AbbreviatedMessages { request, own_certificate, peer_certificate };
            let mut stage = Stage::new(mode, Play::default(), Play::default());
            let session = stage.scene.session();
            let play = Play { agreed, ..Play::default() };
            stage.scene.client.certificate_codecs = vec![Script::new(play)];
            let mut pair = stage.scene.start(session, at(0));
            pair.run();
            let alert = Some(AlertDescription::ILLEGAL_PARAMETER);
            assert_eq!(alerts(&pair)[0], alert, "{mode:?} {agreed:?}");
        }
    }
}

/// Whether it is whole or compressed.
#[test]
fn a_certificate_that_is_not_abbreviated_as_agreed_ends_the_handshake() {
    let whole = |play: &mut Play| {
        (play.abbreviates, play.agreed.own_certificate) = (false, false);
    };
    let compressed = |play: &mut Play| play.abbreviates = false;
    let (decode_error, unexpected) =
        (Some(AlertDescription::DECODE_ERROR), Some(AlertDescription::UNEXPECTED_MESSAGE));
    let by_server = Stage::abbreviating(Mode::Full, |_, server| whole(server));
    assert_eq!(alerts(&by_server.connect())[0], decode_error);
    let by_server = Stage::abbreviating(Mode::Full, |_, server| compressed(server));
    assert_eq!(alerts(&by_server.connect())[0], unexpected);
    let by_client = Stage::abbreviating(Mode::Mutual, |client, _| whole(client));
    assert_eq!(alerts(&by_client.connect())[1], decode_error);
    let by_client = Stage::abbreviating(Mode::Mutual, |client, _| compressed(client));
    assert_eq!(alerts(&by_client.connect())[1], unexpected);
}

#[test]
fn a_client_without_a_certificate_can_not_abbreviate_it() {
    let mut stage = Stage::abbreviating(Mode::Mutual, |_, _| ());
    stage.scene.client.credentials.clear();
    assert_eq!(alerts(&stage.connect())[1], Some(AlertDescription::DECODE_ERROR));
}

#[test]
fn a_whole_certificate_request_in_place_of_an_abbreviated_one_ends_the_handshake() {
    let stage = Stage::abbreviating(Mode::Mutual, |_, server| server.agreed.request = false);
    assert_eq!(alerts(&stage.connect())[0], Some(AlertDescription::DECODE_ERROR));
}

#[test]
fn an_abbreviated_message_that_was_not_agreed_on_can_not_be_read() {
    let decode_error = Some(AlertDescription::DECODE_ERROR);
    let request = Stage::abbreviating(Mode::Mutual, |client, _| client.agreed.request = false);
    assert_eq!(alerts(&request.connect())[0], decode_error);
    let of_server =
        Stage::abbreviating(Mode::Full, |client, _| client.agreed.peer_certificate = false);
    assert_eq!(alerts(&of_server.connect())[0], decode_error);
    let of_client =
        Stage::abbreviating(Mode::Mutual, |_, server| server.agreed.peer_certificate = false);
    assert_eq!(alerts(&of_client.connect())[1], decode_error);
}

#[test]
fn an_abbreviated_certificate_refused_by_a_codec_ends_the_handshake() {
    for (refusal, alert) in [
        (CodecRefusal::Malformed("too short"), AlertDescription::DECODE_ERROR),
        (CodecRefusal::Illegal("not offered"), AlertDescription::ILLEGAL_PARAMETER),
    ] {
        let of_server = Stage::abbreviating(Mode::Full, |client, _| client.refuses = Some(refusal));
        assert_eq!(alerts(&of_server.connect())[0], Some(alert));
        let of_client =
            Stage::abbreviating(Mode::Mutual, |_, server| server.refuses = Some(refusal));
        assert_eq!(alerts(&of_client.connect())[1], Some(alert));
    }
}

#[test]
fn an_abbreviated_certificate_of_another_chain_ends_the_handshake_after_the_proof() {
    let alert = Some(AlertDescription::DECRYPT_ERROR);
    let of_server = Stage::abbreviating(Mode::Full, |client, _| client.says_it_is_another = true);
    assert_eq!(alerts(&of_server.connect())[0], alert);
    let of_client = Stage::abbreviating(Mode::Mutual, |_, server| server.says_it_is_another = true);
    assert_eq!(alerts(&of_client.connect())[1], alert);
}

/// An attacker who replaces it by the whole Certificate changes the handshake.
#[test]
fn an_abbreviated_message_is_in_the_transcript_as_it_was_sent() {
    let mut whole = Vec::new();
    let stage = Stage::abbreviating(Mode::Full, |client, _| {
        client.agreed = AbbreviatedMessages::default();
        let [.., a, b] = (client.certificate.len() as u64).to_be_bytes();
        whole = [&[HandshakeType::CERTIFICATE.0, 0, a, b][..], &client.certificate].concat();
    });
    let mut pair = stage.scene.pair();
    pair.client_to_server();
    let flight = pair.intercept_server();
    let mut replaced = 0;
    let edit = |message: &mut Vec<u8>| {
        if message[0] == HandshakeType::CERTIFICATE.0 {
            message.clone_from(&whole);
            replaced += 1;
        }
    };
    pair.deliver_to_client(&rewrite(&flight, || stage.scene.server_sealers(), edit));
    assert_eq!(alerts(&pair)[0], Some(AlertDescription::DECRYPT_ERROR));
    assert_eq!(replaced, 1);
}

#[test]
fn an_extension_for_abbreviations_whose_type_is_taken_is_refused() {
    for typ in [CACHED_INFO, ExtensionType::ALPN] {
        let client = Play { extension: Some(typ), ..Play::default() };
        let stage = Stage::new(Mode::Full, client, Play::default());
        let started = Pair::start(&stage.scene.client, &stage.scene.server, to(None), at(0));
        assert!(matches!(started.err(), Some(Error::Configuration(_))));
    }
    for (typ, owner) in [(CACHED_INFO, true), (ExtensionType::ALPN, false)] {
        let server = Play { answer: Some(typ), ..Play::default() };
        let mut stage = Stage::new(Mode::Full, Play::default(), server);
        if owner {
            let own = OpaqueExtension { typ, contents: Vec::new() };
            stage.scene.server.extensions.push(own);
        }
        let error = stage.connect().to_server.error;
        assert!(matches!(error, Some(Error::Configuration(_))), "{error:?}");
    }
}
