//! Which peer a request of a local network function is for.

use http::HeaderValue;
use http::header::HOST;
use http::request::Parts;

use super::policy::{PeerIndex, Policy};
use crate::names::NetworkDomain;
use crate::sbi::api_root::{ApiRoot, split_authority};
use crate::sbi::errors::{Problem, problems};
use crate::sbi::headers::TARGET_API_ROOT;

/// Determines the peer for a request of a local network function from the network in its target's name, and writes the
/// target as that peer expects it: telescopic names are resolved.
///
/// # Errors
/// If the request can't be routed: the answer to it.
pub(super) fn route(policy: &Policy, parts: &mut Parts) -> Result<PeerIndex, Problem> {
    let to_peer = |host: &str| {
        let domain = NetworkDomain::of_name(host).ok_or(problems::NO_ROUTE)?;
        policy.routes.peer_of(&domain).ok_or(problems::NO_ROUTE)
    };
    let target = ApiRoot::of_headers(&parts.headers).map_err(|_| problems::BAD_TARGET)?;
    let host = match &target {
        Some(root) => root.host,
        // TS 33.501 §13.1.1.2: a request to a telescopic name carries its target in the authority.
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

/// Returns the name that a request was sent to.
fn authority(parts: &Parts) -> Option<&str> {
    let text = match parts.uri.authority() {
        Some(authority) => authority.as_str(),
        None => parts.headers.get(HOST)?.to_str().ok()?,
    };
    split_authority(text).ok().map(|(host, _)| host)
}
