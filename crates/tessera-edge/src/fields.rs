//! The fields that this proxy adds to requests and responses, and removes.

use std::net::IpAddr;

use http::header::{HeaderName, HeaderValue, TRAILER, VIA};
use http::{HeaderMap, StatusCode, Version};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use tessera_bindings::{ClientName, Fence, Generation};
use tessera_kit::hex;
use tessera_proxy::http::hop_by_hop::remove_hop_by_hop;

/// Who sent a request: to services, the client's name, percent-encoded; between proxies, in hexadecimal.
pub(crate) const CLIENT: HeaderName = HeaderName::from_static("tessera-client");
/// Between proxies: in which generation a request was forwarded.
pub(crate) const GENERATION: HeaderName = HeaderName::from_static("tessera-generation");
/// Which proxy owns a client, for the routes of Envoy.
pub(crate) const OWNER: HeaderName = HeaderName::from_static("tessera-owner");
/// Between proxies: asks for a client's state.
pub(crate) const STATE: HeaderName = HeaderName::from_static("tessera-state");
/// Between proxies: the next proxy refuses a request, which it hasn't executed.
pub(crate) const REFUSED: HeaderName = HeaderName::from_static("tessera-refused");
/// Between proxies: requests of the client may have changed its state after this export.
pub(crate) const INCOMPLETE: HeaderName = HeaderName::from_static("tessera-state-incomplete");
/// Between a proxy and a service: the [`Fence`] of a request, and the highest that an instance has seen.
pub(crate) const FENCE: HeaderName = HeaderName::from_static("tessera-fence");
/// Between a proxy and a service: the version of a client's state.
pub(crate) const STATE_VERSION: HeaderName = HeaderName::from_static("tessera-state-version");

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED: HeaderName = HeaderName::from_static("forwarded");
/// nginx's: services trust it like `x-forwarded-for`.
const REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");

/// The prefix of the names above.
const OWN: &str = "tessera-";

/// Removes what a client may not say: fields that proxies add, and those of its connection alone, or its `Connection` would
/// name fields that are added later, and remove them.
pub(crate) fn remove_claims(headers: &mut HeaderMap) {
    remove_hop_by_hop(headers);
    // Trailers aren't passed on.
    headers.remove(TRAILER);
    remove_if(headers, |name| {
        let claims = [FORWARDED, FORWARDED_FOR, FORWARDED_HOST, FORWARDED_PROTO, REAL_IP];
        is_own(name) || claims.iter().any(|claim| is_same(name, claim.as_str()))
    });
}

/// Whether a field is of this program, to any service.
pub(crate) fn is_own(name: &str) -> bool {
    name.get(..OWN.len()).is_some_and(|begin| is_same(begin, OWN))
}

/// Whether a service may take two names for the same: in variables of CGI (RFC 3875 §4.1.18), `tessera_client` is
/// `tessera-client`.
fn is_same(name: &str, other: &str) -> bool {
    let plain = |byte: u8| if byte.is_ascii_alphanumeric() { byte } else { b'-' };
    name.len() == other.len() && name.bytes().map(plain).eq(other.bytes().map(plain))
}

/// Removes the fields of this program.
pub(crate) fn remove_own(headers: &mut HeaderMap) {
    remove_if(headers, is_own);
}

fn remove_if(headers: &mut HeaderMap, is_it: impl Fn(&str) -> bool) {
    // Hardly any message has one, so don't collect.
    while let Some(name) = headers.keys().find(|name| is_it(name.as_str())).cloned() {
        headers.remove(name);
    }
}

/// Adds what a service should know of a request's way.
pub(crate) fn add_way(
    headers: &mut HeaderMap,
    version: Version,
    address: Option<IpAddr>,
    host: &str,
) {
    let address = address.map_or_else(|| "unknown".to_owned(), |it| it.to_canonical().to_string());
    for (name, value) in [(FORWARDED_FOR, address.as_str()), (FORWARDED_HOST, host)] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
    headers.insert(FORWARDED_PROTO, HeaderValue::from_static("https"));
    // RFC 9110 §7.6.3: the version in which it was received.
    let via = if version == Version::HTTP_2 { "2 tessera" } else { "1.1 tessera" };
    headers.append(VIA, HeaderValue::from_static(via));
}

/// Names the client to a service.
pub(crate) fn name_to_service(headers: &mut HeaderMap, client: &ClientName) {
    if let Ok(value) = HeaderValue::from_str(&percent_encoded(client)) {
        headers.insert(CLIENT, value);
    }
}

