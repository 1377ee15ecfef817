//! RSASSA-PKCS1-v1_5: in certificates, and never in handshakes (RFC 8446 §4.2.3).

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding};
use tessera::auth::{PeerVerifier, Proof, VerifyPeer};
use tessera::wire::SignatureScheme;
use tessera_fixed_pki::Defect;

use crate::pki::{Both, Ca, Peer, below, root_with, server_params, with};

const KEYS: &rcgen::SignatureAlgorithm = &rcgen::PKCS_RSA_SHA256;

fn root() -> Ca {
    root_with(KEYS, |_| ())
}

/// A server with a chain of two certificates.
fn server(root: &Ca) -> Peer {
    let between = below("between", root, |_| ());
    Peer::with(&server_params(), KEYS, &between).above(&[&between])
}

fn signed(peer: &Peer, scheme: SignatureScheme, encoding: &'static dyn RsaEncoding) -> VerifyPeer {
    let key = KeyPair::from_pkcs8(&peer.key.serialize_der()).unwrap();
    with(peer.as_server_with(scheme), |it| match &mut it.proof {
        Proof::Signature { signed, signature, .. } => {
            signature.resize(key.public_modulus_len(), 0);
            key.sign(encoding, &SystemRandom::new(), signed, signature).unwrap();
        }
        _ => panic!("peers sign here"),
    })
}

#[test]
fn chains_are_signed_with_pkcs1_and_handshakes_with_pss() {
    let (root, impostor) = (root(), root());
    let both = Both::accepting_in_certificates(&[&root]);
    let peer = server(&root);
    both.accept(&signed(&peer, SignatureScheme::RSA_PSS_RSAE_SHA256, &RSA_PSS_SHA256));
    // An issuer's kind of key is its own.
    both.accept(&Peer::new(&server_params(), &root).as_server());
    let both = Both::accepting_in_certificates(&[&impostor]);
    let question = signed(&peer, SignatureScheme::RSA_PSS_RSAE_SHA256, &RSA_PSS_SHA256);
    both.refuse(&question, Defect::Signature);
}

#[test]
fn no_handshake_is_signed_with_pkcs1() {
    let root = root();
    let both = Both::accepting_in_certificates(&[&root]);
    let peer = server(&root);
    let pkcs1 = signed(&peer, SignatureScheme::RSA_PKCS1_SHA256, &RSA_PKCS1_SHA256);
    // It is offered, for certificates.
    assert!(both.fixed.schemes().contains(&SignatureScheme::RSA_PKCS1_SHA256));
    both.refuse(&pkcs1, Defect::Scheme);
    assert!(!both.fixed.is_proof_right(&pkcs1));
    let as_pss = signed(&peer, SignatureScheme::RSA_PSS_RSAE_SHA256, &RSA_PKCS1_SHA256);
    both.refuse(&as_pss, Defect::ProofSignature);
    let as_pkcs1 = signed(&peer, SignatureScheme::RSA_PKCS1_SHA256, &RSA_PSS_SHA256);
    both.refuse(&as_pkcs1, Defect::Scheme);
}

#[test]
fn without_the_algorithm_no_chain_is_signed_with_pkcs1() {
    use tessera_rustcrypto::HANDSHAKE_ALGORITHMS;

    static CHAIN: &[&dyn pki_types::SignatureVerificationAlgorithm] =
        &[webpki::aws_lc_rs::ECDSA_P256_SHA256];
    let root = root();
    let both = Both::with(&[root.der().to_vec()], HANDSHAKE_ALGORITHMS, CHAIN);
    let question = signed(&server(&root), SignatureScheme::RSA_PSS_RSAE_SHA256, &RSA_PSS_SHA256);
    both.refuse(&question, Defect::Algorithm);
}
