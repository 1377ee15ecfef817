//! CertificateVerify.

use tessera::auth::{PeerVerifier, Proof};
use tessera::wire::SignatureScheme;
use tessera_fixed_pki::Defect;

use crate::pki::{Both, Peer, below, judge, root, root_with, server_params, with};

#[test]
fn the_peers_key_signed_the_handshake() {
    let root = root();
    let both = Both::new(&[&root]);
    let good = Peer::new(&server_params(), &root).as_server();
    let change = |of: fn(&mut SignatureScheme, &mut Vec<u8>, &mut Vec<u8>)| {
        with(good.clone(), |it| match &mut it.proof {
            Proof::Signature { scheme, signed, signature } => of(scheme, signed, signature),
            _ => panic!("peers sign here"),
        })
    };
    both.refuse(&change(|_, signed, _| signed[3] ^= 1), Defect::ProofSignature);
    both.refuse(&change(|_, _, signature| signature[9] ^= 1), Defect::ProofSignature);
    both.refuse(&change(|_, _, signature| signature.clear()), Defect::ProofSignature);
    both.refuse(
        &change(|scheme, _, _| *scheme = SignatureScheme::MLDSA44),
        Defect::SchemeOfAnotherKey,
    );
    both.refuse(&change(|scheme, _, _| *scheme = SignatureScheme::ED25519), Defect::Scheme);
    let other = Peer::new(&server_params(), &root).as_server();
    both.refuse(&with(good, |it| it.proof = other.proof), Defect::ProofSignature);
}

/// What is not accepted is not offered.
#[test]
fn a_kem_is_refused() {
    let root = root();
    let both = Both::new(&[&root]);
    let good = Peer::new(&server_params(), &root).as_server();
    let scheme = SignatureScheme::KEM_MLKEM768;
    let question = with(good, |it| it.proof = Proof::Kem { scheme });
    both.refuse(&question, Defect::ProofKind);
    for verifier in [&both.fixed as &dyn PeerVerifier, &both.webpki] {
        assert!(verifier.schemes().iter().all(|scheme| scheme.kem().is_none()));
        assert!(!verifier.is_proof_right(&question));
    }
}

#[test]
fn no_certificate_and_a_chain_that_was_not_sent_are_refused() {
    let root = root();
    let both = Both::new(&[&root]);
    let good = Peer::new(&server_params(), &root).as_server();
    both.refuse(&with(good.clone(), |it| it.chain.clear()), Defect::NoCertificate);
    both.refuse(&with(good, |it| it.known = Some([7; 32])), Defect::NotSent);
}

/// Distinguishes a refused peer from one that only names its chain.
#[test]
fn a_proof_is_right_or_wrong_whatever_speaks_against_the_peer() {
    let verifier = Both::new(&[&root()]);
    let question = Peer::new(&server_params(), &root()).as_server();
    let wrong = with(question.clone(), |it| match &mut it.proof {
        Proof::Signature { signature, .. } => signature[9] ^= 1,
        _ => panic!("peers sign here"),
    });
    for verifier in [&verifier.fixed as &dyn PeerVerifier, &verifier.webpki] {
        assert!(judge(verifier, &question).is_err());
        assert!(verifier.is_proof_right(&question));
        assert!(!verifier.is_proof_right(&wrong));
        assert!(!verifier.is_proof_right(&with(question.clone(), |it| it.chain.clear())));
    }
}

/// With a device's provider instead of AWS-LC.
#[test]
fn chains_are_verified_with_the_algorithms_for_devices() {
    use tessera_rustcrypto::{CHAIN_ALGORITHMS, HANDSHAKE_ALGORITHMS};
    for (algorithm, scheme) in [
        (&rcgen::PKCS_ECDSA_P256_SHA256, SignatureScheme::ECDSA_SECP256R1_SHA256),
        (&rcgen::PKCS_ML_DSA_44, SignatureScheme::MLDSA44),
        (&rcgen::PKCS_ML_DSA_65, SignatureScheme::MLDSA65),
    ] {
        let root = root_with(algorithm, |_| ());
        let between = below("between", &root, |_| ());
        let peer = Peer::with(&server_params(), algorithm, &between).above(&[&between]);
        let both = Both::with(&[root.der().to_vec()], HANDSHAKE_ALGORITHMS, CHAIN_ALGORITHMS);
        both.accept(&peer.as_server_with(scheme));
        let impostor = root_with(algorithm, |_| ());
        let both = Both::with(&[impostor.der().to_vec()], HANDSHAKE_ALGORITHMS, CHAIN_ALGORITHMS);
        both.refuse(&peer.as_server_with(scheme), Defect::Signature);
    }
}
