//! What is specific to one connection of a server: its own extensions, and the state from a cookie.

use std::sync::Arc;

use tessera::face::{Arrival, Profile, RetryState, STREAM};
use tessera::handshake::{Checked, ChooseConfig, ConfigChooser, NoConfig, Reply};
use tessera::wire::{AlertDescription, CipherSuite, ExtensionType, HandshakeType, OpaqueExtension};
use tessera::{Destination, EarlyDataStatus, Error, ServerConfig};
use tessera_harness::{
    ANOTHER, EARLY_DATA, End, Face, Hello, MessageConnection, Mode, Pair, Scene, at, first_message,
    plain_item, to, vec16,
};
use tessera_null_provider::provider;

/// quic_transport_parameters (RFC 9001 §8.2), and one for private use.
const TRANSPORT: ExtensionType = ExtensionType(57);
const PRIVATE: ExtensionType = ExtensionType(0xff77);

fn extension(typ: ExtensionType, contents: &[u8]) -> OpaqueExtension {
    OpaqueExtension { typ, contents: contents.to_vec() }
}

/// connection_id: a server answers it in ServerHello if the protocol is DTLS (RFC 9147 §9).
const CONNECTION_ID: ExtensionType = ExtensionType(54);

/// Both ends over messages; the server's connection has these extensions.
fn meet(
    scene: &Scene,
    [client, server]: [&'static Profile; 2],
    offered: Vec<OpaqueExtension>,
    brought: Vec<OpaqueExtension>,
) -> Pair {
    let face = Face::Messages(client);
    let connect = |destination| {
        Pair::start_over(face, &scene.client, &scene.server, destination, at(0)).expect("starts")
    };
    let session = scene.mode.resumes().then(|| connect(to(None)).run().to_client.sessions.pop());
    let mut pair = connect(Destination { extensions: offered, ..to(session.flatten()) });
    let arrival = Arrival::default().with_extensions(brought).expect("can be sent");
    let config = scene.server.clone().checked().expect("it can work");
    pair.server = End::Messages(MessageConnection::server(config, arrival, server, at(0)));
    pair
}

/// In every way to connect, a HelloRetryRequest included, and in preference to the configuration's.
#[test]
fn a_server_answers_with_the_extensions_that_its_connection_brings() {
    for profile in [&STREAM, &ANOTHER] {
        for mode in Mode::ALL {
            let mut scene = Scene::new(provider(), mode);
            scene.server.extensions =
                vec![extension(TRANSPORT, b"of all"), extension(PRIVATE, b"of all")];
            let offered = vec![
                extension(TRANSPORT, b"client"),
                extension(CONNECTION_ID, b"client"),
                extension(PRIVATE, b""),
            ];
            let brought =
                vec![extension(CONNECTION_ID, b"id of its own"), extension(TRANSPORT, b"of one")];
            let mut pair = meet(&scene, [profile; 2], offered.clone(), brought.clone());
            pair.run();
            assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None), "{mode:?}");
            assert!(pair.to_client.complete && pair.to_server.complete, "{mode:?}");
            assert_eq!(pair.server.facts().peer_extensions, offered);
            let answered = [&brought[..], &scene.server.extensions[1..]].concat();
            assert_eq!(pair.client.facts().peer_extensions, answered, "{mode:?}");
            // ServerHello is in plaintext.
            let is_sent = |text: &[u8]| pair.server_sent.windows(text.len()).any(|it| it == text);
            assert_eq!(is_sent(b"id of its own"), profile == &ANOTHER, "{mode:?}");
            assert!(!is_sent(b"of one"));
        }
    }
}

#[test]
fn a_connection_brings_no_extension_that_can_not_be_sent() {
    for wrong in [
        vec![extension(ExtensionType::KEY_SHARE, b"")],
        vec![extension(PRIVATE, b""), extension(PRIVATE, b"")],
        vec![extension(PRIVATE, &[0; 16_385])],
    ] {
        let brought = Arrival::default().with_extensions(wrong);
        assert!(matches!(brought.map(drop), Err(Error::Configuration(_))));
    }
}

/// Like DTLS's, but a connection_id is answered in another message.
static ELSEWHERE: Profile = Profile { server_hello_extensions: &[], ..ANOTHER };

#[test]
fn an_answer_in_another_message_than_its_own_is_refused() {
    for profiles in [[&ANOTHER, &ELSEWHERE], [&ELSEWHERE, &ANOTHER]] {
        let scene = Scene::new(provider(), Mode::Full);
        let id = || vec![extension(CONNECTION_ID, b"id")];
        let mut pair = meet(&scene, profiles, id(), id());
        pair.client_to_server();
        pair.server_to_client();
        let alert = pair.to_client.error.as_ref().and_then(Error::alert);
        assert_eq!(alert, Some(AlertDescription::ILLEGAL_PARAMETER));
    }
}

