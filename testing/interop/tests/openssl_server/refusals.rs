//! When one side refuses, the other receives the alert.

use tessera::wire::{AlertDescription, CipherSuite, NamedGroup};
use tessera::{Destination, Error};
use tessera_interop::{Client, Pki, client, to};

use crate::World;

#[track_caller]
fn rejected(error: Error) -> AlertDescription {
    match error {
        Error::PeerRejected(rejected) => rejected.alert,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_client_refuses_s_server_of_another_name() {
    let world = World::new();
    let (server, address) = world.server(&[]);
    let destination = Destination { server_name: "other.example".into(), ..to(None) };
    let mut end = Client::start(&client(&world.pki), destination, address);
    assert_eq!(rejected(end.failure()), AlertDescription::BAD_CERTIFICATE);
    server.says("alert bad certificate");
}

#[test]
fn the_client_refuses_s_server_of_another_authority() {
    let world = World::new();
    let (server, address) = world.server(&[]);
    let mut end = Client::start(&client(&Pki::new()), to(None), address);
    assert_eq!(rejected(end.failure()), AlertDescription::UNKNOWN_CA);
    server.says("alert unknown ca");
}

#[test]
fn s_server_refuses_a_client_without_a_certificate() {
    let world = World::new();
    let (server, address) = world.server(&["-Verify", "1", "-CAfile", &world.pki.ca_file]);
    let mut end = Client::start(&client(&world.pki), to(None), address);
    let expected = Error::AlertReceived(AlertDescription::CERTIFICATE_REQUIRED);
    assert_eq!(end.failure(), expected);
    server.says("peer did not return a certificate");
}

#[test]
fn s_server_refuses_a_client_of_another_authority() {
    let world = World::new();
    let strict = ["-Verify", "1", "-verify_return_error", "-CAfile", &world.pki.ca_file];
    let (_server, address) = world.server(&strict);
    let mut config = client(&world.pki);
    config.credentials = vec![Pki::new().client(tessera_interop::KeyKind::P256).credential()];
    let mut end = Client::start(&config, to(None), address);
    assert_eq!(end.failure(), Error::AlertReceived(AlertDescription::UNKNOWN_CA));
}

#[test]
fn s_server_refuses_a_client_without_a_suite_in_common() {
    let world = World::new();
    let (_server, address) = world.server(&["-ciphersuites", "TLS_AES_256_GCM_SHA384"]);
    let mut config = client(&world.pki);
    config.suites = vec![CipherSuite::TLS_AES_128_GCM_SHA256];
    let mut end = Client::start(&config, to(None), address);
    assert_eq!(end.failure(), Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE));
}

#[test]
fn s_server_refuses_a_client_without_a_group_in_common() {
    let world = World::new();
    let (_server, address) = world.server(&["-groups", "P-384"]);
    let mut config = client(&world.pki);
    config.groups = vec![NamedGroup::X25519];
    let mut end = Client::start(&config, to(None), address);
    assert_eq!(end.failure(), Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE));
}

#[test]
fn s_server_refuses_a_client_without_a_protocol_in_common() {
    let world = World::new();
    let (_server, address) = world.server(&["-alpn", "h2"]);
    let mut config = client(&world.pki);
    config.protocols = vec![b"imap".to_vec()];
    let mut end = Client::start(&config, to(None), address);
    assert_eq!(end.failure(), Error::AlertReceived(AlertDescription::NO_APPLICATION_PROTOCOL));
}

#[test]
fn s_server_of_tls_1_2_answers_the_client_with_protocol_version() {
    let world = World::new();
    let (_server, address) = world.server(&["-tls1_2"]);
    let mut end = Client::start(&client(&world.pki), to(None), address);
    assert_eq!(end.failure(), Error::AlertReceived(AlertDescription::PROTOCOL_VERSION));
}
