//! ProblemDetails (TS 29.571 §5.2.4.1, RFC 9457).

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use serde::{Deserialize, Serialize};

use super::extensible::extensible;
use super::{Message, present};

/// Why a request failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProblemDetails {
    /// For people: the kind of problem.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub title: Option<String>,
    /// The HTTP status.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub status: Option<u16>,
    /// For people: this problem.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub detail: Option<String>,
    /// For machines.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub cause: Option<Cause>,
    /// What was wrong in the request.
    #[serde(
        default,
        deserialize_with = "present::objects_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    pub invalid_params: Option<Vec<InvalidParam>>,
}

impl ProblemDetails {
    /// Creates a problem with this status.
    pub fn new(status: StatusCode) -> Self {
        Self {
            title: status.canonical_reason().map(str::to_owned),
            status: Some(status.as_u16()),
            ..Self::default()
        }
    }

    /// Adds a cause for machines.
    #[must_use]
    pub fn with_cause(mut self, cause: Cause) -> Self {
        self.cause = Some(cause);
        self
    }

    /// Adds a sentence for people. The sender of the request reads it, so it must reveal nothing internal.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds a part of the request that was wrong: a JSON pointer into a body, or `header` and the name of a header.
    #[must_use]
    pub fn with_invalid_param(
        mut self,
        param: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        let param = InvalidParam { param: param.into(), reason: Some(reason.into()) };
        self.invalid_params.get_or_insert_default().push(param);
        self
    }

    /// Returns its status. Default: 500.
    pub fn status(&self) -> StatusCode {
        let status = self.status.and_then(|status| StatusCode::from_u16(status).ok());
        status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Converts it into a response, `application/problem+json`.
    pub fn into_response(self) -> Response<Bytes> {
        let mut response = Response::new(serde_json::to_vec(&self).unwrap_or_default().into());
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

impl Message for ProblemDetails {
    const REQUIRED: &'static [&'static str] = &[];
}

/// A part of a request that was wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InvalidParam {
    /// A JSON pointer; or `header` or `query` and a name.
    pub param: String,
    /// For people.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub reason: Option<String>,
}

extensible! {
    /// Causes for machines (TS 29.500 table 5.2.7.2-1, TS 29.573 §6.1.6.3).
    Cause {
        InvalidApi = "INVALID_API",
        InvalidMsgFormat = "INVALID_MSG_FORMAT",
        MandatoryIeIncorrect = "MANDATORY_IE_INCORRECT",
        MandatoryIeMissing = "MANDATORY_IE_MISSING",
        OptionalIeIncorrect = "OPTIONAL_IE_INCORRECT",
        UnspecifiedMsgFailure = "UNSPECIFIED_MSG_FAILURE",
        ContextNotFound = "CONTEXT_NOT_FOUND",
        RequestedParamMismatch = "REQUESTED_PARAM_MISMATCH",
        RequestedPurposeNotAllowed = "REQUESTED_PURPOSE_NOT_ALLOWED",
        PlmnIdNotAllowed = "PLMNID_NOT_ALLOWED",
        ResourceUriStructureNotFound = "RESOURCE_URI_STRUCTURE_NOT_FOUND",
        SystemFailure = "SYSTEM_FAILURE",
        TargetNfNotReachable = "TARGET_NF_NOT_REACHABLE",
        NfCongestion = "NF_CONGESTION",
        TimedOutRequest = "TIMED_OUT_REQUEST",
        UnsupportedHttpMethod = "UNSUPPORTED_HTTP_METHOD",
    }
}
