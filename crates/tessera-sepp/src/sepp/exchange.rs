//! What is logged and counted about one relayed request.

use std::time::Instant;

use http::{Response, StatusCode, Version, response};
use tessera::resume::Verdict;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::CallError;
use tessera_proxy::logging::tracing;

use super::failure;
use super::live::ActiveConfig;
use super::observer::{Direction, Observer, RelayedRequest};
use super::policy::PeerIndex;
use crate::guard::RequestSummary;
use crate::mask::MaskedText;
use crate::sbi::errors::Problem;
use crate::sbi::headers;

/// The answer of a network function, or a problem of this SEPP.
pub(super) type Outcome = Result<Response<Body>, Problem>;

/// What is known about a request so far.
pub(super) struct Exchange {
    pub(super) direction: Direction,
    pub(super) asked: RequestSummary,
    begun: Instant,
    pub(super) peer: Option<PeerIndex>,
    pub(super) was_early: bool,
    pub(super) resent: bool,
    pub(super) verdict: Option<Verdict>,
}

impl Exchange {
    pub(super) fn new(direction: Direction, asked: RequestSummary, begun: Instant) -> Self {
        let (was_early, resent) = (false, false);
        Self { direction, asked, begun, peer: None, was_early, resent, verdict: None }
    }

    /// Reports the end of the request.
    pub(super) fn relayed(&self, live: &ActiveConfig, observer: &dyn Observer, status: StatusCode) {
        let peer = self.peer.and_then(|peer| live.policy.peer(peer));
        observer.relayed(&RelayedRequest {
            peer: peer.map(|peer| &peer.fqdn),
            direction: self.direction,
            service: self.asked.service(),
            status,
            elapsed: self.begun.elapsed(),
            was_early: self.was_early,
            resent: self.resent,
            verdict: self.verdict,
        });
    }

    /// Logs a failed call, and returns the problem to answer with. A peer isn't given the reason, so it must be in the
    /// log.
    pub(super) fn failed(&mut self, live: &ActiveConfig, error: &CallError) -> Problem {
        self.verdict = failure::verdict(error);
        let problem = failure::problem(error);
        let peer = self.peer.and_then(|peer| live.policy.peer(peer));
        tracing::warn!(
            peer = peer.map(|peer| peer.fqdn.as_str()),
            direction = self.direction.as_str(),
            service = self.asked.service(),
            cause = problem.cause,
            "a request got no answer: {}",
            MaskedText(&error.to_string())
        );
        problem
    }

    /// Removes headers of an answer that belong to the connection it came in.
    pub(super) fn strip(&self, parts: &mut response::Parts) {
        if parts.version < Version::HTTP_2 {
            headers::remove_hop_by_hop(&mut parts.headers);
        }
        // The server decides the version of the forwarded answer.
        parts.version = Version::HTTP_11;
    }
}
