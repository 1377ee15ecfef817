//! Tessera's client, which offers KEMs, with servers that sign. They ignore the schemes (RFC 8446 §4.2.3), and the client
//! signs, too.

use std::net::SocketAddr;

use tessera::Error;
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera_interop::{CLIENT_NAME, Client, to};
use tessera_test_peers::{boringssl, gnutls, nss, openssl};

use crate::World;

/// Connects, and has the server answer.
#[track_caller]
fn meets(world: &World, address: SocketAddr, says: &[u8], hears: &str) {
    let mut end = Client::start(&world.client(), to(None), address);
    end.handshake().send(says).hear(hears).close();
    assert_eq!(end.facts().signature_scheme, Some(SignatureScheme::ECDSA_SECP256R1_SHA256));
    assert!(end.facts().peer.is_some() && !end.facts().server_is_implicit);
}

#[test]
fn s_server_meets_a_client_that_offers_kems_at_once_and_after_a_hello_retry_request() {
    let world = World::new();
    let strict = ["-Verify", "1", "-verify_return_error", "-CAfile", &world.pki.ca_file];
    for groups in ["X25519", "P-384"] {
        let options = [&world.server.arguments()[..], &strict, &["-groups", groups]].concat();
        let (mut server, address) = openssl::s_server(&options);
        server.tell("from OpenSSL\n");
        meets(&world, address, b"from Tessera\n", "from OpenSSL");
        server.says("from Tessera").says(CLIENT_NAME);
    }
}

/// A certificate of a KEM is none for a server that signs (docs/kem-auth.md §3).
#[test]
fn a_client_with_a_key_of_a_kem_alone_has_no_certificate_for_s_server() {
    let world = World::new();
    let strict = ["-Verify", "1", "-verify_return_error", "-CAfile", &world.pki.ca_file];
    let (server, address) = openssl::s_server(&[&world.server.arguments()[..], &strict].concat());
    let mut config = world.client();
    config.credentials.truncate(1);
    let mut end = Client::start(&config, to(None), address);
    let required = AlertDescription::CERTIFICATE_REQUIRED;
    assert_eq!(end.failure(), Error::AlertReceived(required));
    assert!(end.facts().own_certificate.is_none());
    server.says("peer did not return a certificate");
}

#[test]
fn gnutls_serv_meets_a_client_that_offers_kems() {
    let world = World::new();
    let (chain, key) = (world.server.chain_file(), world.server.key_pem());
    let own = ["--x509certfile", &chain, "--x509keyfile", &key];
    let asks =
        ["--x509cafile", &world.pki.ca_file, "--require-client-cert", "--verify-client-cert"];
    let (_server, address) = gnutls::server(&[&own[..], &asks].concat());
    meets(&world, address, b"from Tessera\n", "from Tessera");
}

#[test]
fn selfserv_meets_a_client_that_offers_kems() {
    let world = World::new();
    let database = nss::Database::new(&world.pki.ca_file);
    database.add("server", &world.server.chain_file(), &world.server.key_pem());
    let (_server, address) = nss::server(&database, "server", &["-r", "-r"]);
    meets(&world, address, b"GET / HTTP/1.0\r\n\r\n", "HTTP/1.0 200 OK");
}

#[test]
fn a_boringssl_server_meets_a_client_that_offers_kems() {
    let world = World::new();
    let (_server, address) = boringssl::server(&world.server.chain_file(), &world.server.key_file);
    meets(&world, address, b"from Tessera\n", "from BoringSSL");
}
