//! Tessera's client against rustls' server.

use std::sync::Arc;

use rustls::crypto::aws_lc_rs::{self, kx_group};
use rustls::{HandshakeKind, ServerConfig};
use tessera::ClientConfig;
use tessera::resume::{ClientSession, Continuation, PskKind};
use tessera::wire::{AlertDescription, NamedGroup};
use tessera_interop::{Client, Pki, client, fo_skip_client, to};

use crate::peer::{GROUPS, Plan, RustlsFacts, SUITES, serve, talk_and_close};
use crate::{World, with_groups};

#[track_caller]
fn connect(
    config: &ClientConfig,
    rustls: &Arc<ServerConfig>,
    session: Option<ClientSession>,
) -> (Client, RustlsFacts) {
    let (address, thread) = serve(rustls, Plan::talk());
    let mut end = Client::start(config, to(session), address);
    let heard = talk_and_close(&mut end, thread);
    (end, heard)
}

#[test]
fn the_client_shakes_hands_with_a_rustls_server_with_the_hybrid_group() {
    let world = World::new();
    for config in [client(&world.pki), fo_skip_client(&world.pki)] {
        let (end, heard) = connect(&config, &Arc::new(world.rustls_server()), None);
        assert_eq!(end.facts().group, Some(NamedGroup::X25519MLKEM768));
        assert!(!end.facts().hello_retry);
        assert_eq!(heard.group, Some(rustls::NamedGroup::X25519MLKEM768));
        assert_eq!(heard.kind, Some(HandshakeKind::Full));
    }
}

#[test]
fn the_client_shakes_hands_with_a_rustls_server_in_every_suite_and_group() {
    let world = World::new();
    for (theirs, group) in GROUPS {
        let rustls = Arc::new(world.rustls_server_with(with_groups(&[theirs])));
        for suite in SUITES {
            let mut config = client(&world.pki);
            config.suites = vec![suite];
            config.groups = vec![group];
            let (end, heard) = connect(&config, &rustls, None);
            assert_eq!(end.facts().group, Some(group));
            assert_eq!(heard.group.map(u16::from), Some(group.0));
            assert_eq!(heard.suite.map(u16::from), Some(suite.0));
        }
    }
}

#[test]
fn the_client_sends_the_share_that_a_rustls_server_asks_for() {
    let world = World::new();
    for (theirs, ours) in
        [(kx_group::SECP256R1, NamedGroup::SECP256R1), (kx_group::SECP384R1, NamedGroup::SECP384R1)]
    {
        let rustls = Arc::new(world.rustls_server_with(with_groups(&[theirs])));
        let (mut first, heard) = connect(&client(&world.pki), &rustls, None);
        assert!(first.facts().hello_retry);
        assert_eq!(first.facts().group, Some(ours));
        assert_eq!(heard.kind, Some(HandshakeKind::FullWithHelloRetryRequest));
        // The client remembers the group; otherwise it would need the retry again.
        let remembered = first.told.sessions.pop();
        let (second, heard) = connect(&client(&world.pki), &rustls, remembered);
        assert!(!second.facts().hello_retry);
        assert_eq!(heard.kind, Some(HandshakeKind::Resumed));
        let session = first.told.sessions.pop();
        let forgotten = session.map(|session| ClientSession { group: None, ..session });
        let (third, heard) = connect(&client(&world.pki), &rustls, forgotten);
        assert!(third.facts().hello_retry);
        assert_eq!(heard.kind, Some(HandshakeKind::Resumed));
    }
    // From a classical share to the hybrid.
    let rustls = Arc::new(world.rustls_server_with(with_groups(&[kx_group::X25519MLKEM768])));
    let mut config = client(&world.pki);
    config.groups = vec![NamedGroup::X25519, NamedGroup::X25519MLKEM768];
    let (end, _) = connect(&config, &rustls, None);
    assert!(end.facts().hello_retry);
    assert_eq!(end.facts().group, Some(NamedGroup::X25519MLKEM768));
}

