//! Fields that concern one connection alone.

use http::header::{CONNECTION, CONTENT_LENGTH, HeaderName, TE, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderValue};

/// Removes the fields of a single connection (RFC 9110 §7.6.1). `TE: trailers` is the exception in HTTP/2 (RFC 9113 §8.2.2).
pub fn remove_hop_by_hop(headers: &mut HeaderMap) {
    remove_hop_by_hop_but(headers, &[]);
}

/// The same, but for these fields, which concern the message itself even if `Connection` names them.
pub fn remove_hop_by_hop_but(headers: &mut HeaderMap, kept: &[HeaderName]) {
    // Most messages have none of these: a pass over the names finds that out, without a lookup for each.
    const OF_A_CONNECTION: [HeaderName; 6] =
        [CONNECTION, TRANSFER_ENCODING, UPGRADE, TE, KEEP_ALIVE, PROXY_CONNECTION];
    if !headers.keys().any(|name| OF_A_CONNECTION.contains(name)) {
        return;
    }
    if headers.contains_key(CONNECTION) {
        let named: Vec<HeaderName> =
            elements(headers, &CONNECTION).filter_map(|name| name.parse().ok()).collect();
        for name in named {
            // HTTP/1.1 names TE there whatever it has.
            if name != TE && !kept.contains(&name) {
                headers.remove(name);
            }
        }
        headers.remove(CONNECTION);
    }
    // RFC 9112 §6.3: a length next to a coding isn't that of the content.
    if headers.remove(TRANSFER_ENCODING).is_some() {
        headers.remove(CONTENT_LENGTH);
    }
    for name in [UPGRADE, KEEP_ALIVE, PROXY_CONNECTION] {
        headers.remove(name);
    }
    if headers.get_all(TE).iter().any(|te| te != "trailers") {
        headers.remove(TE);
    }
}

/// Whether a message has no transfer coding but one `chunked`, which is the only one that hyper decodes (RFC 9112 §6.1).
pub(super) fn is_chunked_at_most(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).into_iter();
    let is_chunked = |it: &HeaderValue| it.as_bytes().eq_ignore_ascii_case(b"chunked");
    codings.next().is_none_or(is_chunked) && codings.next().is_none()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn left(fields: &[(&'static str, &'static str)], kept: &[HeaderName]) -> Vec<String> {
        let field =
            |&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        let mut headers: HeaderMap = fields.iter().map(field).collect();
        remove_hop_by_hop_but(&mut headers, kept);
        headers.keys().map(ToString::to_string).collect()
    }

    #[test]
    fn each_line_of_connection_names_fields() {
        let fields = [("connection", "close, x-one"), ("connection", "x-two,, X-Three")];
        let named = [("x-one", "1"), ("x-two", "2"), ("x-three", "3"), ("x-four", "4")];
        assert_eq!(left(&[&fields[..], &named].concat(), &[]), ["x-four"]);
        let kept = [HeaderName::from_static("x-two")];
        assert_eq!(left(&[&fields[..], &named].concat(), &kept), ["x-two", "x-four"]);
    }

    #[test]
    fn a_length_next_to_a_coding_goes_with_it() {
        assert_eq!(
            left(&[("transfer-encoding", "chunked"), ("content-length", "3")], &[]),
            [""; 0]
        );
        assert_eq!(left(&[("content-length", "3")], &[]), ["content-length"]);
    }

    #[test]
    fn codings_other_than_one_chunked_are_found() {
        let coding = |values: &[&'static str]| {
            let field = |value: &&'static str| (TRANSFER_ENCODING, HeaderValue::from_static(value));
            is_chunked_at_most(&values.iter().map(field).collect())
        };
        assert!(coding(&[]) && coding(&["chunked"]) && coding(&["Chunked"]));
        for others in [
            &["gzip, chunked"][..],
            &["chunked, chunked"],
            &["chunked"; 2],
            &[", chunked"],
            &["gzip"],
        ] {
            assert!(!coding(others), "{others:?}");
        }
    }

    #[test]
    fn te_stays_for_trailers_alone() {
        assert_eq!(left(&[("connection", "te"), ("te", "trailers")], &[]), ["te"]);
        assert_eq!(left(&[("te", "trailers"), ("te", "gzip")], &[]), [""; 0]);
    }
}
