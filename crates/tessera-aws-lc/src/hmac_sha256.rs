//! HMAC-SHA-256 (RFC 2104) and HKDF-Expand (RFC 5869 §2.3), keyed once, on the block function of the crate `sha2`.
//!
//! AWS-LC sets up, copies and cleanses a context for each call, which takes longer than the four blocks that are hashed. Its
//! interface has no keyed state that can be kept.

use sha2::block_api::compress256;
use tessera::crypto::HmacState;
use zeroize::{Zeroize, Zeroizing};

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
        let mut block = Zeroizing::new([padding; BLOCK_LEN]);
        for (byte, key) in block[..key.len()].iter_mut().zip(key) {
            *byte ^= key;
        }
        let mut keyed = INITIAL;
        compress256(&mut keyed, &[*block]);
        write(&keyed, value);
        keyed.zeroize();
    }
}

/// RFC 2104 §2: ipad and opad.
const INNER: u8 = 0x36;
const OUTER: u8 = 0x5c;

/// Computes the tag of a message in pieces.
pub(crate) fn mac(state: &HmacState, message: &[&[u8]], tag: &mut [u8; TAG_LEN]) {
    let (inner, outer) = state.bytes().split_at(TAG_LEN);
    let mut hash = Running::after_key(inner);
    for piece in message {
        hash.update(piece);
    }
    hash.finish(tag);
    let mut hash = Running::after_key(&outer[..TAG_LEN]);
    hash.update(tag);
    hash.finish(tag);
}

/// Computes HKDF-Expand.
///
/// # Panics
/// If `out` is longer than 255 tags.
pub(crate) fn expand(state: &HmacState, info: &[u8], out: &mut [u8]) {
    assert!(out.len() <= MAX_EXPANDED, "at most 255 hash outputs are asked for");
    let (mut tag, mut previous) = (Zeroizing::new([0; TAG_LEN]), Zeroizing::new([0; TAG_LEN]));
    for (number, part) in (1..=255).zip(out.chunks_mut(TAG_LEN)) {
        // T(0) is empty.
        let earlier = if number == 1 { &[][..] } else { &previous[..] };
        mac(state, &[earlier, info, &[number]], &mut tag);
        part.copy_from_slice(&tag[..part.len()]);
        previous.copy_from_slice(&tag[..]);
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

/// A hash that goes on after the block of the padded key.
struct Running {
    value: [u32; 8],
    block: [u8; BLOCK_LEN],
    /// How many bytes came after that block.
    len: usize,
}

impl Running {
    fn after_key(bytes: &[u8]) -> Self {
        let mut value = [0; 8];
        for (word, bytes) in value.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_be_bytes(*bytes);
        }
        Self { value, block: [0; BLOCK_LEN], len: 0 }
    }

    fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let at = self.len % BLOCK_LEN;
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK_LEN - at));
            self.block[at..at + now.len()].copy_from_slice(now);
            self.len += now.len();
            if self.len.is_multiple_of(BLOCK_LEN) {
                compress256(&mut self.value, &[self.block]);
            }
            bytes = later;
        }
    }

    /// Pads (FIPS 180-4 §5.1.1).
    fn finish(&mut self, tag: &mut [u8; TAG_LEN]) {
        let at = self.len % BLOCK_LEN;
        self.block[at] = 0x80;
        self.block[at + 1..].fill(0);
        if at >= LENGTH {
            compress256(&mut self.value, &[self.block]);
            self.block.fill(0);
        }
        let bits = 8 * (BLOCK_LEN + self.len) as u64;
        self.block[LENGTH..].copy_from_slice(&bits.to_be_bytes());
        compress256(&mut self.value, &[self.block]);
        write(&self.value, tag);
    }
}

/// Where the message's length is in the last block.
const LENGTH: usize = BLOCK_LEN - 8;

fn write(value: &[u32; 8], bytes: &mut [u8]) {
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(value) {
        *bytes = word.to_be_bytes();
    }
}

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
            for len in [0, 1, 32, 54, 55, 56, 63, 64, 65, 119, 120, 199] {
                let message = bytes(len);
                let mut tag = [0; TAG_LEN];
                for at in [0, len / 3, len] {
                    let (first, second) = message.split_at(at);
                    mac(&state, &[first, &[], second], &mut tag);
                    let expected = hmac::sign(&theirs, &message);
                    assert_eq!(
                        tag,
                        expected.as_ref(),
                        "key of {key_len}, {len} bytes in two at {at}"
                    );
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