#[test]
fn an_answer_in_server_hello_that_was_not_asked_for_is_refused() {
    for (offered, expected) in
        [(vec![extension(CONNECTION_ID, b"")], None), (vec![], Some(UNSUPPORTED))]
    {
        let scene = Scene::new(provider(), Mode::Full);
        let mut pair = meet(&scene, [&ANOTHER; 2], offered, Vec::new());
        pair.client_to_server();
        let mut hello = first_message(&pair.intercept_server()).body.to_vec();
        // After version, random, no legacy_session_id, suite and compression.
        let block = hello.split_off(2 + 32 + 1 + 2 + 1);
        hello.extend(vec16(&[&block[2..], &[0, 54, 0, 1, 7]].concat()));
        let hello = tessera_harness::message(HandshakeType::SERVER_HELLO, &hello);
        pair.deliver_to_client(&plain_item(&hello));
        let alert = pair.to_client.error.as_ref().and_then(Error::alert);
        assert_eq!(alert, expected);
    }
}

const UNSUPPORTED: AlertDescription = AlertDescription::UNSUPPORTED_EXTENSION;

/// A cookie that any test can open.
fn seal(state: &[u8]) -> Vec<u8> {
    [b"sealed", state].concat()
}

fn open(cookie: &[u8]) -> Option<Vec<u8>> {
    cookie.strip_prefix(b"sealed").map(<[u8]>::to_vec)
}

/// The second flight of a scene's client over messages, after a HelloRetryRequest with a cookie from a
/// stateless server; and the server's configuration.
fn after_cookie(
    scene: &Scene,
    profile: &'static Profile,
) -> (Pair, Checked<ServerConfig>, Vec<u8>) {
    let connect = |session| {
        let face = Face::Messages(profile);
        Pair::start_over(face, &scene.client, &scene.server, to(session), at(0)).expect("starts")
    };
    let session = scene.mode.resumes().then(|| connect(None).run().to_client.sessions.pop());
    let mut pair = connect(session.flatten());
    if pair.client.early_data_room() > 0 {
        let written = pair.client.write_early_data(EARLY_DATA, &mut pair.client_output);
        assert_eq!(written, Ok(EARLY_DATA.len()));
    }
    let config = scene.server.clone().checked().expect("it can work");
    let first = pair.intercept_client();
    let hello = first_message(&first);
    let state = RetryState::of_cookie(&config, profile, hello, open).expect("can be read");
    assert!(state.is_none(), "there is no cookie yet");
    let request = RetryState::request(&config, profile, hello, seal).expect("can be answered");
    pair.deliver_to_client(&plain_item(&request));
    assert_eq!(pair.to_client.error, None);
    let second = pair.intercept_client();
    (pair, config, second)
}

/// Starts the server of a connection that begins with the second ClientHello.
fn serve(pair: &mut Pair, config: Checked<ServerConfig>, profile: &'static Profile, second: &[u8]) {
    let hello = first_message(second);
    let state = RetryState::of_cookie(&config, profile, hello, open).expect("can be read");
    let arrival = Arrival::default().after_retry(state.expect("a cookie"));
    pair.server = End::Messages(MessageConnection::server(config, arrival, profile, at(0)));
}

/// In every way to connect: early data is refused, and the handshake continues.
#[test]
fn a_handshake_goes_on_from_a_cookie_without_the_connection_that_gave_it() {
    for profile in [&STREAM, &ANOTHER] {
        for mode in Mode::ALL {
            let scene = Scene::new(provider(), mode);
            let (mut pair, config, second) = after_cookie(&scene, profile);
            serve(&mut pair, config, profile, &second);
            pair.deliver_to_server(&second);
            pair.run();
            assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None), "{mode:?}");
            assert!(pair.to_client.complete && pair.to_server.complete, "{mode:?}");
            let mut exported = [[0; 32]; 2];
            for (end, out) in exported.iter_mut().enumerate() {
                let exported = match end {
                    0 => pair.client.export_keying_material(b"label", b"", out),
                    _ => pair.server.export_keying_material(b"label", b"", out),
                };
                assert_eq!(exported, Ok(()));
            }
            assert_eq!(exported[0], exported[1]);
            let (client, server) = (pair.client.facts(), pair.server.facts());
            assert!(client.hello_retry && server.hello_retry);
            assert_eq!(client.psk, server.psk);
            assert_eq!(client.psk.is_some(), mode.resumes(), "{mode:?}");
            assert!(pair.to_server.early_data.is_empty());
            let offered = client.early_data != EarlyDataStatus::NotOffered;
            assert_eq!(server.early_data != EarlyDataStatus::NotOffered, offered, "{mode:?}");
            assert_ne!(pair.to_client.early_data_accepted, Some(true), "{mode:?}");
        }
    }
}

