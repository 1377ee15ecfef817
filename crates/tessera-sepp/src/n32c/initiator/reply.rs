//! Reads replies to `exchange-capability`.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};

use super::redirection::Redirection;
use crate::n32c::failure::Failure;
use crate::n32c::messages::{ProblemDetails, SecNegotiateRspData, decode};
use crate::n32c::transport::{Reply, TransportError};

/// A reply that isn't a failure.
pub(crate) enum AcceptedReply {
    Answer(Box<SecNegotiateRspData>),
    Elsewhere(Redirection),
}

/// Reads a reply to `exchange-capability`.
pub(crate) fn read_reply(reply: &Reply) -> Result<AcceptedReply, Failure> {
    match reply.status {
        StatusCode::OK => decode(&reply.body)
            .map(|answer| AcceptedReply::Answer(Box::new(answer)))
            .map_err(|error| Failure::Answer(error.to_string())),
        StatusCode::TEMPORARY_REDIRECT => Redirection::read(reply).map(AcceptedReply::Elsewhere),
        _ => Err(refusal(reply)),
    }
}

/// Reads a reply that only acknowledges the request.
pub(crate) fn read_acknowledgement(reply: Result<Reply, TransportError>) -> Result<(), Failure> {
    let reply = reply.map_err(Failure::Transport)?;
    if reply.status.is_success() { Ok(()) } else { Err(refusal(&reply)) }
}

/// Reads a peer's refusal.
fn refusal(reply: &Reply) -> Failure {
    let problem = decode::<ProblemDetails>(&reply.body).unwrap_or_default();
    let cause = problem.cause.map(|cause| cause.to_string());
    let words = [cause, problem.title, problem.detail].into_iter().flatten();
    let line: String = words.collect::<Vec<_>>().join(", ");
    let detail = line.chars().map(|char| if char.is_control() { ' ' } else { char });
    Failure::Refused {
        status: reply.status,
        detail: detail.take(200).collect(),
        retry_after: retry_after(&reply.headers),
    }
}

/// Reads `retry-after` (RFC 9110 §10.2.3). A date depends on another clock, so it is ignored.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    text.parse().ok().map(Duration::from_secs)
}
