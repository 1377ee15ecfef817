//! What a SEPP answers by itself: problem+json with a cause (TS 29.500 §5.2.7.2, RFC 9457).

use std::borrow::Cow;
use std::fmt::Write as _;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER, SERVER};
use http::{HeaderValue, Response, StatusCode};
use tessera_proxy::http::body::Body;

/// Why a request gets no answer of the network function it was for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The status of the answer.
    pub status: StatusCode,
    /// For programs, of TS 29.500 table 5.2.7.2-1 where that has one.
    pub cause: &'static str,
    /// For people of the own network; a peer doesn't see it.
    pub detail: Cow<'static, str>,
    /// Seconds after which it may be tried again.
    pub retry_after: Option<u32>,
}

impl Problem {
    /// A status with its cause.
    pub const fn new(status: StatusCode, cause: &'static str, detail: &'static str) -> Self {
        Self { status, cause, detail: Cow::Borrowed(detail), retry_after: None }
    }

    /// The same, with a detail that was made for this request.
    pub fn with_detail(status: StatusCode, cause: &'static str, detail: impl Into<String>) -> Self {
        Self { status, cause, detail: Cow::Owned(detail.into()), retry_after: None }
    }

    /// The answer to an own network function: it says all.
    pub fn to_own(&self, server: &HeaderValue) -> Response<Body> {
        self.respond(Some(&self.detail), server)
    }

    /// The answer to a peer: status and cause, and nothing of the inside.
    pub fn to_peer(&self, server: &HeaderValue) -> Response<Body> {
        self.respond(None, server)
    }

