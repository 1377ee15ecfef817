//! Requests that fail: a status, and gRPC's code, by which the client learns whether they had an effect.

use http_body_util::{BodyExt, Full};
use hyper::{Response, StatusCode};
use serde::Serialize;
use tessera_store::StoreError;

use super::{Body, response};
use crate::api::code;

/// gRPC's code where the effect is unknown.
const UNKNOWN: u32 = 2;

/// Its code where the store can't be reached. The client takes it for [`UNKNOWN`].
const UNAVAILABLE: u32 = 14;

#[derive(Debug)]
pub(super) struct GatewayError {
    status: StatusCode,
    code: u32,
    message: String,
}

impl GatewayError {
    /// The request makes no sense, or breaks a limit.
    pub(super) fn invalid(status: StatusCode, message: String) -> Self {
        Self { status, code: code::INVALID_ARGUMENT, message }
    }

    /// etcd has it, and this gateway hasn't.
    pub(super) fn unimplemented(status: StatusCode, message: String) -> Self {
        Self { status, code: code::UNIMPLEMENTED, message }
    }

    /// The store may have executed it.
    pub(super) fn internal(why: &impl ToString) -> Self {
        let (status, message) = (StatusCode::INTERNAL_SERVER_ERROR, why.to_string());
        Self { status, code: UNKNOWN, message }
    }

    pub(super) fn into_response(self) -> Response<Body> {
        let Self { status, code, message } = self;
        let body = ErrorBody { error: &message, message: &message, code };
        let body = serde_json::to_vec(&body).unwrap_or_default();
        response(status, Full::from(body).boxed_unsync())
    }
}

impl From<StoreError> for GatewayError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused(message) => {
                Self { status: StatusCode::BAD_REQUEST, code: code::FAILED_PRECONDITION, message }
            }
            StoreError::NotSent(_) => {
                let (status, message) = (StatusCode::SERVICE_UNAVAILABLE, error.to_string());
                Self { status, code: UNAVAILABLE, message }
            }
            StoreError::Unknown(why) => Self::internal(&why),
        }
    }
}

/// With the message twice, as etcd 3.4 and 3.5 have it.
#[derive(Serialize)]
struct ErrorBody<'a> {
    error: &'a str,
    message: &'a str,
    code: u32,
}
