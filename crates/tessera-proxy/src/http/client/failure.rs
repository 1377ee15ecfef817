//! A failed attempt.

use http::Request;

use super::error::{CallError, CallErrorKind};
use crate::http::body::Body;

/// A failed attempt.
pub(super) struct Failure {
    pub(super) error: CallError,
    /// The request, if it was not touched.
    pub(super) request: Option<Request<Body>>,
}

impl Failure {
    /// The connection ended before it took the request.
    pub(super) fn unsent(request: Request<Body>) -> Self {
        let error = CallError::unsent(CallErrorKind::ConnectionLost);
        Self { error, request: Some(request) }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Self { error, request: None }
    }
}
