//! Resumption with tickets.

use tessera::Error;
use tessera::handshake::ClientAuthentication;
use tessera::resume::PskKind;
use tessera::wire::{AlertDescription, NamedGroup};
use tessera_interop::KeyKind;

use crate::{World, talk_and_close};

#[test]
fn s_client_resumes_in_psk_dhe_ke_in_every_suite() {
    let world = World::new();
    let config = world.config();
    let file = world.pki.directory.path("session.pem");
    for suite in
        ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]
    {
        let first = ["-ciphersuites", suite, "-sess_out", &file];
        let (mut client, mut server) = world.client(&config, &first);
        talk_and_close(&mut client, &mut server);

        let second = ["-ciphersuites", suite, "-groups", "X25519", "-sess_in", &file];
        let (mut client, mut server) = world.client(&config, &second);
        talk_and_close(&mut client, &mut server);
        assert_eq!(server.facts().psk, Some(PskKind::Resumption));
        assert_eq!(server.facts().group, Some(NamedGroup::X25519));
        client.says(&format!("Reused, TLSv1.3, Cipher is {suite}"));
        // One new ticket replaces the one that was used.
        client.says_times("Post-Handshake New Session Ticket arrived", 1);
    }
}

/// One resumption after the other; each brings the ticket for the next.
#[test]
fn s_client_resumes_with_the_ticket_of_each_resumption() {
    let world = World::new();
    let config = world.config();
    let file = world.pki.directory.path("session.pem");
    let (mut client, mut server) = world.client(&config, &["-sess_out", &file]);
    talk_and_close(&mut client, &mut server);
    for _ in 0..3 {
        let both = ["-sess_in", &file, "-sess_out", &file];
        let (mut client, mut server) = world.client(&config, &both);
        talk_and_close(&mut client, &mut server);
        assert_eq!(server.facts().psk, Some(PskKind::Resumption));
    }
}

#[test]
fn s_client_resumes_after_a_hello_retry_request() {
    let world = World::new();
    let config = world.config();
    let file = world.pki.directory.path("session.pem");
    let (mut client, mut server) = world.client(&config, &["-sess_out", &file]);
    talk_and_close(&mut client, &mut server);
    let second = ["-sess_in", &file, "-groups", "P-521:P-384"];
    let (mut client, mut server) = world.client(&config, &second);
    talk_and_close(&mut client, &mut server);
    assert!(server.facts().hello_retry);
    assert_eq!(server.facts().psk, Some(PskKind::Resumption));
    assert_eq!(server.facts().group, Some(NamedGroup::SECP384R1));
    client.says("Reused, TLSv1.3");
}

/// s_client always offers shares too, so psk_ke is only chosen without a common group.
#[test]
fn s_client_resumes_in_psk_ke_where_no_group_is_in_common() {
    let world = World::new();
    let mut config = world.config();
    config.policy.psk_only_without_forward_secrecy = true;
    let file = world.pki.directory.path("session.pem");
    let (mut client, mut server) = world.client(&config, &["-sess_out", &file]);
    talk_and_close(&mut client, &mut server);

    let alone = ["-sess_in", &file, "-allow_no_dhe_kex", "-groups", "P-521"];
    let (mut client, mut server) = world.client(&config, &alone);
    talk_and_close(&mut client, &mut server);
    assert_eq!(server.facts().psk, Some(PskKind::Resumption));
    assert_eq!(server.facts().group, None);
    client.says("Reused, TLSv1.3");

    // With a common group it is not needed.
    let both = ["-sess_in", &file, "-allow_no_dhe_kex"];
    let (mut client, mut server) = world.client(&config, &both);
    talk_and_close(&mut client, &mut server);
    assert_eq!(server.facts().psk, Some(PskKind::Resumption));
    assert!(server.facts().group.is_some());

    // And a server whose policy does not allow it fails instead.
    config.policy.psk_only_without_forward_secrecy = false;
    let (client, mut server) = world.client(&config, &alone);
    assert_eq!(server.failure().alert(), Some(AlertDescription::HANDSHAKE_FAILURE));
    client.says("alert handshake failure");
}

/// The client has the same identity as in the full handshake.
#[test]
fn a_resumption_of_s_client_keeps_the_clients_identity() {
    let world = World::new();
    let mut config = world.config();
    config.client_authentication = ClientAuthentication::Required(world.pki.verifier());
    let identity = world.pki.client(KeyKind::P256);
    let file = world.pki.directory.path("session.pem");
    let first = [&identity.arguments()[..], &["-sess_out", &file]].concat();
    let (mut client, mut server) = world.client(&config, &first);
    talk_and_close(&mut client, &mut server);
    let peer = server.facts().peer.clone();
    assert!(peer.is_some());
    let (mut client, mut server) = world.client(&config, &["-sess_in", &file]);
    talk_and_close(&mut client, &mut server);
    assert_eq!(server.facts().psk, Some(PskKind::Resumption));
    assert_eq!(server.facts().peer, peer);
}

/// A session of another scope leads to a full handshake, not to a failure.
#[test]
fn s_client_with_a_ticket_of_another_scope_gets_a_full_handshake() {
    let world = World::new();
    let mut config = world.config();
    let file = world.pki.directory.path("session.pem");
    let (mut client, mut server) = world.client(&config, &["-sess_out", &file]);
    talk_and_close(&mut client, &mut server);
    config.scope = b"another".to_vec();
    let (mut client, mut server) = world.client(&config, &["-sess_in", &file]);
    talk_and_close(&mut client, &mut server);
    assert_eq!(server.facts().psk, None);
    client.says("New, TLSv1.3");
}

#[test]
fn a_server_without_tickets_sends_s_client_none() {
    let world = World::new();
    let mut config = world.config();
    config.tickets = None;
    let (mut client, mut server) = world.client(&config, &[]);
    talk_and_close(&mut client, &mut server);
    assert!(!client.output().contains("New Session Ticket"), "{}", client.output());
}

/// A ticket with a wrong binder ends the connection.
#[test]
fn s_client_with_a_wrong_binder_is_refused() {
    let world = World::new();
    let mut config = world.config();
    let psk = |byte| {
        tessera::resume::ExternalPsk::new(
            b"device".to_vec(),
            vec![byte; 32].into(),
            tessera::wire::CipherSuite::TLS_AES_128_GCM_SHA256,
        )
    };
    config.external_psks = vec![psk(1)];
    let other = "02".repeat(32);
    let (client, mut server) = world.client(&config, &["-psk", &other, "-psk_identity", "device"]);
    let error = server.failure();
    assert!(matches!(error, Error::Protocol { alert: AlertDescription::DECRYPT_ERROR, .. }));
    client.says("alert decrypt error");
}
