//! What a verifier accepts, as a value.

use alloc::vec::Vec;
use core::fmt;

use crate::crypto::{Digest, Hash, Provider};

/// The policy of a verifier: everything that decides which peers it accepts, and under which identities, as
/// bytes to compare and hash.
///
/// Neither the engine nor every verifier has a hash of its own, so a policy is written down in full, and
/// [`digest`](Self::digest) shortens it with one of the provider's hashes. It holds no secrets. It
/// consists of fields, each with its length, so that different lists of fields yield different bytes.
///
/// ```
/// use tessera::auth::VerifierPolicy;
///
/// let policy = |keys: &[&str]| VerifierPolicy::new("example.org keys 1").with_set(keys);
/// assert!(policy(&["a", "b"]) == policy(&["b", "a"]));
/// assert!(policy(&["a", "b"]) != policy(&["ab"]));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[must_use]
pub struct VerifierPolicy(Vec<u8>);

impl VerifierPolicy {
    /// Creates the policy of a kind of verifiers. The name is unique among all kinds, and changes when their
    /// code accepts more or less than before.
    pub fn new(kind: &str) -> Self {
        Self(Vec::new()).with(kind.as_bytes())
    }

    /// Adds a field that narrows or widens what is accepted.
    pub fn with(mut self, field: &[u8]) -> Self {
        self.push(field);
        self
    }

    /// Adds fields whose order and number of occurrences don't matter.
    pub fn with_set<T: AsRef<[u8]>>(mut self, fields: impl IntoIterator<Item = T>) -> Self {
        let fields: Vec<T> = fields.into_iter().collect();
        let mut sorted: Vec<&[u8]> = fields.iter().map(AsRef::as_ref).collect();
        sorted.sort_unstable();
        sorted.dedup();
        self.push_head(SET, sorted.len());
        sorted.into_iter().for_each(|field| self.push(field));
        self
    }

    /// Adds the policy of another verifier to which this one delegates.
    pub fn with_policy(self, inner: &Self) -> Self {
        self.with(&inner.0)
    }

    /// Returns the whole policy.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Shortens the policy. Digests of different hashes can't be compared.
    #[must_use]
    pub fn digest(&self, hash: &dyn Hash) -> Digest {
        hash.hash(&self.0)
    }

    fn push(&mut self, field: &[u8]) {
        self.push_head(FIELD, field.len());
        self.0.extend_from_slice(field);
    }

    fn push_head(&mut self, tag: u8, len: usize) {
        self.0.push(tag);
        self.0.extend_from_slice(&(len as u64).to_be_bytes());
    }
}

/// The hash of a verifier's [policy](VerifierPolicy).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifierDigest(pub [u8; Self::LEN]);

impl VerifierDigest {
    /// Its length, in bytes.
    pub const LEN: usize = 32;

    /// Computes the digest of a policy: SHA-256 if the provider has it. A provider without it computes a different
    /// digest, which costs a full handshake.
    pub fn of(policy: &VerifierPolicy, provider: &Provider) -> Self {
        Self::with(provider, |hash| policy.digest(hash))
    }

    /// Computes the digest of a policy that includes a secret.
    pub(crate) fn keyed(secret: &[u8], policy: &VerifierPolicy, provider: &Provider) -> Self {
        Self::with(provider, |hash| hash.hmac(secret, policy.as_bytes()))
    }

    fn with(provider: &Provider, digest: impl FnOnce(&'static dyn Hash) -> Digest) -> Self {
        let hashes = || provider.suites.iter().map(|suite| suite.hash);
        let hash = hashes().find(|hash| hash.len() == Self::LEN).or_else(|| hashes().next());
        let mut shortened = Self([0; Self::LEN]);
        // Configurations without suites are rejected, so a hash exists.
        if let Some(hash) = hash {
            let digest = digest(hash);
            shortened.0.iter_mut().zip(digest.as_ref()).for_each(|(to, from)| *to = *from);
        }
        shortened
    }
}

/// Precedes the length of a field; [`SET`] precedes the number of fields in a set.
const FIELD: u8 = 0;
const SET: u8 = 1;

impl AsRef<[u8]> for VerifierPolicy {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for VerifierPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifierPolicy({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::VerifierPolicy;

    /// Neither fields nor sets can be confused with differently split ones, or with each other.
    #[test]
    fn verifier_policies_of_different_fields_differ() {
        let new = || VerifierPolicy::new("a");
        let policies = [
            new(),
            VerifierPolicy::new("b"),
            new().with(b""),
            new().with(b"bc"),
            new().with(b"b").with(b"c"),
            new().with(b"c").with(b"b"),
            new().with_set(["b"; 0]),
            new().with_set(["b", "c"]),
            new().with_set(["bc"]),
            new().with_set(["b"]).with_set(["c"]),
            new().with_policy(&VerifierPolicy::new("b")),
        ];
        for (at, policy) in policies.iter().enumerate() {
            assert!(policies[at + 1..].iter().all(|other| other != policy), "{at}");
        }
    }

    #[test]
    fn a_set_in_a_verifier_policy_has_no_order_and_no_repetitions() {
        let of = |fields: &[&str]| VerifierPolicy::new("a").with_set(fields);
        assert_eq!(of(&["b", "c"]), of(&["c", "b", "c"]));
    }
}
