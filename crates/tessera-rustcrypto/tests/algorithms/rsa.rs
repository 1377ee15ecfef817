//! Signatures of AWS-LC with RSA are verified, and no others; keys of other sizes and exponents are refused.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{
    KeyPair as _, RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY, RSA_PKCS1_SHA256,
    RSA_PKCS1_SHA384, RSA_PSS_SHA256, RSA_PSS_SHA384, RsaEncoding, UnparsedPublicKey,
};
use pki_types::{SignatureVerificationAlgorithm, alg_id};
use tessera::wire::SignatureScheme;
use tessera_rustcrypto::{CHAIN_ALGORITHMS, HANDSHAKE_ALGORITHMS};

use crate::verify::{MESSAGE, assert_verifies, assert_verifies_with, in_handshakes};

const PSS: SignatureScheme = SignatureScheme::RSA_PSS_RSAE_SHA256;

fn pkcs1() -> &'static dyn SignatureVerificationAlgorithm {
    let mut algorithms = CHAIN_ALGORITHMS.iter();
    *algorithms.find(|it| it.signature_alg_id() == alg_id::RSA_PKCS1_SHA256).expect("it is known")
}

fn signed(pair: &KeyPair, encoding: &'static dyn RsaEncoding) -> Vec<u8> {
    let mut signature = vec![0; pair.public_modulus_len()];
    pair.sign(encoding, &SystemRandom::new(), MESSAGE, &mut signature).unwrap();
    signature
}

#[test]
fn rsa_2048_to_4096_verifies() {
    for size in [KeySize::Rsa2048, KeySize::Rsa3072, KeySize::Rsa4096] {
        let pair = KeyPair::generate(size).unwrap();
        let public = pair.public_key().as_ref();
        assert_verifies(PSS, public, &signed(&pair, &RSA_PSS_SHA256));
        assert_verifies_with(pkcs1(), public, &signed(&pair, &RSA_PKCS1_SHA256));
    }
}

