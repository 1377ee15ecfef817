//! When one side refuses, the other receives the alert.

use std::io::{Read, Write};
use std::net::TcpStream;

use tessera::Error;
use tessera::handshake::ClientAuthentication;
use tessera::wire::{AlertDescription, NamedGroup};
use tessera_interop::{KeyKind, Pki};
use tessera_test_peers::PATIENCE;

use crate::World;

/// Anything but TLS gets an alert, and the end.
#[test]
fn the_server_answers_what_is_no_tls_with_an_alert() {
    let world = World::new();
    for (sent, alert) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], AlertDescription::UNEXPECTED_MESSAGE),
        (b"SSH-2.0-OpenSSH_9.2\r\n", AlertDescription::UNEXPECTED_MESSAGE),
        (b"\0", AlertDescription::UNEXPECTED_MESSAGE),
        // A handshake record that is too long.
        (b"\x16\x03\x01\xff\xff", AlertDescription::RECORD_OVERFLOW),
        // Another message than ClientHello.
        (b"\x16\x03\x01\x00\x04\x02\0\0\0", AlertDescription::UNEXPECTED_MESSAGE),
        // An empty ClientHello.
        (b"\x16\x03\x01\x00\x04\x01\0\0\0", AlertDescription::DECODE_ERROR),
    ] {
        let mut stranger = TcpStream::connect(world.listener.address()).unwrap();
        stranger.set_read_timeout(Some(PATIENCE)).unwrap();
        stranger.write_all(sent).unwrap();
        let mut server = world.listener.serve(&world.config());
        assert_eq!(server.failure().alert(), Some(alert), "{sent:?}");
        drop(server);
        let mut answer = Vec::new();
        stranger.read_to_end(&mut answer).unwrap();
        assert_eq!(answer, [21, 3, 3, 0, 2, 2, alert.0], "{sent:?}");
    }
}

#[test]
fn the_server_reports_unknown_ca_when_s_client_distrusts_it() {
    let world = World::new();
    let other = Pki::new();
    let arguments = ["-CAfile", &other.ca_file, "-verify_return_error"];
    let (_client, mut server) = world.stranger(&world.config(), &arguments);
    assert_eq!(server.failure(), Error::AlertReceived(AlertDescription::UNKNOWN_CA));
}

#[test]
fn s_client_without_a_certificate_gets_certificate_required() {
    let world = World::new();
    let mut config = world.config();
    config.client_authentication = ClientAuthentication::Required(world.pki.verifier());
    let (client, mut server) = world.client(&config, &[]);
    assert_eq!(server.failure().alert(), Some(AlertDescription::CERTIFICATE_REQUIRED));
    client.says("alert certificate required");
}

#[test]
fn s_client_of_another_authority_gets_unknown_ca() {
    let world = World::new();
    let mut config = world.config();
    config.client_authentication = ClientAuthentication::Required(world.pki.verifier());
    let other = Pki::new();
    let identity = other.client(KeyKind::P256);
    let (client, mut server) = world.client(&config, &identity.arguments());
    assert_eq!(server.failure().alert(), Some(AlertDescription::UNKNOWN_CA));
    client.says("alert unknown ca");
}

#[test]
fn s_client_of_tls_1_2_gets_protocol_version() {
    let world = World::new();
    let (client, mut server) = world.client(&world.config(), &["-tls1_2"]);
    assert_eq!(server.failure().alert(), Some(AlertDescription::PROTOCOL_VERSION));
    client.says("alert protocol version");
}

#[test]
fn s_client_with_nothing_in_common_gets_the_alert_for_it() {
    let world = World::new();
    let mut config = world.config();
    config.groups = vec![NamedGroup::X25519];
    config.protocols = vec![b"h2".to_vec()];
    for (arguments, alert, said) in [
        (["-groups", "P-256"], AlertDescription::HANDSHAKE_FAILURE, "alert handshake failure"),
        (["-sigalgs", "RSA-PSS+SHA256"], AlertDescription::HANDSHAKE_FAILURE, "handshake failure"),
        (["-ciphersuites", "TLS_AES_128_CCM_SHA256"], AlertDescription::HANDSHAKE_FAILURE, "alert"),
        (["-alpn", "imap"], AlertDescription::NO_APPLICATION_PROTOCOL, "no application protocol"),
    ] {
        let (client, mut server) = world.client(&config, &arguments);
        assert_eq!(server.failure().alert(), Some(alert), "{arguments:?}");
        client.says(said);
    }
}
