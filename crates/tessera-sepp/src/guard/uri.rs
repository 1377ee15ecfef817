//! Absolute URIs in messages.
//!
//! Receivers parse URIs by RFC 3986 or by WHATWG's URL standard, and often by neither exactly. A URI here is what both
//! grammars read as the same scheme, host, port, path, query and fragment, letter by letter; a test checks this against
//! an implementation of the URL standard.

use std::net::{IpAddr, Ipv4Addr};

use super::percent::Letters;

/// The parts of an `http` or `https` URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HttpUri<'a> {
    /// `https://`
    pub(super) scheme: &'a str,
    pub(super) host: Host<'a>,
    pub(super) port: Option<u16>,
    /// Path, query and fragment.
    pub(super) rest: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Host<'a> {
    Name(&'a str),
    Address(IpAddr),
}

/// The result of looking for a URI in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UriMatch<'a> {
    NoUri,
    /// Some readers take it for an `http` URI, and would disagree about its parts.
    Unclear,
    Uri(HttpUri<'a>),
}

impl<'a> HttpUri<'a> {
    /// Parses a text that is a URI with nothing around it.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (scheme, rest) = text.split_at(scheme_len(text)?);
        let end = rest.bytes().position(|byte| matches!(byte, b'/' | b'?' | b'#'));
        let (authority, rest) = rest.split_at(end.unwrap_or(rest.len()));
        let (host, port) = split(authority)?;
        is_rest(rest).then_some(Self { scheme, host, port, rest })
    }

    /// Classifies an arbitrary text.
    pub(super) fn look(text: &'a str) -> UriMatch<'a> {
        // The URL standard strips leading controls and spaces, and tabs and line feeds everywhere.
        let mut letters = text
            .trim_start_matches(|letter| letter <= ' ')
            .bytes()
            .filter(|byte| !matches!(byte, b'\t' | b'\n' | b'\r'));
        let begins = b"http".iter().all(|expected| {
            letters.next().is_some_and(|letter| letter.to_ascii_lowercase() == *expected)
        });
        let is_http = begins
            && match letters.next() {
                Some(b':') => true,
                Some(b's' | b'S') => letters.next() == Some(b':'),
                _ => false,
            };
        match is_http {
            true => Self::parse(text).map_or(UriMatch::Unclear, UriMatch::Uri),
            false => UriMatch::NoUri,
        }
    }
}

/// Returns the length of a leading `http://` or `https://`, in any case.
fn scheme_len(text: &str) -> Option<usize> {
    ["http://", "https://"]
        .iter()
        .find(|scheme| {
            text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        })
        .map(|scheme| scheme.len())
}

/// Returns whether any reader finds a host in a text that begins as a URI: `http: none` has none, because the URL
/// standard allows no space in a host.
pub(super) fn may_have_host(text: &str) -> bool {
    let Some((_, rest)) = text.split_once(':') else { return false };
    let rest = rest.trim_start_matches(['/', '\\', '\t', '\n', '\r']);
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    !host.is_empty() && !host.contains(' ')
}

/// Returns host and port of an authority without user information.
pub(super) fn split(authority: &str) -> Option<(Host<'_>, Option<u16>)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (address, port) = inner.split_once(']')?;
            (Host::Address(IpAddr::V6(address.parse().ok()?)), port)
        }
        None => {
            let (name, port) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
            (host(name)?, port)
        }
    };
    let port = match port.strip_prefix(':') {
        // Only some readers accept `:080` and `:` as ports.
        Some(digits) => {
            let is_port = digits.bytes().all(|byte| byte.is_ascii_digit())
                && !digits.starts_with('0')
                && digits.len() <= 5;
            Some(digits.parse().ok().filter(|_| is_port)?)
        }
        None if port.is_empty() => None,
        None => return None,
    };
    Some((host, port))
}

fn host(name: &str) -> Option<Host<'_>> {
    if is_number(name) {
        // The URL standard also accepts `127.1` and `0x7f.1`.
        let address: Ipv4Addr = name.parse().ok()?;
        return Some(Host::Address(IpAddr::V4(address)));
    }
    // Some readers reject an `xn--` label that isn't valid IDNA.
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
            && !label.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("xn--"))
    };
    let plain = name.strip_suffix('.').unwrap_or(name);
    plain.split('.').all(is_label).then_some(Host::Name(name))
}

