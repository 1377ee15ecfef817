//! What a relay tells of its work: for metrics and security events.

use std::time::Duration;

use http::StatusCode;
use tessera::resume::Verdict;

use crate::guard::Refusal;
use crate::n32c::AssociationId;
use crate::n32f::reach::Reach;
use crate::names::Fqdn;

/// Is told what happens. It is asked in the middle of requests: it waits for nothing.
pub trait Observer: Send + Sync {
    /// A request was answered, by whomever.
    fn relayed(&self, relayed: &Relayed<'_>) {
        let _ = relayed;
    }

    /// A request or a response was refused, or would have been by a rule that only logs.
    fn rejected(&self, rejected: &Rejected<'_>) {
        let _ = rejected;
    }

    /// A peer can be reached on N32-f, or can't any more.
    fn reaches(&self, peer: &Fqdn, reach: &Reach) {
        let _ = (peer, reach);
    }
}

/// Nobody is told.
impl Observer for () {}

/// A request that was answered.
#[derive(Debug, Clone, Copy)]
pub struct Relayed<'r> {
    /// The peer; `None` if the request names none that is configured.
    pub peer: Option<&'r Fqdn>,
    /// Which way.
    pub direction: Direction,
    /// The service: one of a few names, else `other`.
    pub service: &'static str,
    /// The status of the answer.
    pub status: StatusCode,
    /// From the request's head to the answer's.
    pub elapsed: Duration,
    /// It travelled as early data, and was taken.
    pub was_early: bool,
    /// This SEPP sent it a second time, because the first may have been executed.
    pub resent: bool,
    /// What became of the early data that it was in, if that is why it has no answer of a network function.
    pub verdict: Option<Verdict>,
}

/// Which way a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From an own network function to a peer.
    Outgoing,
    /// From a peer to an own network function.
    Incoming,
}

impl Direction {
    /// Its name in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Outgoing => "outgoing",
            Self::Incoming => "incoming",
        }
    }
}

/// A message that was refused.
#[derive(Debug, Clone, Copy)]
pub struct Rejected<'r> {
    /// The peer, by the name that was verified.
    pub peer: &'r Fqdn,
    /// The association, if there is one.
    pub association: Option<AssociationId>,
    /// Which way its request goes.
    pub direction: Direction,
    /// Whether it is the answer to that request.
    pub is_response: bool,
    /// Against what.
    pub offence: Offence<'r>,
    /// It was refused; else a rule that only logs let it pass.
    pub is_enforced: bool,
}

/// What a message offends against.
#[derive(Debug, Clone, Copy)]
pub enum Offence<'r> {
    /// A rule of the guard.
    Guard(&'r Refusal),
    /// N32-f of a peer without an established association, or beyond what its certificate showed on N32-c.
    Association,
    /// The target is an address, of another network, or not open to peers.
    Target,
}

impl Offence<'_> {
    /// Its name in logs and metrics.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Guard(refusal) => refusal.rule.name(),
            Self::Association => "association",
            Self::Target => "target",
        }
    }
}
