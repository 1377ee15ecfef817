//! One attempt at a call: a request on a connection, and its result.

use http::header::{CONTENT_LENGTH, HOST, HeaderValue};
use http::uri::{PathAndQuery, Uri};
use http::{Extensions, Method, Request, Response, Version};
use http_body::Body as _;

use super::connect::Protocol;
use super::connection::Lease;
use super::error::{CallError, CallErrorKind};
use super::failure::Failure;
use super::{PoolOptions, connection};
use crate::http::body::Body;
use crate::http::hop_by_hop::remove_hop_by_hop;

/// Sends a request, and waits for the head of its response.
pub(super) async fn exchange(
    lease: Lease,
    is_early: bool,
    request: Request<Body>,
    options: &PoolOptions,
) -> Result<Response<Body>, Failure> {
    match lease.connection().protocol() {
        Protocol::Http2 => connection::exchange_http2(lease, is_early, request, options).await,
        Protocol::Http1 => {
            let request = for_http1(request);
            connection::exchange_http1(lease, is_early, request, options).await
        }
    }
}

/// Converts a request for an HTTP/2 connection: with scheme and authority, and without fields of the connection it came
/// from (RFC 9110 §7.6.1, RFC 9113 §8.2.2).
pub(super) fn prepare(mut request: Request<Body>) -> Result<Request<Body>, CallError> {
    remove_hop_by_hop(request.headers_mut());
    let uri = request.uri();
    if uri.authority().is_none() {
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        let with_host = host.and_then(|host| {
            let mut parts = uri.clone().into_parts();
            parts.authority = Some(host.parse().ok()?);
            parts.scheme.get_or_insert(http::uri::Scheme::HTTP);
            parts.path_and_query.get_or_insert(PathAndQuery::from_static("/"));
            Uri::from_parts(parts).ok()
        });
        let Some(with_host) = with_host else {
            let why = "the request names no host";
            return Err(CallError::unsent(CallErrorKind::InvalidRequest).because(why));
        };
        *request.uri_mut() = with_host;
    }
    if request.method() == Method::CONNECT {
        let why = "a pool can't send CONNECT";
        return Err(CallError::unsent(CallErrorKind::InvalidRequest).because(why));
    }
    // RFC 9113 §8.3.1: replaced by the authority.
    request.headers_mut().remove(HOST);
    if let Some(len) = request.body().size_hint().exact()
        && (len > 0 || has_content(request.method()))
        && !request.headers().contains_key(CONTENT_LENGTH)
    {
        request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(len));
    }
    // Extensions are the program's, not for the wire; don't copy them with retries.
    *request.extensions_mut() = Extensions::new();
    *request.version_mut() = Version::HTTP_2;
    Ok(request)
}

/// RFC 9110 §8.6: whether the method announces its content's length, even if there is none.
fn has_content(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH)
}

/// Converts it for HTTP/1.1: the path alone, and the host as a field.
pub(super) fn for_http1(mut request: Request<Body>) -> Request<Body> {
    let host = request.uri().authority().map(|authority| HeaderValue::from_str(authority.as_str()));
    if let Some(Ok(host)) = host {
        request.headers_mut().insert(HOST, host);
    }
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = Uri::from(path.unwrap_or(PathAndQuery::from_static("/")));
    *request.version_mut() = Version::HTTP_11;
    request
}
