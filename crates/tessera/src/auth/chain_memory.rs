//! What a verifier that remembers chains offers codecs that name a chain instead of sending it.

use alloc::boxed::Box;
use core::any::Any;
use core::fmt;

use crate::role::Role;

/// A verifier that can recognise a chain by its hash: `KnownChains` of `tessera-known-chains` is one. A certificate
/// codec asks it before it offers a chain that it has not kept itself, and later decodes to the hash
/// ([`CertificateContents::Known`](super::CertificateContents::Known)).
pub trait ChainMemory: Send + Sync {
    /// Returns the chain if the verifier would accept it now. It stays known until the result is dropped,
    /// so that the question about it, [`VerifyPeer::known`](super::VerifyPeer::known), finds it. Without a clock,
    /// returns `None`, unless the verifier doesn't check dates.
    fn pin(&self, asked: &AskedChain<'_>) -> Option<PinnedChain>;
}

/// A chain, and what it must be valid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedChain<'a> {
    /// Its [`chain_hash`](super::chain_hash).
    pub hash: [u8; 32],
    /// The end that presents it.
    pub peer: Role,
    /// The name that it must be valid for, as in [`VerifyPeer::server_name`](super::VerifyPeer::server_name).
    pub server_name: Option<&'a str>,
    /// Seconds since the Unix epoch, if known.
    pub unix: Option<u64>,
}

/// A chain that stays known until this is dropped.
#[non_exhaustive]
pub struct PinnedChain {
    /// How many certificates it has.
    pub certificates: usize,
    /// The length of its certificates in a Certificate, each with its three-byte length, without extensions.
    pub list_len: usize,
    /// When the first of them expires, in seconds since the Unix epoch; `u64::MAX` if dates don't count.
    pub expires_at: u64,
    _held: Box<dyn Any + Send + Sync>,
}

impl PinnedChain {
    /// Creates a chain of this many certificates with this total length; it stays known until `held` is dropped.
    pub fn new(
        certificates: usize,
        list_len: usize,
        expires_at: u64,
        held: impl Any + Send + Sync,
    ) -> Self {
        Self { certificates, list_len, expires_at, _held: Box::new(held) }
    }

    /// Returns the length of the body of its Certificate with an empty request context, if the extensions of all
    /// entries have this total length, without each entry's two-byte length.
    pub fn body_len(&self, extensions: usize) -> usize {
        1 + 3 + self.list_len + 2 * self.certificates + extensions
    }
}

impl fmt::Debug for PinnedChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedChain")
            .field("certificates", &self.certificates)
            .field("list_len", &self.list_len)
            .field("expires_at", &self.expires_at)
            .finish()
    }
}
