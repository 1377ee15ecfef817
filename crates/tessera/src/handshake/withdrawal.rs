//! What another configuration takes back from connections and sessions that began under an earlier one.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use super::client::ClientConfig;
use super::config::Checked;
use super::facts::Facts;
use super::server::ServerConfig;
use crate::resume::{Authenticated, ClientSession, ExternalPsk, PskKind};

impl<C> Checked<C> {
    /// Whether the sessions of an earlier configuration are good here, as far as verifiers and
    /// `policy_epoch` decide.
    ///
    /// `false` says that somebody may have been withdrawn: a trust anchor or a pinned key is gone, a
    /// revocation list revokes more, or the epoch was raised.
    #[must_use]
    pub fn keeps_sessions_of(&self, earlier: &Self) -> bool {
        self.authentication().covers(earlier.authentication())
    }
}

impl Checked<ServerConfig> {
    /// Whether what a connection rests on counts here too: the client that a verifier accepted, now or
    /// before the chain of resumptions; the external PSK; and the epoch, where a session was resumed. The
    /// connection began under the earlier configuration.
    ///
    /// A connection that authenticated nobody rests on nothing. With a
    /// [`chooser`](ServerConfig::chooser) it is unknown who accepted a client: whoever was authenticated
    /// counts here if it is the same chooser.
    #[must_use]
    pub fn upholds(&self, earlier: &Self, facts: &Facts) -> bool {
        if self.is(earlier) {
            return true;
        }
        if self.chooser.is_some() || earlier.chooser.is_some() {
            let same = match (&self.chooser, &earlier.chooser) {
                (Some(chooser), Some(other)) => Arc::ptr_eq(chooser, other),
                _ => false,
            };
            let rests = facts.peer.is_some() || facts.psk.is_some();
            return !rests || same && self.policy_epoch == earlier.policy_epoch;
        }
        let Some(identity) = &facts.external_psk else {
            return upholds_peer(self, earlier, self.policy_epoch == earlier.policy_epoch, facts);
        };
        let named = |psk: &&ExternalPsk| &psk.identity == identity;
        let known = earlier.external_psks.iter().find(named).is_some_and(|psk| {
            self.external_psks.iter().find(named).is_some_and(|own| own.is_same(psk))
        });
        known && (self.policy_epoch == earlier.policy_epoch || !is_resumed(facts))
    }

    /// Whether every external PSK of an earlier configuration is here, with the same secret.
    #[must_use]
    pub fn keeps_psks_of(&self, earlier: &Self) -> bool {
        let own: BTreeMap<_, _> =
            self.external_psks.iter().map(|psk| (&psk.identity, psk)).collect();
        let is_here =
            |psk: &ExternalPsk| own.get(&psk.identity).is_some_and(|own| own.is_same(psk));
        earlier.external_psks.iter().all(is_here)
    }
}

impl Checked<ClientConfig> {
    /// Whether what a connection rests on counts here too: the server that the verifier accepted, now or
    /// before the chain of resumptions, and the epoch. The connection began under the earlier
    /// configuration. External PSKs belong to destinations, and are no part of it.
    #[must_use]
    pub fn upholds(&self, earlier: &Self, facts: &Facts) -> bool {
        let same_epoch = self.policy_epoch == earlier.policy_epoch;
        self.is(earlier) || upholds_peer(self, earlier, same_epoch, facts)
    }

    /// Whether a session's server was accepted as it would be here: by a verifier of the same policy, in
    /// the same epoch. Others are never offered. One that began with an external PSK is good in its
    /// epoch; whether the PSK still is, its destination says.
    #[must_use]
    pub fn accepts_session(&self, session: &ClientSession) -> bool {
        self.authentication().weigh(&session.state) != Authenticated::Elsewhere
    }
}

fn upholds_peer<C>(
    own: &Checked<C>,
    earlier: &Checked<C>,
    same_epoch: bool,
    facts: &Facts,
) -> bool {
    match &facts.peer {
        Some(_) => own.keeps_sessions_of(earlier),
        None => same_epoch || !is_resumed(facts),
    }
}

fn is_resumed(facts: &Facts) -> bool {
    matches!(facts.psk, Some(PskKind::Resumption | PskKind::ForwardSecret))
}
