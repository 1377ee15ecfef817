//! What the key of a known chain must depend on.

use rcgen::{KeyPair, PublicKeyData};
use tessera::Role;
use tessera::auth::PeerVerifier;
use tessera::wire::AlertDescription;
use tessera_webpki::{Algorithms, KnownChains, StoreBounds, StoreError, WebPkiVerifier};

use super::{
    assert_judged_whole, assert_known, assert_refused, intermediate, server_below, store, trusting,
};
use crate::pki::{Peer, client_params, judge, root, server_params, signature_of, signed_of, with};

#[test]
fn a_chain_that_was_accepted_is_known_with_the_same_identity() {
    let (root, store) = (root("root"), store());
    let (verifier, plain) = (trusting(&root, &store), crate::pki::trusting(&root));
    let server = server_below(&intermediate(&root));
    let client = Peer::new(&client_params(&["b.example", "a.example"]), &root);
    for question in [server.as_server(), client.as_client()] {
        assert_judged_whole(&verifier, &store, &question);
        // Another signature over another transcript, as in every handshake.
        assert_known(&verifier, &store, &question);
        assert_eq!(judge(&verifier, &question), judge(&plain, &question));
    }
    assert_eq!(store.counts().entries, 2);
}

#[test]
fn a_server_is_known_under_the_names_alone_that_it_was_accepted_for() {
    let (root, store) = (root("root"), store());
    let verifier = trusting(&root, &store);
    let server = server_below(&intermediate(&root));
    assert_judged_whole(&verifier, &store, &server.as_server());
    let named = |name: &str| with(server.as_server(), |it| it.server_name = Some(name.into()));
    assert_judged_whole(&verifier, &store, &named("192.0.2.1"));
    assert_eq!(judge(&verifier, &named("192.0.2.1")).unwrap().blob, b"192.0.2.1");
    let other = named("other.example");
    assert_refused(&verifier, &store, &other, AlertDescription::BAD_CERTIFICATE);
    let nameless = with(server.as_server(), |it| it.server_name = None);
    assert_refused(&verifier, &store, &nameless, AlertDescription::INTERNAL_ERROR);
    assert_known(&verifier, &store, &server.as_server());
}

#[test]
fn a_chain_is_known_in_the_role_alone_in_which_it_was_accepted() {
    let (root, store) = (root("root"), store());
    let verifier = trusting(&root, &store);
    let mut params = server_params();
    params.extended_key_usages.clear();
    let both = Peer::new(&params, &root);
    assert_judged_whole(&verifier, &store, &both.as_server());
    assert_judged_whole(&verifier, &store, &both.as_client());

    let server = Peer::new(&server_params(), &root);
    assert_judged_whole(&verifier, &store, &server.as_server());
    let alert = AlertDescription::UNSUPPORTED_CERTIFICATE;
    assert_refused(&verifier, &store, &server.as_client(), alert);
}

#[test]
fn a_chain_is_known_to_verifiers_alone_that_accept_alike() {
    const OTHER: Algorithms = Algorithms {
        handshake: &[(
            tessera::wire::SignatureScheme::ECDSA_SECP256R1_SHA256,
            webpki::aws_lc_rs::ECDSA_P256_SHA256,
        )],
        ..Algorithms::AWS_LC
    };
    let (one, two, store) = (root("one"), root("two"), store());
    let server = server_below(&intermediate(&one)).as_server();
    assert_judged_whole(&trusting(&one, &store), &store, &server);
    assert_known(&trusting(&one, &store), &store, &server);

    let more = WebPkiVerifier::new(&[one.der(), two.der()]).unwrap();
    assert_judged_whole(&KnownChains::new(more, &store), &store, &server);
    let fewer = WebPkiVerifier::with_algorithms(&[one.der()], OTHER).unwrap();
    assert_judged_whole(&KnownChains::new(fewer, &store), &store, &server);
    let nameless = WebPkiVerifier::new(&[one.der()]).unwrap().leaving_server_names_to_a_wrapper();
    assert_judged_whole(&KnownChains::new(nameless, &store), &store, &server);
    let stranger = trusting(&two, &store);
    assert_refused(&stranger, &store, &server, AlertDescription::UNKNOWN_CA);
}

#[test]
fn a_chain_that_was_judged_without_names_is_not_known_with_them() {
    let (root, store) = (root("root"), store());
    let verifier = trusting(&root, &store);
    let server = Peer::new(&server_params(), &root).as_server();
    let other = with(server.clone(), |it| it.server_name = Some("other.example".into()));
    let expires_at = verifier.verify_without_names(&other).unwrap();
    assert_eq!(verifier.verify_without_names(&other), Ok(expires_at));
    assert_eq!(store.counts().hits, 1);
    assert_refused(&verifier, &store, &other, AlertDescription::BAD_CERTIFICATE);
    assert_judged_whole(&verifier, &store, &server);
}

#[test]
fn a_known_chain_needs_a_right_proof_each_time() {
    let (root, store) = (root("root"), store());
    let verifier = trusting(&root, &store);
    let server = server_below(&intermediate(&root)).as_server();
    let wrong = with(server.clone(), |it| signature_of(it)[9] ^= 1);
    let replayed = with(server.clone(), |it| signed_of(it).push(0));
    let not_offered = with(server.clone(), |it| {
        *crate::pki::scheme_of(it) = tessera::wire::SignatureScheme(0x0999);
    });
    for _ in 0..2 {
        let alert = |question: &_| judge(&verifier, question).unwrap_err().alert;
        assert!(matches!(
            alert(&wrong),
            AlertDescription::DECRYPT_ERROR | AlertDescription::BAD_CERTIFICATE
        ));
        assert_eq!(alert(&replayed), AlertDescription::DECRYPT_ERROR);
        assert_eq!(alert(&not_offered), AlertDescription::ILLEGAL_PARAMETER);
        assert!(judge(&verifier, &server).is_ok());
    }
    assert_eq!(store.counts().entries, 1);
}