/// With sessions that the server keeps, and with sealed ones.
#[test]
fn the_client_resumes_with_a_rustls_server() {
    let world = World::new();
    let stateful = world.rustls_server();
    let mut stateless = world.rustls_server();
    stateless.ticketer = aws_lc_rs::Ticketer::new().unwrap();
    for rustls in [Arc::new(stateful), Arc::new(stateless)] {
        let (mut end, heard) = connect(&client(&world.pki), &rustls, None);
        assert_eq!(heard.kind, Some(HandshakeKind::Full));
        assert_eq!(end.told.sessions.len(), 2);
        for _ in 0..3 {
            let session = end.told.sessions.pop();
            let heard;
            (end, heard) = connect(&client(&world.pki), &rustls, session);
            assert_eq!(end.facts().psk, Some(PskKind::Resumption));
            assert_eq!(end.facts().group, Some(NamedGroup::X25519MLKEM768));
            assert!(end.facts().peer.is_some());
            assert_eq!(heard.kind, Some(HandshakeKind::Resumed));
        }
    }
}

/// rustls does not support psk_ke: it asks for a share, and makes a full handshake.
#[test]
fn a_rustls_server_makes_a_full_handshake_of_psk_ke() {
    let world = World::new();
    let rustls = Arc::new(world.rustls_server());
    let mut config = client(&world.pki);
    let (mut first, _) = connect(&config, &rustls, None);
    config.policy.psk_only_without_forward_secrecy = true;
    let (second, heard) = connect(&config, &rustls, first.told.sessions.pop());
    assert_eq!(second.facts().psk, None);
    assert_eq!(heard.kind, Some(HandshakeKind::FullWithHelloRetryRequest));
}

#[test]
fn a_rustls_server_accepts_early_data() {
    let world = World::new();
    let mut rustls = world.rustls_server();
    rustls.max_early_data_size = 1_000;
    let rustls = Arc::new(rustls);
    let mut config = client(&world.pki);
    config.policy.early_data.replayable_without_forward_secrecy = true;
    let (mut first, _) = connect(&config, &rustls, None);
    let session = first.told.sessions.pop().unwrap();
    let copy = ClientSession::import(&session.export()).unwrap();
    assert_eq!(session.state.max_early_data_size, 1_000);

    let (address, thread) = serve(&rustls, Plan::talk());
    let mut second = Client::start_early(&config, to(Some(session)), address, &[b'e'; 1_000]);
    let heard = talk_and_close(&mut second, thread);
    assert_eq!(heard.early_data, [b'e'; 1_000]);
    assert_eq!(heard.kind, Some(HandshakeKind::Resumed));
    assert_eq!(second.told.early_data_accepted, Some(true));

    // The same session again.
    let (address, thread) = serve(&rustls, Plan::talk());
    let mut third = Client::start_early(&config, to(Some(copy)), address, b"again");
    let heard = talk_and_close(&mut third, thread);
    assert_eq!(heard.early_data, b"");
    assert_eq!(third.told.early_data_accepted, Some(false));
}

#[test]
fn a_rustls_server_rejects_early_data_by_a_hello_retry_request() {
    let world = World::new();
    let mut rustls = world.rustls_server_with(with_groups(&[kx_group::SECP384R1]));
    rustls.max_early_data_size = 1_000;
    let rustls = Arc::new(rustls);
    let mut config = client(&world.pki);
    config.policy.early_data.replayable_without_forward_secrecy = true;
    let (mut first, _) = connect(&config, &rustls, None);
    let (address, thread) = serve(&rustls, Plan::talk());
    // A client that remembered the group would not need the retry.
    let session = first.told.sessions.pop().map(|session| ClientSession { group: None, ..session });
    let mut second = Client::start_early(&config, to(session), address, b"too early");
    let heard = talk_and_close(&mut second, thread);
    assert_eq!(heard.early_data, b"");
    assert_eq!(second.told.early_data_accepted, Some(false));
}

/// The client prefers forward-secret early data, which costs nothing with other servers.
#[test]
fn a_rustls_server_resumes_a_client_that_offers_forward_secret_early_data() {
    let world = World::new();
    let rustls = Arc::new(world.rustls_server());
    for continuation in [Continuation::PskDheKe, Continuation::PskKe] {
        let mut config = client(&world.pki);
        config.policy.early_data.forward_secret = Some(continuation);
        let (mut first, _) = connect(&config, &rustls, None);
        let (second, _) = connect(&config, &rustls, first.told.sessions.pop());
        assert_eq!(second.facts().psk, Some(PskKind::Resumption));
    }
}

