//! rustls' client against Tessera's server.

use std::sync::Arc;

use rustls::crypto::aws_lc_rs::kx_group;
use rustls::{ClientConfig, HandshakeKind};
use tessera::ServerConfig;
use tessera::handshake::ClientAuthentication;
use tessera::resume::{OneTimeKeyGuard, PskKind, ReplayGuard};
use tessera::wire::{AlertDescription, NamedGroup};
use tessera_harness::{OneRegister, OneVault};
use tessera_interop::{CLIENT_NAME, Listener, Server, server};

use crate::peer::{GROUPS, Plan, RustlsFacts, SUITES, connect, talk_and_close};
use crate::{World, with_groups};

#[track_caller]
fn serve(config: &ServerConfig, rustls: &Arc<ClientConfig>, plan: Plan) -> (Server, RustlsFacts) {
    let listener = Listener::new();
    let thread = connect(rustls, listener.address(), plan);
    let mut end = listener.serve(config);
    let heard = talk_and_close(&mut end, thread);
    (end, heard)
}

#[test]
fn a_rustls_client_shakes_hands_with_the_hybrid_group() {
    let world = World::new();
    let rustls = Arc::new(world.rustls_client());
    let (end, heard) = serve(&server(&world.server), &rustls, Plan::talk());
    assert_eq!(end.facts().group, Some(NamedGroup::X25519MLKEM768));
    assert!(!end.facts().hello_retry);
    assert_eq!(heard.group, Some(rustls::NamedGroup::X25519MLKEM768));
    assert_eq!(heard.kind, Some(HandshakeKind::Full));
}

#[test]
fn a_rustls_client_shakes_hands_in_every_suite_and_group() {
    let world = World::new();
    for (theirs, group) in GROUPS {
        for suite in SUITES {
            let rustls = Arc::new(world.rustls_client_with(with_groups(&[theirs])));
            let mut config = server(&world.server);
            config.suites = vec![suite];
            let (end, heard) = serve(&config, &rustls, Plan::talk());
            assert_eq!(end.facts().group, Some(group));
            assert_eq!(heard.group.map(u16::from), Some(group.0));
            assert_eq!(heard.suite.map(u16::from), Some(suite.0));
        }
    }
}

#[test]
fn a_rustls_client_sends_another_share_after_a_hello_retry_request() {
    let world = World::new();
    let rustls = Arc::new(world.rustls_client());
    let mut config = server(&world.server);
    config.groups = vec![NamedGroup::SECP384R1];
    let (end, heard) = serve(&config, &rustls, Plan::talk());
    assert!(end.facts().hello_retry);
    assert_eq!(heard.kind, Some(HandshakeKind::FullWithHelloRetryRequest));
    assert_eq!(heard.group, Some(rustls::NamedGroup::secp384r1));
    // Another group than that of the session, which is still offered.
    config.groups = vec![NamedGroup::SECP256R1];
    let (end, heard) = serve(&config, &rustls, Plan::talk());
    assert!(end.facts().hello_retry);
    assert_eq!(end.facts().psk, Some(PskKind::Resumption));
    assert_eq!(heard.group, Some(rustls::NamedGroup::secp256r1));
}

/// It begins with the share that worked last time, wherever that is in its list of groups.
#[test]
fn a_rustls_client_that_prefers_a_classical_group_comes_back_with_the_hybrid_share() {
    let world = World::new();
    let groups = [kx_group::X25519, kx_group::SECP256R1, kx_group::X25519MLKEM768];
    let mut config = server(&world.server);
    for tickets in [config.tickets.take(), None] {
        config.tickets = tickets;
        let rustls = Arc::new(world.rustls_client_with(with_groups(&groups)));
        for times in 0..3 {
            let (end, heard) = serve(&config, &rustls, Plan::talk());
            assert_eq!(end.facts().hello_retry, times == 0, "connection {times}");
            assert_eq!(heard.group, Some(rustls::NamedGroup::X25519MLKEM768));
        }
    }
}

#[test]
fn a_rustls_client_resumes() {
    let world = World::new();
    let rustls = Arc::new(world.rustls_client());
    let config = server(&world.server);
    for times in 0..4 {
        let (end, heard) = serve(&config, &rustls, Plan::talk());
        assert_eq!(end.facts().psk.is_some(), times > 0);
        assert_eq!(end.facts().group, Some(NamedGroup::X25519MLKEM768));
        let kind = if times > 0 { HandshakeKind::Resumed } else { HandshakeKind::Full };
        assert_eq!(heard.kind, Some(kind));
    }
}

fn with_early_data(world: &World) -> (ServerConfig, Arc<ClientConfig>) {
    let mut config = server(&world.server);
    config.policy.early_data.replayable_without_forward_secrecy = Some(ReplayGuard {
        register: Arc::new(OneRegister::default()),
        max_early_data_size: 1_000,
    });
    let mut rustls = world.rustls_client();
    rustls.enable_early_data = true;
    (config, Arc::new(rustls))
}

#[test]
fn early_data_of_a_rustls_client_is_accepted() {
    let world = World::new();
    let (config, rustls) = with_early_data(&world);
    serve(&config, &rustls, Plan::talk());
    for _ in 0..2 {
        let (end, heard) = serve(&config, &rustls, Plan::early(b"early data"));
        assert_eq!(end.told.early_data, b"early data");
        assert!(end.told.early_data_end);
        assert_eq!(heard.early_data_accepted, Some(true));
    }
}