#[test]
fn signatures_of_another_key_padding_or_hash_are_refused() {
    let [pair, other] = [(); 2].map(|()| KeyPair::generate(KeySize::Rsa2048).unwrap());
    let public = pair.public_key().as_ref();
    for (algorithm, others) in [
        (in_handshakes(PSS), [&RSA_PKCS1_SHA256 as &'static dyn RsaEncoding, &RSA_PSS_SHA384]),
        (pkcs1(), [&RSA_PSS_SHA256 as &'static dyn RsaEncoding, &RSA_PKCS1_SHA384]),
    ] {
        for encoding in others {
            assert!(algorithm.verify_signature(public, MESSAGE, &signed(&pair, encoding)).is_err());
        }
        for encoding in [&RSA_PKCS1_SHA256 as &'static dyn RsaEncoding, &RSA_PSS_SHA256] {
            let signature = signed(&other, encoding);
            assert!(algorithm.verify_signature(public, MESSAGE, &signature).is_err());
        }
    }
}

#[test]
fn handshakes_have_no_pkcs1() {
    assert!(HANDSHAKE_ALGORITHMS.iter().all(|(scheme, algorithm)| {
        scheme.signs_handshakes() && algorithm.signature_alg_id() != alg_id::RSA_PKCS1_SHA256
    }));
}

/// Returns EM of RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 §9.2), of this length, for a message whose hash is even.
fn encoded(len: usize) -> (Vec<u8>, Vec<u8>) {
    const DIGEST_INFO: &[u8] =
        b"\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20";
    let (message, hash) = (0_u32..)
        .map(|number| number.to_be_bytes().to_vec())
        .map(|message| (digest(&SHA256, &message), message))
        .find_map(|(hash, message)| (hash.as_ref()[31] % 2 == 0).then_some((message, hash)))
        .unwrap();
    let padding = vec![0xff; len - 3 - DIGEST_INFO.len() - 32];
    let em = [&[0, 1][..], &padding, &[0], DIGEST_INFO, hash.as_ref()].concat();
    (message, em)
}

/// Makes the RSAPublicKey under which `em`, which is even, is its own signature: n = factor · (em + 1). Modulo em + 1, em is
/// -1, and an odd power of it itself; so it is modulo each prime p of the factor for which p - 1 divides e - 1 (Fermat).
fn own_key(em: &[u8], factor: u32, exponent: &[u8]) -> Vec<u8> {
    let mut n = em.to_vec();
    *n.last_mut().unwrap() += 1;
    let mut carry = 0;
    for byte in n.iter_mut().rev() {
        carry += u32::from(*byte) * factor;
        *byte = carry as u8;
        carry >>= 8;
    }
    assert_eq!(carry, 0);
    key(&n, exponent)
}

/// Returns an RSAPublicKey (RFC 8017 §A.1.1) of two unsigned numbers.
fn key(n: &[u8], e: &[u8]) -> Vec<u8> {
    let number = |bytes: &[u8]| {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count().min(bytes.len() - 1);
        let bytes = &bytes[zeros..];
        let sign: &[u8] = if bytes[0] < 0x80 { &[] } else { &[0] };
        element(2, &[sign, bytes].concat())
    };
    element(0x30, &[number(n), number(e)].concat())
}

fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let len = content.len();
    let head = match len {
        0..=0x7f => vec![tag, len as u8],
        0x80..=0xff => vec![tag, 0x81, len as u8],
        _ => vec![tag, 0x82, (len >> 8) as u8, len as u8],
    };
    [head, content.to_vec()].concat()
}

/// Products of 3, 5, 17 and 257.
const EIGHT_BITS: u32 = 255;
const NINE_BITS: u32 = 257;
const FOURTEEN_BITS: u32 = 13_107;
const FIFTEEN_BITS: u32 = 21_845;

const F4: &[u8] = &[1, 0, 1];

#[test]
fn a_modulus_has_2048_to_4096_bits() {
    for (bits, len, factor, is_accepted) in [
        (2042, 256, NINE_BITS, false),
        (2047, 256, FOURTEEN_BITS, false),
        (2048, 256, FIFTEEN_BITS, true),
        (2049, 257, EIGHT_BITS, true),
        (4096, 512, FIFTEEN_BITS, true),
        (4097, 513, EIGHT_BITS, false),
        (8192, 1024, FIFTEEN_BITS, false),
        (8193, 1025, EIGHT_BITS, false),
    ] {
        let (message, em) = encoded(len);
        let public = own_key(&em, factor, F4);
        if bits <= 8192 {
            // Nothing but its size speaks against it.
            UnparsedPublicKey::new(&RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY, &public)
                .verify(&message, &em)
                .unwrap();
        }
        let result = pkcs1().verify_signature(&public, &message, &em);
        assert_eq!(result.is_ok(), is_accepted, "{bits} bits");
    }
}

#[test]
fn an_exponent_has_2_to_33_bits() {
    let (message, em) = encoded(257);
    for (exponent, is_accepted) in [
        (&[1, 0, 1][..], true),
        (&[1, 1], true),
        (&[1, 0, 0, 0, 1], true),
        (&[1, 0xff, 0xff, 0xff, 1], true),
        (&[2, 0, 0, 0, 1], false),
        (&[1, 0, 0, 0, 0, 0, 0, 0, 1], false),
        // It signs itself under any modulus.
        (&[1], false),
    ] {
        let public = own_key(&em, NINE_BITS, exponent);
        let result = pkcs1().verify_signature(&public, &message, &em);
        assert_eq!(result.is_ok(), is_accepted, "{exponent:?}");
    }
}

/// Bleichenbacher's forgeries, and what else isn't the one encoding.
#[test]
fn an_encoding_is_whole() {
    let (message, em) = encoded(257);
    let at = em.len() - 32 - 19;
    let mut changed = Vec::new();
    for (index, byte) in [(0, 1), (1, 0), (1, 2), (2, 0), (at - 2, 0), (at - 1, 0xff), (at + 16, 4)]
    {
        let mut em = em.clone();
        em[index] = byte;
        changed.push(em);
    }
    // Less padding, and what is left over behind the hash.
    let short = [&em[..10], &em[at - 1..], &vec![0; at - 11][..]].concat();
    // AlgorithmIdentifier without parameters.
    let [head, hash] = [&em[..at], &em[at + 19..]];
    let bare = b"\x30\x2f\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x04\x20";
    let bare = [&head[..2], &[0xff, 0xff], &head[2..], bare, hash].concat();
    // The hash alone.
    let alone = [&[0, 1][..], &vec![0xff; em.len() - 35], &[0], hash].concat();
    for em in changed.into_iter().chain([short, bare, alone]) {
        let factor = if em[0] == 0 { NINE_BITS } else { 1 };
        let public = own_key(&em, factor, F4);
        assert!(pkcs1().verify_signature(&public, &message, &em).is_err(), "{em:x?}");
    }
    let public = own_key(&em, NINE_BITS, F4);
    assert!(pkcs1().verify_signature(&public, &message, &em).is_ok());
}

#[test]
fn no_key_and_no_signature_make_it_panic() {
    let numbers = |lens: &[usize]| -> Vec<Vec<u8>> {
        let of = |len: &usize| [0, 1, 2, 0x80, 0xff].map(|byte| vec![byte; *len]);
        lens.iter().flat_map(of).collect()
    };
    for algorithm in [in_handshakes(PSS), pkcs1()] {
        for n in &numbers(&[1, 5, 256, 257, 512, 513]) {
            for e in &numbers(&[1, 3, 5, 9, 256]) {
                let public = key(n, e);
                for signature in [&[][..], &[0], &vec![0; n.len()], &vec![1; n.len()], n] {
                    let result = algorithm.verify_signature(&public, MESSAGE, signature);
                    assert!(result.is_err(), "{n:x?} {e:x?}");
                }
            }
        }
        for public in [
            &[][..],
            &[0x30, 0],
            &[0x30, 2, 2, 0],
            &[0x30, 4, 2, 0, 2, 0],
            &[0x30, 3, 2, 1, 3],
            &element(0x30, &[element(2, &[0x80; 256]), element(2, F4)].concat()),
        ] {
            assert!(algorithm.verify_signature(public, MESSAGE, &[1; 256]).is_err());
        }
    }
}
