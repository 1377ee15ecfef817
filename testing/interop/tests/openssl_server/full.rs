//! Full handshakes: suites, groups, certificates of both sides.

use tessera::wire::{CipherSuite, NamedGroup, SignatureScheme};
use tessera_interop::{
    CLIENT_NAME, Client, KeyKind, Pki, client, fo_skip_client, says_signature, to,
};
use tessera_test_peers::openssl;

use crate::{World, talk, talk_and_close};

#[test]
fn the_client_shakes_hands_with_s_server_in_every_suite() {
    let world = World::new();
    for (suite, name) in [
        (CipherSuite::TLS_AES_128_GCM_SHA256, "TLS_AES_128_GCM_SHA256"),
        (CipherSuite::TLS_AES_256_GCM_SHA384, "TLS_AES_256_GCM_SHA384"),
        (CipherSuite::TLS_CHACHA20_POLY1305_SHA256, "TLS_CHACHA20_POLY1305_SHA256"),
    ] {
        let (mut server, address) = world.server(&["-ciphersuites", name]);
        let mut end = Client::start(&client(&world.pki), to(None), address);
        talk_and_close(&mut end, &mut server);
        assert_eq!(end.facts().suite, Some(suite));
        assert_eq!(end.facts().psk, None);
        server.says(&format!("CIPHER is {name}"));
    }
}

#[test]
fn the_client_shakes_hands_with_s_server_in_every_group() {
    let world = World::new();
    for (group, name, traced) in [
        (NamedGroup::X25519, "X25519", "NamedGroup: ecdh_x25519 (29)"),
        (NamedGroup::SECP256R1, "P-256", "NamedGroup: secp256r1 (P-256) (23)"),
        (NamedGroup::SECP384R1, "P-384", "NamedGroup: secp384r1 (P-384) (24)"),
    ] {
        let (mut server, address) = world.server(&["-groups", name, "-trace"]);
        let mut config = client(&world.pki);
        config.groups = vec![group];
        let mut end = Client::start(&config, to(None), address);
        talk_and_close(&mut end, &mut server);
        assert_eq!(end.facts().group, Some(group));
        assert!(!end.facts().hello_retry);
        // Once in the client's share, once in the server's.
        server.says_times(traced, 2);
    }
}

#[test]
#[ignore = "needs OpenSSL 3.5 or later: make newer-peers"]
fn the_client_shakes_hands_with_s_server_with_the_hybrid_group() {
    let world = World::new();
    for config in [client(&world.pki), fo_skip_client(&world.pki)] {
        let (mut server, address) = world.server(&["-groups", "X25519MLKEM768", "-trace"]);
        let mut end = Client::start(&config, to(None), address);
        talk_and_close(&mut end, &mut server);
        assert_eq!(end.facts().group, Some(NamedGroup::X25519MLKEM768));
        assert!(!end.facts().hello_retry);
        // Once in the client's share, once in the server's.
        server.says_times("NamedGroup: X25519MLKEM768 (4588)", 2);
    }
}

#[test]
fn the_client_verifies_every_kind_of_certificate_of_s_server() {
    for (kind, scheme) in [
        (KeyKind::P256, SignatureScheme::ECDSA_SECP256R1_SHA256),
        (KeyKind::P384, SignatureScheme::ECDSA_SECP384R1_SHA384),
        (KeyKind::Ed25519, SignatureScheme::ED25519),
        (KeyKind::Rsa, SignatureScheme::RSA_PSS_RSAE_SHA256),
        (KeyKind::P521, SignatureScheme::ECDSA_SECP521R1_SHA512),
        (KeyKind::RsaPss, SignatureScheme::RSA_PSS_PSS_SHA256),
        (KeyKind::RsaPssSha384, SignatureScheme::RSA_PSS_PSS_SHA384),
    ] {
        let world = World::with(kind);
        let (mut server, address) = world.server(&[]);
        let mut end = Client::start(&client(&world.pki), to(None), address);
        talk_and_close(&mut end, &mut server);
        assert_eq!(end.facts().signature_scheme, Some(scheme));
        assert!(end.facts().peer.is_some());
    }
}

#[test]
fn s_server_verifies_every_kind_of_client_certificate() {
    let world = World::new();
    for kind in KeyKind::ALL {
        let strict = ["-Verify", "1", "-verify_return_error", "-CAfile", &world.pki.ca_file];
        let (mut server, address) = world.server(&strict);
        let mut config = client(&world.pki);
        config.credentials = vec![world.pki.client(kind).credential()];
        let mut end = Client::start(&config, to(None), address);
        talk_and_close(&mut end, &mut server);
        says_signature(&server, kind);
        if kind == KeyKind::RsaPssSha384 {
            server.says("Peer signing digest: SHA384");
        }
        assert!(server.output().contains(CLIENT_NAME), "{}", server.output());
    }
}

#[test]
fn s_server_serves_a_client_without_a_certificate_where_one_is_optional() {
    let world = World::new();
    let asking = ["-verify", "1", "-CAfile", &world.pki.ca_file];
    let (mut server, address) = world.server(&asking);
    let mut end = Client::start(&client(&world.pki), to(None), address);
    end.handshake();
    talk(&mut end, &mut server);
}

/// RSASSA-PSS with every hash.
#[test]
fn the_client_verifies_rsa_pss_of_s_server_with_every_hash() {
    let world = World::with(KeyKind::Rsa);
    for (name, scheme) in [
        ("RSA-PSS+SHA256", SignatureScheme::RSA_PSS_RSAE_SHA256),
        ("RSA-PSS+SHA384", SignatureScheme::RSA_PSS_RSAE_SHA384),
        ("RSA-PSS+SHA512", SignatureScheme::RSA_PSS_RSAE_SHA512),
    ] {
        let (mut server, address) = world.server(&["-sigalgs", name]);
        let mut end = Client::start(&client(&world.pki), to(None), address);
        talk_and_close(&mut end, &mut server);
        assert_eq!(end.facts().signature_scheme, Some(scheme));
    }
}

/// The server's certificate was issued by an intermediate one, which is sent too.
#[test]
fn the_client_verifies_a_chain_of_s_server_with_an_intermediate() {
    let pki = Pki::new();
    let identity = pki.server_of_intermediate();
    let chain = [&identity.arguments()[..], &["-cert_chain", &identity.intermediate_file]].concat();
    let (mut server, address) = openssl::s_server(&chain);
    let mut end = Client::start(&client(&pki), to(None), address);
    talk_and_close(&mut end, &mut server);
}

/// Meaningless values (RFC 8701), also in a second ClientHello.
#[test]
fn s_server_ignores_grease_of_the_client() {
    let world = World::new();
    for groups in ["X25519", "P-384"] {
        let (mut server, address) = world.server(&["-groups", groups, "-alpn", "h2"]);
        let mut config = client(&world.pki);
        config.grease = true;
        config.protocols = vec![b"h2".to_vec()];
        let mut end = Client::start(&config, to(None), address);
        talk_and_close(&mut end, &mut server);
        assert_eq!(end.facts().hello_retry, groups == "P-384");
    }
}
