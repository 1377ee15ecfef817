//! Hash, HMAC and HKDF in shape only. **They hide and bind nothing.**

use alloc::boxed::Box;

use tessera::crypto::{Digest, Hash, MAX_HASH_LEN, RunningHash};

use crate::mix::Mix;

/// A hash with outputs of some length.
pub(crate) struct NullHash {
    len: usize,
}

/// Stands in for SHA-256.
pub(crate) static LIKE_SHA256: NullHash = NullHash { len: 32 };

/// Stands in for SHA-384.
pub(crate) static LIKE_SHA384: NullHash = NullHash { len: 48 };

const HASH: u64 = 1;
const HMAC: u64 = 2;
const EXPAND: u64 = 3;

fn digest(mix: Mix, len: usize) -> Digest {
    let mut out = [0; MAX_HASH_LEN];
    mix.fill(&mut out[..len]);
    Digest::new(&out[..len])
}

/// HMAC's stand-in; like HMAC it treats a key shorter than a block as the same key with zeros after it (RFC 2104 §2),
/// because callers may write "no salt" either way (RFC 5869 §2.2).
fn keyed(key: &[u8], message: &[u8]) -> Mix {
    let significant = key.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let mut mix = Mix::new(HMAC);
    mix.add_field(&key[..significant]);
    mix.add(message);
    mix
}

impl Hash for NullHash {
    fn len(&self) -> usize {
        self.len
    }

    fn start(&self) -> Box<dyn RunningHash> {
        Box::new(HashContext { mix: Mix::new(HASH), len: self.len })
    }

    fn hash(&self, input: &[u8]) -> Digest {
        let mut mix = Mix::new(HASH);
        mix.add(input);
        digest(mix, self.len)
    }

    fn hmac(&self, key: &[u8], message: &[u8]) -> Digest {
        digest(keyed(key, message), self.len)
    }

    fn extract_into(&self, salt: &[u8], input: &[u8], prk: &mut [u8]) {
        keyed(salt, input).fill(prk);
    }

    fn expand(&self, prk: &[u8], info: &[u8], out: &mut [u8]) {
        let mut mix = Mix::new(EXPAND);
        mix.add_field(prk);
        mix.add(info);
        mix.fill(out);
    }
}

struct HashContext {
    mix: Mix,
    len: usize,
}

impl RunningHash for HashContext {
    fn update(&mut self, bytes: &[u8]) {
        self.mix.add(bytes);
    }

    fn current(&self) -> Digest {
        digest(self.mix, self.len)
    }
}
