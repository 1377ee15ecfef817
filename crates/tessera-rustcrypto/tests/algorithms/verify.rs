//! Signatures of AWS-LC are verified, and no others.

#[cfg(any(feature = "ecdsa", feature = "ml-dsa"))]
use aws_lc_rs::signature::KeyPair;
use pki_types::SignatureVerificationAlgorithm;
use tessera::wire::SignatureScheme;
use tessera_rustcrypto::{CHAIN_ALGORITHMS, HANDSHAKE_ALGORITHMS};

pub const MESSAGE: &[u8] = b"TLS 1.3, server CertificateVerify";

/// Asserts that a signature is good, and bad with any byte of it or of its key changed, cut off or added.
pub fn assert_verifies(scheme: SignatureScheme, public: &[u8], signature: &[u8]) {
    assert_verifies_with(in_handshakes(scheme), public, signature);
}

pub fn in_handshakes(scheme: SignatureScheme) -> &'static dyn SignatureVerificationAlgorithm {
    let known = HANDSHAKE_ALGORITHMS.iter().find(|(known, _)| *known == scheme);
    known.expect("it is known").1
}

pub fn assert_verifies_with(
    algorithm: &dyn SignatureVerificationAlgorithm,
    public: &[u8],
    signature: &[u8],
) {
    let verifies = |public: &[u8], message: &[u8], signature: &[u8]| {
        algorithm.verify_signature(public, message, signature).is_ok()
    };
    assert!(verifies(public, MESSAGE, signature));
    assert!(!verifies(public, b"something else", signature));
    for at in (0..signature.len()).step_by(1 + signature.len() / 100) {
        let mut changed = signature.to_vec();
        changed[at] ^= 1;
        assert!(!verifies(public, MESSAGE, &changed), "byte {at} of the signature");
        assert!(!verifies(public, MESSAGE, &signature[..at]), "{at} bytes of the signature");
    }
    for at in (0..public.len()).step_by(1 + public.len() / 100) {
        let mut changed = public.to_vec();
        changed[at] ^= 1;
        assert!(!verifies(&changed, MESSAGE, signature), "byte {at} of the key");
        assert!(!verifies(&public[..at], MESSAGE, signature), "{at} bytes of the key");
    }
    assert!(!verifies(&[public, &[0]].concat(), MESSAGE, signature));
    assert!(!verifies(public, MESSAGE, &[signature, &[0]].concat()));
}

#[cfg(feature = "ecdsa")]
#[test]
fn ecdsa_with_p256_verifies() {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
    let signature = pair.sign(&SystemRandom::new(), MESSAGE).unwrap();
    let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
    assert_verifies(scheme, pair.public_key().as_ref(), signature.as_ref());
}

#[cfg(feature = "ml-dsa")]
#[test]
fn ml_dsa_44_verifies() {
    use aws_lc_rs::signature::{ML_DSA_44_SIGNING, PqdsaKeyPair};
    let pair = PqdsaKeyPair::generate(&ML_DSA_44_SIGNING).unwrap();
    let mut signature = vec![0; 2420];
    pair.sign(MESSAGE, &mut signature).unwrap();
    assert_verifies(SignatureScheme::MLDSA44, pair.public_key().as_ref(), &signature);
}

#[cfg(feature = "ml-dsa-65")]
#[test]
fn ml_dsa_65_verifies() {
    use aws_lc_rs::signature::{ML_DSA_65_SIGNING, PqdsaKeyPair};
    let pair = PqdsaKeyPair::generate(&ML_DSA_65_SIGNING).unwrap();
    let mut signature = vec![0; 3309];
    pair.sign(MESSAGE, &mut signature).unwrap();
    assert_verifies(SignatureScheme::MLDSA65, pair.public_key().as_ref(), &signature);
}

#[test]
fn chains_may_be_signed_like_handshakes() {
    let handshakes = HANDSHAKE_ALGORITHMS.iter().map(|(_, algorithm)| algorithm.signature_alg_id());
    let chains = CHAIN_ALGORITHMS.iter().map(|algorithm| algorithm.signature_alg_id());
    // It signs no handshakes (RFC 8446 §4.2.3).
    let chains = chains.filter(|it| *it != pki_types::alg_id::RSA_PKCS1_SHA256);
    assert_eq!(handshakes.collect::<Vec<_>>(), chains.collect::<Vec<_>>());
}
