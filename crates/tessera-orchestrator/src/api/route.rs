//! What a request asks for, by its method and path.

use http::Method;
use percent_encoding::percent_decode_str;
use tessera_bindings::{ClientName, DrainScope, ProxyName};

use super::problem::Refusal;

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// `GET /status`.
    Status,
    /// `GET /proxies`.
    Proxies,
    /// `GET /moves`.
    Moves,
    /// `GET /clients/NAME`.
    Client(ClientName),
    /// `POST /moves`.
    Move,
    /// `POST /clients/NAME/abort`.
    Abort(ClientName),
    /// `POST` to `/proxies/NAME/drain` or `/sites/NAME/evacuate`.
    Drain(DrainScope),
    /// `DELETE` there.
    UndoDrain(DrainScope),
}

impl Route {
    /// Finds what a request asks for. Names in a path are percent-encoded (RFC 3986 §2.1).
    pub(crate) fn of(method: &Method, path: &str) -> Result<Self, Refusal> {
        let segments: Vec<&str> = path.strip_prefix('/').unwrap_or(path).split('/').collect();
        let get = |route: Self| match *method {
            Method::GET => Ok(route),
            _ => Err(Refusal::method("GET")),
        };
        match segments.as_slice() {
            ["status"] => get(Self::Status),
            ["proxies"] => get(Self::Proxies),
            ["moves"] => match *method {
                Method::GET => Ok(Self::Moves),
                Method::POST => Ok(Self::Move),
                _ => Err(Refusal::method("GET, POST")),
            },
            ["clients", name] => get(Self::Client(client(name)?)),
            ["clients", name, "abort"] => match *method {
                Method::POST => Ok(Self::Abort(client(name)?)),
                _ => Err(Refusal::method("POST")),
            },
            ["proxies", name, "drain"] => drain(method, DrainScope::Proxy(ProxyName(text(name)?))),
            ["sites", name, "evacuate"] => drain(method, DrainScope::Site(text(name)?)),
            _ => Err(Refusal::unknown(
                "unknown-path",
                "there is no such path: docs/orchestrator.md has all",
            )),
        }
    }

    /// Whether it changes something.
    pub(crate) fn is_change(&self) -> bool {
        match self {
            Self::Status | Self::Proxies | Self::Moves | Self::Client(_) => false,
            Self::Move | Self::Abort(_) | Self::Drain(_) | Self::UndoDrain(_) => true,
        }
    }
}

fn drain(method: &Method, scope: DrainScope) -> Result<Route, Refusal> {
    match *method {
        Method::POST => Ok(Route::Drain(scope)),
        Method::DELETE => Ok(Route::UndoDrain(scope)),
        _ => Err(Refusal::method("POST, DELETE")),
    }
}

fn client(segment: &str) -> Result<ClientName, Refusal> {
    let bytes: Vec<u8> = percent_decode_str(segment).collect();
    ClientName::new(bytes).map_err(Refusal::of_step)
}

fn text(segment: &str) -> Result<String, Refusal> {
    let decoded = percent_decode_str(segment).decode_utf8();
    decoded.map(Into::into).map_err(|_| Refusal::bad("the name in the path is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(method: &str, path: &str) -> Result<Route, u16> {
        let method = method.parse().unwrap();
        Route::of(&method, path).map_err(|refusal| refusal.into_response().status().as_u16())
    }

    #[test]
    fn names_in_a_path_are_decoded_once_and_hold_no_separators() {
        let named = |bytes: &[u8]| Ok(Route::Client(ClientName::new(bytes).unwrap()));
        assert_eq!(route("GET", "/clients/a%2Fb%20%C3%BC"), named("a/b ü".as_bytes()));
        assert_eq!(route("GET", "/clients/%ff"), named(&[0xff]));
        assert_eq!(route("GET", "/clients/%252F"), named(b"%2F"));
        assert_eq!(route("GET", "/clients/a%2Fabort"), named(b"a/abort"));
        assert_eq!(route("GET", "/clients/"), Err(400));
        assert_eq!(route("GET", &format!("/clients/{}", "a".repeat(513))), Err(400));
        assert_eq!(route("GET", "/clients/a/b"), Err(404));
        let site = DrainScope::Site("x y".into());
        assert_eq!(route("POST", "/sites/x%20y/evacuate"), Ok(Route::Drain(site.clone())));
        assert_eq!(route("DELETE", "/sites/x%20y/evacuate"), Ok(Route::UndoDrain(site)));
        assert_eq!(route("POST", "/sites/%ff/evacuate"), Err(400));
    }

    #[test]
    fn a_path_has_its_methods() {
        for (method, path) in [
            ("POST", "/status"),
            ("HEAD", "/status"),
            ("DELETE", "/proxies"),
            ("PUT", "/moves"),
            ("DELETE", "/clients/a"),
            ("GET", "/clients/a/abort"),
            ("GET", "/proxies/a/drain"),
            ("PUT", "/sites/a/evacuate"),
        ] {
            assert_eq!(route(method, path), Err(405), "{method} {path}");
        }
        for path in ["/", "/status/", "//status", "/proxies/a", "/x"] {
            assert_eq!(route("GET", path), Err(404), "{path}");
        }
    }

    #[test]
    fn only_reads_change_nothing() {
        let changes = |method, path| route(method, path).unwrap().is_change();
        assert!(
            !["/status", "/proxies", "/moves", "/clients/a"].iter().any(|it| changes("GET", it))
        );
        for path in ["/moves", "/clients/a/abort", "/proxies/a/drain", "/sites/a/evacuate"] {
            assert!(changes("POST", path), "{path}");
        }
        assert!(changes("DELETE", "/proxies/a/drain") && changes("DELETE", "/sites/a/evacuate"));
    }
}
