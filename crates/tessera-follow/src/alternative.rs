//! Where an origin can be reached.

use std::fmt;

use http::{HeaderValue, Request, Uri, Version, uri::Scheme};

/// Where a request was sent; an extension of its response.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Route {
    /// To the origin, by the host and port of the URI.
    Origin,
    /// To an alternative service.
    Alternative(Alternative),
}

/// An alternative service (RFC 7838 §2): another way to the same origin.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Alternative {
    /// The version of HTTP that it speaks.
    pub protocol: Protocol,
    /// Its host, in lower case; an IPv6 address is in brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
}

/// A version of HTTP over TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Protocol {
    /// HTTP/1.1, the ALPN protocol `http/1.1`.
    Http1,
    /// HTTP/2, the ALPN protocol `h2`.
    Http2,
}

impl Protocol {
    /// Returns its name in ALPN.
    pub fn alpn(self) -> &'static [u8] {
        match self {
            Self::Http1 => b"http/1.1",
            Self::Http2 => b"h2",
        }
    }
}

impl Alternative {
    /// Returns the URI that a connector dials. If the host fitted in no URI, it would name none, and no
    /// connector would dial it.
    pub(crate) fn uri(&self) -> Uri {
        let authority = format!("{}:{}", self.host, self.port);
        let uri = Uri::builder().scheme(Scheme::HTTPS).authority(authority).path_and_query("/");
        uri.build().unwrap_or_default()
    }

    /// Returns the value of `Alt-Used` (RFC 7838 §5): as with `Host`, without the default port.
    pub(crate) fn alt_used(&self) -> Option<HeaderValue> {
        match self.port {
            HTTPS => self.host.parse().ok(),
            port => format!("{}:{port}", self.host).parse().ok(),
        }
    }
}

impl fmt::Display for Alternative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} ({})", self.host, self.port, self.protocol.alpn().escape_ascii())
    }
}

/// An origin of the scheme `https`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Origin {
    /// Returns the origin of a request that may use alternatives: over HTTPS, and for a resource.
    pub(crate) fn of<B>(request: &Request<B>) -> Option<Self> {
        let uri = request.uri();
        let is_version = [Version::HTTP_10, Version::HTTP_11, Version::HTTP_2];
        let is_usable = uri.scheme() == Some(&Scheme::HTTPS)
            && request.method() != http::Method::CONNECT
            && is_version.contains(&request.version());
        let host = uri.host().filter(|_| is_usable)?.to_ascii_lowercase();
        Some(Self { host, port: uri.port_u16().unwrap_or(HTTPS) })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}:{}", self.host, self.port)
    }
}

const HTTPS: u16 = 443;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_its_host_and_port_whatever_the_case() {
        let of = |uri: &str| Origin::of(&Request::get(uri).body(()).unwrap());
        assert_eq!(of("https://A.Example/x"), of("https://a.example:443/y"));
        assert_ne!(of("https://a.example/"), of("https://a.example:444/"));
        assert!(of("http://a.example/").is_none() && of("/x").is_none());
        assert!(Origin::of(&Request::connect("https://a.example/").body(()).unwrap()).is_none());
        let old = Request::get("https://a.example/").version(Version::HTTP_09);
        assert!(Origin::of(&old.body(()).unwrap()).is_none());
    }

    #[test]
    fn alt_used_names_a_port_other_than_443() {
        let at = |port| Alternative { protocol: Protocol::Http2, host: "b.example".into(), port };
        assert_eq!(at(443).alt_used().unwrap(), "b.example");
        assert_eq!(at(8443).alt_used().unwrap(), "b.example:8443");
        assert_eq!(at(8443).to_string(), "b.example:8443 (h2)");
    }
}
