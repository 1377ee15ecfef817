//! Extensions that mean something to the owner alone, as QUIC's transport parameters do.

use std::sync::Arc;

use tessera::Error;
use tessera::handshake::{Checked, ChooseConfig, ConfigChooser, NoConfig, Reply};
use tessera::wire::{AlertDescription, ContentType, ExtensionType, HandshakeType, OpaqueExtension};
use tessera::{Destination, ServerConfig};
use tessera_harness::{Hello, Mode, Pair, Scene, at, plain, records, rewrite, to, vec16};
use tessera_null_provider::provider;

/// quic_transport_parameters (RFC 9001 §8.2), and one for private use.
const TRANSPORT: ExtensionType = ExtensionType(57);
const PRIVATE: ExtensionType = ExtensionType(0xff77);

fn extension(typ: ExtensionType, contents: &[u8]) -> OpaqueExtension {
    OpaqueExtension { typ, contents: contents.to_vec() }
}

/// Starts a scene whose client sends these.
fn start(scene: &Scene, extensions: Vec<OpaqueExtension>) -> Pair {
    let session = scene.session();
    scene.start_to(Destination { extensions, ..to(session) }, at(0))
}

fn connect(scene: &Scene, extensions: Vec<OpaqueExtension>) -> Pair {
    let mut pair = start(scene, extensions);
    pair.run();
    assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None), "{:?}", scene.mode);
    assert!(pair.to_client.complete && pair.to_server.complete);
    pair
}

/// The plaintext ClientHellos that a client sent.
fn hellos(pair: &Pair) -> Vec<Hello> {
    let records = records(&pair.client_sent);
    let is_hello = |record: &&Vec<u8>| {
        record[0] == ContentType::HANDSHAKE.0 && record[5] == HandshakeType::CLIENT_HELLO.0
    };
    records.iter().filter(is_hello).map(|record| Hello::read(&record[5..])).collect()
}

/// In every way to connect, a HelloRetryRequest and all resumptions included; empty ones as well.
#[test]
fn both_ends_exchange_their_owners_extensions() {
    for mode in Mode::ALL {
        let mut scene = Scene::new(provider(), mode);
        scene.server.extensions = vec![extension(PRIVATE, b""), extension(TRANSPORT, b"server")];
        let own = vec![extension(TRANSPORT, b"client"), extension(PRIVATE, b"private")];
        let pair = connect(&scene, own.clone());
        assert_eq!(pair.server.facts().peer_extensions, own, "{mode:?}");
        assert_eq!(pair.client.facts().peer_extensions, scene.server.extensions, "{mode:?}");
    }
}

#[test]
fn a_second_client_hello_repeats_the_owners_extensions() {
    let mut scene = Scene::new(provider(), Mode::Retry);
    scene.server.extensions = vec![extension(TRANSPORT, b"server")];
    let pair = connect(&scene, vec![extension(TRANSPORT, b"client")]);
    assert!(pair.client.facts().hello_retry);
    let hellos = hellos(&pair);
    assert_eq!(hellos.len(), 2);
    for hello in hellos {
        assert_eq!(hello.extension(TRANSPORT).map(Vec::as_slice), Some(&b"client"[..]));
    }
}

#[test]
fn a_second_client_hello_with_other_owners_extensions_is_refused() {
    tessera_harness::about_records!();
    let mut scene = Scene::new(provider(), Mode::Retry);
    scene.server.extensions = vec![extension(TRANSPORT, b"server")];
    let mut pair = start(&scene, vec![extension(TRANSPORT, b"client")]);
    pair.client_to_server();
    pair.server_to_client();
    let second = pair.intercept_client();
    let record = records(&second).into_iter().find(|record| record[0] == 22).expect("a hello");
    let mut hello = Hello::read(&record[5..]);
    hello.set(TRANSPORT, b"changed");
    pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
    let alert = pair.to_server.error.as_ref().and_then(Error::alert);
    assert_eq!(alert, Some(AlertDescription::ILLEGAL_PARAMETER));
}