/// Returns whether the URL standard parses a host as an IPv4 address: its last label is a number, decimal or `0x`.
pub(super) fn is_number(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let last = host.rsplit('.').next().unwrap_or_default();
    let hex = last.strip_prefix("0x").or(last.strip_prefix("0X"));
    !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit())
        || hex.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Returns whether both standards read path, query and fragment alike: only characters of RFC 3986, without `'`, which
/// the URL standard encodes in a query, and without dot segments.
fn is_rest(rest: &str) -> bool {
    const LETTERS: Letters = Letters::UNRESERVED.and(b"/!$&()*+,;=:@?");
    let mut bytes = rest.bytes();
    let mut fragments = 0;
    while let Some(byte) = bytes.next() {
        let is_fine = match byte {
            b'%' => [bytes.next(), bytes.next()]
                .iter()
                .all(|digit| digit.is_some_and(|digit| digit.is_ascii_hexdigit())),
            b'#' => {
                fragments += 1;
                fragments == 1
            }
            byte => LETTERS.has(byte),
        };
        if !is_fine {
            return false;
        }
    }
    let path = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
    let is_dots = |segment: &str| {
        let dots = segment.replace("%2e", ".").replace("%2E", ".");
        matches!(&*dots, "." | "..")
    };
    !path.contains("/.") && !path.contains("/%2") || !path.split('/').any(is_dots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_are_found() {
        let uri = HttpUri::parse("HTTPS://smf1.example:8080/a?b#c").unwrap();
        assert_eq!(
            (uri.scheme, uri.host, uri.port, uri.rest),
            ("HTTPS://", Host::Name("smf1.example"), Some(8080), "/a?b#c")
        );
        let uri = HttpUri::parse("http://[2001:db8::1]").unwrap();
        assert_eq!(
            (uri.host, uri.port, uri.rest),
            (Host::Address("2001:db8::1".parse().unwrap()), None, "")
        );
        let uri = HttpUri::parse("http://amf_1:80").unwrap();
        assert_eq!(uri.host, Host::Name("amf_1"));
        let uri = HttpUri::parse("http://10.0.0.1:80").unwrap();
        assert_eq!(uri.host, Host::Address("10.0.0.1".parse().unwrap()));
        assert_eq!(HttpUri::parse("http://a/.b/%2f..c").unwrap().rest, "/.b/%2f..c");
        for text in ["", "httpx://a", "ftp://a/", "mailto:http://", "é", "htt", "httpss://a"] {
            assert_eq!(HttpUri::look(text), UriMatch::NoUri, "{text}");
        }
    }

    #[test]
    fn a_uri_that_programs_read_differently_is_unclear() {
        for text in [
            "http://",
            "http:///a",
            "http://a@b/",
            "http://a\\@b/",
            "http://a%2eb/",
            "http://a:b:c/",
            "http://a:99999/",
            "http://a:080/",
            "http://a:/",
            " http://a/",
            "\thttp://a/",
            "ht\ttp://a/",
            "http\n://a/",
            "http:/a/",
            "http:a/",
            "HTTP:\\\\a",
            "https:a",
            "http://127.1/",
            "http://0x7f.0.0.1/",
            "http://1.2.3.4.5/",
            "http://1.2.3.04/",
            "http://xn--a/",
            "http://a..b/",
            "http://[::1/",
            "http://[::1]x/",
            "http://[::1%25eth0]/",
            "http://ä.org/",
            "http://a b/",
            "http://a/../b",
            "http://a/b/%2e%2E",
            "http://a/./b",
            "http://a/b c",
            "http://a/b\\c",
            "http://a/b#c#d",
            "http://a/?'",
            "http://a/%4",
            "http://a/\u{e4}",
            "http://a/b\t",
        ] {
            assert_eq!(HttpUri::look(text), UriMatch::Unclear, "{text:?}");
        }
    }

    /// Builds texts from pieces about which readers disagree.
    fn texts() -> impl Iterator<Item = String> {
        const SCHEMES: [&str; 8] =
            ["http://", "HTTPS://", "http:/", "http:", "ht\ttp://", " http://", "//", "ftp://"];
        const AUTHORITIES: [&str; 26] = [
            "a.example",
            "A.Example.",
            "a_b",
            "a..b",
            "a@b",
            "a%62",
            "xn--a",
            "xn--bcher-kva.example",
            "\u{e4}.example",
            "127.0.0.1",
            "127.1",
            "0x7f.1",
            "010.0.0.1",
            "1.2.3.4.5",
            "256.1.1.1",
            "[::1]",
            "[::FFFF:1.2.3.4]",
            "[::1",
            "a:80",
            "a:0080",
            "a:",
            "a:99999",
            "a:8 0",
            "",
            "a\\b",
            "1.2.3.4.",
        ];
        const RESTS: [&str; 22] = [
            "",
            "/",
            "/a/b",
            "/a/../b",
            "/a/./b",
            "/a/%2e%2e/b",
            "/.a",
            "/a..",
            "//b",
            "/a?b=c&d",
            "?b",
            "/a?'",
            "/a#b",
            "/a#b#c",
            "/a b",
            "/a\\b",
            "/a\tb",
            "/%zz",
            "/%41",
            "/\u{e4}",
            "/a;b=c",
            "/..",
        ];
        SCHEMES.into_iter().flat_map(|scheme| {
            AUTHORITIES.into_iter().flat_map(move |authority| {
                RESTS.into_iter().map(move |rest| format!("{scheme}{authority}{rest}"))
            })
        })
    }

    /// RFC 3986 appendix B, as a reader that splits and checks nothing.
    fn rfc(text: &str) -> (String, String, String) {
        let (scheme, rest) = text.split_once("://").unwrap();
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (scheme, authority) = (scheme.to_ascii_lowercase(), rest[..end].to_ascii_lowercase());
        (scheme, authority, rest[end..].to_owned())
    }

    #[test]
    fn both_standards_read_the_same_uri() {
        let mut count = 0;
        for text in texts() {
            let whatwg = url::Url::parse(&text);
            let Some(uri) = HttpUri::parse(&text) else {
                // A text that the URL standard parses as such a URI is never classified as no URI.
                let is_http = whatwg.is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
                assert!(!is_http || HttpUri::look(&text) == UriMatch::Unclear, "{text:?}");
                continue;
            };
            count += 1;
            let url = whatwg.unwrap_or_else(|error| panic!("{text:?}: {error}"));
            let (scheme, authority, rest) = rfc(&text);
            assert_eq!(url.scheme(), scheme, "{text:?}");
            assert_eq!((url.username(), url.password()), ("", None), "{text:?}");
            let port = uri.port.map(|port| format!(":{port}")).unwrap_or_default();
            let host = match uri.host {
                Host::Name(name) => name.to_ascii_lowercase(),
                Host::Address(IpAddr::V4(address)) => address.to_string(),
                Host::Address(IpAddr::V6(address)) => format!("[{address}]"),
            };
            let read = match uri.host {
                // An address may be written in several ways.
                Host::Address(_) => url.host_str().unwrap().parse::<Ipv4Addr>().map_or_else(
                    |_| {
                        let inner = url.host_str().unwrap().trim_matches(['[', ']']);
                        format!("[{}]", inner.parse::<std::net::Ipv6Addr>().unwrap())
                    },
                    |address| address.to_string(),
                ),
                Host::Name(_) => url.host_str().unwrap().to_owned(),
            };
            assert_eq!(read, host, "{text:?}");
            if let Host::Name(_) = uri.host {
                assert_eq!(authority, format!("{host}{port}"), "{text:?}");
            }
            let default = if scheme == "https" { 443 } else { 80 };
            assert_eq!(url.port_or_known_default(), Some(uri.port.unwrap_or(default)), "{text:?}");
            assert_eq!(uri.rest, rest, "{text:?}");
            // An empty path is the root.
            let rest = if rest.starts_with('/') { rest } else { format!("/{rest}") };
            assert_eq!(&url[url::Position::BeforePath..], rest, "{text:?}");
        }
        assert!(count > 100, "{count}");
    }
}
