//! The responses that a proxy makes itself.

use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use tessera_proxy::http::body::Body;
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

/// Refuses a request that could not be passed on. 503: it wasn't executed, and may be sent again.
pub(super) fn failed(whose: &str, error: &CallError) -> Response<Body> {
    match (&error.kind, error.sent) {
        (CallErrorKind::Withdrawn, Delivery::Nothing) => refuse(
            StatusCode::SERVICE_UNAVAILABLE,
            "another proxy may serve the client now: try again",
        ),
        (CallErrorKind::DeadlineExceeded, _) => {
            refuse(StatusCode::GATEWAY_TIMEOUT, &format!("{whose} didn't answer in time"))
        }
        (CallErrorKind::RequestBody, _) => {
            refuse(StatusCode::BAD_REQUEST, "the request's body is incomplete or too long")
        }
        (_, Delivery::Nothing) => {
            refuse(StatusCode::SERVICE_UNAVAILABLE, &format!("{whose} can't be reached now"))
        }
        (_, Delivery::Maybe) => refuse(
            StatusCode::BAD_GATEWAY,
            &format!("the connection to {whose} ended before the answer"),
        ),
    }
}
