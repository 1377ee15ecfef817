//! An AEAD that encrypts nothing. **Plaintext goes out as it is.**

use alloc::boxed::Box;

use tessera::crypto::{
    Aead, AeadAlgorithm, HeaderKey, MASK_LEN, Nonce, OpenFailed, SAMPLE_LEN, TAG_LEN,
};

use crate::mix::{Mix, scramble, stretch};

/// An AEAD with keys of some length.
pub(crate) struct NullAead {
    key_len: usize,
}

/// Stands in for AES-128-GCM.
pub(crate) static KEY_OF_16: NullAead = NullAead { key_len: 16 };

/// Stands in for AES-256-GCM and ChaCha20-Poly1305.
pub(crate) static KEY_OF_32: NullAead = NullAead { key_len: 32 };

const KEY: u64 = 4;
const HEADER_KEY: u64 = 6;

impl AeadAlgorithm for NullAead {
    fn key_len(&self) -> usize {
        self.key_len
    }

    fn key(&self, key: &[u8]) -> Box<dyn Aead> {
        Box::new(NullKey(self.folded(KEY, key)))
    }

    fn header_key(&self, key: &[u8]) -> Box<dyn HeaderKey> {
        Box::new(NullHeaderKey(self.folded(HEADER_KEY, key)))
    }
}

impl NullAead {
    fn folded(&self, purpose: u64, key: &[u8]) -> u64 {
        assert_eq!(key.len(), self.key_len, "the key is exactly `key_len` bytes long");
        let mut mix = Mix::new(purpose);
        mix.add(key);
        mix.value()
    }
}

/// A key for headers, folded to a word.
struct NullHeaderKey(u64);

impl HeaderKey for NullHeaderKey {
    /// Depends on key and sample, so that ends that differ in either notice.
    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] {
        let mut mix = Mix::new(self.0);
        mix.add(sample);
        let mut mask = [0; MASK_LEN];
        mix.fill(&mut mask);
        mask
    }
}

/// A key, folded to a word.
struct NullKey(u64);

impl NullKey {
    /// Depends on key and nonce, so that ends with different keys or record numbers notice; not on
    /// the data, whose length must not show in instruction counts.
    fn tag(&self, nonce: &Nonce) -> [u8; TAG_LEN] {
        let [a, b, c, d, e, f, g, h, last @ ..] = nonce.0;
        let first = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let last = u64::from(u32::from_le_bytes(last));
        let mut tag = [0; TAG_LEN];
        stretch(scramble(self.0 ^ first).wrapping_add(last), &mut tag);
        tag
    }
}

impl Aead for NullKey {
    fn seal(&self, nonce: &Nonce, _aad: &[u8], _in_out: &mut [u8]) -> [u8; TAG_LEN] {
        self.tag(nonce)
    }

    fn open(&self, nonce: &Nonce, _aad: &[u8], in_out: &mut [u8]) -> Result<usize, OpenFailed> {
        match in_out.split_last_chunk() {
            Some((plaintext, tag)) if *tag == self.tag(nonce) => Ok(plaintext.len()),
            _ => Err(OpenFailed),
        }
    }
}
