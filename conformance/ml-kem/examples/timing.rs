//! Whether the time of ML-KEM-768's decapsulations depends on secrets: dudect (Reparaz, Balasch, Verbauwhede, "Dude, is my
//! code constant time?", DATE 2017) of two classes. `scripts/kem-timing` runs it and judges; names that begin with `leaky_`
//! are of code that must be found out.
#![allow(clippy::unwrap_used, reason = "no input here is a stranger's")]

use std::cell::Cell;
use std::hint::black_box;

use dudect_bencher::rand::{Rng, RngExt};
use dudect_bencher::{BenchRng, Class, CtRunner, ctbench_main};
use tessera_kem::reproduction::{ExperimentalEncryptThenMacKey, TAG_LEN};
use tessera_kem::{
    DecapsulationKey768, EncapsulationKey768, ExperimentalFoSkipKey, ExperimentalOneTimeKey,
};

const LEN: usize = EncapsulationKey768::CIPHERTEXT_LEN;

type Ciphertext = [u8; LEN];

/// Of each test, in both classes.
fn samples() -> usize {
    std::env::var("SAMPLES").map_or(100_000, |samples| samples.parse().unwrap())
}

fn bytes<const N: usize>(rng: &mut BenchRng) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill_bytes(&mut bytes);
    bytes
}

fn class(rng: &mut BenchRng) -> Class {
    if rng.random() { Class::Left } else { Class::Right }
}

/// Times an operation, once for each input. All inputs are made before, in the same way for both classes, so that nothing but
/// what they are differs.
fn run<I, R>(
    runner: &mut CtRunner,
    rng: &mut BenchRng,
    mut input: impl FnMut(Class, &mut BenchRng) -> I,
    operation: impl Fn(I) -> R,
) {
    let inputs: Vec<_> = (0..samples())
        .map(|_| {
            let class = class(rng);
            (class, Cell::new(Some(input(class, rng))))
        })
        .collect();
    for (class, input) in &inputs {
        runner.run_one(*class, || operation(input.take().unwrap()));
    }
}

/// What both classes of one-time keys open: a ciphertext to neither.
fn foreign_ciphertext() -> Ciphertext {
    let key = DecapsulationKey768::from_seed(&[7; 64]);
    let mut ciphertext = [0; LEN];
    key.encapsulation_key().encapsulate(&[8; 32], &mut ciphertext).unwrap();
    ciphertext
}

/// The seed of one key, or of any.
fn seed(class: Class, rng: &mut BenchRng) -> [u8; 32] {
    let random = bytes(rng);
    match class {
        Class::Left => [1; 32],
        Class::Right => random,
    }
}

/// K-PKE.Decrypt, and a hash of its plaintext: one key, and others.
fn k_pke_decrypt_by_key(runner: &mut CtRunner, rng: &mut BenchRng) {
    let ciphertext = foreign_ciphertext();
    let key = |class, rng: &mut BenchRng| {
        let mut public = [0; EncapsulationKey768::LEN];
        Box::new(ExperimentalFoSkipKey::<3>::generate(&seed(class, rng), &mut public).unwrap())
    };
    run(runner, rng, key, |key| key.decapsulate(&ciphertext));
}

/// The same with T_H.
fn t_h_by_key(runner: &mut CtRunner, rng: &mut BenchRng) {
    let ciphertext = foreign_ciphertext();
    let key = |class, rng: &mut BenchRng| {
        let mut public = [0; EncapsulationKey768::LEN];
        Box::new(ExperimentalOneTimeKey::<3>::generate(&seed(class, rng), &mut public).unwrap())
    };
    run(runner, rng, key, |key| key.decapsulate(&ciphertext));
}

/// Ciphertexts to one key, of one plaintext and of others, which K-PKE.Decrypt finds, and the re-encryption encrypts.
fn decapsulate_by_plaintext(runner: &mut CtRunner, rng: &mut BenchRng) {
    let key = DecapsulationKey768::from_seed(&bytes(rng));
    let ciphertext = |class, rng: &mut BenchRng| valid(&key, &seed(class, rng));
    run(runner, rng, ciphertext, |ciphertext| key.decapsulate(&*ciphertext));
}

/// Ciphertexts to one key, valid, and with a changed bit somewhere.
fn decapsulate_valid_or_not(runner: &mut CtRunner, rng: &mut BenchRng) {
    let key = DecapsulationKey768::from_seed(&bytes(rng));
    run(runner, rng, |class, rng| valid_or_not(&key, class, rng), |it| key.decapsulate(&*it));
}

