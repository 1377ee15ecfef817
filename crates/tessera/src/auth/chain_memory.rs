//! What a verifier that remembers chains tells those who name a chain instead of sending it.

use alloc::boxed::Box;
use core::any::Any;
use core::fmt;

use crate::role::Role;

/// A verifier that may know a chain again by its hash alone: `KnownChains` of `tessera-webpki` is one. A certificate
/// codec asks it before it offers a chain that it has not kept itself, and answers
/// [`Decoded::Known`](super::Decoded::Known) later.
pub trait ChainMemory: Send + Sync {
    /// The chain, if the verifier would accept it now: it stays known until what is given here is dropped,
    /// so that the question about it, [`VerifyPeer::known`](super::VerifyPeer::known), finds it. Without a clock
    /// there is none.
    fn pin(&self, asked: &AskedChain<'_>) -> Option<PinnedChain>;
}

/// A chain, and for what it has to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedChain<'a> {
    /// Its [`chain_hash`](super::chain_hash).
    pub hash: [u8; 32],
    /// Which end shows it.
    pub peer: Role,
    /// The name that it must be valid for, as in [`VerifyPeer::server_name`](super::VerifyPeer::server_name).
    pub server_name: Option<&'a str>,
    /// Seconds since the Unix epoch, where a clock is known.
    pub unix: Option<u64>,
}

/// A chain that stays known until this is dropped.
#[non_exhaustive]
pub struct PinnedChain {
    /// How many certificates it has.
    pub certificates: usize,
    /// How long they are in a Certificate, each with its length of three bytes, and without extensions.
    pub list_len: usize,
    /// When the first of them expires, in seconds since the Unix epoch.
    pub expires_at: u64,
    _held: Box<dyn Any + Send + Sync>,
}

impl PinnedChain {
    /// A chain of so many certificates, of this length together, that stays known until `held` is dropped.
    pub fn new(
        certificates: usize,
        list_len: usize,
        expires_at: u64,
        held: impl Any + Send + Sync,
    ) -> Self {
        Self { certificates, list_len, expires_at, _held: Box::new(held) }
    }

    /// How long the body of its Certificate is, whose request context is empty, and whose entries have extensions
    /// of this length together, each entry's own two bytes of length aside.
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