/// Of what only one end knows neither end learns anything.
#[test]
fn owners_extensions_of_one_end_alone_are_ignored() {
    let mut scene = Scene::new(provider(), Mode::Full);
    let pair = connect(&scene, vec![extension(TRANSPORT, b"client")]);
    assert!(pair.client.facts().peer_extensions.is_empty());
    assert!(pair.server.facts().peer_extensions.is_empty());
    assert_eq!(hellos(&pair).len(), 1);

    scene.server.extensions = vec![extension(PRIVATE, b"server")];
    for own in [Vec::new(), vec![extension(TRANSPORT, b"client")]] {
        let pair = connect(&scene, own);
        assert!(pair.client.facts().peer_extensions.is_empty());
        assert!(pair.server.facts().peer_extensions.is_empty());
    }
}

struct Chosen(Checked<ServerConfig>);

impl ConfigChooser for Chosen {
    fn choose(&self, _: &ChooseConfig) -> Reply<Result<Checked<ServerConfig>, NoConfig>> {
        Reply::Now(Ok(self.0.clone()))
    }
}

#[test]
fn a_server_answers_with_the_extensions_of_the_chosen_configuration() {
    let mut scene = Scene::new(provider(), Mode::Full);
    let mut chosen = scene.server.clone();
    chosen.extensions = vec![extension(TRANSPORT, b"chosen")];
    scene.server.extensions = vec![extension(PRIVATE, b"not chosen")];
    scene.server.chooser = Some(Arc::new(Chosen(chosen.checked().expect("it can work"))));
    let pair = connect(&scene, vec![extension(TRANSPORT, b"a"), extension(PRIVATE, b"b")]);
    assert_eq!(pair.server.facts().peer_extensions, [extension(TRANSPORT, b"a")]);
    assert_eq!(pair.client.facts().peer_extensions, [extension(TRANSPORT, b"chosen")]);
}

/// What is wrong is found before anything is sent, and the error names the field.
#[test]
fn owners_extensions_that_can_not_be_sent_are_refused_with_the_field() {
    let wrong = [
        ("knows itself", vec![extension(ExtensionType::SERVER_NAME, b"")]),
        ("knows itself", vec![extension(ExtensionType::FORWARD_SECRET_RECEIPTS, b"")]),
        ("GREASE", vec![extension(ExtensionType(0x0a0a), b"")]),
        ("GREASE", vec![extension(ExtensionType(0xfafa), b"")]),
        ("twice", vec![extension(TRANSPORT, b"a"), extension(TRANSPORT, b"b")]),
        ("at most 16", (0..17).map(|at| extension(ExtensionType(0xff00 + at), b"")).collect()),
        ("16 KiB", vec![extension(TRANSPORT, &[0; 16_000]), extension(PRIVATE, &[0; 385])]),
    ];
    for (expected, extensions) in wrong {
        let scene = Scene::new(provider(), Mode::Full);
        let mut server = scene.server.clone();
        server.extensions = extensions.clone();
        let (client, correct) = (Arc::new(scene.client), Arc::new(scene.server));
        let destination = Destination { extensions, ..to(None) };
        let attempts = [
            Pair::start(&client, &correct, destination, at(0)).map(drop),
            Pair::start(&client, &Arc::new(server), to(None), at(0)).map(drop),
        ];
        for attempt in attempts {
            let Err(Error::Configuration(reason)) = attempt else { panic!("{expected}") };
            assert!(reason.starts_with("extensions: ") && reason.contains(expected), "{reason}");
        }
    }
}

#[test]
fn owners_extensions_work_as_many_and_as_long_as_allowed() {
    let mut scene = Scene::new(provider(), Mode::Full);
    let own: Vec<_> = (0..16).map(|at| extension(ExtensionType(0xff00 + at), &[7; 1024])).collect();
    scene.server.extensions = own.clone();
    let pair = connect(&scene, own.clone());
    assert_eq!(pair.server.facts().peer_extensions, own);
    assert_eq!(pair.client.facts().peer_extensions, own);
}

