//! Cipher suites: a hash and an AEAD with its limits.

use super::aead::AeadAlgorithm;
use super::hash::Hash;
use crate::wire::CipherSuite;

/// A TLS 1.3 cipher suite as a provider implements it.
pub struct Suite {
    /// Its code point.
    pub id: CipherSuite,
    /// The hash of transcript, key schedule and PSKs.
    pub hash: &'static dyn Hash,
    /// The record protection.
    pub aead: &'static dyn AeadAlgorithm,
    /// How many records one key may seal (RFC 8446 §5.5). The engine updates its keys before.
    pub confidentiality_limit: u64,
    /// How many records that do not open one key may see (RFC 9147 §4.5.3). A stream dies of the
    /// first; datagrams count.
    pub integrity_limit: u64,
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