    fn respond(&self, detail: Option<&str>, server: &HeaderValue) -> Response<Body> {
        let Self { status, cause, .. } = self;
        let title = status.canonical_reason().unwrap_or("Error");
        let mut json =
            format!(r#"{{"title":"{title}","status":{},"cause":"{cause}""#, status.as_u16());
        if let Some(detail) = detail.filter(|detail| !detail.is_empty())
            && let Ok(quoted) = serde_json::to_string(detail)
        {
            // Writing into a string can't fail.
            let _ = write!(json, r#","detail":{quoted}"#);
        }
        json.push('}');
        let mut response = Response::new(Body::full(Bytes::from(json)));
        *response.status_mut() = *status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        // TS 29.500 §6.10.8.2: whoever made the error says so.
        headers.insert(SERVER, server.clone());
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// The problems that a relay has by itself.
pub mod problems {
    use super::{Problem, StatusCode};

    /// No header and no telescopic name says where the request goes.
    pub const NO_TARGET: Problem = Problem::new(
        StatusCode::BAD_REQUEST,
        "MANDATORY_IE_MISSING",
        "a request to a SEPP has 3gpp-Sbi-Target-apiRoot, or a telescopic name as its authority",
    );
    /// The target can't be read, or is an address.
    pub const BAD_TARGET: Problem = Problem::new(
        StatusCode::BAD_REQUEST,
        "MANDATORY_IE_INCORRECT",
        "3gpp-Sbi-Target-apiRoot is http or https, a name of a 5G core and perhaps a port and a path",
    );
    /// The target isn't for this network, or not for foreign requests.
    pub const NOT_ALLOWED_TARGET: Problem = Problem::new(
        StatusCode::FORBIDDEN,
        "TARGET_NOT_ALLOWED",
        "the target is not of this network, or not open to other networks",
    );
    /// No configured peer stands for the target's network.
    pub const NO_ROUTE: Problem = Problem::new(
        StatusCode::NOT_FOUND,
        "TARGET_PLMN_NOT_REACHABLE",
        "no configured peer stands for the network of the target",
    );
    /// The peer and this SEPP have not agreed on N32.
    pub const NO_ASSOCIATION: Problem = Problem::new(
        StatusCode::GATEWAY_TIMEOUT,
        "TARGET_PLMN_NOT_REACHABLE",
        "there is no N32-c association with the peer",
    );
    /// N32-f of a peer without an N32-c association (TS 33.501 §13.1.2).
    pub const NO_CONTEXT: Problem = Problem::new(
        StatusCode::FORBIDDEN,
        "CONTEXT_NOT_FOUND",
        "the peer has no established N32-c association",
    );
    /// A loop, or too long a chain.
    pub const NO_HOPS: Problem = Problem::new(
        StatusCode::BAD_GATEWAY,
        "MAX_SCP_HOPS_REACHED",
        "the request went through as many proxies as 3gpp-Sbi-Max-Forward-Hops allows",
    );
    /// The number of hops can't be read.
    pub const BAD_HOPS: Problem = Problem::new(
        StatusCode::BAD_REQUEST,
        "OPTIONAL_IE_INCORRECT",
        "3gpp-Sbi-Max-Forward-Hops begins with one or two digits",
    );
    /// The client waits no longer (TS 29.500 §6.11.2).
    pub const TIMED_OUT: Problem = Problem::new(
        StatusCode::GATEWAY_TIMEOUT,
        "TIMED_OUT_REQUEST",
        "the time that the request may take is over",
    );
    /// No connection, or none that answered.
    pub const UNREACHABLE: Problem = Problem::new(
        StatusCode::GATEWAY_TIMEOUT,
        "TARGET_NF_NOT_REACHABLE",
        "the target could not be reached; nothing was sent to it",
    );
    /// A connection broke, and the request may have been processed.
    pub const PERHAPS_PROCESSED: Problem = Problem::new(
        StatusCode::GATEWAY_TIMEOUT,
        "REQUEST_MAY_HAVE_BEEN_PROCESSED",
        "the connection broke before the answer: the request may have been processed",
    );
    /// The other end doesn't speak HTTP as it should.
    pub const BAD_ANSWER: Problem = Problem::new(
        StatusCode::BAD_GATEWAY,
        "INBOUND_SERVER_ERROR",
        "the answer could not be read",
    );
    /// A body beyond its limit.
    pub const TOO_LONG: Problem = Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "INCORRECT_LENGTH",
        "the body is longer than allowed",
    );
    /// A body that doesn't come.
    pub const SLOW_BODY: Problem = Problem::new(
        StatusCode::REQUEST_TIMEOUT,
        "TIMED_OUT_REQUEST",
        "the body did not come in time",
    );
    /// A body that ended early.
    pub const CUT_BODY: Problem =
        Problem::new(StatusCode::BAD_REQUEST, "INVALID_MSG_FORMAT", "the body ended early");
    /// PRINS (TS 29.573 §6.2): this SEPP protects N32-f by TLS.
    pub const NO_PRINS: Problem = Problem::new(
        StatusCode::NOT_IMPLEMENTED,
        "UNSUPPORTED_SECURITY_CAPABILITY",
        "PRINS is not implemented: N32-f is protected by TLS",
    );
    /// N32-c where it isn't taken, such as in a connection that was resumed; or N32-f where N32-c alone is
    /// (RFC 9110 §15.5.20).
    pub const OTHER_CONNECTION: Problem = Problem::new(
        StatusCode::MISDIRECTED_REQUEST,
        "UNSPECIFIED_MSG_FAILURE",
        "the request is for another kind of connection",
    );
    /// CONNECT: no relay of bytes.
    pub const NO_TUNNEL: Problem = Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "METHOD_NOT_ALLOWED",
        "a SEPP relays requests, not connections",
    );
    /// Early data that might be a replay (RFC 8470 §5.2).
    pub const TOO_EARLY: Problem = Problem::new(
        StatusCode::TOO_EARLY,
        "TOO_EARLY",
        "the request may be a replay: send it after the handshake",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn text(response: Response<Body>) -> String {
        let body = response.into_body().collect_up_to(1000).await.unwrap().data;
        String::from_utf8(body.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn own_functions_learn_why_and_peers_do_not() {
        let server = HeaderValue::from_static("SEPP-a.b");
        let problem = Problem::with_detail(StatusCode::BAD_GATEWAY, "X", "10.0.0.1 said \"no\"\n");
        let own = problem.to_own(&server);
        assert_eq!(own.status(), StatusCode::BAD_GATEWAY);
        assert_eq!(own.headers()[CONTENT_TYPE], "application/problem+json");
        assert_eq!(own.headers()[SERVER], "SEPP-a.b");
        assert_eq!(
            text(own).await,
            r#"{"title":"Bad Gateway","status":502,"cause":"X","detail":"10.0.0.1 said \"no\"\n"}"#
        );
        let peer = text(problem.to_peer(&server)).await;
        assert_eq!(peer, r#"{"title":"Bad Gateway","status":502,"cause":"X"}"#);
    }

    #[test]
    fn a_limit_says_when_to_come_again() {
        let problem = Problem { retry_after: Some(3), ..problems::TOO_LONG };
        let response = problem.to_peer(&HeaderValue::from_static("x"));
        assert_eq!(response.headers()[RETRY_AFTER], "3");
    }
}
