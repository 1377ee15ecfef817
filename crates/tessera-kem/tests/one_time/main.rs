//! KEMs whose keys decapsulate once: both ends agree, what is malleable and what is not, vectors, and a reused key.
#![allow(clippy::unwrap_used, reason = "the helpers here are tests too")]

mod agreement;
mod kinds;
mod reuse;
mod vectors;

use aws_lc_rs::digest::{SHA3_256, digest};
use tessera_kem::EncapsulationKey;

/// The secret of T_H, by another implementation of SHA-3.
fn t_h(m: &[u8; 32], ciphertext: &[u8], public: &[u8]) -> [u8; 32] {
    let hashed = sha3_256(public);
    sha3_256(&[b"Tessera one-time ML-KEM T_H EXPERIMENTAL", &m[..], ciphertext, &hashed].concat())
}

fn sha3_256(message: &[u8]) -> [u8; 32] {
    digest(&SHA3_256, message).as_ref().try_into().unwrap()
}

/// Room for a public half.
fn public<const K: usize>() -> Vec<u8> {
    vec![0; EncapsulationKey::<K>::LEN]
}
