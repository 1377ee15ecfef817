//! Turns a request of a local network function into one for N32-f.

use http::header::HOST;
use http::request::Parts;
use http::uri::{Authority, PathAndQuery, Scheme as UriScheme};
use http::{HeaderMap, HeaderValue, Method, Uri, Version};

use super::errors::{Problem, problems};
use super::headers::{self, ORIGINATING_NETWORK_ID};
use super::hops::{self, HopError};

/// Prepares every forwarded request: refuses tunnels, requires a path, counts a hop, and removes headers of the
/// incoming connection.
///
/// # Errors
/// If it must not be forwarded: the answer.
pub fn pass_on(parts: &mut Parts) -> Result<(), Problem> {
    if parts.method == Method::CONNECT {
        return Err(problems::NO_TUNNEL);
    }
    if parts.version < Version::HTTP_2 {
        headers::remove_hop_by_hop(&mut parts.headers);
    }
    hops::count(&mut parts.headers).map_err(|error| match error {
        HopError::Reached => problems::NO_HOPS,
        HopError::Malformed => problems::BAD_HOPS,
    })
}

/// Adds the origin of a request, unless it has one.
pub fn add_origin(headers: &mut HeaderMap, origin: &HeaderValue) {
    if !headers.contains_key(ORIGINATING_NETWORK_ID) {
        headers.insert(ORIGINATING_NETWORK_ID, origin.clone());
    }
}

/// Directs a request to this authority, with its path after `prefix`.
///
/// # Errors
/// If its path is invalid.
pub fn address(
    parts: &mut Parts,
    scheme: &UriScheme,
    authority: &Authority,
    prefix: &str,
) -> Result<(), Problem> {
    const NO_PATH: Problem = Problem::new(
        http::StatusCode::BAD_REQUEST,
        "INVALID_MSG_FORMAT",
        "the request has no path",
    );
    parts.headers.remove(HOST);
    let mut uri = std::mem::take(&mut parts.uri).into_parts();
    let path = uri.path_and_query.take().filter(|path| path.as_str().starts_with('/'));
    let path = path.ok_or(NO_PATH)?;
    uri.path_and_query = Some(match prefix {
        "" => path,
        prefix => PathAndQuery::try_from(format!("{prefix}{path}")).map_err(|_| NO_PATH)?,
    });
    uri.scheme = Some(scheme.clone());
    uri.authority = Some(authority.clone());
    parts.uri = Uri::from_parts(uri).map_err(|_| NO_PATH)?;
    parts.version = Version::HTTP_2;
    Ok(())
}
