//! What is refused, and that it is an error.
#![allow(clippy::unwrap_used, reason = "the helpers here are tests too")]

use tessera_kem::{DecapsulationKey, EncapsulationKey, Error};

fn key<const K: usize>(byte: u8) -> DecapsulationKey<K> {
    DecapsulationKey::from_seed(&[byte; 64])
}

fn expanded<const K: usize>(key: &DecapsulationKey<K>) -> Vec<u8> {
    let mut bytes = vec![0; DecapsulationKey::<K>::EXPANDED_LEN];
    key.write_expanded(&mut bytes).unwrap();
    bytes
}

/// Every length up to a kilobyte more, but the right one.
fn wrong_lengths(right: usize) -> impl Iterator<Item = usize> {
    (0..right + 1024).filter(move |len| *len != right)
}

fn lengths<const K: usize>() {
    let key = key::<K>(1);
    for len in wrong_lengths(EncapsulationKey::<K>::LEN) {
        assert_eq!(EncapsulationKey::<K>::new(&vec![0; len]).err(), Some(Error::Length));
        assert_eq!(key.encapsulation_key().write(&mut vec![0; len]), Err(Error::Length));
    }
    for len in wrong_lengths(EncapsulationKey::<K>::CIPHERTEXT_LEN) {
        assert_eq!(key.decapsulate(&vec![0; len]).err(), Some(Error::Length));
        let mut ciphertext = vec![0; len];
        let refused = key.encapsulation_key().encapsulate(&[2; 32], &mut ciphertext);
        assert_eq!(refused.err(), Some(Error::Length));
    }
    for len in wrong_lengths(DecapsulationKey::<K>::EXPANDED_LEN) {
        assert_eq!(DecapsulationKey::<K>::from_expanded(&vec![0; len]).err(), Some(Error::Length));
        let both = DecapsulationKey::<K>::from_both(&[1; 64], &vec![0; len]);
        assert_eq!(both.err(), Some(Error::Length));
        assert_eq!(key.write_expanded(&mut vec![0; len]), Err(Error::Length));
    }
}

#[test]
fn every_wrong_length_is_refused() {
    lengths::<2>();
    lengths::<3>();
    lengths::<4>();
}

/// Each part of an expanded key, by what lies in it: K-PKE's key, the encapsulation key, its hash, z.
fn damaged_keys<const K: usize>() {
    let whole = expanded(&key::<K>(1));
    let encapsulation_key = 384 * K;
    let hash = encapsulation_key + EncapsulationKey::<K>::LEN;
    for at in
        (0..whole.len()).step_by(61).chain([encapsulation_key - 1, hash, hash + 31, hash + 32])
    {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        let error = DecapsulationKey::<K>::from_both(&[1; 64], &damaged).err();
        assert_eq!(error, Some(Error::SeedMismatch), "{at}");
        let error = DecapsulationKey::<K>::from_expanded(&damaged).err();
        // K-PKE's key and z can't be checked without the seed (FIPS 203 §7.3).
        let is_checked = (encapsulation_key..hash + 32).contains(&at);
        assert!(
            matches!(error, Some(Error::Hash | Error::Modulus)) == is_checked,
            "{at}: {error:?}"
        );
    }
    assert!(DecapsulationKey::<K>::from_both(&[1; 64], &whole).is_ok());
    let error = DecapsulationKey::<K>::from_both(&[2; 64], &whole).err();
    assert_eq!(error, Some(Error::SeedMismatch));
}

#[test]
fn a_seed_and_an_expanded_key_that_disagree_are_refused() {
    damaged_keys::<2>();
    damaged_keys::<3>();
    damaged_keys::<4>();
}

#[test]
fn a_coefficient_that_is_not_below_q_is_refused() {
    let mut bytes = [0; EncapsulationKey::<3>::LEN];
    key::<3>(1).encapsulation_key().write(&mut bytes).unwrap();
    for coefficient in 0..3 * 256 {
        let mut bytes = bytes;
        let (at, shift) = (coefficient / 2 * 3 + coefficient % 2, 4 * (coefficient % 2));
        let pair = u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        for (value, refused) in [(3329, true), (4095, true), (3328, false)] {
            let pair = pair & !(0xfff << shift) | value << shift;
            [bytes[at], bytes[at + 1]] = pair.to_le_bytes();
            let error = EncapsulationKey::<3>::new(&bytes).err();
            assert_eq!(error, refused.then_some(Error::Modulus), "{coefficient}, {value}");
        }
    }
}

#[test]
fn debug_shows_no_bytes() {
    let key = key::<3>(1);
    assert_eq!(format!("{key:?}"), "DecapsulationKey { rank: 3, .. }");
    let mut ciphertext = [0; EncapsulationKey::<3>::CIPHERTEXT_LEN];
    let secret = key.encapsulation_key().encapsulate(&[2; 32], &mut ciphertext).unwrap();
    assert_eq!(format!("{secret:?}"), "SharedSecret");
}