/// RFC 8446 §4.1.2: a hello whose shares were right may change only what it must; and only the cookie that was
/// opened counts.
#[test]
fn a_second_client_hello_that_does_not_fit_its_cookie_is_refused() {
    type Edit = fn(&mut Hello);
    let edits: [(Edit, bool); 5] = [
        (|_| (), false),
        (|hello| hello.remove(ExtensionType::COOKIE), true),
        (|hello| hello.set(ExtensionType::COOKIE, &[0, 1, 7]), true),
        (|hello| hello.set(ExtensionType::SERVER_NAME, b"\0\x04\0\0\x01x"), true),
        (
            |hello| {
                let mut shares = hello.extension(ExtensionType::KEY_SHARE).expect("shares").clone();
                shares.iter_mut().last().into_iter().for_each(|byte| *byte ^= 1);
                hello.set(ExtensionType::KEY_SHARE, &shares);
            },
            true,
        ),
    ];
    for (edit, is_refused) in edits {
        let (mut pair, config, second) = after_cookie(&Scene::new(provider(), Mode::Full), &STREAM);
        serve(&mut pair, config, &STREAM, &second);
        let mut hello = Hello::read(first_message(&second).bytes);
        edit(&mut hello);
        pair.deliver_to_server(&plain_item(&hello.write()));
        let alert = pair.to_server.error.as_ref().and_then(Error::alert);
        assert_eq!(alert, is_refused.then_some(AlertDescription::ILLEGAL_PARAMETER));
    }
}

#[test]
fn a_cookie_that_was_not_sealed_here_is_refused_before_there_is_a_connection() {
    let (_, config, second) = after_cookie(&Scene::new(provider(), Mode::Full), &STREAM);
    let hello = first_message(&second);
    type Open = fn(&[u8]) -> Option<Vec<u8>>;
    let opens: [Open; 4] = [
        |_| None,
        |_| Some(Vec::new()),
        |cookie| open(cookie).map(|state| state[..state.len() - 1].to_vec()),
        |cookie| open(cookie).map(|state| [&state[..], &[0]].concat()),
    ];
    for open in opens {
        let state = RetryState::of_cookie(&config, &STREAM, hello, open);
        let alert = state.err().and_then(|error| error.alert());
        assert_eq!(alert, Some(AlertDescription::ILLEGAL_PARAMETER));
    }
}

#[test]
fn a_cookie_that_no_client_hello_has_room_for_is_not_sent() {
    let scene = Scene::new(provider(), Mode::Full);
    let config = scene.server.clone().checked().expect("it can work");
    let face = Face::Messages(&STREAM);
    let mut pair =
        Pair::start_over(face, &scene.client, &scene.server, to(None), at(0)).expect("starts");
    let first = pair.intercept_client();
    for (len, is_sent) in [(0, false), (1, true), (4096, true), (4097, false)] {
        let hello = first_message(&first);
        let request = RetryState::request(&config, &STREAM, hello, |_| vec![7; len]);
        assert_eq!(request.is_ok(), is_sent, "{len}");
        assert!(is_sent || matches!(request, Err(Error::Misuse(_))));
    }
}

struct ChosenConfig(Checked<ServerConfig>);

impl ConfigChooser for ChosenConfig {
    fn choose(&self, _: &ChooseConfig) -> Reply<Result<Checked<ServerConfig>, NoConfig>> {
        Reply::Now(Ok(self.0.clone()))
    }
}

/// The cookie was made under the listener's configuration: the one chosen later must accept what the client
/// was asked for.
#[test]
fn a_configuration_is_chosen_after_a_cookie_and_never_asks_for_a_third_hello() {
    for fits in [true, false] {
        let mut scene = Scene::new(provider(), Mode::Full);
        let mut chosen = scene.server.clone();
        chosen.protocols = vec![b"h2".to_vec()];
        scene.client.protocols = vec![b"h2".to_vec()];
        if !fits {
            chosen.suites.retain(|suite| *suite != CipherSuite::TLS_AES_128_GCM_SHA256);
        }
        scene.server.chooser = Some(Arc::new(ChosenConfig(chosen.checked().expect("it can work"))));
        let (mut pair, config, second) = after_cookie(&scene, &STREAM);
        serve(&mut pair, config, &STREAM, &second);
        pair.deliver_to_server(&second);
        pair.run();
        assert_eq!(pair.to_server.complete, fits);
        assert_eq!(pair.server.facts().protocol.is_some(), fits);
        let alert = pair.to_server.error.as_ref().and_then(Error::alert);
        assert_eq!(alert, (!fits).then_some(AlertDescription::HANDSHAKE_FAILURE));
    }
}
