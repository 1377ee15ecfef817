//! CertificateVerify: schemes, keys and signatures.

use rcgen::SignatureAlgorithm;
use tessera::auth::PeerVerifier;
use tessera::wire::{AlertDescription, SignatureScheme};

use crate::pki::{
    Peer, judge, refused, root, root_with, scheme_of, server_params, signature_of, signed_of,
    trusting, with,
};

const KINDS: [(&SignatureAlgorithm, &[SignatureScheme]); 6] = [
    (&rcgen::PKCS_ECDSA_P256_SHA256, &[SignatureScheme::ECDSA_SECP256R1_SHA256]),
    (&rcgen::PKCS_ECDSA_P384_SHA384, &[SignatureScheme::ECDSA_SECP384R1_SHA384]),
    (&rcgen::PKCS_ED25519, &[SignatureScheme::ED25519]),
    (
        &rcgen::PKCS_RSA_SHA256,
        &[
            SignatureScheme::RSA_PSS_RSAE_SHA256,
            SignatureScheme::RSA_PSS_RSAE_SHA384,
            SignatureScheme::RSA_PSS_RSAE_SHA512,
        ],
    ),
    (&rcgen::PKCS_ML_DSA_44, &[SignatureScheme::MLDSA44]),
    (&rcgen::PKCS_ML_DSA_65, &[SignatureScheme::MLDSA65]),
];

/// Each kind of key signs the chain and the handshake; every scheme fits its own kind only.
#[test]
fn every_kind_of_key_verifies_with_its_own_schemes_alone() {
    for (algorithm, fitting) in KINDS {
        let root = root_with("root", algorithm);
        let verifier = trusting(&root);
        let peer = Peer::with(&server_params(), algorithm, &root);
        for &scheme in fitting {
            judge(&verifier, &peer.as_server_with(scheme)).unwrap();
        }
        for &scheme in KINDS.iter().flat_map(|(_, schemes)| *schemes) {
            if !fitting.contains(&scheme) {
                let question = with(peer.as_server_with(fitting[0]), |it| *scheme_of(it) = scheme);
                refused(&verifier, &question, AlertDescription::ILLEGAL_PARAMETER);
            }
        }
    }
}

/// RSASSA-PSS with another hash than the scheme's is a wrong signature, not a wrong scheme.
#[test]
fn a_signature_with_another_hash_than_its_schemes_is_refused() {
    let root = root("root");
    let peer = Peer::with(&server_params(), &rcgen::PKCS_RSA_SHA256, &root);
    let question = with(peer.as_server_with(SignatureScheme::RSA_PSS_RSAE_SHA256), |it| {
        *scheme_of(it) = SignatureScheme::RSA_PSS_RSAE_SHA384
    });
    refused(&trusting(&root), &question, AlertDescription::DECRYPT_ERROR);
}

#[test]
fn a_signature_of_another_key_or_message_is_refused() {
    let root = root("root");
    let verifier = trusting(&root);
    let peer = Peer::new(&server_params(), &root);
    let good = peer.as_server();
    let mut other_key = Peer::new(&server_params(), &root).as_server();
    for question in [
        with(good.clone(), |it| *signature_of(it) = vec![]),
        with(good.clone(), |it| *signature_of(it) = signature_of(&mut other_key).clone()),
        with(good, |it| *signed_of(it) = b"something else".to_vec()),
    ] {
        refused(&verifier, &question, AlertDescription::DECRYPT_ERROR);
    }
}

/// RFC 8446 §4.4.3: PKCS #1 v1.5 is for certificates only, even with a signature that is right.
#[test]
fn a_pkcs1_signature_is_accepted_inside_chains_alone() {
    let root = root_with("root", &rcgen::PKCS_RSA_SHA256);
    let verifier = trusting(&root);
    let peer = Peer::with(&server_params(), &rcgen::PKCS_RSA_SHA256, &root);
    let question = peer.as_server_with(SignatureScheme::RSA_PKCS1_SHA256);
    refused(&verifier, &question, AlertDescription::ILLEGAL_PARAMETER);
    assert!(verifier.schemes().contains(&SignatureScheme::RSA_PKCS1_SHA256));
}

#[test]
fn a_signature_of_an_unknown_scheme_is_refused() {
    let root = root("root");
    let question = with(Peer::new(&server_params(), &root).as_server(), |it| {
        *scheme_of(it) = SignatureScheme(0xfefe)
    });
    refused(&trusting(&root), &question, AlertDescription::ILLEGAL_PARAMETER);
}

/// P-521 and ML-DSA-87 are not among the algorithms.
#[test]
fn a_chain_signed_with_an_algorithm_that_is_not_accepted_is_refused() {
    for algorithm in [&rcgen::PKCS_ECDSA_P521_SHA512, &rcgen::PKCS_ML_DSA_87] {
        let root = root_with("root", algorithm);
        let question = Peer::new(&server_params(), &root).as_server();
        refused(&trusting(&root), &question, AlertDescription::UNSUPPORTED_CERTIFICATE);
    }
}
