//! What happens on N32, reported twice: counted in metrics, and as security events in the log.
//!
//! A security event is one line of the target [`SECURITY`], with the fields `event` (`refused`, `would_refuse`,
//! `n32c_refused`, `n32c_failed`, `association`, `n32f_error`, `n32f_reach`, `connection_refused`), `rule`, `peer`,
//! `association`, `direction`, `field`, `claimed` and `allowed`, where known. Subscribers are masked. Each kind is
//! limited to 100 lines a second; metrics count all.

use tessera_proxy::logging::tracing;

pub use crate::mask::MaskedText;
use crate::metrics::{self, Direction, Metrics, Role};
use crate::n32c::association::{self, Event};
use crate::n32c::{AssociationId, State};
use crate::n32f::reach::Reach;
use crate::names::Fqdn;
use crate::sepp::observer::{self, MessageRefusal, RefusalReason, RelayedRequest};

/// The target of security events.
pub const SECURITY: &str = "tessera::security";

/// Counts and logs what happens.
#[derive(Clone)]
pub struct Events {
    metrics: Metrics,
}

impl Events {
    /// Counts in these metrics.
    pub fn new(metrics: Metrics) -> Self {
        Self { metrics }
    }

    /// Logs a connection that failed in its handshake, or whose peer is no longer accepted.
    pub fn connection_refused(&self, listener: &'static str, address: &str, why: &str) {
        tracing::warn!(
            target: SECURITY,
            event = "connection_refused",
            listener,
            address,
            detail = MaskedText(why).to_string(),
            "a connection was refused"
        );
    }
}

impl observer::Observer for Events {
    fn relayed(&self, relayed: &RelayedRequest<'_>) {
        let Some(peer) = relayed.peer else { return };
        let peer = self.metrics.peer(peer);
        let direction = direction(relayed.direction);
        peer.request(direction, relayed.service, relayed.status, relayed.elapsed);
        if relayed.was_early && relayed.direction == observer::Direction::Outgoing {
            peer.early();
        }
        if relayed.resent {
            peer.repeated();
        }
    }

    fn reaches(&self, peer: &Fqdn, reach: &Reach) {
        self.reached(peer, reach);
    }

    fn refused(&self, refused: &MessageRefusal<'_>) {
        let rule = refused.reason.rule();
        let metrics = self.metrics.peer(refused.peer);
        if refused.is_enforced {
            metrics.refused(rule);
        } else {
            metrics.logged(rule);
        }
        if refused.is_enforced && matches!(rule, "rate" | "rate-of-service") {
            metrics.rate_limited();
        }
        let (field, claimed, allowed) = match &refused.reason {
            RefusalReason::Guard(refusal) => {
                let allowed = (!refusal.allowed.is_empty()).then(|| refusal.allowed.to_string());
                (Some(refusal.field), Some(MaskedText(&refusal.claimed).to_string()), allowed)
            }
            RefusalReason::Association => (None, None, None),
        };
        let (peer, association) = (refused.peer.as_str(), name_of(refused.association));
        let direction = refused.direction.as_str();
        let message = if refused.is_response { "response" } else { "request" };
        if refused.is_enforced {
            tracing::warn!(
                target: SECURITY,
                event = "refused",
                rule,
                peer,
                association,
                direction,
                message_kind = message,
                field,
                claimed,
                allowed,
                "a message was refused"
            );
        } else {
            tracing::warn!(
                target: SECURITY,
                event = "would_refuse",
                rule,
                peer,
                association,
                direction,
                message_kind = message,
                field,
                claimed,
                allowed,
                "a message broke a rule that only logs"
            );
        }
    }
}

impl Events {
    fn reached(&self, peer: &Fqdn, reach: &Reach) {
        let metrics = self.metrics.peer(peer);
        let name = peer.as_str();
        let state = reach.as_str();
        match reach {
            Reach::Unknown => metrics.no_reach(),
            Reach::Reachable => {
                metrics.reach(true);
                tracing::info!(target: SECURITY, event = "n32f_reach", peer = name, state, "N32-f can be reached");
            }
            Reach::Unreachable { reason } => {
                metrics.reach(false);
                tracing::warn!(
                    target: SECURITY,
                    event = "n32f_reach",
                    peer = name,
                    state,
                    detail = MaskedText(reason).to_string(),
                    "N32-f can't be reached"
                );
            }
        }
    }
}

impl association::Observer for Events {
    fn on(&self, event: &Event<'_>) {
        match event {
            Event::Agreed { peer, role } => {
                self.metrics.peer(peer).n32c_handshake(of_role(*role), metrics::Result::Ok, "");
            }
            Event::Failed { peer, failure } => {
                let reason = failure.reason();
                let metrics = self.metrics.peer(peer);
                metrics.n32c_handshake(Role::Initiator, metrics::Result::Failed, reason);
                tracing::warn!(
                    target: SECURITY,
                    event = "n32c_failed",
                    rule = reason,
                    peer = peer.as_str(),
                    detail = MaskedText(&failure.to_string()).to_string(),
                    "no association was established"
                );
            }
            Event::Refused { peer, identity, refusal } => {
                let rule = refusal.rule.as_str();
                if let Some(peer) = peer {
                    let metrics = self.metrics.peer(peer);
                    metrics.n32c_handshake(Role::Responder, metrics::Result::Failed, rule);
                    metrics.refused(rule);
                }
                let certificate = tessera_kit::hex::encode(&identity.fingerprint);
                tracing::warn!(
                    target: SECURITY,
                    event = "n32c_refused",
                    rule,
                    peer = peer.map(Fqdn::as_str),
                    certificate,
                    anchor = &*identity.anchor,
                    plmns = %identity.plmns,
                    claimed = refusal.claimed.as_deref(),
                    allowed = refusal.allowed.as_deref(),
                    "a request on N32-c was refused: {}",
                    refusal.detail
                );
            }
            Event::Changed { peer, state } => self.changed(peer, state),
            Event::Reported { peer, error } => {
                tracing::warn!(
                    target: SECURITY,
                    event = "n32f_error",
                    peer = peer.as_str(),
                    "the peer reports an error in a message of N32-f: {}",
                    MaskedText(&format!("{:?}", error.n32f_error_type))
                );
            }
        }
    }
}

impl Events {
    fn changed(&self, peer: &Fqdn, state: &State) {
        let number = match state {
            State::WillEstablish => 0,
            State::Established(_) => 1,
            State::Terminated(_) => 2,
            State::Exception(_) => 3,
        };
        self.metrics.peer(peer).association_state(number);
        let (association, plmns) = match state {
            State::Established(it) => (Some(it.id.to_string()), Some(it.plmns.to_string())),
            _ => (None, None),
        };
        let what = match state {
            State::WillEstablish => "an association will be established",
            State::Established(_) => "the association is established",
            State::Terminated(_) => "the association is terminated",
            State::Exception(_) => "the last attempt at an association failed",
        };
        tracing::info!(
            target: SECURITY,
            event = "association",
            peer = peer.as_str(),
            state = state.as_str(),
            association,
            plmns,
            "{what}"
        );
    }
}

fn name_of(association: Option<AssociationId>) -> Option<String> {
    association.map(|id| id.to_string())
}

fn direction(direction: observer::Direction) -> Direction {
    match direction {
        observer::Direction::Outgoing => Direction::Outgoing,
        observer::Direction::Incoming => Direction::Incoming,
    }
}

fn of_role(role: association::Role) -> Role {
    match role {
        association::Role::Initiator => Role::Initiator,
        association::Role::Responder => Role::Responder,
    }
}
