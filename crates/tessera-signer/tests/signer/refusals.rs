//! What a signer refuses, and why: each check has the request that only it stops.

use tessera::ClientConfig;
use tessera::wire::SignatureScheme;
use tessera_pki::rcgen;
use tessera_pki::rcgen::SanType;
use tessera_signer::server::Keys;
use tessera_tokio::{Connector, Limits};

use crate::common::*;

async fn asked(world: &World, signer: &RunningSigner, client: &str) -> RawClient {
    RawClient::connect(&world.client(client), signer.address).await.unwrap()
}

#[tokio::test]
async fn a_server_s_certificate_verify_is_signed() {
    let world = World::new();
    let signer = world.signer_of(&world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256)).await;
    let mut client = asked(&world, &signer, EDGE).await;
    for hash in [32, 48] {
        let answer = client.ask(P256, "www", &content(&vec![7; hash])).await;
        assert!(matches!(answer, RawAnswer::Signed(_)), "{answer:?}");
    }
    assert_eq!(signer.count("tessera_signer_signatures_total{key=\"www\"}"), 2);
}

#[tokio::test]
async fn a_message_that_is_something_else_is_refused() {
    let world = World::new();
    let leaf = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256);
    let signer = world.signer_of(&leaf).await;
    let mut client = asked(&world, &signer, EDGE).await;
    let (hash, mut others) = ([7; 32], Vec::new());
    let client_verify = [&[b' '; 64][..], b"TLS 1.3, client CertificateVerify\0", &hash].concat();
    others.push(("a client's CertificateVerify", client_verify));
    others.push(("a raw hash", hash.to_vec()));
    for len in [0, 20, 31, 33, 47, 49, 64] {
        others.push(("another length of hash", content(&vec![7; len])));
    }
    others
        .push(("a part after a CertificateVerify", [content(&hash), hash[..8].to_vec()].concat()));
    others.push(("a CertificateVerify after a part", [vec![b' '; 4], content(&hash)].concat()));
    // RFC 5246 §7.4.3: client_random, server_random, curve_type, namedcurve, public point. The attacker chooses the first, and
    // the server's could be any: the 64 spaces are there for this.
    let params = [&[3, 0, 29, 32][..], &[9; 32]].concat();
    others.push(("a ServerKeyExchange of TLS 1.2", [&[b' '; 64][..], &params].concat()));
    others.push(("a ServerKeyExchange of TLS 1.2", [&[5; 64][..], &params].concat()));
    // Of a certificate, what its authority signs.
    let der = leaf.der();
    let tbs = der[4..der.len() - 80].to_vec();
    assert_eq!(tbs[0], 0x30);
    others.push(("a TBSCertificate", tbs));
    others.push(("nothing", Vec::new()));
    let count = others.len() as u64;
    for (what, message) in others {
        assert_eq!(client.ask(P256, "www", &message).await, CONTENT, "{what}");
    }
    let refusals = "tessera_signer_refusals_total{key=\"www\",reason=\"content\"}";
    assert_eq!(signer.count(refusals), count);
    assert_eq!(signer.count("tessera_signer_signatures_total{key=\"www\"}"), 0);
    // The connection is good for more.
    assert!(matches!(client.ask(P256, "www", &content(&hash)).await, RawAnswer::Signed(_)));
}

#[tokio::test]
async fn a_client_without_an_allowed_name_is_refused() {
    let world = World::new();
    let leaf = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256);
    let mut keys = Keys::default();
    keys.add("www", held(&leaf, &[EDGE, "spiffe://internal/edge"], 1000));
    keys.add("mail", held(&leaf, &["mail.internal"], 1000));
    let signer = world.signer(keys, Limits::for_connections(64), 1).await;
    let message = content(&[7; 32]);
    // A part of an allowed name, the allowed name below another, another key's client.
    for name in ["internal", "x.edge-a.internal", "edge-a.internal.evil.example", "mail.internal"] {
        let mut client = asked(&world, &signer, name).await;
        assert_eq!(client.ask(P256, "www", &message).await, NOT_ALLOWED, "{name}");
    }
    let mut edge = asked(&world, &signer, EDGE).await;
    assert_eq!(edge.ask(P256, "mail", &message).await, NOT_ALLOWED);
    assert_eq!(
        signer.count("tessera_signer_refusals_total{key=\"mail\",reason=\"not-allowed\"}"),
        1
    );
    // A subject isn't a name; a URI is one.
    let nameless = world.authority.issue_with(&[], |params| {
        params.distinguished_name.push(rcgen::DnType::CommonName, "dns:edge-a.internal");
    });
    let uri = world.authority.issue_with(&[], |params| {
        let uri = "spiffe://internal/edge".try_into().unwrap();
        params.subject_alt_names = vec![SanType::URI(uri)];
    });
    for (leaf, is_allowed) in [(nameless, false), (uri, true)] {
        let connector = world.connector(vec![leaf.credential()]);
        let mut client = RawClient::connect(&connector, signer.address).await.unwrap();
        let answer = client.ask(P256, "www", &message).await;
        assert_eq!(matches!(answer, RawAnswer::Signed(_)), is_allowed, "{answer:?}");
    }
}

