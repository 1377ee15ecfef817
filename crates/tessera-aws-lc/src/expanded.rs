//! ML-KEM keys from seeds, and in the expanded form of FIPS 203 §6.1, the only one that AWS-LC reads. AWS-LC's Rust interface
//! generates keys from its own randomness only, so the crate `ml-kem` derives and checks them.
#![allow(
    deprecated,
    reason = "`ml-kem` deprecates the expanded form for storage in favour of the seed"
)]

use ml_kem::array::Array;
use ml_kem::{ExpandedKeyEncoding, Seed};
use zeroize::{Zeroize, Zeroizing};

/// Returns the key of a seed, d || z, the input of ML-KEM.KeyGen_internal. `None` for another length.
pub(crate) fn key_of<K: From<Seed>>(seed: &[u8]) -> Option<K> {
    let mut seed = Seed::try_from(seed).ok()?;
    let key = K::from(seed);
    seed.zeroize();
    Some(key)
}

/// Returns a key in the expanded form.
pub(crate) fn expand<K: ExpandedKeyEncoding>(key: &K) -> Zeroizing<Array<u8, K::EncodedSize>> {
    Zeroizing::new(key.to_expanded_bytes())
}

/// Returns the expanded form of the key of a seed. `None` for a seed of another length.
pub(crate) fn from_seed<K>(seed: &[u8]) -> Option<Zeroizing<Vec<u8>>>
where
    K: From<Seed> + ExpandedKeyEncoding,
{
    Some(Zeroizing::new(expand(&key_of::<K>(seed)?).to_vec()))
}

/// Whether an expanded key has the length, and the hash of its public half that FIPS 203 §7.3 demands; and whether that
/// half passes the check of §7.2.
pub(crate) fn passes_checks<K: ExpandedKeyEncoding>(expanded: &[u8]) -> bool {
    let expanded = <&Array<u8, K::EncodedSize>>::try_from(expanded);
    expanded.is_ok_and(|expanded| K::from_expanded_bytes(expanded).is_ok())
}
