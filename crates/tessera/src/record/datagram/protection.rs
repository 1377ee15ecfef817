//! The keys of one direction and epoch: content, and record numbers (RFC 9147 §4.2.3, §4.5).

use alloc::boxed::Box;
use core::ops::Range;

use zeroize::Zeroizing;

use super::record_number::closest;
use crate::crypto::{Aead, HeaderKey, NONCE_LEN, Nonce, OpenFailed, SAMPLE_LEN, Suite, TAG_LEN};
use crate::schedule::TrafficSecret;

/// The protection of the records of an epoch in one direction.
pub(super) struct Protection {
    aead: Box<dyn Aead>,
    iv: Zeroizing<[u8; NONCE_LEN]>,
    numbers: Box<dyn HeaderKey>,
    pub(super) suite: &'static Suite,
}

impl Protection {
    pub(super) fn new(suite: &'static Suite, secret: TrafficSecret<'_>) -> Self {
        let (aead, iv, numbers) = secret.datagram_keys(suite);
        Self { aead, iv: Zeroizing::new(iv), numbers, suite }
    }

    /// Seals a record in place: `record` is header, inner plaintext and room for the tag, with the header's length and
    /// its number in plaintext at `number`.
    pub(super) fn seal(
        &self,
        sequence: u64,
        record: &mut [u8],
        header_len: usize,
        number: Range<usize>,
    ) {
        let nonce = Nonce::for_record(&self.iv, sequence);
        let (header, content) = record.split_at_mut(header_len);
        let (inner, tag) = content.split_at_mut(content.len() - TAG_LEN);
        tag.copy_from_slice(&self.aead.seal(&nonce, header, inner));
        // The content has its type and a tag: more than a sample.
        if let Some(sample) = content.first_chunk() {
            self.mask(sample, &mut header[number]);
        }
    }

    /// Opens a record in place; returns its sequence number, the closest to `expected`, and the length of the inner
    /// plaintext. `header` ends where the content begins, and has the encrypted number at `number`.
    pub(super) fn open(
        &self,
        header: &mut [u8],
        number: Range<usize>,
        content: &mut [u8],
        expected: u64,
    ) -> Result<(u64, usize), OpenFailed> {
        let sample: &[u8; SAMPLE_LEN] = content.first_chunk().ok_or(OpenFailed)?;
        self.mask(sample, &mut header[number.clone()]);
        let (low, bits) = match header[number] {
            [low] => (low.into(), 8),
            [high, low] => (u16::from_be_bytes([high, low]), 16),
            _ => return Err(OpenFailed),
        };
        let sequence = closest(low, bits, expected);
        let nonce = Nonce::for_record(&self.iv, sequence);
        Ok((sequence, self.aead.open(&nonce, header, content)?))
    }

    fn mask(&self, sample: &[u8; SAMPLE_LEN], number: &mut [u8]) {
        let mask = self.numbers.mask(sample);
        number.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    }
}
