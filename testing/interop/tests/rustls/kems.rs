//! KEM authentication (docs/kem-auth.md), of which rustls knows nothing.

use std::sync::Arc;

use tessera::handshake::ClientAuthentication;
use tessera::wire::{AlertDescription, NamedGroup, SignatureScheme};
use tessera::{ClientConfig, Error, ServerConfig};
use tessera_interop::{Client, Listener, server, to};

use crate::World;
use crate::peer::{self, Plan, connect, talk_and_close};

const KEMS: [SignatureScheme; 2] = [SignatureScheme::KEM_MLKEM768, SignatureScheme::KEM_X25519];

/// A client that accepts KEMs, and would rather decapsulate than sign.
fn client(world: &World) -> ClientConfig {
    let verifier = world.pki.verifier_with_kems(&KEMS);
    let mut config = ClientConfig::new(tessera_aws_lc::provider(), verifier);
    let kem = world.pki.client_with_kem(SignatureScheme::KEM_MLKEM768);
    config.credentials = vec![kem.credential(), world.client.credential()];
    config
}

/// rustls' CertificateRequest lists signatures alone, so the client signs; also after a HelloRetryRequest.
#[test]
fn a_rustls_server_meets_a_client_that_offers_kems() {
    let world = World::new();
    let rustls = Arc::new(world.rustls_server_mutual());
    for groups in [&[NamedGroup::X25519MLKEM768][..], &[NamedGroup::SECP521R1, NamedGroup::X25519]]
    {
        let (address, thread) = peer::serve(&rustls, Plan::talk());
        let mut config = client(&world);
        config.provider = tessera_aws_lc::provider_with_rare_groups();
        config.groups = groups.to_vec();
        let mut end = Client::start(&config, to(None), address);
        assert_eq!(talk_and_close(&mut end, thread).certificates, 1);
        assert_eq!(end.facts().hello_retry, groups.len() > 1);
        let scheme = Some(SignatureScheme::ECDSA_SECP256R1_SHA256);
        assert_eq!(end.facts().signature_scheme, scheme);
    }
}

#[test]
fn a_client_with_a_key_of_a_kem_alone_has_no_certificate_for_a_rustls_server() {
    let world = World::new();
    let rustls = Arc::new(world.rustls_server_mutual());
    let (address, thread) = peer::serve(&rustls, Plan::talk());
    let mut config = client(&world);
    config.credentials.truncate(1);
    let mut end = Client::start(&config, to(None), address);
    let required = AlertDescription::CERTIFICATE_REQUIRED;
    assert_eq!(end.failure(), Error::AlertReceived(required));
    assert!(thread.join().unwrap().error.unwrap().contains("no certificates"));
}

#[test]
fn a_rustls_client_is_refused_by_a_kem_and_served_by_a_signature() {
    let world = World::new();
    let rustls = Arc::new(world.rustls_client_mutual());
    let kem = world.pki.server_with_kem(SignatureScheme::KEM_MLKEM768);
    let listener = Listener::new();

    let thread = connect(&rustls, listener.address(), Plan::talk());
    let config = ServerConfig::new(tessera_aws_lc::provider(), vec![kem.credential()]);
    let mut end = listener.serve(&config);
    assert_eq!(end.failure().alert(), Some(AlertDescription::HANDSHAKE_FAILURE));
    drop(end);
    assert!(thread.join().unwrap().error.unwrap().contains("HandshakeFailure"));

    let mut config = server(&world.server);
    config.credentials.insert(0, kem.credential());
    let verifier = world.pki.verifier_with_kems(&KEMS);
    config.client_authentication = ClientAuthentication::Required(verifier);
    let thread = connect(&rustls, listener.address(), Plan::talk());
    let mut end = listener.serve(&config);
    talk_and_close(&mut end, thread);
    assert!(end.facts().peer.is_some());
    assert_eq!(end.facts().signature_scheme, Some(SignatureScheme::ECDSA_SECP256R1_SHA256));
}
