//! Counters of the end that asks.

use std::sync::atomic::{AtomicU64, Ordering};

/// The signatures that a server asked for, since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignerCounts {
    /// Signatures that handshakes asked for.
    pub asked: u64,
    /// Of these, those that came and were right.
    pub signed: u64,
    /// Of these, those that no signer gave: their handshakes failed.
    pub failed: u64,
    /// Answers of a signer with a reason instead of a signature.
    pub refused: u64,
    /// Signatures that are not of the certificate and the handshake.
    pub wrong: u64,
    /// Requests without an answer in their time.
    pub timed_out: u64,
    /// Connections that were made.
    pub connections: u64,
    /// Failed attempts to connect, and connections that ended.
    pub failures: u64,
}

/// The live counters.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) asked: AtomicU64,
    pub(super) signed: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) wrong: AtomicU64,
    pub(super) timed_out: AtomicU64,
    pub(super) connections: AtomicU64,
    pub(super) failures: AtomicU64,
}

impl Counters {
    pub(super) fn now(&self) -> SignerCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SignerCounts {
            asked: read(&self.asked),
            signed: read(&self.signed),
            failed: read(&self.failed),
            refused: read(&self.refused),
            wrong: read(&self.wrong),
            timed_out: read(&self.timed_out),
            connections: read(&self.connections),
            failures: read(&self.failures),
        }
    }
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
