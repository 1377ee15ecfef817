//! `3gpp-Sbi-Target-apiRoot`.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use http::HeaderMap;

use super::headers::TARGET_API_ROOT;

/// An apiRoot whose host is a name: scheme, authority and an optional path that precedes the API's (TS 29.501 §4.4.1).
/// It borrows the text it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiRoot<'t> {
    /// `http` or `https`.
    pub scheme: Scheme,
    /// The name, as it was written.
    pub host: &'t str,
    /// The port, if one was written.
    pub port: Option<u16>,
    /// Host and port, as they were written.
    pub authority: &'t str,
    /// Empty, or a path that begins with a slash and does not end with one.
    pub prefix: &'t str,
}

/// How an NF is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// With TLS.
    Https,
}

impl Scheme {
    /// Returns it as in a URI.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// Returns the default port (RFC 9110 §4.2).
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    /// Reads the text before `://`.
    fn of(text: &str) -> Option<Self> {
        match text {
            _ if text.eq_ignore_ascii_case("http") => Some(Self::Http),
            _ if text.eq_ignore_ascii_case("https") => Some(Self::Https),
            _ => None,
        }
    }
}

impl<'t> ApiRoot<'t> {
    /// Reads the apiRoot of a request; `None` if it has none.
    ///
    /// # Errors
    /// If it can't be read, or is present twice: two readers might use different ones.
    pub fn of_headers(headers: &'t HeaderMap) -> Result<Option<Self>, NotAnApiRoot> {
        Self::only_one(headers)?.map(Self::parse).transpose()
    }

    /// Reads an apiRoot that the guard restored from a hidden name: its host may be an address.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn of_revealed(headers: &'t HeaderMap) -> Result<Option<Self>, NotAnApiRoot> {
        Self::only_one(headers)?.map(|text| Self::read(text, split_any)).transpose()
    }

    fn only_one(headers: &'t HeaderMap) -> Result<Option<&'t str>, NotAnApiRoot> {
        let mut all = headers.get_all(TARGET_API_ROOT).iter();
        let Some(value) = all.next() else { return Ok(None) };
        if all.next().is_some() {
            return Err(NotAnApiRoot::Twice);
        }
        let text = value.to_str().map_err(|_| NotAnApiRoot::Malformed)?;
        Ok(Some(text.trim_matches([' ', '\t'])))
    }

    /// Reads `scheme://host[:port][/prefix]`, without user information or query.
    ///
    /// # Errors
    /// If it has another form, or the host is an address.
    pub fn parse(text: &'t str) -> Result<Self, NotAnApiRoot> {
        Self::read(text, split_authority)
    }

    /// Reads one from the configuration: its host may be an address.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn configured(text: &'t str) -> Result<Self, NotAnApiRoot> {
        Self::read(text, split_any)
    }

    fn read(text: &'t str, split: SplitAuthority) -> Result<Self, NotAnApiRoot> {
        let (scheme, rest) = text.split_once("://").ok_or(NotAnApiRoot::Malformed)?;
        let scheme = Scheme::of(scheme).ok_or(NotAnApiRoot::Malformed)?;
        let (authority, prefix) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        // RFC 3986 §3.3. Dot segments would lead out of the prefix.
        let is_segment = |segment: &str| !matches!(segment, "" | "." | "..");
        let is_path =
            prefix.bytes().all(|byte| byte.is_ascii_alphanumeric() || PATH.contains(&byte))
                && prefix.split('/').skip(1).all(is_segment);
        if !is_path {
            return Err(NotAnApiRoot::Malformed);
        }
        let (host, port) = split(authority)?;
        Ok(Self { scheme, host, port, authority, prefix })
    }
}

/// Returns host and port of an authority whose host is a name.
///
/// # Errors
/// If it is malformed, has user information, or the host is an address.
pub fn split_authority(authority: &str) -> Result<(&str, Option<u16>), NotAnApiRoot> {
    if authority.starts_with('[') {
        return Err(NotAnApiRoot::Address);
    }
    let (host, port) = match authority.split_once(':') {
        None => (authority, None),
        Some((host, digits)) => {
            let is_port =
                (1..=5).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
            let port = digits.parse::<u16>().ok().filter(|&port| is_port && port != 0);
            (host, Some(port.ok_or(NotAnApiRoot::Malformed)?))
        }
    };
    if is_address(host) {
        return Err(NotAnApiRoot::Address);
    }
    if !is_name(host) { Err(NotAnApiRoot::Malformed) } else { Ok((host, port)) }
}

type SplitAuthority = fn(&str) -> Result<(&str, Option<u16>), NotAnApiRoot>;

/// Returns host and port of an authority whose host is a name or an address, IPv6 in brackets.
fn split_any(authority: &str) -> Result<(&str, Option<u16>), NotAnApiRoot> {
    if let Ok(address) = authority.parse::<SocketAddr>() {
        let (host, _) = authority.rsplit_once(':').ok_or(NotAnApiRoot::Malformed)?;
        return Ok((host, Some(address.port())));
    }
    let inner = authority.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
    let is_v6 = inner.is_some_and(|inner| inner.parse::<Ipv6Addr>().is_ok());
    if is_v6 || authority.parse::<Ipv4Addr>().is_ok() {
        return Ok((authority, None));
    }
    split_authority(authority)
}