#[tokio::test]
async fn a_key_that_is_not_there_is_refused_and_creates_no_series() {
    let world = World::new();
    let signer = world.signer_of(&world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256)).await;
    let mut client = asked(&world, &signer, EDGE).await;
    for name in ["", "WWW", "www ", "other"] {
        assert_eq!(client.ask(P256, name, &content(&[7; 32])).await, UNKNOWN_KEY, "{name}");
    }
    let refusals = "tessera_signer_refusals_total{key=\"\",reason=\"unknown-key\"}";
    assert_eq!(signer.count(refusals), 4);
}

#[tokio::test]
async fn a_scheme_of_another_key_is_refused() {
    let world = World::new();
    let signer = world.signer_of(&world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256)).await;
    let mut client = asked(&world, &signer, EDGE).await;
    for scheme in [
        SignatureScheme::ED25519,
        SignatureScheme::ECDSA_SECP384R1_SHA384,
        SignatureScheme::RSA_PKCS1_SHA256,
        SignatureScheme(0),
    ] {
        assert_eq!(client.ask(scheme, "www", &content(&[7; 32])).await, SCHEME, "{scheme:?}");
    }
}

#[tokio::test]
async fn a_key_leaves_with_its_clients_at_a_reload() {
    let world = World::new();
    let leaf = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256);
    let signer = world.signer_of(&leaf).await;
    let mut client = asked(&world, &signer, EDGE).await;
    let message = content(&[7; 32]);
    assert!(matches!(client.ask(P256, "www", &message).await, RawAnswer::Signed(_)));
    let mut keys = Keys::default();
    keys.add("www", held(&leaf, &["edge-b.internal"], 1000));
    signer.server.replace(keys);
    assert_eq!(client.ask(P256, "www", &message).await, NOT_ALLOWED);
}

#[tokio::test]
async fn a_client_of_another_authority_or_without_a_certificate_does_not_connect() {
    let world = World::new();
    let signer = world.signer_of(&world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256)).await;
    let other = world.origin.issue(EDGE).credential();
    let expired = world.authority.issue_expired(EDGE).credential();
    for credentials in [vec![], vec![other], vec![expired]] {
        // The client learns of it when it reads.
        let connector = world.connector(credentials);
        if let Ok(mut client) = RawClient::connect(&connector, signer.address).await {
            client.write(&sign(1, P256, "www", &content(&[7; 32]))).await;
            assert_eq!(client.read().await, None);
        }
    }
    until("it isn't counted", || signer.count("tessera_signer_failed_connections_total") == 3)
        .await;
    assert_eq!(signer.count("tessera_signer_signatures_total{key=\"www\"}"), 0);
}

#[tokio::test]
async fn a_client_of_no_protocol_is_not_served() {
    let world = World::new();
    let signer = world.signer_of(&world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256)).await;
    let mut config = ClientConfig::new(tessera_aws_lc::provider(), world.verifier());
    config.credentials = vec![world.authority.issue(EDGE).credential()];
    let connector = Connector::new(config.checked().unwrap());
    if let Ok(mut client) = RawClient::connect(&connector, signer.address).await {
        client.write(&sign(1, P256, "www", &content(&[7; 32]))).await;
        assert_eq!(client.read().await, None);
    }
    assert_eq!(signer.count("tessera_signer_signatures_total{key=\"www\"}"), 0);
}
