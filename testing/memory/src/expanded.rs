//! Searches for private keys of ML-KEM in expanded form, by their public halves.
//!
//! FIPS 203 §6.1 encodes the private vector and then the public half: so a copy is found wherever the public half is,
//! of which ended connections leave many copies, if a private vector precedes it. Its beginning may be overwritten, as
//! allocators do with freed memory.

use std::collections::HashSet;

use tessera_adversary::process_memory::{Needle, Snapshot, search};
use zeroize::Zeroizing;

/// Returns where private vectors of these public halves of ML-KEM-768 are, and of which.
pub fn expanded_keys(snapshot: &Snapshot, public_keys: &HashSet<Vec<u8>>) -> Vec<(usize, u64)> {
    let beginning = |key: &Vec<u8>| Needle {
        name: String::new(),
        bytes: Zeroizing::new(key.iter().copied().take(BEGINNING).collect()),
    };
    let needles: Vec<_> = public_keys.iter().map(beginning).collect();
    let found = search(snapshot, &needles).into_iter();
    let is_after_private = |address: u64| {
        let before = address.checked_sub(LOOKED_AT as u64);
        let before = before.and_then(|address| snapshot.bytes(address, LOOKED_AT));
        before.is_some_and(is_vector)
    };
    let keys = found.filter(|it| is_after_private(it.address));
    keys.map(|it| (it.needle, it.address - VECTOR as u64)).collect()
}

/// Whether these bytes are the end of an encoded vector (ByteEncode with d = 12): every three bytes are two numbers
/// below q. Random bytes are never one, and zeros are excluded. Another public half, whose vector is encoded alike, can
/// be in the block before: then this one follows the size of its block.
fn is_vector(bytes: &[u8]) -> bool {
    const Q: u16 = 3329;
    if bytes.ends_with(&[0; 6]) {
        return false;
    }
    let numbers = bytes.rchunks_exact(3).flat_map(|it| {
        let [a, b, c] = [it[0], it[1], it[2]].map(u16::from);
        [a | (b & 15) << 8, b >> 4 | c << 4]
    });
    let zeros = bytes.iter().filter(|byte| **byte == 0).count();
    zeros < bytes.len() / 4 && numbers.into_iter().all(|number| number < Q)
}

/// Length of the private vector of ML-KEM-768: three polynomials of 256 numbers of 12 bits.
const VECTOR: usize = 1152;

/// How much of it must be there.
const LOOKED_AT: usize = 999;

/// A public half is recognised by this many bytes.
const BEGINNING: usize = 32;

#[cfg(test)]
mod tests {
    use tessera::wire::NamedGroup;

    use super::*;

    #[test]
    fn private_vectors_are_distinguished_from_all_else() {
        let provider = tessera_aws_lc::provider();
        let keys = provider.one_time(NamedGroup::X25519MLKEM768).expect("it has them");
        for _ in 0..20 {
            let mut private = vec![0; keys.expanded_len().expect("it has that form")];
            keys.generate_expanded(provider.random, &mut private).expect("a key");
            let before = |at: usize| is_vector(&private[at - LOOKED_AT..at]);
            assert!(before(VECTOR));
            // Not at the wrong place, and not random bytes or zeros.
            assert!(!before(VECTOR - 1) && !before(VECTOR + 1));
            let mut random = vec![0; LOOKED_AT];
            provider.random.fill(&mut random).expect("random bytes");
            assert!(!is_vector(&random));
        }
        assert!(!is_vector(&[0; LOOKED_AT]));
    }

    #[test]
    fn a_public_half_in_the_block_before_is_no_private_vector() {
        let provider = tessera_aws_lc::provider();
        let group = provider.groups.iter().find(|it| it.group() == NamedGroup::MLKEM768);
        let group = group.expect("it has ML-KEM");
        // The seed after the vector looks like numbers below q once in a hundred times.
        for _ in 0..1000 {
            let key = group.generate().expect("a key");
            // As glibc lays out blocks: 8 bytes beyond the request, then the size of the next block.
            let before = [key.share(), &[0; 8], &1201_u64.to_le_bytes()].concat();
            assert!(!is_vector(&before[before.len() - LOOKED_AT..]));
        }
    }
}
