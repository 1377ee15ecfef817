//! What a client may change after a HelloRetryRequest (RFC 8446 §4.1.2), and what not.

use std::sync::Arc;

use tessera::auth::{Credential, PrivateKey};
use tessera::resume::ExternalPsk;
use tessera::wire::{AlertDescription, CipherSuite, ContentType, ExtensionType};
use tessera::{ClientConfig, Destination, Error, ServerConfig, Zeroizing};
use tessera_harness::{Hello, Mode, Pair, Scene, UnsealedTickets, at, plain, records, to};
use tessera_null_provider::{NullSigner, NullVerifier, provider};

/// psk_key_exchange_modes with psk_ke alone.
const PSK_KE_ALONE: &[u8] = &[0, 45, 0, 2, 1, 0];

/// A client that wants the PSK alone, and a server that does not: the modes stay as they were, so
/// the handshake is a full one. Servers compare the hellos, and end the connection over a change.
#[test]
fn a_second_client_hello_keeps_the_psk_modes() {
    let mut client = ClientConfig::new(provider(), Arc::new(NullVerifier));
    let key = PrivateKey::Signs(Arc::new(NullSigner));
    let credential = Credential::new(vec![vec![0x30; 300]], key);
    let mut server = ServerConfig::new(provider(), vec![credential]);
    server.tickets = Some(Arc::new(UnsealedTickets));
    let to = |session| Destination {
        server_name: "server.example".into(),
        session,
        ..Destination::default()
    };
    let mut first = Pair::start(&client, &server, to(None), at(0)).expect("starts");
    let session = first.run().to_client.sessions.pop();
    assert!(session.is_some());

    client.policy.psk_only_without_forward_secrecy = true;
    let mut second = Pair::start(&client, &server, to(session), at(0)).expect("starts");
    second.run();
    assert_eq!((&second.to_client.error, &second.to_server.error), (&None, &None));
    let facts = second.client.facts();
    assert!(facts.hello_retry && facts.handshake_complete);
    assert_eq!(facts.psk, None);
    let times =
        second.client_sent.windows(PSK_KE_ALONE.len()).filter(|bytes| *bytes == PSK_KE_ALONE);
    assert_eq!(times.count(), 2);
}

/// A second ClientHello has the suites in the order of the first (RFC 8446 §4.1.2), though the early data
/// whose suite stood first ends with that.
#[test]
fn a_second_client_hello_keeps_the_suites_when_early_data_ends() {
    for mode in [Mode::Replayable, Mode::FsDhe] {
        let mut scene = Scene::new(provider(), mode);
        let suites = scene.client.suites.clone();
        // The session is of the server's favourite, which is the client's last.
        scene.client.suites.rotate_left(1);
        let session = scene.session();
        assert_eq!(session.as_ref().map(|session| session.state.suite), Some(suites[0]));
        // Its group is gone, so the server asks for another share.
        let groups = &mut scene.server.groups;
        let used = session.as_ref().and_then(|session| session.group);
        groups.retain(|group| Some(*group) != used);
        let mut pair = scene.start(session, at(0));
        pair.run();
        assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None), "{mode:?}");
        assert!(pair.server.facts().hello_retry && pair.to_server.complete);
        assert_eq!(pair.to_client.early_data_accepted, Some(false));
    }
}

/// Nor do the modes go with the PSKs that don't fit the suite of the HelloRetryRequest.
#[test]
fn a_second_client_hello_keeps_the_psk_modes_when_its_psks_go() {
    let mut scene = Scene::new(provider(), Mode::Retry);
    scene.client.policy.resumption = false;
    // The server doesn't know the PSK, and chooses a suite of another hash.
    assert_eq!(scene.server.suites[0], CipherSuite::TLS_AES_128_GCM_SHA256);
    let suite = CipherSuite::TLS_AES_256_GCM_SHA384;
    let psk = ExternalPsk::new(b"unknown".to_vec(), Zeroizing::new(vec![1; 48]), suite);
    let destination = Destination { external_psks: vec![psk], ..to(None) };
    let mut pair = scene.start_to(destination, at(0));
    pair.run();
    assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
    assert!(pair.server.facts().hello_retry && pair.to_server.complete);
}

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

/// RFC 8446 §4.1.2: PSKs that don't fit the suite may go; the one that the server found fits.
#[test]
fn a_second_client_hello_keeps_the_psk_that_was_found() {
    tessera_harness::about_records!();
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
        // Its group is gone, so the server asks for another share.
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

/// RFC 8446 §4.2: extensions come in any order. wolfSSL 5.5 shuffles them between its two ClientHellos.
#[test]
fn a_second_client_hello_may_have_its_extensions_in_another_order() {
    tessera_harness::about_records!();
    let last = second_hello().1.extensions.len();
    for turned in 0..last {
        let (mut pair, mut hello) = second_hello();
        hello.extensions.reverse();
        hello.extensions.rotate_left(turned);
        pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
        assert_eq!(pair.to_server.error, None, "{turned}");
        // ServerHello and the rest of the flight are there.
        assert!(pair.server.facts().group.is_some(), "{turned}");
    }
}

/// In any order, each extension is what it was: none changes, goes or comes.
#[test]
fn a_second_client_hello_has_the_extensions_of_the_first() {
    tessera_harness::about_records!();
    // Of these a second ClientHello may have others (RFC 8446 §4.1.2).
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
                // Still well formed, but for lengths.
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
