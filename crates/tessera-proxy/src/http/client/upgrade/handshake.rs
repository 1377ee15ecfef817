//! What an upgrade sends, and what must come back.

use http::header::{
    CONNECTION, CONTENT_LENGTH, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use http::{HeaderMap, HeaderValue, Method, Request};

use crate::http::body::Body;
use crate::http::client::error::{CallError, CallErrorKind, Delivery};
use crate::http::client::exchange::{for_http1, prepare};
use crate::http::hop_by_hop::{elements, remove_hop_by_hop};
use crate::http::upgrade::{accept_of, is_websocket, new_key};

/// An upgrade to one protocol.
pub(in crate::http::client) struct Handshake {
    protocol: HeaderValue,
    /// WebSocket's key, over HTTP/1.1.
    key: Option<HeaderValue>,
}

impl Handshake {
    /// Converts a request for HTTP/1.1 (RFC 9110 §7.8, RFC 6455 §4.1).
    pub(in crate::http::client) fn over_http1(
        request: Request<Body>,
        protocol: &str,
    ) -> Result<(Request<Body>, Self), CallError> {
        let mut request = for_http1(checked(request, protocol)?);
        let Ok(protocol_value) = HeaderValue::try_from(protocol) else {
            return Err(invalid("the protocol's name isn't a token"));
        };
        let headers = request.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, protocol_value.clone());
        let key = is_websocket(protocol).then(new_key);
        if let Some(key) = &key {
            headers.insert(SEC_WEBSOCKET_KEY, key.clone());
        }
        Ok((request, Self { protocol: protocol_value, key }))
    }

    /// Checks the fields of a 101, and removes them.
    pub(in crate::http::client) fn check(self, headers: &mut HeaderMap) -> Result<(), CallError> {
        let is_chosen = |name: &str| name.as_bytes().eq_ignore_ascii_case(self.protocol.as_bytes());
        let is_switch = elements(headers, &UPGRADE).map(is_chosen).eq([true])
            && elements(headers, &CONNECTION).any(|name| name.eq_ignore_ascii_case("upgrade"));
        let mut accepts = headers.get_all(SEC_WEBSOCKET_ACCEPT).iter();
        let is_accepted = self
            .key
            .as_ref()
            .is_none_or(|key| accepts.next() == Some(&accept_of(key)) && accepts.next().is_none());
        if !is_switch || !is_accepted {
            let why = match is_switch {
                false => "a 101 to another protocol than was requested",
                true => "Sec-WebSocket-Accept doesn't match the key (RFC 6455 §4.1)",
            };
            return Err(CallError::new(CallErrorKind::InvalidSwitch, Delivery::Maybe).because(why));
        }
        strip(headers);
        Ok(())
    }
}

/// Converts a request for HTTP/2 (RFC 8441 §4, §5).
pub(super) fn over_http2(request: Request<Body>, protocol: &str) -> Result<Request<()>, CallError> {
    let mut request = checked(request, protocol)?;
    *request.method_mut() = Method::CONNECT;
    request.extensions_mut().insert(h2::ext::Protocol::from(protocol));
    Ok(request.map(drop))
}

/// Removes the fields of a switch from a response.
pub(super) fn strip(headers: &mut HeaderMap) {
    remove_hop_by_hop(headers);
    headers.remove(CONTENT_LENGTH);
    headers.remove(SEC_WEBSOCKET_ACCEPT);
}

/// Returns a request without fields of the connection it came from, as for a call.
fn checked(request: Request<Body>, protocol: &str) -> Result<Request<Body>, CallError> {
    if request.method() != Method::GET || !request.body().is_end() {
        return Err(invalid("an upgrade is a GET without content"));
    }
    let mut request = prepare(request)?;
    let headers = request.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.remove(SEC_WEBSOCKET_KEY);
    if is_websocket(protocol) && !headers.contains_key(SEC_WEBSOCKET_VERSION) {
        headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    }
    Ok(request)
}

fn invalid(why: &'static str) -> CallError {
    CallError::unsent(CallErrorKind::InvalidRequest).because(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_http2_there_is_no_key() {
        let asked = Request::get("http://a/chat")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
            .body(Body::empty())
            .unwrap();
        let asked = over_http2(asked, "websocket").unwrap();
        assert_eq!(asked.method(), Method::CONNECT);
        assert_eq!(asked.headers().len(), 1);
        assert_eq!(asked.headers()[SEC_WEBSOCKET_VERSION], "13");
    }
}
