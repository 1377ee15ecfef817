//! Refusals.

use std::time::Duration;

use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use tessera_bindings::{BindingError, BindingState, StepRefused};
use tessera_kit::clock::unix;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::server;

use crate::moves::{MoveRefusal, Why};
use crate::state::Problem;

/// A refusal, before it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    problem: Box<Problem>,
    /// The methods of the path, if the request has another.
    allow: Option<&'static str>,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, cause: &str, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or_default().to_owned();
        let problem = Problem {
            status: status.as_u16(),
            title,
            detail: detail.into(),
            cause: cause.to_owned(),
            generation: None,
            target: None,
            retry_after_ms: None,
        };
        Self { problem: Box::new(problem), allow: None }
    }

    /// The request itself is wrong.
    pub(crate) fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", detail)
    }

    /// There is nothing of this name.
    pub(crate) fn unknown(cause: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, cause, detail)
    }

    /// The path has other methods.
    pub(crate) fn method(allow: &'static str) -> Self {
        let detail = format!("this path takes {allow}");
        let refusal = Self::new(StatusCode::METHOD_NOT_ALLOWED, "method", detail);
        Self { allow: Some(allow), ..refusal }
    }

    /// A step in the store failed.
    pub(crate) fn of_step(error: BindingError) -> Self {
        Self::of_move(&MoveRefusal { why: Why::Step(error), binding: None }, Duration::ZERO)
    }

    pub(crate) fn of_move(refusal: &MoveRefusal, dwell: Duration) -> Self {
        let (status, cause) = kind(&refusal.why);
        let mut problem = Self::new(status, cause, refusal.to_string()).problem;
        if let Some(binding) = &refusal.binding {
            problem.generation = Some(binding.generation.0);
            problem.target = Some(match &binding.state {
                BindingState::Preparing { next, .. } => next.clone(),
                _ => binding.announced().clone(),
            });
        }
        let retry_after = refusal.retry_after(dwell, unix());
        problem.retry_after_ms =
            retry_after.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        Self { problem, allow: None }
    }

    pub(crate) fn into_response(self) -> Response<Body> {
        let Self { problem, allow } = self;
        // It has strings and numbers, which always have a form in JSON.
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let mut response = Response::new(Body::full(body.into()));
        *response.status_mut() = StatusCode::from_u16(problem.status).unwrap_or_default();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(millis) = problem.retry_after_ms {
            headers.insert(RETRY_AFTER, HeaderValue::from(millis.div_ceil(1000)));
        }
        if let Some(allow) = allow {
            headers.insert(ALLOW, HeaderValue::from_static(allow));
        }
        response
    }
}

/// Returns the status and the kind of a refusal.
fn kind(why: &Why) -> (StatusCode, &'static str) {
    match why {
        Why::Step(error) => match error {
            BindingError::Name(_) => (StatusCode::BAD_REQUEST, "bad-request"),
            BindingError::Unbound => (StatusCode::NOT_FOUND, "unknown-client"),
            BindingError::ProxyGone(_) => (StatusCode::NOT_FOUND, "unknown-proxy"),
            BindingError::Refused(StepRefused::Moving(_) | StepRefused::NotSettled(_)) => {
                (StatusCode::CONFLICT, "moving")
            }
            BindingError::Refused(StepRefused::TooSoon(_)) => (StatusCode::CONFLICT, "too-soon"),
            BindingError::Refused(_) => (StatusCode::CONFLICT, "other-state"),
            BindingError::NoResumption(..) => (StatusCode::CONFLICT, "no-resumption"),
            BindingError::ProxyLive(_) | BindingError::ImportLost(_) => {
                (StatusCode::CONFLICT, "other-state")
            }
            BindingError::Unreadable => (StatusCode::INTERNAL_SERVER_ERROR, "unreadable"),
            BindingError::Contended | BindingError::Store(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, "store")
            }
        },
        Why::Drained(_) => (StatusCode::CONFLICT, "draining"),
        Why::NoTarget => (StatusCode::CONFLICT, "no-proxy"),
        Why::GivenUp(_) => (StatusCode::CONFLICT, "aborted"),
        Why::Superseded => (StatusCode::CONFLICT, "superseded"),
        Why::QueueFull => (StatusCode::SERVICE_UNAVAILABLE, "queue-full"),
        Why::NotCurrent => (StatusCode::SERVICE_UNAVAILABLE, "store"),
    }
}

/// Returns the answer to a request that the HTTP server itself refuses.
pub(crate) fn of_server(refusal: server::Refusal) -> Response<Body> {
    let (cause, detail) = match refusal {
        server::Refusal::TooManyFields => ("bad-request", "the request has too many header fields"),
        server::Refusal::BodyTooLong => ("bad-request", "a body has at most 64 KiB"),
        server::Refusal::Host => ("bad-request", "exactly one Host is needed"),
        server::Refusal::Target => ("bad-request", "the target doesn't belong to the method"),
        server::Refusal::TransferCoding => {
            ("bad-request", "no transfer coding is known but chunked")
        }
        server::Refusal::TooEarly => ("too-early", "send it again after the handshake"),
        server::Refusal::Slow => ("slow", "the request did not arrive in time"),
        server::Refusal::Unanswered => ("unanswered", "the request took too long; repeat it"),
        server::Refusal::Draining => ("stopping", "this orchestrator stops; ask another"),
        _ => ("bad-request", "the request was refused"),
    };
    Refusal::new(refusal.status(), cause, detail).into_response()
}

#[cfg(test)]
mod tests {
    use tessera_bindings::{Binding, MoveTimes, ProxyName};

    use super::*;

    #[test]
    fn a_refusal_names_the_move_in_progress_and_when_it_ends() {
        let second = Duration::from_secs(1);
        let times =
            MoveTimes { dwell: 30 * second, prepare: 5 * second, announce: second, drain: second };
        let [a, b, c] = ["a", "b", "c"].map(|name| ProxyName(name.into()));
        let now = unix();
        let begun = Binding::new(a, now).begin(&b, &times, now).unwrap();
        let refused = begun.begin(&c, &times, now).unwrap_err();
        let refusal = MoveRefusal {
            why: Why::Step(BindingError::Refused(refused)),
            binding: Some(Box::new(begun.clone())),
        };
        let problem = *Refusal::of_move(&refusal, times.dwell).problem;
        assert_eq!((problem.status, problem.cause.as_str()), (409, "moving"));
        assert_eq!(problem.generation, Some(begun.generation.0));
        assert_eq!(problem.target, Some(b));
        let wait = problem.retry_after_ms.unwrap();
        assert!((1..=5000).contains(&wait), "{wait}");
        let response = Refusal::of_move(&refusal, times.dwell).into_response();
        let seconds = response.headers()[RETRY_AFTER].to_str().unwrap().parse::<u64>().unwrap();
        assert!((1..=5).contains(&seconds));
    }

    #[tokio::test]
    async fn a_request_that_came_too_early_or_too_late_is_not_called_malformed() {
        for (refusal, status, cause) in [
            (server::Refusal::BodyTooLong, 413, "bad-request"),
            (server::Refusal::Slow, 408, "slow"),
            (server::Refusal::TooEarly, 425, "too-early"),
            (server::Refusal::Unanswered, 504, "unanswered"),
            (server::Refusal::Draining, 503, "stopping"),
        ] {
            let body = of_server(refusal).into_body().collect_up_to(1000).await.unwrap();
            let problem: Problem = serde_json::from_slice(&body.data).unwrap();
            assert_eq!((problem.status, &problem.cause[..]), (status, cause));
        }
    }
}
