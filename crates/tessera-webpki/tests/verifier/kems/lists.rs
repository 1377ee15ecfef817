//! What a verifier that accepts KEMs offers, and its policy.

use tessera::auth::PeerVerifier;
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera_webpki::{Algorithms, ConfigError, WebPkiVerifier};

use super::{ALL, KemPeer, assert_accepted};
use crate::pki::{Ca, Peer, judge, refused, root, server_params, trusting};

const TWO: [SignatureScheme; 2] = [SignatureScheme::KEM_MLKEM768, SignatureScheme::KEM_X25519];

/// A peer that follows the order of the list signs if it can.
#[test]
fn kems_are_offered_after_signatures() {
    let root = root("root");
    let plain = trusting(&root);
    let verifier = trusting(&root).accepting_kems(&TWO).unwrap();
    assert_eq!(verifier.schemes(), [plain.schemes(), &TWO].concat());
    // signature_algorithms alone expresses what may sign certificates: a KEM never does.
    assert!(verifier.chain_schemes().is_empty());
    assert!(judge(&verifier, &Peer::new(&server_params(), &root).as_server()).is_ok());
    let more = verifier.accepting_kems(&ALL).unwrap();
    let offered = &more.schemes()[plain.schemes().len()..];
    assert_eq!(offered, [&TWO[..], &[ALL[0], ALL[2]]].concat());
}

/// RFC 8446 §4.2.3: without signature_algorithms_cert, nothing could sign certificates.
#[test]
fn a_verifier_of_kems_alone_offers_the_signatures_of_certificates_separately() {
    let root = root("root");
    let signatures = trusting(&root).schemes().to_vec();
    let verifier = trusting(&root).accepting_kems_alone(&TWO).unwrap();
    assert_eq!(verifier.schemes(), TWO);
    assert_eq!(verifier.chain_schemes(), signatures);
    let server = KemPeer::new(&server_params(), TWO[0], &root);
    assert_accepted(&verifier, &server, &server.as_server());
    let signing = Peer::new(&server_params(), &root).as_server();
    refused(&verifier, &signing, AlertDescription::ILLEGAL_PARAMETER);
    // Twice is once, and the last list counts.
    let again = verifier.accepting_kems_alone(&ALL[..1]).unwrap();
    assert_eq!((again.schemes(), again.chain_schemes()), (&ALL[..1], &signatures[..]));
}

/// A handshake's algorithm that chains lack stays out of signature_algorithms_cert.
#[test]
fn kems_leave_the_schemes_of_chains_as_they_were() {
    const FEWER: Algorithms = Algorithms {
        chain: &[webpki::aws_lc_rs::ECDSA_P256_SHA256],
        chain_schemes: &[],
        ..Algorithms::AWS_LC
    };
    let root = root("root");
    let plain = || WebPkiVerifier::with_algorithms(&[root.der()], FEWER).unwrap();
    let chains = [SignatureScheme::ECDSA_SECP256R1_SHA256];
    assert_eq!(plain().chain_schemes(), chains);
    assert_eq!(plain().accepting_kems(&TWO).unwrap().chain_schemes(), chains);
    assert_eq!(plain().accepting_kems_alone(&TWO).unwrap().chain_schemes(), chains);
}

#[test]
fn schemes_without_a_form_in_certificates_are_no_kems() {
    let root = root("root");
    for schemes in [
        &[][..],
        &[SignatureScheme::KEM_X25519MLKEM768],
        &[SignatureScheme::ECDSA_SECP256R1_SHA256],
        &[SignatureScheme::KEM_X25519, SignatureScheme(0xfe7f)],
    ] {
        let refused = trusting(&root).accepting_kems(schemes).unwrap_err();
        assert_eq!(refused, ConfigError::Kem, "{schemes:?}");
        let refused = trusting(&root).accepting_kems_alone(schemes).unwrap_err();
        assert_eq!(refused, ConfigError::Kem, "{schemes:?}");
    }
}

/// Sessions survive that the list is written in another order.
#[test]
fn the_kems_belong_to_a_verifiers_policy() {
    let root: Ca = root("root");
    let with = |kems: &[SignatureScheme]| trusting(&root).accepting_kems(kems).unwrap();
    let alone = |kems: &[SignatureScheme]| trusting(&root).accepting_kems_alone(kems).unwrap();
    let nameless = || trusting(&root).leaving_server_names_to_a_wrapper();
    let all = [
        trusting(&root),
        with(&TWO[..1]),
        with(&TWO[1..]),
        with(&TWO),
        alone(&TWO),
        nameless(),
        nameless().accepting_kems(&TWO).unwrap(),
    ]
    .map(|verifier| verifier.policy());
    for (at, policy) in all.iter().enumerate() {
        assert!(all[at + 1..].iter().all(|other| other != policy), "{at}");
    }
    assert_eq!(with(&[TWO[1], TWO[0], TWO[1]]).policy(), with(&TWO).policy());
    // Nothing but an addition: without KEMs it is what it was before there were any.
    let (plain, more) = (trusting(&root).policy(), with(&TWO).policy());
    assert!(more.as_bytes().starts_with(plain.as_bytes()));
}
