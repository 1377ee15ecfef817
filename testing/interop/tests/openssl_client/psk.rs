//! PSKs agreed outside of TLS.

use tessera::ServerConfig;
use tessera::resume::{ExternalPsk, PskKind};
use tessera::wire::CipherSuite;

use crate::{World, talk_and_close};

const SECRET: [u8; 32] = [0x5a; 32];
const SECRET_HEX: &str = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";
const CLIENT: [&str; 4] = ["-psk", SECRET_HEX, "-psk_identity", "device"];

/// Returns the configuration of a server without a certificate: only the PSK can authenticate it.
fn config(world: &World) -> ServerConfig {
    let mut config = world.config();
    config.credentials.clear();
    config.external_psks = vec![ExternalPsk::new(
        b"device".to_vec(),
        SECRET.to_vec().into(),
        CipherSuite::TLS_AES_128_GCM_SHA256,
    )];
    config
}

#[test]
fn s_client_connects_with_an_external_psk_in_psk_dhe_ke() {
    let world = World::new();
    let (mut client, mut server) = world.client(&config(&world), &CLIENT);
    talk_and_close(&mut client, &mut server);
    assert_eq!(server.facts().psk, Some(PskKind::External));
    assert!(server.facts().group.is_some());
    client.says("Reused, TLSv1.3, Cipher is TLS_AES_128_GCM_SHA256");
}

#[test]
fn s_client_connects_with_an_external_psk_in_psk_ke() {
    let world = World::new();
    let mut config = config(&world);
    config.policy.psk_only_without_forward_secrecy = true;
    let alone = [&CLIENT[..], &["-allow_no_dhe_kex", "-groups", "P-521"]].concat();
    let (mut client, mut server) = world.client(&config, &alone);
    talk_and_close(&mut client, &mut server);
    assert_eq!(server.facts().psk, Some(PskKind::External));
    assert_eq!(server.facts().group, None);
}

#[test]
fn s_client_connects_with_an_external_psk_after_a_hello_retry_request() {
    let world = World::new();
    let arguments = [&CLIENT[..], &["-groups", "P-521:X25519"]].concat();
    let (mut client, mut server) = world.client(&config(&world), &arguments);
    talk_and_close(&mut client, &mut server);
    assert!(server.facts().hello_retry);
    assert_eq!(server.facts().psk, Some(PskKind::External));
}

/// The ticket of a connection with an external PSK.
#[test]
fn s_client_resumes_a_connection_that_an_external_psk_began() {
    let world = World::new();
    let file = world.pki.directory.path("session.pem");
    let first = [&CLIENT[..], &["-sess_out", &file]].concat();
    let (mut client, mut server) = world.client(&config(&world), &first);
    talk_and_close(&mut client, &mut server);
    let (mut client, mut server) = world.client(&config(&world), &["-sess_in", &file]);
    talk_and_close(&mut client, &mut server);
    assert_eq!(server.facts().psk, Some(PskKind::Resumption));
}

/// The server doesn't know the identity, and falls back to its certificate.
#[test]
fn s_client_with_an_unknown_psk_gets_a_certificate() {
    let world = World::new();
    let mut config = config(&world);
    config.credentials = world.config().credentials;
    let another = ["-psk", SECRET_HEX, "-psk_identity", "another"];
    let (mut client, mut server) = world.client(&config, &another);
    talk_and_close(&mut client, &mut server);
    assert_eq!(server.facts().psk, None);
    client.says("New, TLSv1.3");
}