#[test]
fn another_certificate_over_the_same_key_is_judged_whole() {
    let (root, store) = (root("root"), store());
    let verifier = trusting(&root, &store);
    let old = Peer::new(&server_params(), &root);
    assert_judged_whole(&verifier, &store, &old.as_server());
    let key = KeyPair::try_from(old.key.serialize_der()).unwrap();
    let renewed = server_params().signed_by(&key, &root).unwrap();
    let renewed = Peer { key, chain: vec![renewed.der().to_vec()] };
    assert_eq!(renewed.public_key(), old.key.subject_public_key_info());
    assert_ne!(renewed.chain, old.chain);
    assert_judged_whole(&verifier, &store, &renewed.as_server());

    let key = KeyPair::try_from(old.key.serialize_der()).unwrap();
    let forged = server_params().signed_by(&key, &crate::pki::root("root")).unwrap();
    let forged = Peer { key, chain: vec![forged.der().to_vec()] };
    assert_refused(&verifier, &store, &forged.as_server(), AlertDescription::BAD_CERTIFICATE);
}

/// Otherwise a peer with one good certificate could fill the store.
#[test]
fn chains_that_are_more_than_a_path_are_accepted_and_not_remembered() {
    let (root, store) = (root("root"), store());
    let verifier = trusting(&root, &store);
    let issuer = intermediate(&root);
    let good = server_below(&issuer);
    let remembered = |chain: Vec<Vec<u8>>| {
        let entries = store.counts().entries;
        assert!(judge(&verifier, &with(good.as_server(), |it| it.chain = chain)).is_ok());
        store.counts().entries > entries
    };
    let [leaf, upper] = [good.chain[0].clone(), good.chain[1].clone()];
    let anchor = root.der().to_vec();
    let unneeded = intermediate(&root).der().to_vec();
    assert!(!remembered(vec![leaf.clone(), upper.clone(), unneeded.clone()]));
    assert!(!remembered(vec![leaf.clone(), unneeded, upper.clone()]));
    assert!(!remembered(vec![leaf.clone(), upper.clone(), upper.clone()]));
    assert!(!remembered(vec![leaf.clone(), upper.clone(), b"junk".to_vec()]));
    assert!(!remembered(vec![leaf.clone(), upper.clone(), anchor.clone(), anchor.clone()]));
    assert!(remembered(vec![leaf.clone(), upper.clone(), anchor]));
    assert!(remembered(vec![leaf, upper]));
}

/// A bundle has hundreds of roots: each of them after one good path would make another chain.
#[test]
fn a_chain_with_another_paths_anchor_behind_is_not_remembered() {
    let (own, other, store) = (root("root"), root("other"), store());
    let verifier = WebPkiVerifier::new(&[own.der(), other.der()]).unwrap();
    let verifier = KnownChains::new(verifier, &store);
    let good = server_below(&intermediate(&own));
    for (anchor, entries) in [(&other, 0), (&own, 1)] {
        let behind = |it: &mut tessera::auth::VerifyPeer| it.chain.push(anchor.der().to_vec());
        assert!(judge(&verifier, &with(good.as_server(), behind)).is_ok());
        assert_eq!(store.counts().entries, entries);
    }
}

#[test]
fn a_peer_whose_own_certificate_is_an_anchor_is_known_too() {
    let store = store();
    let key = KeyPair::generate().unwrap();
    let der = server_params().self_signed(&key).unwrap().der().to_vec();
    let verifier = KnownChains::new(WebPkiVerifier::new(&[&der]).unwrap(), &store);
    let server = Peer { key, chain: vec![der] };
    assert_judged_whole(&verifier, &store, &server.as_server());
    assert_known(&verifier, &store, &server.as_server());
    let late = with(server.as_server(), |it| it.unix = Some(crate::pki::NOT_AFTER + 1));
    assert_refused(&verifier, &store, &late, AlertDescription::CERTIFICATE_EXPIRED);
}

#[test]
fn the_policy_of_a_verifier_that_knows_chains_is_that_of_the_inner_one() {
    let root = root("root");
    let (verifier, plain) = (trusting(&root, &store()), crate::pki::trusting(&root));
    assert_eq!(verifier.policy(), plain.policy());
    assert_eq!(verifier.schemes(), plain.schemes());
    let naming = || crate::pki::trusting(&root).naming_authorities();
    assert_eq!(KnownChains::new(naming(), &store()).authorities(), naming().authorities());
}

#[test]
fn known_chains_need_a_provider_with_sha_256() {
    let all = tessera_aws_lc::provider();
    let id = tessera::wire::CipherSuite::TLS_AES_256_GCM_SHA384;
    let suites: &'static [_] = Box::leak(Box::new([all.suite(id).unwrap()]));
    let provider = tessera::crypto::Provider { suites, ..all };
    let refused = tessera_webpki::ChainStore::new(&provider, StoreBounds::default()).map(|_| ());
    assert_eq!(refused, Err(StoreError::NoSha256));
}

#[test]
fn a_client_without_a_certificate_is_refused_as_before() {
    let (root, store) = (root("root"), store());
    let verifier = trusting(&root, &store);
    let nobody = with(Peer::new(&client_params(&["a.example"]), &root).as_client(), |it| {
        it.chain.clear();
        it.peer = Role::Client;
    });
    assert_refused(&verifier, &store, &nobody, AlertDescription::DECODE_ERROR);
}
