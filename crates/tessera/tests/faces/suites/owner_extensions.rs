//! Extensions that only the owner interprets, such as QUIC's transport parameters.

use std::sync::Arc;

use tessera::Error;
use tessera::handshake::{Checked, ChooseConfig, ConfigChooser, NoConfig, Reply};
use tessera::wire::{ContentType, ExtensionType, HandshakeType, OpaqueExtension};
use tessera::{Destination, ServerConfig};
use tessera_harness::{Hello, Mode, Pair, Scene, at, records, to};
use tessera_null_provider::provider;

use super::FACE;

/// quic_transport_parameters (RFC 9001 §8.2), and one for private use.
pub(crate) const TRANSPORT: ExtensionType = ExtensionType(57);
pub(crate) const PRIVATE: ExtensionType = ExtensionType(0xff77);

pub(crate) fn extension(typ: ExtensionType, contents: &[u8]) -> OpaqueExtension {
    OpaqueExtension { typ, contents: contents.to_vec() }
}

/// Starts a scene whose client sends these.
pub(crate) fn start(scene: &Scene, extensions: Vec<OpaqueExtension>) -> Pair {
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
        let mut scene = Scene::over(FACE, provider(), mode);
        scene.server.extensions = vec![extension(PRIVATE, b""), extension(TRANSPORT, b"server")];
        let own = vec![extension(TRANSPORT, b"client"), extension(PRIVATE, b"private")];
        let pair = connect(&scene, own.clone());
        assert_eq!(pair.server.facts().peer_extensions, own, "{mode:?}");
        assert_eq!(pair.client.facts().peer_extensions, scene.server.extensions, "{mode:?}");
    }
}

#[test]
fn a_second_client_hello_repeats_the_owners_extensions() {
    let mut scene = Scene::over(FACE, provider(), Mode::Retry);
    scene.server.extensions = vec![extension(TRANSPORT, b"server")];
    let pair = connect(&scene, vec![extension(TRANSPORT, b"client")]);
    assert!(pair.client.facts().hello_retry);
    let hellos = hellos(&pair);
    assert_eq!(hellos.len(), 2);
    for hello in hellos {
        assert_eq!(hello.extension(TRANSPORT).map(Vec::as_slice), Some(&b"client"[..]));
    }
}

/// If only one end has it, neither end learns anything.
#[test]
fn owners_extensions_of_one_end_alone_are_ignored() {
    let mut scene = Scene::over(FACE, provider(), Mode::Full);
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

struct ChosenConfig(Checked<ServerConfig>);

impl ConfigChooser for ChosenConfig {
    fn choose(&self, _: &ChooseConfig) -> Reply<Result<Checked<ServerConfig>, NoConfig>> {
        Reply::Now(Ok(self.0.clone()))
    }
}

#[test]
fn a_server_answers_with_the_extensions_of_the_chosen_configuration() {
    let mut scene = Scene::over(FACE, provider(), Mode::Full);
    let mut chosen = scene.server.clone();
    chosen.extensions = vec![extension(TRANSPORT, b"chosen")];
    scene.server.extensions = vec![extension(PRIVATE, b"not chosen")];
    scene.server.chooser = Some(Arc::new(ChosenConfig(chosen.checked().expect("it can work"))));
    let pair = connect(&scene, vec![extension(TRANSPORT, b"a"), extension(PRIVATE, b"b")]);
    assert_eq!(pair.server.facts().peer_extensions, [extension(TRANSPORT, b"a")]);
    assert_eq!(pair.client.facts().peer_extensions, [extension(TRANSPORT, b"chosen")]);
}

/// Mistakes are detected before anything is sent, and the error names the field.
#[test]
fn owners_extensions_that_can_not_be_sent_are_refused_with_the_field() {
    let wrong = [
        ("handles itself", vec![extension(ExtensionType::SERVER_NAME, b"")]),
        ("handles itself", vec![extension(ExtensionType::FORWARD_SECRET_RECEIPTS, b"")]),
        ("GREASE", vec![extension(ExtensionType(0x0a0a), b"")]),
        ("GREASE", vec![extension(ExtensionType(0xfafa), b"")]),
        ("twice", vec![extension(TRANSPORT, b"a"), extension(TRANSPORT, b"b")]),
        ("at most 16", (0..17).map(|at| extension(ExtensionType(0xff00 + at), b"")).collect()),
        ("16 KiB", vec![extension(TRANSPORT, &[0; 16_000]), extension(PRIVATE, &[0; 385])]),
    ];
    for (expected, extensions) in wrong {
        let scene = Scene::over(FACE, provider(), Mode::Full);
        let mut server = scene.server.clone();
        server.extensions = extensions.clone();
        let (client, correct) = (Arc::new(scene.client), Arc::new(scene.server));
        let destination = Destination { extensions, ..to(None) };
        let attempts = [
            Pair::start_over(FACE, &client, &correct, destination, at(0)).map(drop),
            Pair::start_over(FACE, &client, &Arc::new(server), to(None), at(0)).map(drop),
        ];
        for attempt in attempts {
            let Err(Error::Configuration(reason)) = attempt else { panic!("{expected}") };
            assert!(reason.starts_with("extensions: ") && reason.contains(expected), "{reason}");
        }
    }
}

#[test]
fn owners_extensions_work_as_many_and_as_long_as_allowed() {
    let mut scene = Scene::over(FACE, provider(), Mode::Full);
    let own: Vec<_> = (0..16).map(|at| extension(ExtensionType(0xff00 + at), &[7; 1024])).collect();
    scene.server.extensions = own.clone();
    let pair = connect(&scene, own.clone());
    assert_eq!(pair.server.facts().peer_extensions, own);
    assert_eq!(pair.client.facts().peer_extensions, own);
}
