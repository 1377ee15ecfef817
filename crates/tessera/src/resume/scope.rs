//! What a resumption must not cross: a session is valid where the authentication that began it would be
//! accepted.

use alloc::vec::Vec;

use super::session::SessionState;
use crate::auth::{PeerVerifier, VerifierDigest, VerifierPolicy};
use crate::crypto::Provider;

/// The authentications that count for a configuration. Made once, when the configuration is checked.
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

    /// Returns the verifiers whose acceptance counts.
    pub(crate) fn those_that_count(&self) -> impl Iterator<Item = VerifierDigest> {
        self.verifier.iter().chain(&self.also).copied()
    }

    pub(crate) fn counts(&self, by: &VerifierDigest) -> bool {
        self.those_that_count().any(|own| own == *by)
    }

    /// Returns whether the epochs are equal, and every verifier that counted in the earlier scope counts here.
    pub(crate) fn covers(&self, earlier: &Self) -> bool {
        self.policy_epoch == earlier.policy_epoch
            && earlier.those_that_count().all(|by| self.counts(&by))
    }

    /// Returns what the authentication behind a session is worth here.
    pub(crate) fn weigh(&self, session: &SessionState) -> SessionAuthentication {
        if session.policy_epoch != self.policy_epoch {
            return SessionAuthentication::Elsewhere;
        }
        match (&session.peer, &session.accepted_by) {
            (None, _) => SessionAuthentication::Nobody,
            (Some(_), Some(by)) if self.counts(by) => SessionAuthentication::Here,
            _ => SessionAuthentication::Elsewhere,
        }
    }
}

/// Whether a session's peer was authenticated as a configuration requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionAuthentication {
    /// A verifier that counts accepted the peer.
    Here,
    /// No peer was verified; the session may rest on an external PSK.
    Nobody,
    /// By a verifier that doesn't count, or in another epoch of the policy.
    Elsewhere,
}
