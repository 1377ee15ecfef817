//! Fields that concern one connection alone.

use http::HeaderMap;
use http::header::{CONNECTION, HeaderName, TE, TRANSFER_ENCODING, UPGRADE};

/// Removes the fields of a single connection (RFC 9110 §7.6.1). `TE: trailers` is the exception in HTTP/2 (RFC 9113 §8.2.2).
pub fn remove_hop_by_hop(headers: &mut HeaderMap) {
    if headers.contains_key(CONNECTION) {
        let named: Vec<HeaderName> =
            elements(headers, &CONNECTION).filter_map(|name| name.parse().ok()).collect();
        for name in named {
            headers.remove(name);
        }
        headers.remove(CONNECTION);
    }
    for name in [TRANSFER_ENCODING, UPGRADE, KEEP_ALIVE, PROXY_CONNECTION] {
        headers.remove(name);
    }
    if headers.get_all(TE).iter().any(|te| te != "trailers") {
        headers.remove(TE);
    }
}

/// Returns the elements of a list (RFC 9110 §5.6.1), over all lines of the field.
pub(super) fn elements<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'h str> {
    let lines = headers.get_all(name).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim)
}

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
