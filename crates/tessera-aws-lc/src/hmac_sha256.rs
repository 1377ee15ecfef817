//! HMAC-SHA-256 (RFC 2104) and HKDF-Expand (RFC 5869 §2.3), keyed once, on the block function of the crate `sha2`.
//!
//! AWS-LC sets up, copies and cleanses a context for each call, which takes longer than the four blocks that are hashed. Its
//! interface has no keyed state that can be kept.

use std::slice;

use sha2::block_api::compress256;
use tessera::crypto::HmacState;
use zeroize::{DefaultIsZeroes, Zeroize, Zeroizing};

/// The length of a block; a longer key is hashed first.
pub(crate) const BLOCK_LEN: usize = 64;

/// The length of a tag, and of a chaining value.
pub(crate) const TAG_LEN: usize = 32;

/// Whether the processor has instructions for SHA-256. Without them AWS-LC's code is faster than that of `sha2`.
pub(crate) fn is_fast() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("sha");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("sha2");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    false
}

/// Keys HMAC: the state is the chaining values after the inner and the outer padded key.
///
/// # Panics
/// If the key is longer than a block.
pub(crate) fn key(key: &[u8], state: &mut HmacState) {
    for (padding, value) in
        [INNER, OUTER].into_iter().zip(state.bytes_mut().chunks_exact_mut(TAG_LEN))
    {
        let mut hash = Hash::new(INITIAL);
        hash.block.0 = [padding; BLOCK_LEN];
        for (byte, key) in hash.block.0[..key.len()].iter_mut().zip(key) {
            *byte ^= key;
        }
        hash.compress();
        hash.write(value);
    }
}

/// RFC 2104 §2: ipad and opad.
const INNER: u8 = 0x36;
const OUTER: u8 = 0x5c;

/// Computes the tag of a message.
pub(crate) fn mac(state: &HmacState, message: &[u8], tag: &mut [u8; TAG_LEN]) {
    mac_after(state, 0, &[message], tag);
}

/// Computes the tag of a message that begins with as many bytes of `tag`, and goes on in pieces.
fn mac_after(state: &HmacState, before: usize, rest: &[&[u8]], tag: &mut [u8; TAG_LEN]) {
    let (inner, outer) = state.bytes().split_at(TAG_LEN);
    let mut hash = Hash::after_key(inner);
    hash.update(&tag[..before]);
    for piece in rest {
        hash.update(piece);
    }
    hash.finish(tag);
    let mut hash = Hash::after_key(&outer[..TAG_LEN]);
    hash.update(tag);
    hash.finish(tag);
}

/// Computes HKDF-Expand.
///
/// # Panics
/// If `out` is longer than 255 tags.
pub(crate) fn expand(state: &HmacState, info: &[u8], out: &mut [u8]) {
    assert!(out.len() <= MAX_EXPANDED, "at most 255 hash outputs are asked for");
    let mut tag = Zeroizing::new(Bytes::default());
    for (number, part) in (1..=255).zip(out.chunks_mut(TAG_LEN)) {
        // T(0) is empty.
        let previous = if number == 1 { 0 } else { TAG_LEN };
        mac_after(state, previous, &[info, &[number]], &mut tag.0);
        part.copy_from_slice(&tag.0[..part.len()]);
    }
}

const MAX_EXPANDED: usize = 255 * TAG_LEN;

/// The initial hash value (FIPS 180-4 §5.3.3).
const INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// SHA-256 from some chaining value on. It wipes itself: it has seen a key.
struct Hash {
    value: Words,
    block: Bytes<BLOCK_LEN>,
    /// How many bytes came after the block of the padded key.
    len: usize,
}

impl Hash {
    fn new(value: [u32; 8]) -> Self {
        Self { value: Words(value), block: Bytes::default(), len: 0 }
    }

