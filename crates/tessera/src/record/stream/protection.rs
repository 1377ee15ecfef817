//! The keys of one direction, and the number of the next record.

use alloc::boxed::Box;

use zeroize::Zeroizing;

use crate::crypto::{Aead, NONCE_LEN, Nonce, OpenFailed, Suite, TAG_LEN};
use crate::schedule::TrafficSecret;

/// Record protection (RFC 8446 §5.2, §5.3).
pub(crate) struct Protection {
    aead: Box<dyn Aead>,
    iv: Zeroizing<[u8; NONCE_LEN]>,
    next_record: u64,
    limit: u64,
}

impl Protection {
    pub(crate) fn new(suite: &'static Suite, secret: TrafficSecret<'_>) -> Self {
        let (aead, iv) = secret.record_keys(suite);
        Self { aead, iv: Zeroizing::new(iv), next_record: 0, limit: suite.confidentiality_limit }
    }

    pub(crate) fn seal(&mut self, header: &[u8], in_out: &mut [u8]) -> [u8; TAG_LEN] {
        let nonce = Nonce::for_record(&self.iv, self.next_record);
        self.next_record += 1;
        self.aead.seal(&nonce, header, in_out)
    }

    /// Opens a record; a failure changes nothing.
    pub(crate) fn open(&mut self, header: &[u8], in_out: &mut [u8]) -> Result<usize, OpenFailed> {
        let nonce = Nonce::for_record(&self.iv, self.next_record);
        let len = self.aead.open(&nonce, header, in_out)?;
        self.next_record += 1;
        Ok(len)
    }

    /// Returns whether nothing has been opened or sealed yet.
    pub(crate) fn is_unused(&self) -> bool {
        self.next_record == 0
    }

    /// Returns whether the keys should be changed: a few records before the suite's limit, so that the
    /// KeyUpdate itself and alerts still fit (RFC 8446 §5.5).
    pub(crate) fn nears_limit(&self) -> bool {
        self.next_record >= self.limit.saturating_sub(64).max(1)
    }
}