/// Returns whether some readers parse a host as an address: the last label is a number (`127.1`, `0x7f.1`).
fn is_address(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let top = host.rsplit('.').next().unwrap_or_default();
    let hex = top.strip_prefix("0x").or(top.strip_prefix("0X"));
    let is_hex = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    (!top.is_empty() && top.bytes().all(|byte| byte.is_ascii_digit())) || hex.is_some_and(is_hex)
}

/// Returns whether a host consists of labels of letters, digits and hyphens (RFC 1123 §2.1): the rules of
/// [`Fqdn`](crate::names::Fqdn), without a copy.
fn is_name(host: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let name = host.strip_suffix('.').unwrap_or(host);
    name.len() <= 253 && name.split('.').all(is_label)
}

/// Characters allowed in a path besides letters and digits (RFC 3986 §3.3), including percent signs.
const PATH: &[u8] = b"/-._~!$&'()*+,;=:@%";

/// Why requests may not be sent to an apiRoot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAnApiRoot {
    /// It doesn't follow the grammar.
    Malformed,
    /// Its host is an address, whose network is unknown.
    Address,
    /// The header field is present more than once.
    Twice,
}

impl fmt::Display for NotAnApiRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "3gpp-Sbi-Target-apiRoot must be scheme://name[:port][/prefix]",
            Self::Address => "the host in 3gpp-Sbi-Target-apiRoot must be a name, not an address",
            Self::Twice => "a request must have 3gpp-Sbi-Target-apiRoot only once",
        })
    }
}

impl std::error::Error for NotAnApiRoot {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_root_is_read() {
        let root =
            ApiRoot::parse("HTTPS://nrf.5gc.mnc001.mcc001.3gppnetwork.org:7777/a/b%20c/").unwrap();
        assert_eq!(root.scheme, Scheme::Https);
        assert_eq!(root.host, "nrf.5gc.mnc001.mcc001.3gppnetwork.org");
        assert_eq!(root.port, Some(7777));
        assert_eq!(root.prefix, "/a/b%20c");
        let root = ApiRoot::parse("http://udm.example").unwrap();
        assert_eq!((root.scheme, root.port, root.prefix), (Scheme::Http, None, ""));
        assert_eq!(ApiRoot::parse("http://udm.example/").unwrap().prefix, "");
    }

    #[test]
    fn a_hidden_name_may_be_an_address() {
        for (text, host, port) in [
            ("http://10.0.0.5:7777/a", "10.0.0.5", Some(7777)),
            ("http://10.0.0.5", "10.0.0.5", None),
            ("https://[2001:db8::1]:80", "[2001:db8::1]", Some(80)),
            ("https://[2001:db8::1]", "[2001:db8::1]", None),
            ("http://smf1.internal:80", "smf1.internal", Some(80)),
        ] {
            let headers = [(TARGET_API_ROOT, text.parse().unwrap())].into_iter().collect();
            let root = ApiRoot::of_revealed(&headers).unwrap().unwrap();
            assert_eq!((root.host, root.port), (host, port), "{text}");
        }
    }

    #[test]
    fn addresses_are_refused_in_every_spelling() {
        for host in [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "127.0.0.0x1",
            "[::1]:80",
            "1.2.3.4:80",
            "1.2.3.4.",
        ] {
            let text = format!("http://{host}/");
            assert_eq!(ApiRoot::parse(&text), Err(NotAnApiRoot::Address), "{text}");
        }
    }

    #[test]
    fn malformed_api_roots_are_refused() {
        for text in [
            "",
            "nrf.example",
            "//nrf.example",
            "ftp://nrf.example",
            "http://",
            "http:///a",
            "http://a@nrf.example",
            "http://nrf.example@evil.example",
            "http://nrf.example:",
            "http://nrf.example:0",
            "http://nrf.example:65536",
            "http://nrf.example:+80",
            "http://nrf.example:80:80",
            "http://nrf.example/../a",
            "http://nrf.example/a//b",
            "http://nrf.example/a?b",
            "http://nrf.example#a",
            "http://nrf.example/a#b",
            "http://nrf .example",
            "http://nrf\\.example",
            "http://nrf.example%2eorg",
            "http://-nrf.example",
            "http://nrf..example",
        ] {
            assert_eq!(ApiRoot::parse(text), Err(NotAnApiRoot::Malformed), "{text}");
        }
    }

    #[test]
    fn two_of_them_are_refused() {
        let mut headers = HeaderMap::new();
        assert_eq!(ApiRoot::of_headers(&headers), Ok(None));
        let value = http::HeaderValue::from_static(" http://nrf.example ");
        headers.append(TARGET_API_ROOT, value.clone());
        assert_eq!(ApiRoot::of_headers(&headers).unwrap().unwrap().host, "nrf.example");
        headers.append(TARGET_API_ROOT, value);
        assert_eq!(ApiRoot::of_headers(&headers), Err(NotAnApiRoot::Twice));
    }
}
