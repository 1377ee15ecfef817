//! PSKs agreed outside of TLS.

use tessera::resume::{ExternalPsk, PskKind};
use tessera::wire::{AlertDescription, CipherSuite};
use tessera::{Destination, Error};
use tessera_interop::{Client, client, to};
use tessera_test_peers::openssl;

use crate::{World, talk_and_close};

const SECRET: [u8; 32] = [0x5a; 32];
const SECRET_HEX: &str = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";

fn with_psk(identity: &[u8], secret: &[u8]) -> Destination {
    let psk = ExternalPsk::new(
        identity.to_vec(),
        secret.to_vec().into(),
        CipherSuite::TLS_AES_128_GCM_SHA256,
    );
    Destination { external_psks: vec![psk], ..to(None) }
}

/// A server without a certificate: only the PSK can authenticate it.
const SERVER: [&str; 5] = ["-nocert", "-psk", SECRET_HEX, "-psk_identity", "device"];

#[test]
fn the_client_connects_to_s_server_with_an_external_psk_in_psk_dhe_ke() {
    let world = World::new();
    let (mut server, address) = openssl::s_server(&SERVER);
    let mut end = Client::start(&client(&world.pki), with_psk(b"device", &SECRET), address);
    talk_and_close(&mut end, &mut server);
    assert_eq!(end.facts().psk, Some(PskKind::External));
    assert!(end.facts().group.is_some());
    assert_eq!(end.facts().peer, None);
}

#[test]
fn the_client_connects_to_s_server_with_an_external_psk_in_psk_ke() {
    let world = World::new();
    let (mut server, address) = openssl::s_server(&[&SERVER[..], &["-allow_no_dhe_kex"]].concat());
    let mut config = client(&world.pki);
    config.policy.psk_only_without_forward_secrecy = true;
    let mut end = Client::start(&config, with_psk(b"device", &SECRET), address);
    talk_and_close(&mut end, &mut server);
    assert_eq!(end.facts().psk, Some(PskKind::External));
    assert_eq!(end.facts().group, None);
    assert!(!end.facts().hello_retry);
}

/// The ticket of a connection with an external PSK.
#[test]
fn the_client_resumes_a_connection_to_s_server_that_an_external_psk_began() {
    let world = World::new();
    let (mut server, address) = openssl::s_server(&SERVER);
    let mut first = Client::start(&client(&world.pki), with_psk(b"device", &SECRET), address);
    talk_and_close(&mut first, &mut server);
    let session = first.told.sessions.pop();
    let destination =
        Destination { session: session.map(Box::new), ..with_psk(b"device", &SECRET) };
    let mut second = Client::start(&client(&world.pki), destination, address);
    talk_and_close(&mut second, &mut server);
    assert_eq!(second.facts().psk, Some(PskKind::Resumption));
}

/// The server doesn't know the identity, and falls back to its certificate.
#[test]
fn the_client_gets_a_certificate_of_s_server_for_an_unknown_psk() {
    let world = World::new();
    let (mut server, address) = world.server(&SERVER[1..]);
    let mut end = Client::start(&client(&world.pki), with_psk(b"another", &SECRET), address);
    talk_and_close(&mut end, &mut server);
    assert_eq!(end.facts().psk, None);
    assert!(end.facts().peer.is_some());
}

#[test]
fn s_server_refuses_a_psk_with_a_wrong_secret() {
    let world = World::new();
    let (_server, address) = openssl::s_server(&SERVER);
    let mut end = Client::start(&client(&world.pki), with_psk(b"device", &[1; 32]), address);
    // OpenSSL 3.0 sends the first, 3.5 the second, as RFC 8446 requires (§4.2.11.2 with §6.2).
    let alerts = [AlertDescription::ILLEGAL_PARAMETER, AlertDescription::DECRYPT_ERROR];
    let failure = end.failure();
    assert!(alerts.map(Error::AlertReceived).contains(&failure), "{failure}");
}

/// The binder after a HelloRetryRequest. (With `-stateless` it can't be tested: OpenSSL 3.0 then computes a different
/// one from its own client.)
#[test]
fn the_client_connects_to_s_server_with_an_external_psk_after_a_hello_retry_request() {
    let world = World::new();
    let (mut server, address) = openssl::s_server(&[&SERVER[..], &["-groups", "P-384"]].concat());
    let mut end = Client::start(&client(&world.pki), with_psk(b"device", &SECRET), address);
    talk_and_close(&mut end, &mut server);
    assert!(end.facts().hello_retry);
    assert_eq!(end.facts().psk, Some(PskKind::External));
}
