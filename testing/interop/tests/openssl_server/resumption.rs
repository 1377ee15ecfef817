//! Resumption with tickets.

use tessera::resume::{ClientSession, PskKind};
use tessera::wire::{CipherSuite, NamedGroup};
use tessera_interop::{Client, client, to};

use crate::{World, talk_and_close};

#[test]
fn the_client_resumes_with_s_server_in_psk_dhe_ke_in_every_suite() {
    let world = World::new();
    for suite in [
        CipherSuite::TLS_AES_128_GCM_SHA256,
        CipherSuite::TLS_AES_256_GCM_SHA384,
        CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
    ] {
        let (mut server, address) = world.server(&[]);
        let mut config = client(&world.pki);
        config.suites = vec![suite];
        config.groups = vec![NamedGroup::X25519];
        let mut first = Client::start(&config, to(None), address);
        talk_and_close(&mut first, &mut server);
        assert_eq!(first.told.sessions.len(), 2);

        for session in std::mem::take(&mut first.told.sessions) {
            let mut second = Client::start(&config, to(Some(session)), address);
            second.handshake().send(b"again\n");
            server.says("Reused session-id").says("again");
            assert_eq!(second.facts().psk, Some(PskKind::Resumption));
            assert_eq!(second.facts().group, Some(NamedGroup::X25519));
            assert_eq!(second.facts().suite, Some(suite));
            assert!(second.facts().peer.is_some());
            second.close().closed();
        }
    }
}

/// One resumption after the other; each brings the ticket for the next.
#[test]
fn the_client_resumes_with_the_ticket_of_each_resumption_by_s_server() {
    let world = World::new();
    let (server, address) = world.server(&[]);
    let mut session: Option<ClientSession> = None;
    for times in 0..4 {
        let mut end = Client::start(&client(&world.pki), to(session.take()), address);
        end.handshake().until("a ticket", |told| !told.sessions.is_empty());
        assert_eq!(end.facts().psk.is_some(), times > 0);
        session = end.told.sessions.pop();
        end.close().closed();
        server.says_times("Reused session-id", times);
    }
}

#[test]
fn the_client_resumes_with_s_server_by_an_imported_session() {
    let world = World::new();
    let (mut server, address) = world.server(&[]);
    let mut first = Client::start(&client(&world.pki), to(None), address);
    talk_and_close(&mut first, &mut server);
    let exported = first.told.sessions[0].export();
    let session = ClientSession::import(&exported).unwrap();
    let mut second = Client::start(&client(&world.pki), to(Some(session)), address);
    second.handshake();
    assert_eq!(second.facts().psk, Some(PskKind::Resumption));
}

#[test]
fn the_client_resumes_with_s_server_in_psk_ke() {
    let world = World::new();
    let (mut server, address) = world.server(&["-allow_no_dhe_kex"]);
    let mut config = client(&world.pki);
    let mut first = Client::start(&config, to(None), address);
    talk_and_close(&mut first, &mut server);
    config.policy.psk_only_without_forward_secrecy = true;
    let session = first.told.sessions.pop();
    let mut second = Client::start(&config, to(session), address);
    second.handshake();
    assert_eq!(second.facts().psk, Some(PskKind::Resumption));
    assert_eq!(second.facts().group, None);
    assert!(!second.facts().hello_retry);
    server.says("Reused session-id");
    second.close().closed();
}

/// A client that wants psk_ke, and a server that doesn't: the retry brings a share, for a full handshake.
#[test]
fn s_server_makes_a_full_handshake_of_psk_ke_that_it_does_not_allow() {
    let world = World::new();
    let (mut server, address) = world.server(&[]);
    let mut config = client(&world.pki);
    let mut first = Client::start(&config, to(None), address);
    talk_and_close(&mut first, &mut server);
    config.policy.psk_only_without_forward_secrecy = true;
    let session = first.told.sessions.pop();
    let mut second = Client::start(&config, to(session), address);
    second.handshake();
    assert!(second.facts().hello_retry);
    assert!(second.facts().group.is_some());
    assert_eq!(second.facts().psk, None);
}

/// A client that doesn't want psk_ke does not get it from a server that would.
#[test]
fn the_client_resumes_with_a_share_although_s_server_allows_psk_ke() {
    let world = World::new();
    let (mut server, address) = world.server(&["-allow_no_dhe_kex"]);
    let mut first = Client::start(&client(&world.pki), to(None), address);
    talk_and_close(&mut first, &mut server);
    let session = first.told.sessions.pop();
    let mut second = Client::start(&client(&world.pki), to(session), address);
    second.handshake();
    assert_eq!(second.facts().psk, Some(PskKind::Resumption));
    assert!(second.facts().group.is_some());
}

/// The ticket is from another life of the server, which leads to a full handshake, not to a failure.
#[test]
fn s_server_makes_a_full_handshake_of_an_unknown_ticket() {
    let world = World::new();
    let (mut server, address) = world.server(&[]);
    let mut first = Client::start(&client(&world.pki), to(None), address);
    talk_and_close(&mut first, &mut server);
    let (mut other, address) = world.server(&[]);
    let mut second = Client::start(&client(&world.pki), to(first.told.sessions.pop()), address);
    talk_and_close(&mut second, &mut other);
    assert_eq!(second.facts().psk, None);
}

#[test]
fn the_client_keeps_as_many_tickets_as_s_server_gives() {
    let world = World::new();
    for count in ["0", "1", "5"] {
        let (mut server, address) = world.server(&["-num_tickets", count]);
        let mut end = Client::start(&client(&world.pki), to(None), address);
        talk_and_close(&mut end, &mut server);
        assert_eq!(end.told.sessions.len().to_string(), count);
    }
}
