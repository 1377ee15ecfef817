//! Construction of verifiers, and their policies.

use pki_types::SignatureVerificationAlgorithm;
use tessera::Role;
use tessera::auth::PeerVerifier;
use tessera::wire::SignatureScheme;
use tessera_fixed_pki::{Algorithms, ConfigError, Defect, FixedPkiVerifier};
use webpki::aws_lc_rs as aws_lc;

use crate::pki::{ALGORITHMS, NOT_AFTER, NOW, Peer, anchor, root, server_params};

#[test]
fn a_verifier_needs_anchors_and_algorithms_for_handshakes() {
    static PKCS1: Algorithms =
        &[(SignatureScheme::RSA_PKCS1_SHA256, aws_lc::RSA_PKCS1_2048_8192_SHA256)];
    let error = |anchors, algorithms| FixedPkiVerifier::new(anchors, algorithms).err();
    let one = || vec![anchor(root().der())];
    assert_eq!(error(vec![], ALGORITHMS), Some(ConfigError::NoAnchors));
    assert_eq!(error(one(), &[]), Some(ConfigError::NoAlgorithms));
    assert_eq!(error(one(), PKCS1), Some(ConfigError::Scheme));
}

#[test]
fn a_verifier_offers_its_algorithms_in_their_order() {
    let verifier = FixedPkiVerifier::new(vec![anchor(root().der())], ALGORITHMS).unwrap();
    let expected = [
        SignatureScheme::ECDSA_SECP256R1_SHA256,
        SignatureScheme::MLDSA44,
        SignatureScheme::MLDSA65,
    ];
    assert_eq!(verifier.schemes(), expected);
    assert!(verifier.chain_schemes().is_empty());
}

static PKCS1: &[&dyn SignatureVerificationAlgorithm] = &[aws_lc::RSA_PKCS1_2048_8192_SHA256];
static BOTH_PKCS1: &[&dyn SignatureVerificationAlgorithm] =
    &[aws_lc::RSA_PKCS1_2048_8192_SHA256, aws_lc::RSA_PKCS1_2048_8192_SHA384];

#[test]
fn schemes_of_certificates_alone_are_offered_last() {
    let verifier = FixedPkiVerifier::new(vec![anchor(root().der())], &ALGORITHMS[..1]).unwrap();
    let verifier = verifier.accepting_in_certificates(PKCS1, &[SignatureScheme::RSA_PKCS1_SHA256]);
    let expected = [SignatureScheme::ECDSA_SECP256R1_SHA256, SignatureScheme::RSA_PKCS1_SHA256];
    assert_eq!(verifier.schemes(), expected);
    assert!(verifier.chain_schemes().is_empty());
}

#[test]
fn policies_differ_in_what_decides() {
    let (one, other) = (anchor(root().der()), anchor(root().der()));
    let of =
        |anchors: &[_], algorithms| FixedPkiVerifier::new(anchors.to_vec(), algorithms).unwrap();
    let policies = [
        of(&[one], ALGORITHMS),
        of(&[other], ALGORITHMS),
        of(&[one, other], ALGORITHMS),
        of(&[one], &ALGORITHMS[..1]),
        of(&[one], ALGORITHMS).without_checking_dates(),
        of(&[one], ALGORITHMS).accepting_clients(),
        of(&[one], ALGORITHMS).accepting_in_certificates(PKCS1, &[]),
        of(&[one], ALGORITHMS).accepting_in_certificates(BOTH_PKCS1, &[]),
    ]
    .map(|verifier| verifier.policy());
    for (at, policy) in policies.iter().enumerate() {
        assert!(policies[at + 1..].iter().all(|other| other != policy), "{at}");
    }
    assert!(of(&[one], ALGORITHMS).policy() == policies[0]);
}

#[test]
fn a_process_learns_whether_its_peers_would_accept_its_own_chain() {
    let root = root();
    let verifier = FixedPkiVerifier::new(vec![anchor(root.der())], ALGORITHMS).unwrap();
    let chain = Peer::new(&server_params(), &root).chain;
    let would = |role, name, unix| verifier.would_accept(role, &chain, name, unix);
    let name = Some("server.example");
    assert_eq!(would(Role::Server, name, Some(NOW)), Ok(()));
    assert_eq!(would(Role::Server, name, Some(NOT_AFTER + 1)), Err(Defect::Expired));
    assert_eq!(would(Role::Server, name, None), Err(Defect::NoTime));
    assert_eq!(would(Role::Server, Some("b.example"), Some(NOW)), Err(Defect::Name));
    assert_eq!(would(Role::Client, None, Some(NOW)), Err(Defect::ExtendedKeyUsage));
}
