//! A one-time key that is used again and again is recovered, which is why its type allows one use.
//!
//! The harness forces the reuse: it derives the key from the same seed for each ciphertext.

use tessera_kem::{DecapsulationKey, EncapsulationKey, ExperimentalOneTimeKey};

use crate::{public, t_h};

const RANK: usize = 3;
const Q: i64 = 3329;
const SEED: [u8; 32] = [0x33; 32];

/// u is this in one place: a compressed 65 is 211, which times a coefficient of s, at most 2, stays below q/4, so that
/// elsewhere the plaintext is zero.
const U: u16 = 65;
/// v is one of these where the coefficient is looked for: 416, 624, 1040 or 1248 when decompressed. The plaintext's bit
/// there is 1 if the coefficient is at most -2, -1, 0 or 1.
const V: [u8; 4] = [2, 3, 5, 6];

/// A ciphertext whose plaintext is zero but for one bit, which depends on one coefficient of s.
fn ciphertext(polynomial: usize, coefficient: usize, v: u8) -> Vec<u8> {
    let mut bytes = vec![0; EncapsulationKey::<RANK>::CIPHERTEXT_LEN];
    let at = 320 * polynomial;
    bytes[at..at + 2].copy_from_slice(&U.to_le_bytes());
    bytes[320 * RANK + coefficient / 2] = v << (4 * (coefficient % 2));
    bytes
}

/// Whether the plaintext has the bit: the attacker sees which secret the owner has, as a peer in a handshake does.
fn bit(polynomial: usize, coefficient: usize, v: u8) -> bool {
    let ciphertext = ciphertext(polynomial, coefficient, v);
    let mut public = public::<RANK>();
    let key = ExperimentalOneTimeKey::<RANK>::generate(&SEED, &mut public).unwrap();
    let secret = *key.decapsulate(&ciphertext).unwrap().expose();
    let (zero, mut one) = ([0; 32], [0; 32]);
    one[coefficient / 8] = 1 << (coefficient % 8);
    let is_one = secret == t_h(&one, &ciphertext, &public);
    assert!(is_one || secret == t_h(&zero, &ciphertext, &public));
    is_one
}

fn recover(polynomial: usize, coefficient: usize) -> i64 {
    let least = V.iter().position(|v| bit(polynomial, coefficient, *v));
    least.map_or(2, |index| index as i64 - 2)
}

/// The transform, by evaluation (FIPS 203 §4.3).
fn transform(s: &[i64]) -> Vec<i64> {
    let mut transformed = Vec::new();
    for i in 0..128u8 {
        let power = |base: i64, n: usize| (0..n).fold(1, |product, _| product * base % Q);
        let root = power(17, 2 * usize::from(i.reverse_bits() >> 1) + 1);
        for odd in 0..2 {
            let coefficients = s.iter().skip(odd).step_by(2).rev();
            transformed.push(coefficients.fold(0, |value, s| (value * root + s).rem_euclid(Q)));
        }
    }
    transformed
}

#[test]
fn a_reused_key_is_recovered() {
    let mut recovered = Vec::new();
    for polynomial in 0..RANK {
        let s: Vec<_> = (0..256).map(|coefficient| recover(polynomial, coefficient)).collect();
        recovered.extend(transform(&s));
    }

    let mut seed = [0; 64];
    seed[..32].copy_from_slice(&SEED);
    let mut expanded = vec![0; DecapsulationKey::<RANK>::EXPANDED_LEN];
    DecapsulationKey::<RANK>::from_seed(&seed).write_expanded(&mut expanded).unwrap();
    let private: Vec<_> = expanded[..384 * RANK]
        .chunks_exact(3)
        .flat_map(|it| {
            let [a, b, c] = [it[0], it[1], it[2]].map(i64::from);
            [a | (b & 15) << 8, b >> 4 | c << 4]
        })
        .collect();
    assert_eq!(recovered, private);
}
