//! The ClientHellos that were sent.

use alloc::vec::Vec;

use crate::crypto::Suite;
use crate::schedule::Transcript;

/// The state of the transcript's hash.
pub(super) enum Progress {
    /// No hash is chosen yet; this is the ClientHello.
    First(Vec<u8>),
    /// After a HelloRetryRequest: its suite, and the transcript up to the second ClientHello.
    Retried(&'static Suite, Transcript),
}

impl Default for Progress {
    fn default() -> Self {
        Self::First(Vec::new())
    }
}
