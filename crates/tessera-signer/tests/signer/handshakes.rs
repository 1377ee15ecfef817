//! Handshakes of servers whose key is at a signer.

use std::sync::Arc;
use std::time::Duration;

use tessera::resume::TicketKeys;
use tessera::wire::SignatureScheme;
use tessera::{ClientConfig, ServerConfig};
use tessera_pki::rcgen;
use tessera_signer::{RemoteKey, RemoteKeyError};
use tessera_tokio::{Acceptor, Connector, MemorySessionStore};
use tessera_vault::RotatingRing;
use tessera_webpki::WebPkiVerifier;
use tokio::time::Instant;

use crate::common::*;

const KINDS: [(&rcgen::SignatureAlgorithm, SignatureScheme); 7] = [
    (&rcgen::PKCS_ECDSA_P256_SHA256, SignatureScheme::ECDSA_SECP256R1_SHA256),
    (&rcgen::PKCS_ECDSA_P384_SHA384, SignatureScheme::ECDSA_SECP384R1_SHA384),
    (&rcgen::PKCS_ECDSA_P521_SHA512, SignatureScheme::ECDSA_SECP521R1_SHA512),
    (&rcgen::PKCS_ED25519, SignatureScheme::ED25519),
    (&rcgen::PKCS_RSA_SHA256, SignatureScheme::RSA_PSS_RSAE_SHA256),
    (&rcgen::PKCS_ML_DSA_44, SignatureScheme::MLDSA44),
    (&rcgen::PKCS_ML_DSA_65, SignatureScheme::MLDSA65),
];

#[tokio::test]
async fn every_kind_of_key_signs_from_afar() {
    for (algorithm, scheme) in KINDS {
        let world = World::new();
        let leaf = world.leaf(algorithm);
        let key = RemoteKey::new(leaf.chain.clone(), "www").unwrap();
        assert_eq!(key.schemes().first(), Some(&scheme));
        let signer = world.signer_of(&leaf).await;
        let server = world.server(&leaf, world.remote(&[signer.address], limits(PATIENCE)));
        let client = handshake(&world, &server).await.unwrap();
        assert!(client.facts().psk.is_none());
        assert_eq!(signer.count("tessera_signer_signatures_total{key=\"www\"}"), 1, "{scheme:?}");
    }
}

#[tokio::test]
async fn many_handshakes_share_a_connection() {
    let world = World::new();
    let leaf = world.leaf(&rcgen::PKCS_RSA_SHA256);
    let signer = world.signer_of(&leaf).await;
    let server = world.server(&leaf, world.remote(&[signer.address], limits(PATIENCE)));
    let one = || async { handshake(&world, &server).await.unwrap() };
    tokio::join!(one(), one(), one(), one(), one(), one(), one(), one());
    assert_eq!(signer.count("tessera_signer_signatures_total{key=\"www\"}"), 8);
    assert!(signer.count("tessera_signer_connections") <= 2);
}

#[tokio::test]
async fn a_signer_that_is_gone_fails_handshakes_in_time_and_resumptions_go_on() {
    let world = World::new();
    let leaf = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256);
    let signer = world.signer_of(&leaf).await;
    let deadline = Duration::from_secs(1);
    let remote = world.remote(&[signer.address], limits(deadline));
    let key = RemoteKey::new(leaf.chain.clone(), "www").unwrap();
    remote.add(&key);
    let mut config = ServerConfig::new(tessera_aws_lc::provider(), vec![key.credential()]);
    let ring: Arc<dyn TicketKeys> = Arc::new(RotatingRing::new(&tessera_aws_lc::provider()));
    config.tickets = Some(ring);
    let server = Acceptor::new(config.checked().unwrap()).with_answers(Arc::new(remote));
    let verifier = Arc::new(WebPkiVerifier::new(&[world.origin.der()]).unwrap());
    let client = || {
        let config = ClientConfig::new(tessera_aws_lc::provider(), verifier.clone());
        Connector::new(config.checked().unwrap())
    };
    let returning = client().with_sessions(Arc::new(MemorySessionStore::default()));
    assert!(handshake_of(&returning, &server).await.unwrap().facts().psk.is_none());

    signer.task.abort();
    for at in 0..2 {
        let begun = Instant::now();
        let (error, _) = handshake_of(&client(), &server).await.err().expect("without a signer");
        assert!(begun.elapsed() < PATIENCE / 2, "{at}: {:?}", begun.elapsed());
        // RFC 8446 §6.2.
        assert!(error.to_string().contains("INTERNAL_ERROR"), "{error}");
        assert!(handshake_of(&returning, &server).await.unwrap().facts().psk.is_some(), "{at}");
    }
}

#[tokio::test]
async fn the_next_signer_is_asked_and_the_first_one_again_when_it_returns() {
    let world = World::new();
    let leaf = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256);
    let (one, other) = (world.signer_of(&leaf).await, world.signer_of(&leaf).await);
    let addresses = [one.address, other.address];
    let server = world.server(&leaf, world.remote(&addresses, limits(PATIENCE)));
    let signed =
        |signer: &RunningSigner| signer.count("tessera_signer_signatures_total{key=\"www\"}");
    until("they aren't connected", || {
        [&one, &other].iter().all(|it| it.count("tessera_signer_connections") == 2)
    })
    .await;
    // The client's ends have heard from them, too.
    while signed(&one) == 0 {
        handshake(&world, &server).await.unwrap();
    }
    let before = signed(&other);
    one.task.abort();
    handshake(&world, &server).await.unwrap();
    assert_eq!(signed(&other), before + 1);

    let listener = loop {
        match tokio::net::TcpListener::bind(one.address).await {
            Ok(listener) => break listener,
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    };
    let (again, acceptor) = (one.server.clone(), world.acceptor());
    let again = tokio::spawn(async move {
        again.run(listener, acceptor, std::future::pending()).await;
    });
    let before = signed(&one);
    let end = Instant::now() + PATIENCE;
    while signed(&one) == before {
        assert!(Instant::now() < end, "it isn't asked again");
        handshake(&world, &server).await.unwrap();
    }
    again.abort();
}

#[test]
fn a_credential_needs_a_certificate_and_a_name() {
    let world = World::new();
    let chain = world.leaf(&rcgen::PKCS_ECDSA_P256_SHA256).chain;
    let error = |chain: &[Vec<u8>], name: &str| RemoteKey::new(chain.to_vec(), name).unwrap_err();
    assert_eq!(error(&chain, ""), RemoteKeyError::Name);
    assert_eq!(error(&chain, &"x".repeat(256)), RemoteKeyError::Name);
    assert_eq!(error(&[], "www"), RemoteKeyError::NoCertificate);
    assert!(matches!(error(&[b"x".to_vec()], "www"), RemoteKeyError::Certificate(_)));
    // AWS-LC signs with it, and the verifier here has no algorithm for it.
    let strong = world.leaf(&rcgen::PKCS_ML_DSA_87).chain;
    assert_eq!(error(&strong, "www"), RemoteKeyError::NoScheme);
}
