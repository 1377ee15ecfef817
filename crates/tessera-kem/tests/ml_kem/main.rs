//! ML-KEM against Wycheproof's vectors and other implementations.
#![allow(clippy::unwrap_used, reason = "the helpers here are tests too")]

mod differential;
mod wycheproof;

use tessera_kem::{DecapsulationKey, EncapsulationKey};

/// The encoded public half.
fn public<const K: usize>(key: &DecapsulationKey<K>) -> Vec<u8> {
    let mut bytes = vec![0; EncapsulationKey::<K>::LEN];
    key.encapsulation_key().write(&mut bytes).unwrap();
    bytes
}

/// The expanded form.
fn expanded<const K: usize>(key: &DecapsulationKey<K>) -> Vec<u8> {
    let mut bytes = vec![0; DecapsulationKey::<K>::EXPANDED_LEN];
    key.write_expanded(&mut bytes).unwrap();
    bytes
}

/// A ciphertext and its secret.
fn encapsulate<const K: usize>(key: &EncapsulationKey<K>, m: &[u8; 32]) -> (Vec<u8>, [u8; 32]) {
    let mut ciphertext = vec![0; EncapsulationKey::<K>::CIPHERTEXT_LEN];
    let secret = key.encapsulate(m, &mut ciphertext).unwrap();
    (ciphertext, *secret.expose())
}
