//! Absolute URIs in messages.

use std::net::IpAddr;

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

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look<'a> {
    NoUri,
    /// It begins like one, and programs would read different hosts from it.
    Unclear,
    Uri(HttpUri<'a>),
}

impl<'a> HttpUri<'a> {
    pub(super) fn look(text: &'a str) -> Look<'a> {
        // What is left out in front by lenient parsers.
        let trimmed = text.trim_start_matches(|c: char| c <= ' ');
        let Some(len) = scheme_len(trimmed) else { return Look::NoUri };
        let (scheme, rest) = trimmed.split_at(len);
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let is_clear = trimmed.len() == text.len()
            && authority.bytes().all(|b| {
                b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':' | b'[' | b']')
            });
        let parts = if is_clear { split(authority) } else { None };
        match parts {
            Some((host, port)) => Look::Uri(Self { scheme, host, port, rest }),
            None => Look::Unclear,
        }
    }
}

/// The length of `http://` or `https://` at the front, in any case.
fn scheme_len(text: &str) -> Option<usize> {
    ["http://", "https://"].iter().map(|scheme| scheme.len()).find(|&len| {
        text.get(..len).is_some_and(|start| {
            start.eq_ignore_ascii_case("http://") || start.eq_ignore_ascii_case("https://")
        })
    })
}

/// Host and port of an authority without user information.
pub(super) fn split(authority: &str) -> Option<(Host<'_>, Option<u16>)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (address, port) = inner.split_once(']')?;
            (Host::Address(IpAddr::V6(address.parse().ok()?)), port)
        }
        None => {
            let end = authority.find(':').unwrap_or(authority.len());
            let (name, port) = authority.split_at(end);
            let host =
                name.parse().map_or(Host::Name(name), |address| Host::Address(IpAddr::V4(address)));
            (host, port)
        }
    };
    let port = match port.strip_prefix(':') {
        Some("") => None,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse().ok()?)
        }
        Some(_) => return None,
        None if port.is_empty() => None,
        None => return None,
    };
    let has_host = !matches!(host, Host::Name(""));
    has_host.then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_are_found() {
        let Look::Uri(uri) = HttpUri::look("HTTPS://smf1.example:8080/a?b#c") else { panic!() };
        assert_eq!(
            (uri.scheme, uri.host, uri.port, uri.rest),
            ("HTTPS://", Host::Name("smf1.example"), Some(8080), "/a?b#c")
        );
        let Look::Uri(uri) = HttpUri::look("http://[2001:db8::1]") else { panic!() };
        assert_eq!(
            (uri.host, uri.port, uri.rest),
            (Host::Address("2001:db8::1".parse().unwrap()), None, "")
        );
        let Look::Uri(uri) = HttpUri::look("http://amf_1:80") else { panic!() };
        assert_eq!(uri.host, Host::Name("amf_1"));
        let Look::Uri(uri) = HttpUri::look("http://10.0.0.1:80") else { panic!() };
        assert_eq!(uri.host, Host::Address("10.0.0.1".parse().unwrap()));
        for text in ["", "httpx://a", "ftp://a/", "mailto:http://", "é"] {
            assert_eq!(HttpUri::look(text), Look::NoUri, "{text}");
        }
    }

    #[test]
    fn what_programs_read_differently_is_unclear() {
        for text in [
            "http://",
            "http:///a",
            "http://a@b/",
            "http://a\\@b/",
            "http://a%2eb/",
            "http://a:b:c/",
            "http://a:99999/",
            " http://a/",
            "\thttp://a/",
            "http://[::1/",
            "http://[::1]x/",
            "http://ä.org/",
            "http://a b/",
        ] {
            assert_eq!(HttpUri::look(text), Look::Unclear, "{text:?}");
        }
    }
}
