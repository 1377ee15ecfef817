//! What a verifier must offer so that its verdicts can be remembered.

use alloc::vec::Vec;
use core::ops::RangeInclusive;

use tessera::Role;
use tessera::auth::{PeerPublicKey, PeerRejected, PeerVerifier, VerifyPeer};

/// A verifier of certificate chains whose verdicts can be remembered: they depend on the chain, the role and the name in
/// question, the [policy](PeerVerifier::policy), revocation lists and the time alone.
pub trait ChainVerifier: PeerVerifier {
    /// Returns whether a peer of this role is judged for the name in the question, which then is its identity.
    fn checks_name(&self, peer: Role) -> bool;

    /// Returns whether dates count. If not, chains are known without a clock, and never expire. Default: they do.
    fn checks_dates(&self) -> bool {
        true
    }

    /// Takes the revocation lists that decide, once, when the verifier is wrapped. `None` if the end of one can't be read:
    /// no chain is remembered then. Default: no lists.
    fn take_lists(&mut self) -> Option<RevocationLists> {
        Some(RevocationLists::default())
    }

    /// Judges a chain and its proof. `remembers` is false if nothing will be remembered:
    /// [`JudgedChain::end_entity`] isn't needed then.
    ///
    /// # Errors
    /// Returns the alert and the reason.
    fn judge_chain(
        &self,
        question: &VerifyPeer,
        names: Names,
        remembers: bool,
    ) -> Result<JudgedChain, PeerRejected>;

    /// Judges the proof alone, under this key (a SubjectPublicKeyInfo, DER). Returns it for the engine if the proof is a KEM,
    /// as in [`JudgedChain::public_key`].
    ///
    /// # Errors
    /// Returns the alert and the reason.
    fn judge_proof(
        &self,
        question: &VerifyPeer,
        public_key: &[u8],
    ) -> Result<Option<PeerPublicKey>, PeerRejected>;
}

/// What of a peer's names counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// The verifier checks them, and makes an identity.
    Checked,
    /// Any names will do: a verifier around this one checks them. The identity is empty.
    Ignored,
}

/// An accepted chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedChain {
    /// The peer's identity.
    pub identity: Vec<u8>,
    /// When all certificates of the path are valid, in seconds since the Unix epoch: from the latest notBefore to the
    /// earliest notAfter. All times if dates don't count.
    pub validity: RangeInclusive<u64>,
    /// The end entity's key for the engine, with [`Proof::Kem`](tessera::auth::Proof::Kem) alone
    /// ([`PeerAcceptance::public_key`](tessera::auth::PeerAcceptance::public_key)).
    pub public_key: Option<PeerPublicKey>,
    /// The end entity, if the chain as received is exactly the verified path, in order, perhaps followed by the path's own
    /// anchor; `None` for any other chain, which isn't remembered: otherwise one peer could have any number of them. `None`
    /// also without memory for a copy ([`joined`](tessera::auth::joined)).
    pub end_entity: Option<EndEntity>,
}

/// The end entity of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndEntity {
    /// Its SubjectPublicKeyInfo (DER).
    pub public_key: Vec<u8>,
    /// The contents of its issuer's Name. Chains of one issuer only evict each other.
    pub issuer: Vec<u8>,
}

/// The revocation lists that decide about chains.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RevocationLists {
    /// Each (DER), in order.
    pub lists: Vec<Vec<u8>>,
    /// When lists end that are ignored from then on, in seconds since the Unix epoch.
    pub ends: Vec<u64>,
}
