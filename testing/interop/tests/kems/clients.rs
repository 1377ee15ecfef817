//! Tessera's server with a key of a KEM, and clients that offer none: without another key they are refused, with one that
//! signs they are served.

use std::net::TcpListener;

use tessera::ServerConfig;
use tessera::handshake::ClientAuthentication;
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera_interop::{Listener, SERVER_NAME, Server, serve_pages};
use tessera_test_peers::{Process, boringssl, chromium, gnutls, nss, openssl, wolfssl};

use crate::World;

/// Connects a client to the server with a key of a KEM alone; it must report the alert with this text.
#[track_caller]
fn refused(world: &World, start: impl FnOnce(&Listener) -> Process, says: &str) {
    let listener = Listener::new();
    let client = start(&listener);
    let mut end = listener.serve(&world.kem_server());
    assert_eq!(end.failure().alert(), Some(AlertDescription::HANDSHAKE_FAILURE));
    client.says(says);
}

/// Connects a client to the server that can sign, too.
#[track_caller]
fn served(config: &ServerConfig, start: impl FnOnce(&Listener) -> Process) -> (Process, Server) {
    let listener = Listener::new();
    let client = start(&listener);
    let mut end = listener.serve(config);
    end.handshake().send(b"from Tessera\n").close();
    client.says("from Tessera");
    let scheme = Some(SignatureScheme::ECDSA_SECP256R1_SHA256);
    assert_eq!(end.facts().signature_scheme, scheme);
    (client, end)
}

#[test]
fn s_client_is_refused_by_a_kem_and_served_by_a_signature() {
    let world = World::new();
    let strict = ["-CAfile", &world.pki.ca_file, "-verify_return_error"];
    let options = [&strict[..], &world.client.arguments()].concat();
    let start = |listener: &Listener| openssl::s_client(listener.address(), &options);
    refused(&world, start, "alert handshake failure");
    let (_client, end) = served(&world.server(), start);
    assert!(end.facts().peer.is_some());
}

#[test]
fn gnutls_cli_is_refused_by_a_kem_and_served_by_a_signature() {
    let world = World::new();
    let key = world.client.key_pem();
    let own = ["--x509certfile", &world.client.certificate_file, "--x509keyfile", &key];
    let options = [&own[..], &["--x509cafile", &world.pki.ca_file]].concat();
    let start = |listener: &Listener| gnutls::client(listener.address(), SERVER_NAME, &options);
    refused(&world, start, "Received alert [40]: Handshake failed");
    let (_client, end) = served(&world.server(), start);
    assert!(end.facts().peer.is_some());
}

#[test]
fn tstclnt_is_refused_by_a_kem_and_served_by_a_signature() {
    let world = World::new();
    let database = nss::Database::new(&world.pki.ca_file);
    database.add("client", &world.client.certificate_file, &world.client.key_pem());
    let own = ["-n", "client"];
    let start = |listener: &Listener| nss::client(&database, listener.address(), SERVER_NAME, &own);
    refused(&world, start, "SSL_ERROR_NO_CYPHER_OVERLAP");
    let (_client, end) = served(&world.server(), start);
    assert!(end.facts().peer.is_some());
}

#[test]
fn a_boringssl_client_is_refused_by_a_kem_and_served_by_a_signature() {
    let world = World::new();
    let start = |listener: &Listener| {
        boringssl::client(listener.address(), &world.pki.ca_file, SERVER_NAME, 1)
    };
    refused(&world, start, "SSLV3_ALERT_HANDSHAKE_FAILURE");
    served(&world.server(), start);
}

#[test]
fn a_wolfssl_client_is_refused_by_a_kem_and_served_by_a_signature() {
    let world = World::new();
    let start =
        |listener: &Listener| wolfssl::client(listener.address(), &world.pki.ca_file, SERVER_NAME);
    refused(&world, start, "the handshake failed");
    served(&world.server(), start);
}

#[test]
fn chromium_is_refused_by_a_kem_and_served_by_a_signature() {
    let world = World::new();
    let mut signs = world.server();
    signs.client_authentication = ClientAuthentication::None;
    for (config, is_served) in [(&world.kem_server(), false), (&signs, true)] {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
        let browser = std::thread::spawn(move || chromium::show(&url, 1280).dom);
        let ends = serve_pages(&listener, config, &browser);
        let dom = browser.join().unwrap();
        assert_eq!(dom.contains("from Tessera"), is_served, "{dom}");
        let alert = (!is_served).then_some(AlertDescription::HANDSHAKE_FAILURE);
        assert!(
            ends.iter()
                .any(|end| { end.told.error.as_ref().and_then(tessera::Error::alert) == alert })
        );
    }
}