/// Adds what the instances of services with state compare.
pub(crate) fn add_fence(headers: &mut HeaderMap, fence: Fence) {
    headers.insert(FENCE, HeaderValue::from(fence.0));
}

/// Whether an instance refused a request, since it has seen a higher fence.
pub(crate) fn is_fenced_off(status: StatusCode, headers: &HeaderMap) -> bool {
    status == StatusCode::PRECONDITION_FAILED && headers.contains_key(FENCE)
}

/// Whether an instance has compared the fence of a request.
pub(crate) fn has_compared(headers: &HeaderMap, fence: Fence) -> bool {
    headers.get(FENCE).is_some_and(|seen| *seen == HeaderValue::from(fence.0))
}

/// Names the client and the generation to another proxy.
pub(crate) fn name_to_proxy(headers: &mut HeaderMap, client: &ClientName, generation: Generation) {
    if let Ok(value) = HeaderValue::from_str(&hex::encode(client.as_bytes())) {
        headers.insert(CLIENT, value);
    }
    headers.insert(GENERATION, HeaderValue::from(generation.0));
}

/// Takes what [`name_to_proxy`] added.
pub(crate) fn take_names(headers: &mut HeaderMap) -> Option<(ClientName, Generation)> {
    let client = headers.remove(CLIENT)?;
    let generation = headers.remove(GENERATION)?;
    let client = ClientName::new(hex::decode(client.to_str().ok()?)?.to_vec()).ok()?;
    Some((client, Generation(generation.to_str().ok()?.parse().ok()?)))
}

/// Percent-encodes a client's name for a path and for a field.
pub(crate) fn percent_encoded(client: &ClientName) -> String {
    percent_encode(client.as_bytes(), RESERVED).to_string()
}

/// All but the unreserved characters of RFC 3986 §2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Prepares a service's response for the client: the proxy names itself, and HTTP's versions differ.
pub(crate) fn clean_response(headers: &mut HeaderMap, status: StatusCode) {
    // Those of a switch are this connection's own.
    if status != StatusCode::SWITCHING_PROTOCOLS {
        remove_hop_by_hop(headers);
    }
    headers.remove(http::header::ALT_SVC);
    remove_own(headers);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_can_claim_nothing() {
        let mut headers = HeaderMap::new();
        for name in [
            "tessera-client",
            "tessera-anything",
            "x-forwarded-for",
            "forwarded",
            "x-real-ip",
            "x-other",
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static("x"));
            headers.append(HeaderName::from_static(name), HeaderValue::from_static("y"));
        }
        remove_claims(&mut headers);
        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["x-other"]);
        add_way(
            &mut headers,
            Version::HTTP_2,
            Some("::ffff:192.0.2.7".parse().unwrap()),
            "www.example",
        );
        assert_eq!(headers["x-forwarded-for"], "192.0.2.7");
        assert_eq!(headers["x-forwarded-proto"], "https");
    }

    #[test]
    fn a_claim_in_other_letters_is_a_claim() {
        let mut headers = HeaderMap::new();
        for name in
            ["tessera_client", "x_forwarded_for", "x-forwarded_proto", "tessera.owner", "x_other"]
        {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static("x"));
        }
        remove_claims(&mut headers);
        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["x_other"]);
    }

    #[test]
    fn a_client_cannot_have_a_field_removed_that_is_added_later() {
        let mut headers = HeaderMap::new();
        let named = HeaderValue::from_static("tessera-client, x-forwarded-for, x-other");
        headers.append(http::header::CONNECTION, named);
        headers.append("x-other", HeaderValue::from_static("x"));
        headers.append(TRAILER, HeaderValue::from_static("tessera-client"));
        remove_claims(&mut headers);
        assert!(headers.is_empty(), "{headers:?}");
    }

    #[test]
    fn names_pass_between_proxies_whatever_bytes_they_have() {
        let client = ClientName::new(&b"dns:a b\xff\n%"[..]).unwrap();
        let mut headers = HeaderMap::new();
        name_to_proxy(&mut headers, &client, Generation(u64::MAX));
        assert_eq!(take_names(&mut headers), Some((client.clone(), Generation(u64::MAX))));
        assert!(headers.is_empty());
        assert_eq!(percent_encoded(&client), "dns%3Aa%20b%FF%0A%25");
        name_to_service(&mut headers, &client);
        assert_eq!(take_names(&mut headers), None);
    }
}
