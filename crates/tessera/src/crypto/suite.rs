//! Cipher suites: a hash and an AEAD with its limits.

use super::aead::AeadAlgorithm;
use super::hash::Hash;
use crate::wire::CipherSuite;

/// A TLS 1.3 cipher suite as a provider implements it, made with [`Suite::new`].
#[non_exhaustive]
pub struct Suite {
    /// Its code point.
    pub id: CipherSuite,
    /// The hash of transcript, key schedule and PSKs.
    pub hash: &'static dyn Hash,
    /// The record protection.
    pub aead: &'static dyn AeadAlgorithm,
    /// How many records one key may seal (RFC 8446 §5.5). The engine updates its keys earlier.
    pub confidentiality_limit: u64,
    /// How many records that fail to open one key may see (RFC 9147 §4.5.3). A stream fails at the
    /// first; faces over datagrams count.
    pub integrity_limit: u64,
    /// How much heap a key of the AEAD takes, in bytes: for
    /// [`ClientConfig::heap_needed`](crate::ClientConfig::heap_needed).
    pub key_heap: usize,
}

impl Suite {
    /// Creates a suite with the limits of AES-GCM: 2^24 sealed records (RFC 8446 §5.5: 2^24.5), and 2^36
    /// that fail to open (RFC 9147 §4.5.3). AES-CCM, for example, needs lower ones.
    pub const fn new(
        id: CipherSuite,
        hash: &'static dyn Hash,
        aead: &'static dyn AeadAlgorithm,
    ) -> Self {
        let (confidentiality_limit, integrity_limit) = (1 << 24, 1 << 36);
        Self { id, hash, aead, confidentiality_limit, integrity_limit, key_heap: 1024 }
    }

    /// Sets how many records one key may seal.
    pub const fn with_confidentiality_limit(mut self, records: u64) -> Self {
        self.confidentiality_limit = records;
        self
    }

    /// Sets how many records that fail to open one key may see.
    pub const fn with_integrity_limit(mut self, records: u64) -> Self {
        self.integrity_limit = records;
        self
    }

    /// Sets how much heap a key of the AEAD takes, in bytes. Default: 1,024.
    pub const fn with_key_heap(mut self, bytes: usize) -> Self {
        self.key_heap = bytes;
        self
    }
}

impl core::fmt::Debug for Suite {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:?}", self.id)
    }
}

impl PartialEq for Suite {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}
