//! The head of an HTTP/1 request (RFC 9112).

use httparse::{EMPTY_HEADER, Header, Status};

/// A request of an operator's program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Without its query.
    pub(super) path: String,
    /// HEAD: the answer has no body.
    pub(super) is_head: bool,
    /// POST: an action.
    pub(super) is_post: bool,
    /// The connection stays open.
    pub(super) keeps: bool,
}

/// Why a request is refused. That ends the connection: it is unknown where the next request would begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Not HTTP/1, or malformed.
    Malformed,
    /// Longer than [`LONGEST`], or with more than [`MOST_FIELDS`] fields.
    TooLarge,
    /// Incomplete in time.
    TooSlow,
    /// Neither GET nor HEAD, nor POST on a path with an action.
    Method,
    /// A web page requested an action.
    WebPage,
}

/// The longest head, in bytes.
pub(super) const LONGEST: usize = 8 * 1024;

/// The most fields of a head.
const MOST_FIELDS: usize = 64;

/// Parses the request at the start of these bytes, and returns it with its length; none if it is incomplete.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, Refusal> {
    let mut fields = [EMPTY_HEADER; MOST_FIELDS];
    let mut head = httparse::Request::new(&mut fields);
    let length = match head.parse(bytes) {
        Ok(Status::Complete(length)) if length <= LONGEST => length,
        Ok(Status::Partial) if bytes.len() < LONGEST => return Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => return Err(Refusal::TooLarge),
        Err(_) => return Err(Refusal::Malformed),
    };
    let (method, target) = (head.method.unwrap_or_default(), head.path.unwrap_or_default());
    let is_newest = head.version == Some(1);
    let is_post = method == "POST";
    if !is_post && !matches!(method, "GET" | "HEAD") {
        return Err(Refusal::Method);
    }
    if is_post && values(head.headers, "origin").next().is_some() {
        // Browsers send `Origin` with every POST (Fetch §3.2), and let pages post anywhere.
        return Err(Refusal::WebPage);
    }
    if is_newest && values(head.headers, "host").count() != 1 {
        // RFC 9112 §3.2
        return Err(Refusal::Malformed);
    }
    let has_body = values(head.headers, "transfer-encoding").next().is_some()
        || values(head.headers, "content-length").any(|length| length != b"0");
    if has_body {
        // Refuse bodies, which would have to be read: in a GET they mean nothing (RFC 9110 §9.3.1), and no POST here
        // has one.
        return Err(Refusal::Malformed);
    }
    let options = values(head.headers, "connection").flat_map(|value| value.split(|&b| b == b','));
    let closes =
        options.map(<[u8]>::trim_ascii).any(|option| option.eq_ignore_ascii_case(b"close"));
    let request = Request {
        path: path(target),
        is_head: method == "HEAD",
        is_post,
        keeps: is_newest && !closes,
    };
    Ok(Some((request, length)))
}

fn values<'a>(fields: &'a [Header<'a>], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let named = fields.iter().filter(move |field| field.name.eq_ignore_ascii_case(name));
    named.map(|field| field.value.trim_ascii())
}

/// Returns the path of a target: `/metrics?name[]=up`, or the absolute form that servers must accept too (RFC 9112
/// §3.2.2).
fn path(target: &str) -> String {
    let after_scheme =
        ["http://", "https://"].into_iter().find_map(|scheme| target.strip_prefix(scheme));
    let path = match after_scheme {
        Some(rest) => rest.find('/').and_then(|slash| rest.get(slash..)).unwrap_or("/"),
        None => target,
    };
    path.split('?').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Option<(Request, usize)>, Refusal> {
        parse(text.as_bytes())
    }

    #[test]
    fn requests_are_read_to_their_end_and_no_further() {
        let request = |path: &str, is_head, keeps| Request {
            path: path.to_owned(),
            is_head,
            is_post: false,
            keeps,
        };
        for (text, expected) in [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", request("/metrics", false, true)),
            ("HEAD /healthz HTTP/1.1\r\nhost:a\r\n\r\n", request("/healthz", true, true)),
            ("GET /metrics HTTP/1.0\r\n\r\n", request("/metrics", false, false)),
            (
                "GET /a?b=/c HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n",
                request("/a", false, false),
            ),
            ("GET http://a:1/b?c HTTP/1.1\r\nHost: a\r\n\r\n", request("/b", false, true)),
            ("GET http://a HTTP/1.1\r\nHost: a\r\n\r\n", request("/", false, true)),
            ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", request("/", false, true)),
        ] {
            let length = text.len();
            let more = format!("{text}GET /next");
            assert_eq!(parsed(&more), Ok(Some((expected, length))), "{text}");
            for end in 0..length {
                assert_eq!(parsed(&text[..end]), Ok(None), "{:?}", &text[..end]);
            }
        }
    }

    #[test]
    fn malformed_and_foreign_requests_are_refused() {
        for (text, refusal) in [
            ("\x16\x03\x01\x02\0", Refusal::Malformed),
            ("SSH-2.0-OpenSSH\r\n", Refusal::Malformed),
            ("GET / HTTP/2.0\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", Refusal::Malformed),
            ("PUT / HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Method),
            ("POST / HTTP/1.1\r\nHost: a\r\nOrigin: null\r\n\r\n", Refusal::WebPage),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", Refusal::Malformed),
            ("PRI * HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Method),
        ] {
            assert_eq!(parsed(text), Err(refusal), "{text}");
        }
    }

    #[test]
    fn heads_are_bounded() {
        let fields = |count: usize| "a: b\r\n".repeat(count);
        let head = |count| format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", fields(count));
        assert!(matches!(parsed(&head(63)), Ok(Some(_))));
        assert_eq!(parsed(&head(64)), Err(Refusal::TooLarge));
        let long = format!("GET /{}", "a".repeat(LONGEST));
        assert_eq!(parsed(&long[..LONGEST - 1]), Ok(None));
        assert_eq!(parsed(&long[..LONGEST]), Err(Refusal::TooLarge));
        let whole = format!("{long} HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(parsed(&whole), Err(Refusal::TooLarge));
    }
}
