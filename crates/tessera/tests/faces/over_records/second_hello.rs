//! Second ClientHellos that our client doesn't send.

use tessera::wire::{AlertDescription, ContentType, ExtensionType, OpaqueExtension};
use tessera::{Destination, Error};
use tessera_harness::{Hello, Mode, Pair, Scene, at, plain, records, to};
use tessera_null_provider::provider;

/// The second ClientHello of a scene's client, which the server asked for, and the server that waits for it.
fn second_hello() -> (Pair, Hello) {
    let mut pair = Scene::new(provider(), Mode::Retry).pair();
    pair.client_to_server();
    pair.server_to_client();
    assert!(pair.server.facts().hello_retry);
    let sent = records(&pair.intercept_client());
    let hello = sent.iter().find(|record| record[0] == ContentType::HANDSHAKE.0);
    let hello = Hello::read(&hello.expect("a second ClientHello")[5..]);
    (pair, hello)
}

/// RFC 8446 §4.1.2: PSKs that don't fit the suite may be dropped; the one that the server found fits.
#[test]
fn a_second_client_hello_keeps_the_psk_that_was_found() {
    type Edit = fn(&mut Hello);
    let edits: [(Edit, AlertDescription); 2] = [
        (|hello| hello.remove(ExtensionType::PRE_SHARED_KEY), AlertDescription::MISSING_EXTENSION),
        (
            |hello| hello.set_identities(&[(b"another".to_vec(), 0)], 32),
            AlertDescription::ILLEGAL_PARAMETER,
        ),
    ];
    for (edit, expected) in edits {
        let mut scene = Scene::new(provider(), Mode::PskDhe);
        let session = scene.session();
        // The server no longer has its group, so it asks for another share.
        let used = session.as_ref().and_then(|session| session.group);
        scene.server.groups.retain(|group| Some(*group) != used);
        let mut pair = scene.start(session, at(0));
        pair.client_to_server();
        pair.server_to_client();
        let sent = records(&pair.intercept_client());
        let hello = sent.iter().find(|record| record[0] == ContentType::HANDSHAKE.0);
        let mut hello = Hello::read(&hello.expect("a second ClientHello")[5..]);
        edit(&mut hello);
        pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
        let alert = pair.to_server.error.as_ref().and_then(Error::alert);
        assert_eq!(alert, Some(expected));
    }
}

/// RFC 8446 §4.2: extensions may have any order. wolfSSL 5.5 shuffles them between its two ClientHellos.
#[test]
fn a_second_client_hello_may_have_its_extensions_in_another_order() {
    let last = second_hello().1.extensions.len();
    for turned in 0..last {
        let (mut pair, mut hello) = second_hello();
        hello.extensions.reverse();
        hello.extensions.rotate_left(turned);
        pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
        assert_eq!(pair.to_server.error, None, "{turned}");
        // The server has sent ServerHello and the rest of its flight.
        assert!(pair.server.facts().group.is_some(), "{turned}");
    }
}

/// RFC 9849 §6.1.5: the inner ClientHello is encrypted again.
#[test]
fn a_second_client_hello_may_have_another_encrypted_one_inside() {
    let typ = ExtensionType(0xfe0d);
    let extensions = vec![OpaqueExtension { typ, contents: b"first".to_vec() }];
    let destination = Destination { extensions, ..to(None) };
    let mut pair = Scene::new(provider(), Mode::Retry).start_to(destination, at(0));
    pair.client_to_server();
    pair.server_to_client();
    let sent = records(&pair.intercept_client());
    let hello = sent.iter().find(|record| record[0] == ContentType::HANDSHAKE.0);
    let mut hello = Hello::read(&hello.expect("a second ClientHello")[5..]);
    assert_eq!(hello.extension(typ).map(Vec::as_slice), Some(&b"first"[..]));
    hello.set(typ, b"second");
    pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
    assert_eq!(pair.to_server.error, None);
    assert!(pair.server.facts().group.is_some());
}

/// In any order, each extension stays the same: none is changed, dropped or added.
#[test]
fn a_second_client_hello_has_the_extensions_of_the_first() {
    // A second ClientHello may change these (RFC 8446 §4.1.2).
    let may_change = [ExtensionType::KEY_SHARE, ExtensionType::PADDING].map(|typ| typ.0);
    let types: Vec<_> = second_hello().1.extensions.iter().map(|(typ, _)| *typ).collect();
    for typ in types.into_iter().filter(|typ| !may_change.contains(typ)) {
        for is_removed in [true, false] {
            let (mut pair, mut hello) = second_hello();
            hello.extensions.reverse();
            if is_removed {
                hello.remove(ExtensionType(typ));
            } else {
                let place = hello.extensions.iter_mut().find(|(listed, _)| *listed == typ);
                let body = &mut place.expect("it is there").1;
                // Still well-formed, except for lengths.
                *body.last_mut().expect("it has contents") ^= 1;
            }
            pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
            assert!(pair.to_server.error.is_some(), "{typ} removed: {is_removed}");
        }
    }
    let (mut pair, mut hello) = second_hello();
    hello.extensions.insert(0, (0x1234, vec![]));
    pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
    let alert = pair.to_server.error.as_ref().and_then(Error::alert);
    assert_eq!(alert, Some(AlertDescription::ILLEGAL_PARAMETER));
}