#[test]
fn a_rustls_server_verifies_the_clients_certificate() {
    let world = World::new();
    let rustls = Arc::new(world.rustls_server_mutual());
    let mut config = client(&world.pki);
    config.credentials = vec![world.client.credential()];
    let (_, heard) = connect(&config, &rustls, None);
    assert_eq!(heard.certificates, 1);
}

#[test]
fn a_rustls_server_and_the_client_agree_on_an_application_protocol() {
    let world = World::new();
    let mut rustls = world.rustls_server();
    rustls.alpn_protocols = vec![b"h3".to_vec(), b"h2".to_vec()];
    let mut config = client(&world.pki);
    config.protocols = vec![b"http/1.1".to_vec(), b"h2".to_vec()];
    let (end, heard) = connect(&config, &Arc::new(rustls), None);
    assert_eq!(end.facts().protocol.as_deref(), Some(&b"h2"[..]));
    assert_eq!(heard.protocol.as_deref(), Some(&b"h2"[..]));
}

#[test]
fn a_rustls_server_follows_and_sends_key_updates() {
    let world = World::new();
    let plan = Plan { updates: 3, ..Plan::talk() };
    let (address, thread) = serve(&Arc::new(world.rustls_server()), plan);
    let mut end = Client::start(&client(&world.pki), to(None), address);
    end.handshake().update_keys(true).update_keys(false).update_keys(true);
    talk_and_close(&mut end, thread);
}

/// 1 MiB each way at the same time.
#[test]
fn a_rustls_server_and_the_client_exchange_much_data() {
    let world = World::new();
    let plan = Plan { says: vec![b'r'; 1 << 20], hears: 1 << 20, ..Plan::talk() };
    let (address, thread) = serve(&Arc::new(world.rustls_server()), plan);
    let mut end = Client::start(&client(&world.pki), to(None), address);
    end.handshake().send(&vec![b't'; 1 << 20]);
    end.until("1 MiB", |told| told.data.len() == 1 << 20).close().closed();
    let heard = thread.join().unwrap();
    assert_eq!(heard.error, None);
    assert!(heard.data == vec![b't'; 1 << 20] && end.told.data == vec![b'r'; 1 << 20]);
}

#[test]
fn the_client_refuses_a_rustls_server_of_another_authority() {
    let world = World::new();
    let (address, thread) = serve(&Arc::new(world.rustls_server()), Plan::talk());
    let mut end = Client::start(&client(&Pki::new()), to(None), address);
    assert_eq!(end.failure().alert(), Some(AlertDescription::UNKNOWN_CA));
    assert!(thread.join().unwrap().error.unwrap().contains("UnknownCA"));
}

/// A client that has closed its direction still receives.
#[test]
fn the_client_reads_on_from_a_rustls_server_after_it_closed_its_own_side() {
    let world = World::new();
    let plan = Plan { says: vec![b'r'; 1 << 20], hears: 0, ..Plan::talk() };
    let (address, thread) = serve(&Arc::new(world.rustls_server()), plan);
    let mut end = Client::start(&client(&world.pki), to(None), address);
    end.handshake().close().closed();
    assert_eq!(end.told.data.len(), 1 << 20);
    assert_eq!(thread.join().unwrap().error, None);
}

/// The server sends before it has received the client's Finished.
#[test]
fn the_client_reads_what_a_rustls_server_sends_before_the_clients_finished() {
    let world = World::new();
    let mut rustls = world.rustls_server();
    rustls.send_half_rtt_data = true;
    connect(&client(&world.pki), &Arc::new(rustls), None);
}

/// Meaningless values (RFC 8701).
#[test]
fn a_rustls_server_ignores_grease_of_the_client() {
    let world = World::new();
    let mut config = client(&world.pki);
    config.grease = true;
    config.credentials = vec![world.client.credential()];
    let (_, heard) = connect(&config, &Arc::new(world.rustls_server_mutual()), None);
    assert_eq!(heard.certificates, 1);
}
