//! ChaCha20-Poly1305 (RFC 8439).

use alloc::boxed::Box;

use chacha20::cipher::{Block, StreamCipherCore};
use chacha20::variants::Ietf;
use chacha20::{ChaChaCore, KeyIvInit, R20};
use chacha20poly1305::ChaCha20Poly1305;
use tessera::crypto::{HeaderKey, MASK_LEN, SAMPLE_LEN, Suite};
use tessera::wire::CipherSuite;
use zeroize::Zeroizing;

use crate::aead::{Algorithm, EXACT};
use crate::hash::SHA256;

/// The record number would wrap before a limit is reached (RFC 8446 §5.5).
pub(crate) static CHACHA20_POLY1305_SHA256: Suite =
    Suite::new(CipherSuite::TLS_CHACHA20_POLY1305_SHA256, &SHA256, &CHACHA20_POLY1305)
        .with_confidentiality_limit(u64::MAX)
        .with_key_heap(64);

static CHACHA20_POLY1305: Algorithm<ChaCha20Poly1305> =
    Algorithm::new(|key| Box::new(Mask(Zeroizing::new(key.try_into().expect(EXACT)))));

struct Mask(Zeroizing<[u8; 32]>);

impl HeaderKey for Mask {
    /// RFC 9001 §5.4.4: the sample is the block's number, little-endian, and the nonce.
    ///
    /// On the block function itself: the stream refuses the last block, which a peer's sample may name.
    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN] {
        let [a, b, c, d, nonce @ ..] = *sample;
        let mut blocks = ChaChaCore::<R20, Ietf>::new(&(*self.0).into(), &nonce.into());
        blocks.set_block_pos(u32::from_le_bytes([a, b, c, d]));
        let mut block = Block::<ChaChaCore<R20, Ietf>>::default();
        blocks.write_keystream_block(&mut block);
        let [e, f, g, h, i, ..]: [u8; 64] = block.into();
        [e, f, g, h, i]
    }
}