/// A server after a ClientHello whose extension is forged.
fn after_hello(scene: &Scene, contents: &[u8]) -> Pair {
    let flight = start(scene, vec![extension(TRANSPORT, b"")]).intercept_client();
    let mut hello = Hello::read(&records(&flight)[0][5..]);
    hello.set(TRANSPORT, contents);
    let mut pair = scene.start(None, at(0));
    for fragment in hello.write().chunks(1 << 14) {
        pair.deliver_to_server(&plain(ContentType::HANDSHAKE, fragment));
    }
    pair
}

/// What is kept of a peer is bounded.
#[test]
fn an_owners_extension_of_the_peer_that_is_too_long_is_refused() {
    tessera_harness::about_records!();
    let mut scene = Scene::new(provider(), Mode::Full);
    scene.server.extensions = vec![extension(TRANSPORT, b"")];
    let pair = after_hello(&scene, &[1; 16_384]);
    assert_eq!(pair.to_server.error, None);
    assert_eq!(pair.server.facts().peer_extensions, [extension(TRANSPORT, &[1; 16_384])]);
    let pair = after_hello(&scene, &[1; 16_385]);
    let alert = pair.to_server.error.as_ref().and_then(Error::alert);
    assert_eq!(alert, Some(AlertDescription::ILLEGAL_PARAMETER));
    // One that the owner didn't register is nothing to keep.
    scene.server.extensions.clear();
    let pair = after_hello(&scene, &[1; 60_000]);
    assert_eq!(pair.to_server.error, None);
    assert!(pair.server.facts().peer_extensions.is_empty());
}

/// What the client says to an answer of this type in EncryptedExtensions, and what it learned.
fn after_answer(
    client: Vec<OpaqueExtension>,
    typ: ExtensionType,
    contents: &[u8],
) -> (Option<AlertDescription>, Vec<OpaqueExtension>) {
    let scene = Scene::new(provider(), Mode::Full);
    let mut pair = start(&scene, client);
    pair.client_to_server();
    let flight = pair.intercept_server();
    let forged = rewrite(
        &flight,
        || scene.server_sealers(),
        |piece| {
            if piece[0] == HandshakeType::ENCRYPTED_EXTENSIONS.0 {
                let extension = [&typ.0.to_be_bytes()[..], &vec16(contents)].concat();
                let block = vec16(&[&piece[6..], &extension].concat());
                *piece = tessera_harness::message(HandshakeType::ENCRYPTED_EXTENSIONS, &block);
            }
        },
    );
    pair.deliver_to_client(&forged);
    let alert = pair.to_client.error.as_ref().and_then(Error::alert);
    (alert, pair.client.facts().peer_extensions.clone())
}

#[test]
fn an_answer_to_an_owners_extension_that_was_not_sent_is_refused() {
    tessera_harness::about_records!();
    let own = || vec![extension(TRANSPORT, b"client")];
    // The answer is taken; only the server's Finished, which covers another one, is wrong now.
    let (alert, learned) = after_answer(own(), TRANSPORT, b"forged");
    assert_eq!(alert, Some(AlertDescription::DECRYPT_ERROR));
    assert_eq!(learned, [extension(TRANSPORT, b"forged")]);

    for typ in [PRIVATE, ExtensionType::COOKIE] {
        let (alert, learned) = after_answer(own(), typ, b"forged");
        assert_eq!(alert, Some(AlertDescription::UNSUPPORTED_EXTENSION), "{typ:?}");
        assert!(learned.is_empty());
    }
    let (alert, _) = after_answer(own(), ExtensionType::SUPPORTED_VERSIONS, b"forged");
    assert_eq!(alert, Some(AlertDescription::ILLEGAL_PARAMETER), "it stands elsewhere");
}
