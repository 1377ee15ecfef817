//! The same keys, ciphertexts and secrets as `ml-kem` and AWS-LC, also for ciphertexts that were changed.

use aws_lc_rs::digest::{SHA512, digest};
use aws_lc_rs::kem;
use ml_kem::kem::{Decapsulate, KeyExport};
use tessera_kem::DecapsulationKey;

use crate::{encapsulate, expanded, public};

/// Random bytes, the same in each run.
fn seeded(label: &str, n: u32) -> [u8; 64] {
    digest(&SHA512, format!("{label} {n}").as_bytes()).as_ref().try_into().unwrap()
}

fn random_m(n: u32) -> [u8; 32] {
    seeded("m", n)[..32].try_into().unwrap()
}

/// A ciphertext in which one bit is wrong.
fn damaged(ciphertext: &[u8], n: u32) -> Vec<u8> {
    let mut damaged = ciphertext.to_vec();
    let bit = n.wrapping_mul(2_654_435_761) as usize % (8 * damaged.len());
    damaged[bit / 8] ^= 1 << (bit % 8);
    damaged
}

/// One key of each parameter set: `check!(n, rank, ml-kem's type)`.
macro_rules! compare_with_ml_kem {
    ($n:expr, $rank:literal, $module:ident) => {{
        let seed = seeded("seed", $n);
        let ours = DecapsulationKey::<$rank>::from_seed(&seed);
        let theirs = ml_kem::$module::DecapsulationKey::from_seed(seed.into());
        assert_eq!(public(&ours), theirs.encapsulation_key().to_bytes().as_slice(), "{}", $n);

        let m = random_m($n);
        let (ciphertext, secret) = encapsulate(ours.encapsulation_key(), &m);
        let (their_ciphertext, their_secret) =
            theirs.encapsulation_key().encapsulate_deterministic(&m.into());
        assert_eq!(ciphertext, their_ciphertext.as_slice(), "{}", $n);
        assert_eq!(secret, their_secret.as_slice(), "{}", $n);
        assert_eq!(*ours.decapsulate(&ciphertext).unwrap().expose(), secret, "{}", $n);

        let damaged = damaged(&ciphertext, $n);
        let rejected = *ours.decapsulate(&damaged).unwrap().expose();
        let their_rejected = theirs.decapsulate(&damaged.as_slice().try_into().unwrap());
        assert_eq!(rejected, their_rejected.as_slice(), "{}", $n);
        assert_ne!(rejected, secret, "{}", $n);
    }};
}

fn compare_all_sets_with_ml_kem(n: u32) {
    compare_with_ml_kem!(n, 2, ml_kem_512);
    compare_with_ml_kem!(n, 3, ml_kem_768);
    compare_with_ml_kem!(n, 4, ml_kem_1024);
}

#[test]
fn keys_ciphertexts_and_secrets_are_those_of_ml_kem() {
    (0..100).for_each(compare_all_sets_with_ml_kem);
}

/// For `make evidence`, in the profile `release`.
#[test]
#[ignore = "a million keys of each parameter set"]
fn a_million_keys_are_those_of_ml_kem() {
    (0..1_000_000).for_each(compare_all_sets_with_ml_kem);
}

/// Keys and ciphertexts go in both directions.
fn compare_with_aws_lc<const K: usize>(algorithm: &'static kem::Algorithm, n: u32) {
    // Their key, in ours.
    let theirs = kem::DecapsulationKey::generate(algorithm).unwrap();
    let ours = DecapsulationKey::<K>::from_expanded(theirs.key_bytes().unwrap().as_ref()).unwrap();
    let their_public = theirs.encapsulation_key().unwrap();
    assert_eq!(public(&ours), their_public.key_bytes().unwrap().as_ref());
    let (ciphertext, secret) = encapsulate(ours.encapsulation_key(), &random_m(n));
    let their_secret = theirs.decapsulate(ciphertext.as_slice().into()).unwrap();
    assert_eq!(secret, their_secret.as_ref());
    let damaged = damaged(&ciphertext, n);
    let rejected = theirs.decapsulate(damaged.as_slice().into()).unwrap();
    assert_eq!(ours.decapsulate(&damaged).unwrap().expose(), rejected.as_ref());

    // Our key, in theirs.
    let ours = DecapsulationKey::<K>::from_seed(&seeded("for AWS-LC", n));
    let their_public = kem::EncapsulationKey::new(algorithm, &public(&ours)).unwrap();
    let (ciphertext, their_secret) = their_public.encapsulate().unwrap();
    assert_eq!(ours.decapsulate(ciphertext.as_ref()).unwrap().expose(), their_secret.as_ref());
    let theirs = kem::DecapsulationKey::new(algorithm, &expanded(&ours)).unwrap();
    let secret = theirs.decapsulate(ciphertext.as_ref().into()).unwrap();
    assert_eq!(secret.as_ref(), their_secret.as_ref());
}

fn compare_all_sets_with_aws_lc(n: u32) {
    compare_with_aws_lc::<2>(&kem::ML_KEM_512, n);
    compare_with_aws_lc::<3>(&kem::ML_KEM_768, n);
    compare_with_aws_lc::<4>(&kem::ML_KEM_1024, n);
}

#[test]
fn aws_lc_agrees_on_secrets_and_rejections() {
    (0..100).for_each(compare_all_sets_with_aws_lc);
}

/// For `make evidence`, as above.
#[test]
#[ignore = "a million keys of each parameter set"]
fn aws_lc_agrees_on_a_million_keys() {
    (0..1_000_000).for_each(compare_all_sets_with_aws_lc);
}
