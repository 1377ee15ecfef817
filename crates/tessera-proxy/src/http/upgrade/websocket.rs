//! WebSocket's opening handshake (RFC 6455 §4). Each connection has its own key: a proxy answers its client's, and sends
//! its backend another, as when one of both speaks HTTP/2, which has none (RFC 8441 §5).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION};
use http::{HeaderMap, HeaderValue};
use sha1::{Digest, Sha1};

/// The protocol's name (RFC 6455 §11.2).
pub(in crate::http) const WEBSOCKET: &str = "websocket";

/// Whether a protocol is WebSocket.
pub(in crate::http) fn is_websocket(protocol: &str) -> bool {
    protocol.eq_ignore_ascii_case(WEBSOCKET)
}

/// Whether a request has one version, and one key of 16 bytes if it came over HTTP/1.1 (RFC 6455 §4.2.1).
pub(in crate::http) fn has_handshake(headers: &HeaderMap, has_key: bool) -> bool {
    let is_key = |key: &HeaderValue| STANDARD.decode(key).is_ok_and(|nonce| nonce.len() == 16);
    let mut keys = headers.get_all(SEC_WEBSOCKET_KEY).iter();
    let mut versions = headers.get_all(SEC_WEBSOCKET_VERSION).iter();
    versions.next().is_some()
        && versions.next().is_none()
        && (!has_key || keys.next().is_some_and(is_key) && keys.next().is_none())
}

/// Returns a key for one connection.
pub(in crate::http) fn new_key() -> HeaderValue {
    let nonce: [u8; 16] = std::array::from_fn(|_| fastrand::u8(..));
    base64_value(&nonce)
}

/// Returns what answers a key: `Sec-WebSocket-Accept` (RFC 6455 §4.2.2).
pub(in crate::http) fn accept_of(key: &HeaderValue) -> HeaderValue {
    let digest = Sha1::new().chain_update(key).chain_update(GUID).finalize();
    base64_value(&digest)
}

const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

fn base64_value(bytes: &[u8]) -> HeaderValue {
    // Base64 is ASCII.
    HeaderValue::try_from(STANDARD.encode(bytes)).unwrap_or_else(|_| HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_a_key_is_that_of_rfc_6455() {
        let key = HeaderValue::from_static("dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(accept_of(&key), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn keys_are_new_and_valid() {
        let keys = [new_key(), new_key()];
        assert_ne!(keys[0], keys[1]);
        for key in keys {
            let mut headers = HeaderMap::from_iter([(SEC_WEBSOCKET_KEY, key)]);
            assert!(!has_handshake(&headers, true));
            headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            assert!(has_handshake(&headers, true));
        }
    }
}
