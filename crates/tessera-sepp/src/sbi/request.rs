//! What a request of an own network function becomes on N32-f.

use http::header::HOST;
use http::request::Parts;
use http::uri::{Authority, PathAndQuery, Scheme as UriScheme};
use http::{HeaderMap, HeaderValue, Method, Uri, Version};

use super::api_root::{ApiRoot, split_authority};
use super::errors::{Problem, problems};
use super::headers::{self, ORIGINATING_NETWORK_ID, TARGET_API_ROOT};
use super::hops::{self, NoHopsLeft};
use crate::names::NetworkDomain;
use crate::sepp::policy::{PeerIndex, Policy};

/// Finds out which peer a request of an own network function is for, by the network in the name of its target, and
/// writes the target as that peer expects it: a telescopic name becomes what it stands for.
///
/// # Errors
/// With the answer, if it goes nowhere.
pub fn route(policy: &Policy, parts: &mut Parts) -> Result<PeerIndex, Problem> {
    let to_peer = |host: &str| {
        let domain = NetworkDomain::of_name(host).ok_or(problems::NO_ROUTE)?;
        policy.routes.peer_of(&domain).ok_or(problems::NO_ROUTE)
    };
    let target = ApiRoot::of_headers(&parts.headers).map_err(|_| problems::BAD_TARGET)?;
    let host = match &target {
        Some(root) => root.host,
        // TS 33.501 §13.1.1.2: a request to a telescopic name says by its authority where it goes.
        None => authority(parts).ok_or(problems::NO_TARGET)?,
    };
    if let Some(foreign) = policy.telescopic.as_ref().and_then(|domain| domain.original(host)) {
        let prefix = target.map_or("", |root| root.prefix);
        let root = HeaderValue::from_str(&format!("{}{prefix}", foreign.api_root()));
        let peer = to_peer(&foreign.host)?;
        parts.headers.insert(TARGET_API_ROOT, root.map_err(|_| problems::BAD_TARGET)?);
        return Ok(peer);
    }
    if target.is_none() { Err(problems::NO_TARGET) } else { to_peer(host) }
}

/// The name that a request was sent to.
fn authority(parts: &Parts) -> Option<&str> {
    let text = match parts.uri.authority() {
        Some(authority) => authority.as_str(),
        None => parts.headers.get(HOST)?.to_str().ok()?,
    };
    split_authority(text).ok().map(|(host, _)| host)
}

/// What every request that is passed on goes through: no tunnels, a path, one hop more, and nothing of the connection
/// that it came in.
///
/// # Errors
/// With the answer, if it may not be passed on.
pub fn pass_on(parts: &mut Parts) -> Result<(), Problem> {
    if parts.method == Method::CONNECT {
        return Err(problems::NO_TUNNEL);
    }
    if parts.version < Version::HTTP_2 {
        headers::remove_hop_by_hop(&mut parts.headers);
    }
    hops::count(&mut parts.headers).map_err(|error| match error {
        NoHopsLeft::Reached => problems::NO_HOPS,
        NoHopsLeft::Malformed => problems::BAD_HOPS,
    })
}

/// Adds where a request comes from, if it doesn't say.
pub fn add_origin(headers: &mut HeaderMap, origin: &HeaderValue) {
    if !headers.contains_key(ORIGINATING_NETWORK_ID) {
        headers.insert(ORIGINATING_NETWORK_ID, origin.clone());
    }
}

/// Sends a request to this authority, with the path it has behind `prefix`.
///
/// # Errors
/// If its path isn't one.
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
