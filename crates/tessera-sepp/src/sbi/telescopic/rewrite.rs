//! Translation of names and URIs in bodies.

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;

use super::{TelescopicDomain, exchange_strings};
use crate::multipart::{self, Part};
use crate::names::NetworkDomain;

/// A translation.
#[derive(Clone, Copy)]
pub struct Rewriter<'r> {
    /// The names.
    pub domain: &'r TelescopicDomain,
    /// The direction.
    pub way: Way<'r>,
}

/// The direction of a body.
#[derive(Clone, Copy)]
pub enum Way<'r> {
    /// From a peer to a local NF: what is in one of the peer's networks becomes telescopic. These are the URIs of
    /// discovery answers, callbacks and PDU sessions, anywhere; and the names in discovery answers.
    In {
        /// Whether a network is one of the peer's.
        is_foreign: &'r dyn Fn(&NetworkDomain) -> bool,
    },
    /// From a local NF to a peer: telescopic names are resolved.
    Out,
}

impl<'r> Rewriter<'r> {
    /// Translates incoming bodies.
    pub fn inwards(
        domain: &'r TelescopicDomain,
        is_foreign: &'r dyn Fn(&NetworkDomain) -> bool,
    ) -> Self {
        Self { domain, way: Way::In { is_foreign } }
    }

    /// Translates outgoing bodies.
    pub fn outwards(domain: &'r TelescopicDomain) -> Self {
        Self { domain, way: Way::Out }
    }

    /// Translates a URI, as in `Location`; `None` if it stays.
    pub fn uri(&self, uri: &str) -> Option<String> {
        match self.way {
            Way::In { is_foreign } => self.domain.telescope_uri(uri, is_foreign),
            Way::Out => self.domain.original_uri(uri),
        }
    }

    /// Translates a string of a JSON text.
    fn string(&self, key: &str, value: &str) -> Option<String> {
        // Nearly every string is neither a URI nor a name.
        if value.len() >= 8 && value.is_char_boundary(4) && value[..4].eq_ignore_ascii_case("http")
        {
            return self.uri(value);
        }
        // TS 29.510 §6.1.6.2.2: names in the profiles of NFs and their services.
        if !matches!(key, "fqdn" | "interPlmnFqdn") {
            return None;
        }
        match self.way {
            Way::In { is_foreign } => NetworkDomain::of_name(value)
                .filter(is_foreign)
                .and_then(|_| self.domain.name(value)),
            Way::Out => self.domain.original(value).map(|foreign| foreign.host),
        }
    }
}

/// Returns the body with translated names and URIs: JSON, or the JSON parts of `multipart/related` (TS 29.502 creates
/// PDU sessions so). `None` if nothing changes.
pub fn rewrite(rewriting: &Rewriter<'_>, headers: &HeaderMap, body: &Bytes) -> Option<Bytes> {
    let exchange = |text: &[u8]| exchange_strings(text, |key, value| rewriting.string(key, value));
    match kind(headers)? {
        Kind::Json => exchange(body),
        Kind::Multipart(boundary) => in_parts(body, boundary, exchange),
    }
}

/// Returns whether a body is declared as JSON, or has parts that may be.
pub fn is_json(headers: &HeaderMap) -> bool {
    kind(headers).is_some()
}

enum Kind<'h> {
    Json,
    Multipart(&'h str),
}

fn kind(headers: &HeaderMap) -> Option<Kind<'_>> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let media = value.split(';').next().unwrap_or_default().trim();
    if is_json_type(media) {
        return Some(Kind::Json);
    }
    if !media.eq_ignore_ascii_case("multipart/related") {
        return None;
    }
    multipart::boundary(value).map(Kind::Multipart)
}

/// Returns whether it is `application/json`, or ends with `+json`.
fn is_json_type(media: &str) -> bool {
    let ends = media.len().checked_sub(5).and_then(|at| media.get(at..));
    media.eq_ignore_ascii_case("application/json")
        || ends.is_some_and(|end| end.eq_ignore_ascii_case("+json"))
}

