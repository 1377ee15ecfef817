//! The same keys, ciphertexts and secrets as libcrux, also for ciphertexts that were changed.

use tessera_kem::{DecapsulationKey, EncapsulationKey};

/// How many keys of each parameter set.
fn keys() -> u64 {
    std::env::var("KEYS").map_or(1000, |keys| keys.parse().unwrap())
}

/// Bytes that are the same in each run, by SplitMix64.
fn bytes<const N: usize>(n: u64) -> [u8; N] {
    let mut state = n << 16;
    core::array::from_fn(|_| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) as u8
    })
}

macro_rules! compare {
    ($rank:literal, $module:ident) => {
        for n in 0..keys() {
            let seed = bytes(2 * n);
            let ours = DecapsulationKey::<$rank>::from_seed(&seed);
            let theirs = libcrux_ml_kem::$module::generate_key_pair(seed);
            let mut public = [0; EncapsulationKey::<$rank>::LEN];
            ours.encapsulation_key().write(&mut public).unwrap();
            assert_eq!(public, *theirs.pk(), "{n}");
            let mut expanded = [0; DecapsulationKey::<$rank>::EXPANDED_LEN];
            ours.write_expanded(&mut expanded).unwrap();
            assert_eq!(expanded, *theirs.sk(), "{n}");

            let m = bytes(2 * n + 1);
            let mut ciphertext = [0; EncapsulationKey::<$rank>::CIPHERTEXT_LEN];
            let secret = ours.encapsulation_key().encapsulate(&m, &mut ciphertext).unwrap();
            let (expected, expected_secret) =
                libcrux_ml_kem::$module::encapsulate(theirs.public_key(), m);
            assert_eq!(ciphertext, *expected.as_slice(), "{n}");
            assert_eq!(*secret.expose(), expected_secret, "{n}");
            assert_eq!(ours.decapsulate(&ciphertext).unwrap().expose(), secret.expose(), "{n}");

            let bit = n as usize % (8 * ciphertext.len());
            ciphertext[bit / 8] ^= 1 << (bit % 8);
            let rejected =
                libcrux_ml_kem::$module::decapsulate(theirs.private_key(), &ciphertext.into());
            assert_eq!(*ours.decapsulate(&ciphertext).unwrap().expose(), rejected, "{n}");
        }
    };
}

#[test]
fn ml_kem_512_is_that_of_libcrux() {
    compare!(2, mlkem512);
}

#[test]
fn ml_kem_768_is_that_of_libcrux() {
    compare!(3, mlkem768);
}

#[test]
fn ml_kem_1024_is_that_of_libcrux() {
    compare!(4, mlkem1024);
}
