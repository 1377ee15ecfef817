//! The hash functions of FIPS 203 §4.1, of the parts of a message.

use zeroize::Zeroizing;

use crate::sponge::{Sha3_256, Sha3_512, Shake256, Suffix};

/// H, SHA3-256.
pub(crate) fn h(parts: &[&[u8]]) -> Zeroizing<[u8; 32]> {
    let mut digest = Zeroizing::new([0; 32]);
    let mut sponge = Sha3_256::new();
    parts.iter().for_each(|part| sponge.absorb(part));
    sponge.pad(Suffix::Sha3);
    sponge.squeeze(&mut *digest);
    digest
}

/// G, SHA3-512, in two halves.
pub(crate) struct G {
    pub(crate) first: Zeroizing<[u8; 32]>,
    pub(crate) second: Zeroizing<[u8; 32]>,
}

pub(crate) fn g(parts: &[&[u8]]) -> G {
    let mut digest = Zeroizing::new([0; 64]);
    let mut sponge = Sha3_512::new();
    parts.iter().for_each(|part| sponge.absorb(part));
    sponge.pad(Suffix::Sha3);
    sponge.squeeze(&mut *digest);
    let mut halves = G { first: Zeroizing::default(), second: Zeroizing::default() };
    let (first, second) = digest.split_at(32);
    halves.first.copy_from_slice(first);
    halves.second.copy_from_slice(second);
    halves
}

/// J, SHAKE256 with 32 bytes.
pub(crate) fn j(parts: &[&[u8]]) -> Zeroizing<[u8; 32]> {
    let mut output = Zeroizing::new([0; 32]);
    let mut sponge = Shake256::new();
    parts.iter().for_each(|part| sponge.absorb(part));
    sponge.pad(Suffix::Shake);
    sponge.squeeze(&mut *output);
    output
}

/// PRF_eta, SHAKE256 with 64 bytes for each of eta.
pub(crate) fn prf(eta: usize, seed: &[u8; 32], n: u8) -> Zeroizing<[u8; 192]> {
    let mut output = Zeroizing::new([0; 192]);
    let mut sponge = Shake256::new();
    sponge.absorb(seed);
    sponge.absorb(&[n]);
    sponge.pad(Suffix::Shake);
    let (needed, _) = output.split_at_mut((64 * eta).min(192));
    needed.chunks_mut(136).for_each(|block| sponge.squeeze(block));
    output
}
