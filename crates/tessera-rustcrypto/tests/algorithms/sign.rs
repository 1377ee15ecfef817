//! Signing: keys of P-256 are read, and AWS-LC verifies their signatures.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING,
    EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair, UnparsedPublicKey,
};
use tessera::crypto::{Signer, SigningError};
use tessera::wire::SignatureScheme;
use tessera_rustcrypto::{KeyRejected, SigningKey};

const MESSAGE: &[u8] = b"TLS 1.3, server CertificateVerify";

fn pkcs8(algorithm: &'static EcdsaSigningAlgorithm) -> Vec<u8> {
    EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new()).unwrap().as_ref().to_vec()
}

#[test]
fn aws_lc_verifies_what_its_keys_sign() {
    let der = pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING);
    let theirs = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &der).unwrap();
    let key = SigningKey::from_pkcs8(&der).unwrap();
    assert_eq!(key.public_key(), theirs.public_key().as_ref());
    assert_eq!(key.schemes(), [SignatureScheme::ECDSA_SECP256R1_SHA256]);
    let signature = key.sign(SignatureScheme::ECDSA_SECP256R1_SHA256, MESSAGE).unwrap();
    let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, key.public_key());
    public.verify(MESSAGE, &signature).unwrap();
    public.verify(b"something else", &signature).unwrap_err();
    for other in [SignatureScheme::ECDSA_SECP384R1_SHA384, SignatureScheme::ED25519] {
        assert_eq!(key.sign(other, MESSAGE), Err(SigningError));
    }
}

#[test]
fn other_keys_and_parts_of_keys_are_rejected() {
    let rejected = |der: &[u8]| SigningKey::from_pkcs8(der).map(|_| ()) == Err(KeyRejected);
    assert!(rejected(&pkcs8(&ECDSA_P384_SHA384_ASN1_SIGNING)));
    let der = pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING);
    for len in 0..der.len() {
        assert!(rejected(&der[..len]), "{len}");
    }
}
