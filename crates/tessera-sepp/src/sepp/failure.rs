//! Calls that got no answer.

use http::StatusCode;
use tessera::resume::Verdict;
use tessera_proxy::http::body::BodyError;
use tessera_proxy::http::client::{CallError, CallErrorKind, Delivery};

use super::look::of_body;
use crate::sbi::errors::{Problem, problems};

/// Returns the answer to a request whose call failed. Its detail is for local network functions: what was sent, and
/// what is known about it.
pub(crate) fn problem(error: &CallError) -> Problem {
    let known = match error.kind {
        CallErrorKind::RequestBody => request_body(error),
        CallErrorKind::InvalidRequest => Problem::new(
            StatusCode::BAD_REQUEST,
            "INVALID_MSG_FORMAT",
            "the request can't be sent as it is",
        ),
        CallErrorKind::Busy | CallErrorKind::Closed => Problem {
            retry_after: Some(1),
            ..Problem::new(StatusCode::SERVICE_UNAVAILABLE, "NF_CONGESTION", "")
        },
        CallErrorKind::Unreachable => problems::UNREACHABLE,
        CallErrorKind::DeadlineExceeded => problems::TIMED_OUT,
        // The other end refused it without executing it.
        CallErrorKind::Reset(_) if error.sent == Delivery::Nothing => problems::BAD_ANSWER,
        _ if error.sent == Delivery::Nothing => problems::UNREACHABLE,
        _ => problems::PERHAPS_PROCESSED,
    };
    let known = match verdict(error) {
        Some(Verdict::Used) => Problem { cause: "EARLY_DATA_USED", ..problems::PERHAPS_PROCESSED },
        Some(Verdict::Unknown) => {
            Problem { cause: "EARLY_DATA_UNKNOWN", ..problems::PERHAPS_PROCESSED }
        }
        _ => known,
    };
    Problem { detail: error.to_string().into(), ..known }
}

/// Returns the outcome of the early data that carried the call.
pub(crate) fn verdict(error: &CallError) -> Option<Verdict> {
    error.verdict.map(|known| known.verdict)
}

/// Returns the problem of a request body that its client didn't send.
fn request_body(error: &CallError) -> Problem {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if let Some(body) = cause.downcast_ref::<BodyError>() {
            return of_body(body);
        }
        source = cause.source();
    }
    problems::CUT_BODY
}