/// The comparison: the first byte is wrong, or the last.
fn decapsulate_by_place_of_difference(runner: &mut CtRunner, rng: &mut BenchRng) {
    let key = DecapsulationKey768::from_seed(&bytes(rng));
    run(runner, rng, |class, rng| first_or_last(&key, class, rng), |it| key.decapsulate(&*it));
}

/// The tag's comparison: valid, and with a changed bit of the tag.
fn encrypt_then_mac_valid_or_not(runner: &mut CtRunner, rng: &mut BenchRng) {
    type Key = ExperimentalEncryptThenMacKey<3>;
    let input = |class, rng: &mut BenchRng| {
        let mut public = [0; EncapsulationKey768::LEN];
        let key = Box::new(Key::generate(&[[1; 32], [2; 32]], &mut public).unwrap());
        let public = EncapsulationKey768::new(&public).unwrap();
        let mut ciphertext = [0; Key::CIPHERTEXT_LEN];
        Key::encapsulate(&public, &[bytes(rng), bytes(rng)], &mut ciphertext).unwrap();
        let bit = rng.random_range(0..8 * TAG_LEN);
        if let Class::Right = class {
            ciphertext[LEN + bit / 8] ^= 1 << (bit % 8);
        }
        (key, Box::new(ciphertext))
    };
    run(runner, rng, input, |(key, ciphertext)| key.decapsulate(&*ciphertext));
}

/// A decapsulation, and then a comparison that ends at the first difference.
fn leaky_by_place_of_difference(runner: &mut CtRunner, rng: &mut BenchRng) {
    let key = DecapsulationKey768::from_seed(&bytes(rng));
    let input = |class, rng: &mut BenchRng| {
        let m = bytes(rng);
        let expected = valid(&key, &m);
        let mut received = expected.clone();
        *place(class, &mut received) ^= 1;
        (received, expected)
    };
    run(runner, rng, input, |(received, expected)| {
        (key.decapsulate(&*received), is_same(&*received, &*expected))
    });
}

/// K-PKE.Decrypt, and then a branch for each bit of the key's seed.
fn leaky_by_key(runner: &mut CtRunner, rng: &mut BenchRng) {
    let ciphertext = foreign_ciphertext();
    let key = |class, rng: &mut BenchRng| {
        let mut public = [0; EncapsulationKey768::LEN];
        let seed = seed(class, rng);
        (seed, Box::new(ExperimentalFoSkipKey::<3>::generate(&seed, &mut public).unwrap()))
    };
    run(runner, rng, key, |(seed, key)| (key.decapsulate(&ciphertext), ones(&seed)));
}

fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.iter().zip(b).all(|(a, b)| black_box(a) == black_box(b))
}

fn ones(secret: &[u8]) -> u32 {
    let mut ones = 0;
    for byte in secret {
        let mut rest = *byte;
        while black_box(rest) != 0 {
            ones += 1;
            rest &= rest - 1;
        }
    }
    ones
}

fn valid(key: &DecapsulationKey768, m: &[u8; 32]) -> Box<Ciphertext> {
    let mut ciphertext = Box::new([0; LEN]);
    key.encapsulation_key().encapsulate(m, &mut *ciphertext).unwrap();
    ciphertext
}

fn valid_or_not(key: &DecapsulationKey768, class: Class, rng: &mut BenchRng) -> Box<Ciphertext> {
    let mut ciphertext = valid(key, &bytes(rng));
    let bit = rng.random_range(0..8 * LEN);
    if let Class::Right = class {
        ciphertext[bit / 8] ^= 1 << (bit % 8);
    }
    ciphertext
}

fn first_or_last(key: &DecapsulationKey768, class: Class, rng: &mut BenchRng) -> Box<Ciphertext> {
    let mut ciphertext = valid(key, &bytes(rng));
    *place(class, &mut ciphertext) ^= 1;
    ciphertext
}

fn place(class: Class, ciphertext: &mut Ciphertext) -> &mut u8 {
    match class {
        Class::Left => &mut ciphertext[0],
        Class::Right => &mut ciphertext[LEN - 1],
    }
}

ctbench_main!(
    k_pke_decrypt_by_key,
    t_h_by_key,
    decapsulate_by_plaintext,
    decapsulate_valid_or_not,
    decapsulate_by_place_of_difference,
    encrypt_then_mac_valid_or_not,
    leaky_by_place_of_difference,
    leaky_by_key
);
