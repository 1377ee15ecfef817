//! What a resumption must not cross: a session is good where the authentication that began it would be
//! accepted.

use alloc::vec::Vec;

use super::session::SessionState;
use crate::auth::{PeerVerifier, VerifierDigest, VerifierPolicy};
use crate::crypto::Provider;

/// Whose authentications count for a configuration. Made once, when the configuration is checked.
#[derive(Clone, Default)]
pub(crate) struct AuthenticationScope {
    /// The verifier of the configuration.
    pub(crate) verifier: Option<VerifierDigest>,
    also: Vec<VerifierDigest>,
    policy_epoch: u64,
}

impl AuthenticationScope {
    pub(crate) fn new(
        verifier: Option<&dyn PeerVerifier>,
        also: &[VerifierPolicy],
        policy_epoch: u64,
        provider: &Provider,
    ) -> Self {
        let digest = |policy: &VerifierPolicy| VerifierDigest::of(policy, provider);
        Self {
            verifier: verifier.map(|verifier| digest(&verifier.policy())),
            also: also.iter().map(digest).collect(),
            policy_epoch,
        }
    }

    /// Whether it is the same epoch, and whoever counted in the earlier one counts here.
    pub(crate) fn covers(&self, earlier: &Self) -> bool {
        self.policy_epoch == earlier.policy_epoch && self.counts_those_of(earlier)
    }

    /// Whether every verifier that counted in the earlier one counts here.
    pub(crate) fn counts_those_of(&self, earlier: &Self) -> bool {
        let counts = |by| self.verifier.iter().chain(&self.also).any(|own| own == by);
        earlier.verifier.iter().chain(&earlier.also).all(counts)
    }

    /// What the authentication behind a session is worth here.
    pub(crate) fn weigh(&self, session: &SessionState) -> Authenticated {
        if session.policy_epoch != self.policy_epoch {
            return Authenticated::Elsewhere;
        }
        match (&session.peer, &session.accepted_by) {
            (None, _) => Authenticated::Nobody,
            (Some(_), Some(by)) if self.verifier.iter().chain(&self.also).any(|own| own == by) => {
                Authenticated::Here
            }
            _ => Authenticated::Elsewhere,
        }
    }
}

/// Whether a session's peer was authenticated as a configuration wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Authenticated {
    /// A peer that was accepted by a verifier that counts.
    Here,
    /// No peer was verified; an external PSK may stand behind it.
    Nobody,
    /// By a verifier that doesn't count, or in another epoch of the policy.
    Elsewhere,
}
