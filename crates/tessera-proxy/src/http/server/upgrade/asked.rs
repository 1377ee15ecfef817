//! Whether a request asks for another protocol, and properly.

use std::sync::Arc;

use http::header::{CONNECTION, CONTENT_LENGTH, SEC_WEBSOCKET_KEY, UPGRADE};
use http::{Method, Request, Version};

use super::UpgradeRequest;
use crate::http::body::Body;
use crate::http::hop_by_hop::elements;
use crate::http::server::{Refusal, ServerOptions, UpgradeOptions};
use crate::http::upgrade::{has_handshake, is_websocket};

/// What a request asks for.
pub(in crate::http::server) enum Asked {
    /// A response, and no other protocol.
    Response,
    /// A protocol that is offered. On an HTTP/1.1 connection no other request may follow one that isn't answered with
    /// 101: its client may have sent bytes of the other protocol already (RFC 9931).
    Protocol(Arc<str>),
    /// Another protocol, over HTTP/2.
    Unknown,
}

/// Returns what a request asks for. Where RFC 9110 §7.8 has a server ignore `Upgrade`, it asks for a response: over
/// HTTP/1.0, without the connection option, and for protocols that aren't offered.
pub(in crate::http::server) fn asked<B>(request: &Request<B>, options: &ServerOptions) -> Asked {
    let Some(upgrades) = &options.upgrades else { return Asked::Response };
    if let Some(protocol) = request.extensions().get::<h2::ext::Protocol>() {
        return offered(protocol.as_str(), upgrades).map_or(Asked::Unknown, Asked::Protocol);
    }
    if request.version() != Version::HTTP_11 || !request.headers().contains_key(UPGRADE) {
        return Asked::Response;
    }
    let (mut is_marked, mut closes) = (false, false);
    for option in elements(request.headers(), &CONNECTION) {
        is_marked |= option.eq_ignore_ascii_case("upgrade");
        closes |= option.eq_ignore_ascii_case("close");
    }
    let first = elements(request.headers(), &UPGRADE).find_map(|name| offered(name, upgrades));
    match first {
        Some(protocol) if is_marked && !closes => Asked::Protocol(protocol),
        _ => Asked::Response,
    }
}

fn offered(protocol: &str, options: &UpgradeOptions) -> Option<Arc<str>> {
    let known = options.protocols.iter().find(|known| known.eq_ignore_ascii_case(protocol));
    known.map(|known| Arc::from(&**known))
}

/// Checks a request for a protocol, and gives it its [`UpgradeRequest`].
pub(in crate::http::server) fn check_upgrade(
    request: &mut Request<Body>,
    protocol: &Arc<str>,
) -> Result<(), Refusal> {
    let headers = request.headers();
    let is_http2 = request.version() == Version::HTTP_2;
    let has_method = is_http2 || request.method() == Method::GET;
    // Content would be read as the other protocol, or the other way round.
    let has_content = !request.body().is_end() || is_http2 && headers.contains_key(CONTENT_LENGTH);
    let is_complete = !is_websocket(protocol) || has_handshake(headers, !is_http2);
    if !has_method || has_content || !is_complete {
        return Err(Refusal::Upgrade);
    }
    let key = headers.get(SEC_WEBSOCKET_KEY).filter(|_| is_websocket(protocol)).cloned();
    let upgrade = UpgradeRequest::new(protocol.clone(), is_http2, key);
    if is_http2 {
        *request.method_mut() = Method::GET;
        request.extensions_mut().remove::<h2::ext::Protocol>();
    }
    request.extensions_mut().insert(upgrade);
    Ok(())
}
