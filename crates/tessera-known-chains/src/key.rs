//! The keys of entries.

use alloc::vec::Vec;

use tessera::Role;
use tessera::auth::VerifierPolicy;
use tessera::crypto::Hash;

use crate::chain_verifier::{ChainVerifier, RevocationLists};

/// An entry's key: half of SHA-256 of everything that decides whether its chain is accepted, except the time,
/// and of the store's salt. An attacker that could make two chains with one key, one of them good, would get
/// the other accepted. With the salt, such chains can't be searched for offline: the attacker must try all of
/// 2^128 at the store itself.
pub(crate) type Key = [u8; 16];

/// Returns a hash of a key for tables: keys are hashes, so a prefix is a good one.
pub(crate) fn short(key: &Key) -> u64 {
    key.first_chunk().copied().map_or(0, u64::from_ne_bytes)
}

/// An unpredictable number, specific to a store.
pub(crate) type Salt = [u8; 32];

/// The parts of a verifier that decide, besides time and question.
pub(crate) struct Context {
    /// Includes the salt.
    digest: [u8; 32],
    /// When revocation lists end, if expired lists are ignored.
    lists_end: Vec<u64>,
}

/// The length of all parts of a key but the name, in bytes.
const FIXED: usize = 32 + 32 + 8 + 1;

/// The longest name in a key, in bytes: RFC 1035 §2.3.4.
const LONGEST_NAME: usize = 255;

/// The purpose for which a chain was accepted. Keys contain the numbers.
#[derive(Clone, Copy)]
pub(crate) enum Purpose<'a> {
    /// As a server of this name.
    Server(&'a str),
    /// As a peer of this role, identified by all of its names.
    AllNames(Role),
    /// As a peer of this role, regardless of its names.
    NoNames(Role),
}

impl Context {
    /// The verifier's policy covers anchors, algorithms, dates, and the treatment of revocation. Of revocation lists
    /// it only covers whom they revoke; here the lists themselves count, in order, so that an entry never
    /// outlives the lists that it was judged by. `None` if the end of a list can't be read.
    pub(crate) fn new(
        verifier: &mut impl ChainVerifier,
        sha256: &dyn Hash,
        salt: &Salt,
    ) -> Option<Self> {
        let policy = VerifierPolicy::new("tessera-known-chains, 3")
            .with(salt)
            .with_policy(&verifier.policy());
        let RevocationLists { lists, ends } = verifier.take_lists()?;
        let hashes = lists.iter().map(|list| sha256.hash(list));
        let policy = hashes.fold(policy, |policy, hash| policy.with(hash.as_ref()));
        Some(Self { digest: policy.digest(sha256).as_ref().try_into().ok()?, lists_end: ends })
    }

    /// Returns the key for a chain at this time: it changes when a list ends. `None` for a name that no certificate is
    /// valid for, because it is longer than DNS allows.
    pub(crate) fn key(
        &self,
        chain: &[u8; 32],
        purpose: Purpose<'_>,
        unix: u64,
        sha256: &dyn Hash,
    ) -> Option<Key> {
        // A list is ignored from its nextUpdate on.
        let ended = self.lists_end.iter().filter(|end| **end <= unix).count() as u64;
        let (number, name) = match purpose {
            Purpose::Server(name) => (0, name),
            Purpose::AllNames(Role::Server) => (1, ""),
            Purpose::AllNames(Role::Client) => (2, ""),
            Purpose::NoNames(Role::Server) => (3, ""),
            Purpose::NoNames(Role::Client) => (4, ""),
        };
        // All parts but the name have a fixed length.
        let parts = [&self.digest, &chain[..], &ended.to_be_bytes(), &[number], name.as_bytes()];
        let mut decides = [0; FIXED + LONGEST_NAME];
        let mut len = 0;
        for part in parts {
            decides.get_mut(len..len + part.len())?.copy_from_slice(part);
            len += part.len();
        }
        sha256.hash(decides.get(..len)?).as_ref().first_chunk().copied()
    }
}
