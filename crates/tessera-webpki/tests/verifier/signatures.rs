//! CertificateVerify: schemes, keys and signatures.

use pki_types::alg_id;
use rcgen::SignatureAlgorithm;
use tessera::auth::{PeerVerifier, VerifyPeer};
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera_webpki::{Algorithms, PinnedKey, PinnedKeyVerifier};

use crate::pki::{
    NOT_AFTER, Peer, judge, refused, root, root_with, scheme_of, server_params, signature_of,
    signed_of, trusting, with,
};

const KINDS: [(&SignatureAlgorithm, &[SignatureScheme]); 7] = [
    (&rcgen::PKCS_ECDSA_P256_SHA256, &[SignatureScheme::ECDSA_SECP256R1_SHA256]),
    (&rcgen::PKCS_ECDSA_P384_SHA384, &[SignatureScheme::ECDSA_SECP384R1_SHA384]),
    (&rcgen::PKCS_ECDSA_P521_SHA512, &[SignatureScheme::ECDSA_SECP521R1_SHA512]),
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

#[test]
fn a_certificate_shows_which_schemes_its_key_signs_with() {
    let root = root_with("root", &rcgen::PKCS_ECDSA_P256_SHA256);
    for (algorithm, fitting) in KINDS {
        let peer = Peer::with(&server_params(), algorithm, &root);
        let der = &peer.as_server_with(fitting[0]).chain[0];
        assert_eq!(Algorithms::AWS_LC.schemes_for(der).unwrap(), fitting, "{fitting:?}");
    }
    assert!(Algorithms::AWS_LC.schemes_for(b"no certificate").is_err());
}

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
        for &scheme in KINDS.iter().flat_map(|(_, schemes)| *schemes).chain(&PSS_KEYS) {
            if !fitting.contains(&scheme) {
                let question = with(peer.as_server_with(fitting[0]), |it| *scheme_of(it) = scheme);
                refused(&verifier, &question, AlertDescription::ILLEGAL_PARAMETER);
            }
        }
    }
}

/// This distinguishes a refused client from a peer that only names its chain.
#[test]
fn a_proof_is_right_or_wrong_whatever_speaks_against_the_peer() {
    fn assert_told_apart(verifier: &dyn PeerVerifier, question: VerifyPeer) {
        assert!(judge(verifier, &question).is_err());
        assert!(verifier.is_proof_right(&question));
        let wrong = with(question, |it| signature_of(it)[8] ^= 1);
        assert!(!verifier.is_proof_right(&wrong));
    }
    let root = root("root");
    let peer = Peer::new(&server_params(), &root);
    let late = with(peer.as_client(), |it| it.unix = Some(NOT_AFTER + 1));
    assert_told_apart(&trusting(&root), late);
    assert_told_apart(&trusting(&crate::pki::root("other")), peer.as_client());
    let key = Peer::new(&server_params(), &root).public_key();
    let other = PinnedKeyVerifier::new(vec![PinnedKey { name: "other".into(), public_key: key }]);
    assert_told_apart(&other.unwrap(), peer.raw(peer.as_client()));
}

/// RSASSA-PSS with a hash other than the scheme's is a wrong signature, not a wrong scheme.
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

/// RFC 8446 §4.4.3: PKCS #1 v1.5 is for certificates only, even if the signature is valid.
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

/// The schemes of keys restricted to RSASSA-PSS.
const PSS_KEYS: [SignatureScheme; 3] = [
    SignatureScheme::RSA_PSS_PSS_SHA256,
    SignatureScheme::RSA_PSS_PSS_SHA384,
    SignatureScheme::RSA_PSS_PSS_SHA512,
];

/// Returns the SubjectPublicKeyInfo of an RSA key with another AlgorithmIdentifier, by its contents.
fn with_algorithm(info: &[u8], contents: &[u8]) -> Vec<u8> {
    // SEQUENCE, and in it 15 bytes of rsaEncryption with NULL.
    let algorithm = [&[0x30, contents.len() as u8], contents].concat();
    let body = [&algorithm[..], &info[4 + 15..]].concat();
    let len = (body.len() as u16).to_be_bytes();
    [&[0x30, 0x82], &len[..], &body].concat()
}

/// A key without parameters signs with any hash, one with parameters only with the hash that they name (RFC
/// 4055 §3.1), and neither under the schemes of rsaEncryption keys.
#[test]
fn a_key_for_rsassa_pss_alone_verifies_with_the_schemes_that_it_allows() {
    let id_rsassa_pss = &alg_id::RSA_PSS_SHA256.as_ref()[..11];
    let forms: [(&[u8], &[SignatureScheme]); 4] = [
        (id_rsassa_pss, &PSS_KEYS),
        (&alg_id::RSA_PSS_SHA256, &PSS_KEYS[..1]),
        (&alg_id::RSA_PSS_SHA384, &PSS_KEYS[1..2]),
        (&alg_id::RSA_PSS_SHA512, &PSS_KEYS[2..]),
    ];
    let peer = Peer::with(&server_params(), &rcgen::PKCS_RSA_SHA256, &root("root"));
    for (contents, fitting) in forms {
        let public_key = with_algorithm(&peer.public_key(), contents);
        let key = PinnedKey { public_key: public_key.clone(), name: "server.example".into() };
        let verifier = PinnedKeyVerifier::new(vec![key]).unwrap();
        let question = |scheme| {
            with(peer.raw(peer.as_server_with(scheme)), |it| it.chain = vec![public_key.clone()])
        };
        for scheme in PSS_KEYS {
            if fitting.contains(&scheme) {
                judge(&verifier, &question(scheme)).unwrap();
                let forged = with(question(scheme), |it| signature_of(it)[9] ^= 1);
                refused(&verifier, &forged, AlertDescription::DECRYPT_ERROR);
            } else {
                refused(&verifier, &question(scheme), AlertDescription::ILLEGAL_PARAMETER);
            }
        }
        let rsae = question(SignatureScheme::RSA_PSS_RSAE_SHA256);
        refused(&verifier, &rsae, AlertDescription::ILLEGAL_PARAMETER);
    }
}

/// Peers get each scheme once, however many algorithms implement it.
#[test]
fn every_scheme_is_offered_once() {
    let root = root("root");
    let key =
        PinnedKey { public_key: Peer::new(&server_params(), &root).public_key(), name: "a".into() };
    let pinned = PinnedKeyVerifier::new(vec![key]).unwrap();
    for schemes in [trusting(&root).schemes(), pinned.schemes()] {
        for scheme in PSS_KEYS.iter().chain(&[SignatureScheme::ECDSA_SECP521R1_SHA512]) {
            assert_eq!(schemes.iter().filter(|listed| *listed == scheme).count(), 1, "{scheme:?}");
        }
    }
}

/// ML-DSA-87 is not among the algorithms.
#[test]
fn a_chain_signed_with_an_algorithm_that_is_not_accepted_is_refused() {
    let root = root_with("root", &rcgen::PKCS_ML_DSA_87);
    let question = Peer::new(&server_params(), &root).as_server();
    refused(&trusting(&root), &question, AlertDescription::UNSUPPORTED_CERTIFICATE);
}
