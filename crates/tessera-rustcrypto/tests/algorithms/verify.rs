//! Signatures of AWS-LC are verified, and no others.

#[cfg(any(feature = "ecdsa", feature = "ed25519", feature = "ml-dsa"))]
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

/// What is accepted of signatures in other encodings, and with other numbers, AWS-LC accepts, too.
#[cfg(feature = "ecdsa")]
#[test]
fn fuzz_no_other_encoding_of_a_signature_is_accepted() {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, UnparsedPublicKey,
    };
    use tessera_harness::{change, each_seed};
    let algorithm = in_handshakes(SignatureScheme::ECDSA_SECP256R1_SHA256);
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
    let public = pair.public_key().as_ref();
    let theirs = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, public);
    let (mut accepted, mut refused) = (0, 0);
    each_seed(400, |numbers| {
        let signature = pair.sign(&SystemRandom::new(), MESSAGE).unwrap();
        let mut signature = signature.as_ref().to_vec();
        match numbers.below(4) {
            // A zero before a number, with lengths that fit; and lengths in their long form.
            0 => {
                signature.insert(4, 0);
                signature[1] += 1;
                signature[3] += 1;
            }
            1 => signature.insert(1, 0x81),
            2 => {
                signature.insert(3, 0x81);
                signature[1] += 1;
            }
            _ => (),
        }
        for _ in 0..numbers.below(3) {
            change(numbers, &mut signature);
        }
        let ours = algorithm.verify_signature(public, MESSAGE, &signature).is_ok();
        if ours {
            theirs.verify(MESSAGE, &signature).unwrap();
            accepted += 1;
        } else {
            refused += 1;
        }
    });
    assert!(accepted > 10 && refused > 100, "{accepted} {refused}");
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

#[cfg(feature = "ml-dsa-87")]
#[test]
fn ml_dsa_87_verifies() {
    use aws_lc_rs::signature::{ML_DSA_87_SIGNING, PqdsaKeyPair};
    let pair = PqdsaKeyPair::generate(&ML_DSA_87_SIGNING).unwrap();
    let mut signature = vec![0; 4627];
    pair.sign(MESSAGE, &mut signature).unwrap();
    assert_verifies(SignatureScheme::MLDSA87, pair.public_key().as_ref(), &signature);
}

#[cfg(feature = "ed25519")]
#[test]
fn ed25519_verifies() {
    use aws_lc_rs::signature::Ed25519KeyPair;
    let pair = Ed25519KeyPair::generate().unwrap();
    let signature = pair.sign(MESSAGE);
    assert_verifies(SignatureScheme::ED25519, pair.public_key().as_ref(), signature.as_ref());
}

/// The point of order 1 with R of order 1 and S of 0 fits every message where that is not checked (RFC 8032 §5.1.7).
#[cfg(feature = "ed25519")]
#[test]
fn ed25519_keys_of_small_order_are_refused() {
    let mut one = [0; 32];
    one[0] = 1;
    let algorithm = in_handshakes(SignatureScheme::ED25519);
    assert!(algorithm.verify_signature(&one, MESSAGE, &[one, [0; 32]].concat()).is_err());
}

#[test]
fn chains_may_be_signed_like_handshakes() {
    let handshakes = HANDSHAKE_ALGORITHMS.iter().map(|(_, algorithm)| algorithm.signature_alg_id());
    let chains = CHAIN_ALGORITHMS.iter().map(|algorithm| algorithm.signature_alg_id());
    // It signs no handshakes (RFC 8446 §4.2.3).
    let chains = chains.filter(|it| *it != pki_types::alg_id::RSA_PKCS1_SHA256);
    assert_eq!(handshakes.collect::<Vec<_>>(), chains.collect::<Vec<_>>());
}
