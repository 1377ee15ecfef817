//! Paths, in the one form that every server reads alike.

use std::borrow::Cow;

use super::percent::{self, Letters};

/// Returns the text between the first slash and the second.
pub(super) fn first_segment(path: &str) -> &str {
    path.strip_prefix('/').and_then(|path| path.split('/').next()).unwrap_or_default()
}

/// Splits a path, its query and its fragment at slashes, `?` and `#`.
pub(super) fn pieces(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(path);
    std::iter::from_fn(move || {
        let text = rest?;
        // All three are ASCII.
        let end = text.bytes().position(|byte| matches!(byte, b'/' | b'?' | b'#'));
        rest = end.map(|end| &text[end + 1..]);
        Some(&text[..end.unwrap_or(text.len())])
    })
}

/// Returns the path as it is judged: percent-encoded letters and digits are decoded. Returns `None` if servers could
/// read it in two ways: with dot segments, empty segments, encoded slashes, backslashes, question marks, number signs or control characters
/// (RFC 3986 §6.2.2).
pub(super) fn canonical(path: &str) -> Option<Cow<'_, str>> {
    let decoded = percent::decode(path)?;
    let is_clear = |segment: &[u8]| !matches!(segment, b"" | b"." | b"..");
    let inner = decoded.as_bytes().strip_prefix(b"/")?;
    // Some servers treat a trailing slash as another resource, others as the same one.
    let segments_are_clear = inner.split(|byte| *byte == b'/').all(is_clear);
    let is_ambiguous = |byte: u8| AMBIGUOUS.has(byte) || byte.is_ascii_control();
    let slashes = |text: &str| text.bytes().filter(|byte| *byte == b'/').count();
    let is_one = segments_are_clear
        && !decoded.bytes().any(is_ambiguous)
        && (matches!(decoded, Cow::Borrowed(_)) || slashes(&decoded) == slashes(path));
    is_one.then_some(decoded)
}

const AMBIGUOUS: Letters = Letters::NONE.and(b"\\%;?#");

/// Returns whether a text is a plain path that may precede an API's (TS 29.501 §4.4.1): a query would swallow the path
/// after it.
pub(super) fn is_prefix(text: &str) -> bool {
    !text.contains(['?', '#']) && canonical(text).is_some()
}

/// Writes a canonical path as it is forwarded, encoding characters that need it (RFC 3986 §3.3).
pub(super) fn write(out: &mut String, canonical: &str) {
    const PLAIN: Letters = Letters::UNRESERVED.and(b"/:@!$&()*+,=");
    percent::encode(out, canonical, PLAIN);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_between_slashes_and_the_marks_of_a_query() {
        for text in ["", "/", "/a/b?c=d/e#f", "a", "//", "?#", "/\u{e4}/\u{20ac}?"] {
            assert!(pieces(text).eq(text.split(['/', '?', '#'])), "{text}");
        }
    }

    #[test]
    fn a_path_that_can_be_read_in_two_ways_is_none() {
        assert_eq!(
            canonical("/nudm-sdm/v2/imsi-1/am-data").unwrap(),
            "/nudm-sdm/v2/imsi-1/am-data"
        );
        assert_eq!(canonical("/nudm%2Dsdm/v2/%69msi-1").unwrap(), "/nudm-sdm/v2/imsi-1");
        assert_eq!(first_segment("/nudm-sdm/v2"), "nudm-sdm");
        for path in [
            "",
            "*",
            "/",
            "//a",
            "/a/",
            "/a//b",
            "/a/../b",
            "/a/.",
            "/a/%2e%2E/b",
            "/a%2fb",
            "/a%5Cb",
            "/a\\b",
            "/a%00",
            "/a%0ab",
            "/a%",
            "/a%4",
            "/a%zz",
            "/a%2569",
            "/a;v=1/b",
            "/%ff",
        ] {
            assert_eq!(canonical(path), None, "{path}");
        }
    }
}
