//! Calls without an answer.

use http::StatusCode;
use tessera::resume::Verdict;
use tessera_proxy::http::body::BodyError;
use tessera_proxy::http::client::{CallError, CallErrorKind, Sent};

use super::look::of_body;
use crate::sbi::errors::{Problem, problems};

/// What is answered to a request whose call failed. The detail is for own network functions: it tells what was sent
/// and what is known of it.
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
        // The other end was there, and refused it without executing it.
        CallErrorKind::Reset(_) if error.sent == Sent::Nothing => problems::BAD_ANSWER,
        _ if error.sent == Sent::Nothing => problems::UNREACHABLE,
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

/// What became of the early data that the call was in.
pub(crate) fn verdict(error: &CallError) -> Option<Verdict> {
    error.verdict.map(|known| known.verdict)
}

/// The client that sent the request didn't send its body.
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
