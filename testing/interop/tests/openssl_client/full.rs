//! Full handshakes: suites, groups, certificates of both sides, retries.

use tessera::handshake::ClientAuthentication;
use tessera::wire::{CipherSuite, NamedGroup, SignatureScheme};
use tessera_interop::{CLIENT_NAME, KeyKind, SERVER_NAME, says_signature};

use crate::{World, talk_and_close};

#[test]
fn s_client_shakes_hands_in_every_suite() {
    let world = World::new();
    for (suite, name) in [
        (CipherSuite::TLS_AES_128_GCM_SHA256, "TLS_AES_128_GCM_SHA256"),
        (CipherSuite::TLS_AES_256_GCM_SHA384, "TLS_AES_256_GCM_SHA384"),
        (CipherSuite::TLS_CHACHA20_POLY1305_SHA256, "TLS_CHACHA20_POLY1305_SHA256"),
    ] {
        let (mut client, mut server) = world.client(&world.config(), &["-ciphersuites", name]);
        talk_and_close(&mut client, &mut server);
        assert_eq!(server.facts().suite, Some(suite));
        assert_eq!(server.facts().psk, None);
        assert_eq!(server.facts().server_name.as_deref(), Some(SERVER_NAME));
        client.says(&format!("New, TLSv1.3, Cipher is {name}"));
        client.says("Verify return code: 0 (ok)");
        client.says_times("Post-Handshake New Session Ticket arrived", 2);
    }
}

#[test]
fn s_client_shakes_hands_in_every_group() {
    let world = World::new();
    for (group, name, key) in [
        (NamedGroup::X25519, "X25519", "Temp Key: X25519, 253 bits"),
        (NamedGroup::SECP256R1, "P-256", "Temp Key: ECDH, prime256v1, 256 bits"),
        (NamedGroup::SECP384R1, "P-384", "Temp Key: ECDH, secp384r1, 384 bits"),
    ] {
        let (mut client, mut server) = world.client(&world.config(), &["-groups", name]);
        talk_and_close(&mut client, &mut server);
        assert_eq!(server.facts().group, Some(group));
        assert!(!server.facts().hello_retry);
        client.says(key);
    }
}

/// s_client sends a share for the first of its groups.
#[test]
fn s_client_sends_another_share_after_a_hello_retry_request() {
    let world = World::new();
    for (group, groups) in [
        (NamedGroup::X25519, "P-521:X25519"),
        (NamedGroup::SECP256R1, "X448:P-256"),
        (NamedGroup::SECP384R1, "ffdhe2048:P-384"),
    ] {
        let (mut client, mut server) = world.client(&world.config(), &["-groups", groups]);
        talk_and_close(&mut client, &mut server);
        assert_eq!(server.facts().group, Some(group));
        assert!(server.facts().hello_retry);
    }
}

#[test]
fn s_client_verifies_every_kind_of_server_certificate() {
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
        let (mut client, mut server) = world.client(&world.config(), &[]);
        talk_and_close(&mut client, &mut server);
        assert_eq!(server.facts().signature_scheme, Some(scheme));
        says_signature(&client, kind);
        client.says("Verify return code: 0 (ok)");
    }
}

/// The first certificate that the client can verify.
#[test]
fn the_server_chooses_the_first_certificate_that_s_client_can_check() {
    let world = World::with(KeyKind::Ed25519);
    let mut config = world.config();
    config.credentials.push(world.pki.server(KeyKind::P256).credential());
    let sigalgs = ["-sigalgs", "ECDSA+SHA256"];
    let (mut client, mut server) = world.client(&config, &sigalgs);
    talk_and_close(&mut client, &mut server);
    let scheme = server.facts().signature_scheme;
    assert_eq!(scheme, Some(SignatureScheme::ECDSA_SECP256R1_SHA256));
}

#[test]
fn the_server_verifies_every_kind_of_certificate_of_s_client() {
    let world = World::new();
    for kind in KeyKind::ALL {
        let mut config = world.config();
        config.client_authentication = ClientAuthentication::Required(world.pki.verifier());
        let identity = world.pki.client(kind);
        let (mut client, mut server) = world.client(&config, &identity.arguments());
        talk_and_close(&mut client, &mut server);
        let peer = server.facts().peer.clone().unwrap();
        assert_eq!(peer.blob, format!("dns:{CLIENT_NAME}").into_bytes());
    }
}

