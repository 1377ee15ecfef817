//! What an entry is found by.

use alloc::vec::Vec;

use tessera::Role;
use tessera::auth::{PeerVerifier, VerifierPolicy};
use tessera::crypto::Hash;

use crate::verifier::WebPkiVerifier;

/// An entry's key: half of SHA-256 of everything that decides whether its chain is accepted, the time aside, and of
/// the store's salt. Who could make two chains with one key, one of them good, would have the other accepted. With the
/// salt nobody can look for them: they have to be found by trying all of 2^128 at the store itself.
pub(super) type Key = [u8; 16];

/// A number that nobody can guess, of a store's own.
pub(super) type Salt = [u8; 32];

/// What of a verifier decides, time and question aside.
pub(super) struct Context {
    /// With the salt.
    digest: [u8; 32],
    /// When revocation lists end, where a list that has ended says nothing any more.
    lists_end: Vec<u64>,
}

/// For what a chain was accepted. The numbers are in keys.
#[derive(Clone, Copy)]
pub(super) enum Purpose<'a> {
    /// As a server of this name.
    Server(&'a str),
    /// As a peer of this role that is known by all of its names.
    AllNames(Role),
    /// As a peer of this role, whatever its names are.
    NoNames(Role),
}

impl Context {
    /// Anchors, algorithms, and how revocation is treated are the verifier's policy. Of revocation lists it says
    /// whom they revoke; here the very lists count, in their order, so that an entry never outlives the lists
    /// that it was judged by. `None` if a list doesn't tell when it ends.
    pub(super) fn new(
        verifier: &mut WebPkiVerifier,
        sha256: &dyn Hash,
        salt: &Salt,
    ) -> Option<Self> {
        let policy = VerifierPolicy::new("tessera-webpki: known chains, 2")
            .with(salt)
            .with_policy(&verifier.policy());
        let (lists, lists_end) = match &mut verifier.revocation {
            Some(revocation) => revocation.take_sources()?,
            None => Default::default(),
        };
        let hashes = lists.iter().map(|list| sha256.hash(list));
        let policy = hashes.fold(policy, |policy, hash| policy.with(hash.as_ref()));
        Some(Self { digest: policy.digest(sha256).as_ref().try_into().ok()?, lists_end })
    }

    /// The key for a chain at this time: it changes when a list ends.
    pub(super) fn key(
        &self,
        chain: &[u8; 32],
        purpose: Purpose<'_>,
        unix: u64,
        sha256: &dyn Hash,
    ) -> Option<Key> {
        // webpki takes no list at its nextUpdate and later.
        let ended = self.lists_end.iter().filter(|end| **end <= unix).count() as u64;
        let (number, name) = match purpose {
            Purpose::Server(name) => (0, name),
            Purpose::AllNames(Role::Server) => (1, ""),
            Purpose::AllNames(Role::Client) => (2, ""),
            Purpose::NoNames(Role::Server) => (3, ""),
            Purpose::NoNames(Role::Client) => (4, ""),
        };
        // All but the name have one length.
        let mut decides = Vec::with_capacity(32 + 32 + 8 + 1 + name.len());
        decides.extend_from_slice(&self.digest);
        decides.extend_from_slice(chain);
        decides.extend_from_slice(&ended.to_be_bytes());
        decides.push(number);
        decides.extend_from_slice(name.as_bytes());
        sha256.hash(&decides).as_ref().first_chunk().copied()
    }
}
