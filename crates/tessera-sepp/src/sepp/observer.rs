//! What a relay reports, for metrics and security events.

use std::time::Duration;

use http::StatusCode;
use tessera::resume::Verdict;

use crate::guard::Refusal;
use crate::n32c::AssociationId;
use crate::n32f::reach::Reach;
use crate::names::Fqdn;

/// Receives events. Called while requests are being handled, so it must not block.
pub trait Observer: Send + Sync {
    /// A request was answered, by a network function or by a SEPP.
    fn relayed(&self, relayed: &RelayedRequest<'_>) {
        let _ = relayed;
    }

    /// A request or a response was refused, or would have been by a log-only rule.
    fn refused(&self, refused: &MessageRefusal<'_>) {
        let _ = refused;
    }

    /// A peer became reachable or unreachable on N32-f.
    fn reaches(&self, peer: &Fqdn, reach: &Reach) {
        let _ = (peer, reach);
    }
}

/// Ignores all events.
impl Observer for () {}

/// A request that was answered.
#[derive(Debug, Clone, Copy)]
pub struct RelayedRequest<'r> {
    /// The peer; `None` if the request names none that is configured.
    pub peer: Option<&'r Fqdn>,
    /// Its direction.
    pub direction: Direction,
    /// The service: a known name, or `other`.
    pub service: &'static str,
    /// The status of the answer.
    pub status: StatusCode,
    /// From the request's head to the answer's.
    pub elapsed: Duration,
    /// It travelled as early data, and was accepted.
    pub was_early: bool,
    /// This SEPP sent it a second time, because the first may have been executed.
    pub resent: bool,
    /// The outcome of the early data that carried it, if that is why no network function answered.
    pub verdict: Option<Verdict>,
}

/// The direction of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From a local network function to a peer.
    Outgoing,
    /// From a peer to a local network function.
    Incoming,
}

impl Direction {
    /// Returns its name in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Outgoing => "outgoing",
            Self::Incoming => "incoming",
        }
    }
}

/// A message that was refused, or would have been.
#[derive(Debug, Clone, Copy)]
pub struct MessageRefusal<'r> {
    /// The peer, by its verified name.
    pub peer: &'r Fqdn,
    /// The association, if there is one.
    pub association: Option<AssociationId>,
    /// The direction of its request.
    pub direction: Direction,
    /// Whether it is the answer to that request.
    pub is_response: bool,
    /// Why it was refused.
    pub reason: RefusalReason<'r>,
    /// Whether it was refused; otherwise a log-only rule let it pass.
    pub is_enforced: bool,
}

/// Why a message is refused.
#[derive(Debug, Clone, Copy)]
pub enum RefusalReason<'r> {
    /// A rule of the guard.
    Guard(&'r Refusal),
    /// N32-f of a peer without an established association, or beyond what its certificate proved on N32-c.
    Association,
}

impl RefusalReason<'_> {
    /// Returns its name in logs and metrics.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Guard(refusal) => refusal.rule.name(),
            Self::Association => "association",
        }
    }
}