/// Translates the JSON parts of a body, which is split as the guard does.
fn in_parts(
    body: &Bytes,
    boundary: &str,
    exchange: impl Fn(&[u8]) -> Option<Bytes>,
) -> Option<Bytes> {
    let (mut written, mut copied) = (Vec::new(), 0);
    for Part { content_type, content, at, .. } in multipart::parts(body, boundary)? {
        if !is_json_type(content_type.split(';').next().unwrap_or_default().trim()) {
            continue;
        }
        if let Some(new) = exchange(content) {
            written.extend_from_slice(&body[copied..at]);
            written.extend_from_slice(&new);
            copied = at + content.len();
        }
    }
    if copied == 0 {
        return None;
    }
    written.extend_from_slice(&body[copied..]);
    Some(written.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sbi::api_root::Scheme;
    use http::HeaderValue;

    fn domain() -> TelescopicDomain {
        let name = "sepp.5gc.mnc070.mcc999.3gppnetwork.org".parse().unwrap();
        TelescopicDomain::new(name, Scheme::Http, 80)
    }

    fn typed(media: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(media))])
    }

    fn is_foreign(domain: &NetworkDomain) -> bool {
        domain.to_string().contains("mcc001")
    }

    const DISCOVERED: &str = r#"{"validityPeriod":3600,"nfInstances":[{"nfType":"UDM","fqdn":"udm.5gc.mnc001.mcc001.3gppnetwork.org",
        "nfServices":[{"interPlmnFqdn":"udm-x.5gc.mnc001.mcc001.3gppnetwork.org","fqdn":"own.5gc.mnc070.mcc999.3gppnetwork.org",
        "callback":"https://amf.5gc.mnc001.mcc001.3gppnetwork.org:81/n?x=1","name":"udm.5gc.mnc001.mcc001.3gppnetwork.org"}]}]}"#;

    #[test]
    fn a_discovery_answer_is_telescopic_and_comes_back() {
        let domain = domain();
        let (body, headers) =
            (Bytes::from_static(DISCOVERED.as_bytes()), typed("application/json"));
        let inwards = Rewriter::inwards(&domain, &is_foreign);
        let through = rewrite(&inwards, &headers, &body).unwrap();
        let text = std::str::from_utf8(&through).unwrap();
        assert!(
            text.contains(r#""fqdn":"udm-n001001.sepp.5gc.mnc070.mcc999.3gppnetwork.org""#),
            "{text}"
        );
        assert!(
            text.contains(
                r#""http://amf-n001001-p81.sepp.5gc.mnc070.mcc999.3gppnetwork.org/n?x=1""#
            )
        );
        assert!(text.contains(r#""fqdn":"own.5gc.mnc070.mcc999.3gppnetwork.org""#));
        assert!(text.contains(r#""name":"udm.5gc.mnc001.mcc001.3gppnetwork.org""#));
        let back = rewrite(&Rewriter::outwards(&domain), &headers, &through).unwrap();
        assert_eq!(back, body);
        assert_eq!(rewrite(&inwards, &typed("text/plain"), &body), None);
        assert_eq!(rewrite(&Rewriter::outwards(&domain), &headers, &body), None);
    }

    #[test]
    fn the_json_of_a_multipart_body_changes_and_nothing_else() {
        let uri = "http://smf.5gc.mnc001.mcc001.3gppnetwork.org/cb";
        let part =
            |media: &str, text: &str| format!("--xx\r\nContent-Type: {media}\r\n\r\n{text}\r\n");
        // The delimiter within a line doesn't count, as in the guard.
        let json = format!(r#"{{"a":"--xx","vsmfPduSessionUri":"{uri}"}}"#);
        let binary = format!("\0\"{uri}\"");
        let body = part("application/json", &json)
            + &part("application/vnd.3gpp.5gnas", &binary)
            + "--xx--\r\n";
        let body = Bytes::from(body);
        let headers = typed("multipart/related; boundary=\"xx\"");
        let domain = domain();
        let through = rewrite(&Rewriter::inwards(&domain, &is_foreign), &headers, &body).unwrap();
        let text = std::str::from_utf8(&through).unwrap();
        assert!(text.contains("vsmfPduSessionUri\":\"http://smf-n001001-h.sepp."), "{text}");
        assert!(text.contains(&binary));
        assert!(text.ends_with("--xx--\r\n"));
        let back = rewrite(&Rewriter::outwards(&domain), &headers, &through).unwrap();
        assert_eq!(back, body);
    }

    #[test]
    fn a_multipart_body_that_ends_early_stays() {
        let (domain, headers) = (domain(), typed("multipart/related;boundary=xx"));
        for body in [
            "",
            "--xx",
            "--xx\r\n\r\n",
            "--xx\r\nContent-Type: application/json\r\n\r\n{\"fqdn\":\"x",
        ] {
            let body = Bytes::from(body);
            assert_eq!(rewrite(&Rewriter::outwards(&domain), &headers, &body), None);
        }
    }
}
