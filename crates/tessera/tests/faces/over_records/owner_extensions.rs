//! The owner's extensions of a misbehaving peer.

use tessera::Error;
use tessera::wire::{AlertDescription, ContentType, ExtensionType, HandshakeType, OpaqueExtension};
use tessera_harness::{Hello, Mode, Pair, Scene, at, plain, records, rewrite, vec16};
use tessera_null_provider::provider;

use super::suites::owner_extensions::{PRIVATE, TRANSPORT, extension, start};

#[test]
fn a_second_client_hello_with_other_owners_extensions_is_refused() {
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
    let mut scene = Scene::new(provider(), Mode::Full);
    scene.server.extensions = vec![extension(TRANSPORT, b"")];
    let pair = after_hello(&scene, &[1; 16_384]);
    assert_eq!(pair.to_server.error, None);
    assert_eq!(pair.server.facts().peer_extensions, [extension(TRANSPORT, &[1; 16_384])]);
    let pair = after_hello(&scene, &[1; 16_385]);
    let alert = pair.to_server.error.as_ref().and_then(Error::alert);
    assert_eq!(alert, Some(AlertDescription::ILLEGAL_PARAMETER));
    // Unregistered extensions are not kept.
    scene.server.extensions.clear();
    let pair = after_hello(&scene, &[1; 60_000]);
    assert_eq!(pair.to_server.error, None);
    assert!(pair.server.facts().peer_extensions.is_empty());
}

/// The client's alert after an answer of this type in EncryptedExtensions, and what it learned.
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
    let own = || vec![extension(TRANSPORT, b"client")];
    // The answer is accepted; only the server's Finished, which covers another one, is wrong now.
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
