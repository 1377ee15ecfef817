//! Construction of verifiers.

use tessera::auth::PeerVerifier;
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera_webpki::{Algorithms, ConfigError, WebPkiVerifier};

use crate::pki::{Peer, judge, refused, root, root_with, server_params};

#[test]
fn a_webpki_verifier_needs_roots_that_can_be_read() {
    assert_eq!(WebPkiVerifier::new::<Vec<u8>>(&[]).unwrap_err(), ConfigError::NoRoots);
    let error = WebPkiVerifier::new(&[b"garbage"]).unwrap_err();
    assert!(matches!(error, ConfigError::Root(_)), "{error}");
}

#[test]
fn a_webpki_verifier_trusts_each_of_several_roots() {
    let (one, two) = (root("one"), root("two"));
    let verifier = WebPkiVerifier::new(&[one.der(), two.der()]).unwrap();
    for root in [one, two] {
        assert!(judge(&verifier, &Peer::new(&server_params(), &root).as_server()).is_ok());
    }
}

#[test]
fn a_verifiers_schemes_end_with_those_for_chains_alone() {
    let verifier = WebPkiVerifier::new(&[root("root").der()]).unwrap();
    let schemes = verifier.schemes();
    assert_eq!(schemes[0], SignatureScheme::ECDSA_SECP256R1_SHA256);
    let handshakes = schemes.iter().filter(|scheme| scheme.signs_handshakes()).count();
    assert!(schemes[..handshakes].iter().all(|scheme| scheme.signs_handshakes()));
    assert_eq!((handshakes, schemes.len()), (12, 15));
}

#[test]
fn a_verifier_with_own_algorithms_accepts_these_alone() {
    const OWN: Algorithms = Algorithms {
        handshake: &[(
            SignatureScheme::ECDSA_SECP256R1_SHA256,
            webpki::aws_lc_rs::ECDSA_P256_SHA256,
        )],
        chain: &[webpki::aws_lc_rs::ECDSA_P256_SHA256],
        chain_schemes: &[],
    };
    let ecdsa = root("ecdsa");
    let ed25519 = root_with("ed25519", &rcgen::PKCS_ED25519);
    let verifier = WebPkiVerifier::with_algorithms(&[ecdsa.der(), ed25519.der()], OWN).unwrap();
    assert_eq!(verifier.schemes(), [SignatureScheme::ECDSA_SECP256R1_SHA256]);
    assert!(judge(&verifier, &Peer::new(&server_params(), &ecdsa).as_server()).is_ok());
    let question = Peer::new(&server_params(), &ed25519).as_server();
    refused(&verifier, &question, AlertDescription::UNSUPPORTED_CERTIFICATE);
}

#[test]
fn own_algorithms_have_one_for_handshakes() {
    const OWN: Algorithms = Algorithms { handshake: &[], ..Algorithms::AWS_LC };
    let error = WebPkiVerifier::with_algorithms(&[root("root").der()], OWN).unwrap_err();
    assert_eq!(error, ConfigError::NoHandshakeSchemes);
}

#[test]
fn own_algorithms_may_not_sign_handshakes_with_pkcs1() {
    const OWN: Algorithms = Algorithms {
        handshake: &[(
            SignatureScheme::RSA_PKCS1_SHA256,
            webpki::aws_lc_rs::RSA_PKCS1_2048_8192_SHA256,
        )],
        ..Algorithms::AWS_LC
    };
    let error = WebPkiVerifier::with_algorithms(&[root("root").der()], OWN).unwrap_err();
    assert_eq!(error, ConfigError::HandshakeScheme);
}