    fn after_key(bytes: &[u8]) -> Self {
        let mut hash = Self::new([0; 8]);
        for (word, bytes) in hash.value.0.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_be_bytes(*bytes);
        }
        hash
    }

    fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let at = self.len % BLOCK_LEN;
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK_LEN - at));
            self.block.0[at..at + now.len()].copy_from_slice(now);
            self.len += now.len();
            if self.len.is_multiple_of(BLOCK_LEN) {
                self.compress();
            }
            bytes = later;
        }
    }

    /// Pads (FIPS 180-4 §5.1.1).
    fn finish(&mut self, tag: &mut [u8; TAG_LEN]) {
        let at = self.len % BLOCK_LEN;
        self.block.0[at] = 0x80;
        self.block.0[at + 1..].fill(0);
        if at >= LENGTH {
            self.compress();
            self.block.0.fill(0);
        }
        let bits = 8 * (BLOCK_LEN + self.len) as u64;
        self.block.0[LENGTH..].copy_from_slice(&bits.to_be_bytes());
        self.compress();
        self.write(tag);
    }

    fn compress(&mut self) {
        compress256(&mut self.value.0, slice::from_ref(&self.block.0));
    }

    fn write(&self, bytes: &mut [u8]) {
        for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(&self.value.0) {
            *bytes = word.to_be_bytes();
        }
    }
}

impl Drop for Hash {
    fn drop(&mut self) {
        self.value.zeroize();
        self.block.zeroize();
    }
}

/// Bytes that are wiped in one piece: an array would be wiped byte by byte.
#[derive(Clone, Copy)]
struct Bytes<const N: usize>([u8; N]);

impl<const N: usize> Default for Bytes<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> DefaultIsZeroes for Bytes<N> {}

/// A chaining value.
#[derive(Clone, Copy, Default)]
struct Words([u32; 8]);

impl DefaultIsZeroes for Words {}

/// Where the message's length is in the last block.
const LENGTH: usize = BLOCK_LEN - 8;

#[cfg(test)]
mod tests {
    use aws_lc_rs::{hkdf, hmac};

    use super::*;

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|at| (at * 7 + len) as u8).collect()
    }

    #[test]
    fn tags_are_those_of_aws_lc() {
        for key_len in 0..=BLOCK_LEN {
            let mut state = HmacState::default();
            key(&bytes(key_len), &mut state);
            let theirs = hmac::Key::new(hmac::HMAC_SHA256, &bytes(key_len));
            for len in 0..=200 {
                let message = bytes(len);
                let expected = hmac::sign(&theirs, &message);
                for at in [0, len / 3, len] {
                    let mut tag = [0; TAG_LEN];
                    let (first, second) = message.split_at(at);
                    mac_after(&state, 0, &[first, &[], second], &mut tag);
                    let what = (key_len, len, at);
                    assert_eq!(tag, expected.as_ref(), "lengths of key, message, piece: {what:?}");
                }
            }
        }
    }

    #[test]
    fn expansions_are_those_of_aws_lc() {
        struct Len(usize);
        impl hkdf::KeyType for Len {
            fn len(&self) -> usize {
                self.0
            }
        }
        let prk = bytes(TAG_LEN);
        let mut state = HmacState::default();
        key(&prk, &mut state);
        for len in [1, 12, 16, 31, 32, 33, 64, 65, 255, MAX_EXPANDED] {
            for info_len in [0, 20, 54, 55, 56, 300] {
                let info = bytes(info_len);
                let (mut ours, mut theirs) = (vec![0; len], vec![0; len]);
                expand(&state, &info, &mut ours);
                let theirs_of = hkdf::Prk::new_less_safe(hkdf::HKDF_SHA256, &prk);
                theirs_of.expand(&[&info], Len(len)).unwrap().fill(&mut theirs).unwrap();
                assert_eq!(ours, theirs, "{len} bytes of {info_len}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "at most 255 hash outputs")]
    fn no_more_than_255_outputs_are_expanded() {
        expand(&HmacState::default(), &[], &mut vec![0; MAX_EXPANDED + 1]);
    }
}