#[test]
fn early_data_of_a_rustls_client_is_rejected_without_a_register() {
    let world = World::new();
    let (config, rustls) = with_early_data(&world);
    serve(&config, &rustls, Plan::talk());
    let (end, heard) = serve(&server(&world.server), &rustls, Plan::early(b"early data"));
    assert_eq!(end.told.early_data, b"");
    assert_eq!(heard.early_data_accepted, Some(false));
    assert_eq!(heard.kind, Some(HandshakeKind::Resumed));
}

#[test]
fn early_data_of_a_rustls_client_is_rejected_by_a_hello_retry_request() {
    let world = World::new();
    let (mut config, rustls) = with_early_data(&world);
    serve(&config, &rustls, Plan::talk());
    config.groups = vec![NamedGroup::SECP384R1];
    let (end, heard) = serve(&config, &rustls, Plan::early(b"early data"));
    assert!(end.facts().hello_retry);
    assert_eq!(end.told.early_data, b"");
    assert_eq!(heard.early_data_accepted, Some(false));
}

/// The server prefers forward-secret early data, which costs nothing with other clients.
#[test]
fn a_rustls_client_resumes_at_a_server_with_one_time_keys() {
    let world = World::new();
    let rustls = Arc::new(world.rustls_client());
    let mut config = server(&world.server);
    config.policy.early_data.forward_secret =
        Some(OneTimeKeyGuard::new(Arc::new(OneVault::default())));
    serve(&config, &rustls, Plan::talk());
    let (end, _) = serve(&config, &rustls, Plan::talk());
    assert_eq!(end.facts().psk, Some(PskKind::Resumption));
}

#[test]
fn the_server_verifies_the_certificate_of_a_rustls_client() {
    let world = World::new();
    let rustls = Arc::new(world.rustls_client_mutual());
    let mut config = server(&world.server);
    config.client_authentication = ClientAuthentication::Required(world.pki.verifier());
    for psk in [None, Some(PskKind::Resumption)] {
        let (end, _) = serve(&config, &rustls, Plan::talk());
        assert_eq!(end.facts().psk, psk);
        let peer = end.facts().peer.clone().unwrap();
        assert_eq!(peer.blob, format!("dns:{CLIENT_NAME}").into_bytes());
    }
}

#[test]
fn a_rustls_client_without_a_certificate_is_refused() {
    let world = World::new();
    let mut config = server(&world.server);
    config.client_authentication = ClientAuthentication::Required(world.pki.verifier());
    let listener = Listener::new();
    let thread = connect(&Arc::new(world.rustls_client()), listener.address(), Plan::talk());
    let mut end = listener.serve(&config);
    assert_eq!(end.failure().alert(), Some(AlertDescription::CERTIFICATE_REQUIRED));
    drop(end);
    assert!(thread.join().unwrap().error.is_some());
}

#[test]
fn a_rustls_client_and_the_server_agree_on_an_application_protocol() {
    let world = World::new();
    let mut rustls = world.rustls_client();
    rustls.alpn_protocols = vec![b"http/1.1".to_vec(), b"h2".to_vec()];
    let mut config = server(&world.server);
    config.protocols = vec![b"h2".to_vec()];
    let (end, heard) = serve(&config, &Arc::new(rustls), Plan::talk());
    assert_eq!(end.facts().protocol.as_deref(), Some(&b"h2"[..]));
    assert_eq!(heard.protocol.as_deref(), Some(&b"h2"[..]));
}

#[test]
fn a_rustls_client_follows_and_sends_key_updates() {
    let world = World::new();
    let listener = Listener::new();
    let plan = Plan { updates: 3, ..Plan::talk() };
    let thread = connect(&Arc::new(world.rustls_client()), listener.address(), plan);
    let mut end = listener.serve(&server(&world.server));
    end.handshake().update_keys(true).update_keys(false).update_keys(true);
    talk_and_close(&mut end, thread);
}

/// 1 MiB each way at the same time.
#[test]
fn a_rustls_client_and_the_server_exchange_much_data() {
    let world = World::new();
    let listener = Listener::new();
    let plan = Plan { says: vec![b'r'; 1 << 20], hears: 1 << 20, ..Plan::talk() };
    let thread = connect(&Arc::new(world.rustls_client()), listener.address(), plan);
    let mut end = listener.serve(&server(&world.server));
    end.handshake().send(&vec![b't'; 1 << 20]);
    end.until("1 MiB", |told| told.data.len() == 1 << 20).close().closed();
    let heard = thread.join().unwrap();
    assert_eq!(heard.error, None);
    assert!(heard.data == vec![b't'; 1 << 20] && end.told.data == vec![b'r'; 1 << 20]);
}

/// The server sends before it has received the client's Finished.
#[test]
fn a_rustls_client_reads_what_the_server_sends_before_the_clients_finished() {
    let world = World::new();
    let listener = Listener::new();
    let thread = connect(&Arc::new(world.rustls_client()), listener.address(), Plan::talk());
    let mut end = listener.serve(&server(&world.server));
    end.send_first(b"from Tessera\n").handshake().hear("from rustls\n").close().closed();
    let heard = thread.join().unwrap();
    assert_eq!((heard.error, &heard.data[..]), (None, &b"from Tessera\n"[..]));
}
