//! The responses that a proxy makes itself.

use std::error::Error;

use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use tessera_proxy::http::body::{Body, BodyError};
use tessera_proxy::http::client::{CallError, CallErrorKind, Delivery};

use crate::services::Service;

/// Refuses a request, with a line of text that has the reason.
pub(super) fn refuse(status: StatusCode, why: &str) -> Response<Body> {
    let mut response = Response::new(Body::full(format!("{why}\n").into()));
    *response.status_mut() = status;
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, text);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// Refuses a request for which there is no service.
pub(super) fn no_service(status: StatusCode) -> Response<Body> {
    refuse(
        status,
        match status {
            StatusCode::NOT_FOUND => "no service has this host and path",
            _ => "the request's host or path is ambiguous",
        },
    )
}

/// Refuses a request by a service's policy.
pub(super) fn not_admitted(service: &Service, status: StatusCode) -> Response<Body> {
    let mut response = refuse(
        status,
        match status {
            StatusCode::METHOD_NOT_ALLOWED => "the service doesn't admit this method",
            _ => "the service doesn't admit this client",
        },
    );
    if status == StatusCode::METHOD_NOT_ALLOWED
        && let Ok(allowed) = HeaderValue::try_from(service.allowed())
    {
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

/// Refuses a WebSocket (RFC 6585 §4).
pub(super) fn too_many_sockets() -> Response<Body> {
    let why = "this client has as many WebSockets as it may: close one";
    refuse(StatusCode::TOO_MANY_REQUESTS, why)
}

/// Refuses a request that could not be passed on. 503: it wasn't executed, and may be sent again.
pub(super) fn failed(whose: &str, error: &CallError) -> Response<Body> {
    if is_too_long(error) {
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, "the request's body is too long");
    }
    let (status, why) = outcome(whose, error.kind, error.sent);
    refuse(status, &why)
}

fn outcome(whose: &str, kind: CallErrorKind, sent: Delivery) -> (StatusCode, String) {
    match (kind, sent) {
        (CallErrorKind::Withdrawn, Delivery::Nothing) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "another proxy may serve the client now: try again".to_owned(),
        ),
        (CallErrorKind::RequestBody, _) => {
            (StatusCode::BAD_REQUEST, "the request's body is incomplete".to_owned())
        }
        // The same request would fail again.
        (CallErrorKind::InvalidRequest, Delivery::Nothing) => {
            (StatusCode::BAD_REQUEST, "the request can't be passed on as it is".to_owned())
        }
        (CallErrorKind::NoUpgrade, Delivery::Nothing) => {
            (StatusCode::BAD_GATEWAY, format!("{whose} can't switch to another protocol"))
        }
        (_, Delivery::Nothing) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("{whose} can't be reached now"))
        }
        (CallErrorKind::DeadlineExceeded, Delivery::Maybe) => {
            (StatusCode::GATEWAY_TIMEOUT, format!("{whose} didn't answer in time"))
        }
        (_, Delivery::Maybe) => {
            (StatusCode::BAD_GATEWAY, format!("the connection to {whose} ended before the answer"))
        }
    }
}

/// Whether the request's body turned out to be too long while it was passed on.
fn is_too_long(error: &CallError) -> bool {
    let mut cause = error.source();
    while let Some(it) = cause {
        if let Some(BodyError::TooLong) = it.downcast_ref() {
            return true;
        }
        cause = it.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_that_was_not_executed_may_be_sent_again() {
        let status = |kind, sent| outcome("the service", kind, sent).0.as_u16();
        for (kind, unsent, sent) in [
            (CallErrorKind::DeadlineExceeded, 503, 504),
            (CallErrorKind::ConnectionLost, 503, 502),
            (CallErrorKind::Withdrawn, 503, 502),
            (CallErrorKind::RequestBody, 400, 400),
            (CallErrorKind::InvalidRequest, 400, 502),
            (CallErrorKind::NoUpgrade, 502, 502),
        ] {
            assert_eq!(status(kind, Delivery::Nothing), unsent, "{kind:?}");
            assert_eq!(status(kind, Delivery::Maybe), sent, "{kind:?}");
        }
    }
}
