//! A keyed hash for tables.

use tessera::crypto::{Random, RandomFailed};

/// Hashes data chosen by peers into tables, so that an attacker without the key can't target one place: two
/// rounds of multiplication with folding, as in wyhash. It hides nothing else.
pub(super) struct KeyedHasher([u64; 3]);

impl KeyedHasher {
    pub(super) fn new(random: &dyn Random) -> Result<Self, RandomFailed> {
        let mut key = [0; 3];
        for word in &mut key {
            let mut bytes = [0; 8];
            random.fill(&mut bytes)?;
            // Odd, and so never zero: a zero factor would make all hashes equal.
            *word = u64::from_ne_bytes(bytes) | 1;
        }
        Ok(Self(key))
    }

    /// Returns the key, for an export of a cache that contains hashes.
    pub(super) fn key(&self) -> [u64; 3] {
        self.0
    }

    pub(super) fn of_key(key: [u64; 3]) -> Self {
        Self(key.map(|word| word | 1))
    }

    /// Hashes bytes of any length.
    pub(super) fn hash_all(&self, bytes: &[u8]) -> u64 {
        bytes.chunks(8).fold(bytes.len() as u64, |hash, chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.hash(hash.to_ne_bytes(), word)
        })
    }

    pub(super) fn hash(&self, a: [u8; 8], b: [u8; 8]) -> u64 {
        let [k0, k1, k2] = self.0;
        let once = fold(u64::from_ne_bytes(a) ^ k0, u64::from_ne_bytes(b) ^ k1);
        fold(once ^ k2, k1)
    }
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}
