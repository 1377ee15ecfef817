//! What a client may change after a HelloRetryRequest (RFC 8446 §4.1.2), and what not.

use std::sync::Arc;

use tessera::auth::{Credential, PrivateKey};
use tessera::resume::ExternalPsk;
use tessera::wire::CipherSuite;
use tessera::{ClientConfig, Destination, ServerConfig, Zeroizing};
use tessera_harness::{Mode, Pair, Scene, UnsealedTickets, at, to};
use tessera_null_provider::{NullSigner, NullVerifier, provider};

use super::FACE;

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
    let mut first = Pair::start_over(FACE, &client, &server, to(None), at(0)).expect("starts");
    let session = first.run().to_client.sessions.pop();
    assert!(session.is_some());

    client.policy.psk_only_without_forward_secrecy = true;
    let mut second =
        Pair::start_over(FACE, &client, &server, to(session.map(Box::new)), at(0)).expect("starts");
    second.run();
    assert_eq!((&second.to_client.error, &second.to_server.error), (&None, &None));
    let facts = second.client.facts();
    assert!(facts.hello_retry && facts.handshake_complete);
    assert_eq!(facts.psk, None);
    let times =
        second.client_sent.windows(PSK_KE_ALONE.len()).filter(|bytes| *bytes == PSK_KE_ALONE);
    assert_eq!(times.count(), 2);
}

/// A second ClientHello has the suites in the order of the first (RFC 8446 §4.1.2), although the early data,
/// whose suite was first, ends with that.
#[test]
fn a_second_client_hello_keeps_the_suites_when_early_data_ends() {
    for mode in [Mode::Replayable, Mode::FsDhe] {
        let mut scene = Scene::over(FACE, provider(), mode);
        let suites = scene.client.suites.clone();
        // The session has the server's favourite suite, which is the client's last.
        scene.client.suites.rotate_left(1);
        let session = scene.session();
        assert_eq!(session.as_ref().map(|session| session.state.suite), Some(suites[0]));
        // The server no longer has its group, so it asks for another share.
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

/// The modes also stay when the PSKs don't fit the suite of the HelloRetryRequest.
#[test]
fn a_second_client_hello_keeps_the_psk_modes_when_its_psks_go() {
    let mut scene = Scene::over(FACE, provider(), Mode::Retry);
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