#[test]
fn s_client_without_a_certificate_is_served_where_one_is_optional() {
    let world = World::new();
    let mut config = world.config();
    config.client_authentication = ClientAuthentication::Optional(world.pki.verifier());
    let (mut client, mut server) = world.client(&config, &[]);
    talk_and_close(&mut client, &mut server);
    assert_eq!(server.facts().peer, None);
}

#[test]
fn s_client_shakes_hands_without_middlebox_compatibility() {
    let world = World::new();
    for groups in ["X25519", "P-521:X25519"] {
        let arguments = ["-no_middlebox", "-groups", groups];
        let (mut client, mut server) = world.client(&world.config(), &arguments);
        talk_and_close(&mut client, &mut server);
    }
}

/// Extensions and versions that Tessera doesn't support.
#[test]
fn the_server_ignores_extensions_of_s_client_that_it_has_no_use_for() {
    let world = World::new();
    let more = ["-enable_pha", "-status", "-maxfraglen", "1024"];
    let (mut client, mut server) = world.client(&world.config(), &more);
    talk_and_close(&mut client, &mut server);
    client.says("OCSP response: no response sent");
}

#[test]
fn s_client_shakes_hands_without_a_server_name() {
    let world = World::new();
    let arguments = ["-noservername", "-CAfile", &world.pki.ca_file];
    let (mut client, mut server) = world.stranger(&world.config(), &arguments);
    talk_and_close(&mut client, &mut server);
    assert_eq!(server.facts().server_name, None);
}

/// RSASSA-PSS with every hash.
#[test]
fn the_server_signs_with_rsa_pss_and_the_hash_that_s_client_asks_for() {
    let world = World::with(KeyKind::Rsa);
    for (name, scheme) in [
        ("RSA-PSS+SHA256", SignatureScheme::RSA_PSS_RSAE_SHA256),
        ("RSA-PSS+SHA384", SignatureScheme::RSA_PSS_RSAE_SHA384),
        ("RSA-PSS+SHA512", SignatureScheme::RSA_PSS_RSAE_SHA512),
    ] {
        // The authority's own signature is an ECDSA one.
        let sigalgs = format!("{name}:ECDSA+SHA256");
        let (mut client, mut server) = world.client(&world.config(), &["-sigalgs", &sigalgs]);
        talk_and_close(&mut client, &mut server);
        assert_eq!(server.facts().signature_scheme, Some(scheme));
    }
}

/// The server's certificate was issued by an intermediate one, which is sent too.
#[test]
fn s_client_verifies_a_chain_with_an_intermediate() {
    let world = World::new();
    let identity = world.pki.server_of_intermediate();
    let (mut client, mut server) = world.client(&tessera_interop::server(&identity), &[]);
    talk_and_close(&mut client, &mut server);
    client.says("Verify return code: 0 (ok)");
}

/// A ClientHello of several records.
#[test]
fn the_server_reads_a_client_hello_of_several_records() {
    let world = World::new();
    let mut config = world.config();
    config.protocols = vec![b"h2".to_vec()];
    let protocols = format!("{},h2", vec!["p".repeat(250); 4].join(","));
    for groups in ["X25519", "P-521:X25519"] {
        let arguments = ["-alpn", &protocols, "-max_send_frag", "512", "-groups", groups];
        let (mut client, mut server) = world.client(&config, &arguments);
        talk_and_close(&mut client, &mut server);
    }
}

/// Meaningless values (RFC 8701), in CertificateRequest and tickets.
#[test]
fn s_client_ignores_grease_of_the_server() {
    let world = World::new();
    let mut config = world.config();
    config.grease = true;
    config.client_authentication = ClientAuthentication::Required(world.pki.verifier());
    let identity = world.pki.client(KeyKind::P256);
    let (mut client, mut server) = world.client(&config, &identity.arguments());
    talk_and_close(&mut client, &mut server);
    assert!(server.facts().peer.is_some());
}
