//! AES-GCM and ChaCha20-Poly1305, and their header protection.

use aws_lc_rs::aead::quic::{self, HeaderProtectionKey};
use aws_lc_rs::aead::{self, Aad, LessSafeKey, UnboundKey};
use tessera::crypto::{
    Aead, AeadAlgorithm, Depth, HeaderKey, MASK_LEN, Nonce, OpenFailed, SAMPLE_LEN, TAG_LEN,
    wipe_stack_below,
};
use zeroize::Zeroizing;

/// One of the AEAD algorithms.
pub(crate) struct Algorithm {
    key_len: usize,
    aead: &'static aead::Algorithm,
    header: &'static quic::Algorithm,
}

/// AES-128-GCM.
pub(crate) static AES_128_GCM: Algorithm =
    Algorithm { key_len: 16, aead: &aead::AES_128_GCM, header: &quic::AES_128 };

/// AES-256-GCM.
pub(crate) static AES_256_GCM: Algorithm =
    Algorithm { key_len: 32, aead: &aead::AES_256_GCM, header: &quic::AES_256 };

/// ChaCha20-Poly1305 (RFC 8439).
pub(crate) static CHACHA20_POLY1305: Algorithm =
    Algorithm { key_len: 32, aead: &aead::CHACHA20_POLY1305, header: &quic::CHACHA20 };

impl AeadAlgorithm for Algorithm {
    fn key_len(&self) -> usize {
        self.key_len
    }

    fn key(&self, key: &[u8]) -> Box<dyn Aead> {
        let key = UnboundKey::new(self.aead, key).expect("the key is exactly `key_len` bytes long");
        Box::new(Key(LessSafeKey::new(key)))
    }

    fn header_key(&self, key: &[u8]) -> Box<dyn HeaderKey> {
        Box::new(MaskKey { algorithm: self.header, key: Zeroizing::new(Box::from(key)) })
    }
}

/// The key itself: its schedules, of both directions, take 504 bytes, and an association has two.
struct MaskKey {
    algorithm: &'static quic::Algorithm,
    key: Zeroizing<Box<[u8]>>,
}

impl HeaderKey for MaskKey {
    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] {
        let mask = self.mask_below(sample);
        wipe_stack_below(MASK_DEPTH);
        mask
    }
}

/// How deep a mask reaches into the stack, where it leaves copies of the key and of its schedules: no step of the engine
/// that wipes them need come after it.
const MASK_DEPTH: Depth = Depth::of::<{ 4 * 1024 }>();

impl MaskKey {
    #[inline(never)]
    fn mask_below(&self, sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] {
        HeaderProtectionKey::new(self.algorithm, &self.key)
            .and_then(|key| key.new_mask(sample))
            .expect("the key is exactly `key_len` bytes long, and every sample has 16")
    }
}

/// "Less safe" because the caller chooses the nonces: the engine numbers its records itself
/// (RFC 8446 §5.3).
struct Key(LessSafeKey);

impl Aead for Key {
    fn seal(&self, nonce: &Nonce, aad: &[u8], in_out: &mut [u8]) -> [u8; TAG_LEN] {
        self.0
            .seal_in_place_separate_tag(own_nonce(nonce), Aad::from(aad), in_out)
            .ok()
            .and_then(|tag| tag.as_ref().try_into().ok())
            .expect("sealing fails only beyond 2^36 bytes, and every tag here has 16 bytes")
    }

    fn open(&self, nonce: &Nonce, aad: &[u8], in_out: &mut [u8]) -> Result<usize, OpenFailed> {
        self.0
            .open_in_place(own_nonce(nonce), Aad::from(aad), in_out)
            .map(|plaintext| plaintext.len())
            .map_err(|_| OpenFailed)
    }
}

fn own_nonce(nonce: &Nonce) -> aead::Nonce {
    aead::Nonce::assume_unique_for_key(nonce.0)
}
