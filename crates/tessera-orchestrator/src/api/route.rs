//! What a request asks for, by its method and path.

use http::{Method, Uri};
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
    /// `GET /clients`.
    Clients(ClientsPage),
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

/// Which clients are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientsPage {
    /// Those whose names come after this one.
    pub(crate) after: Option<ClientName>,
    /// At most so many.
    pub(crate) limit: usize,
}

impl Route {
    /// Finds what a request asks for. Names in a path or query are percent-encoded (RFC 3986 §2.1).
    pub(crate) fn of(method: &Method, uri: &Uri) -> Result<Self, Refusal> {
        let path = uri.path();
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
            ["clients"] => get(Self::Clients(ClientsPage::of(uri.query().unwrap_or_default())?)),
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
            Self::Status | Self::Proxies | Self::Moves | Self::Clients(_) | Self::Client(_) => {
                false
            }
            Self::Move | Self::Abort(_) | Self::Drain(_) | Self::UndoDrain(_) => true,
        }
    }
}

impl ClientsPage {
    /// How many clients a page has unless the caller sets it.
    const USUAL: usize = 100;

    /// The most clients of a page.
    const MOST: usize = 1000;

    fn of(query: &str) -> Result<Self, Refusal> {
        let mut page = Self { after: None, limit: Self::USUAL };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("after", name)) => page.after = Some(client(name)?),
                Some(("limit", number)) => {
                    let limit = number.parse().ok().filter(|it| (1..=Self::MOST).contains(it));
                    page.limit =
                        limit.ok_or_else(|| Refusal::bad("`limit` is a number from 1 to 1000"))?;
                }
                _ => {
                    let detail = format!("`{pair}`: set `limit`, `after` or both");
                    return Err(Refusal::bad(detail));
                }
            }
        }
        Ok(page)
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
        Route::of(&method, &path.parse().unwrap())
            .map_err(|refusal| refusal.into_response().status().as_u16())
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
    fn a_page_of_clients_has_a_bounded_length() {
        let page = |after: Option<&[u8]>, limit| {
            let after = after.map(|name| ClientName::new(name).unwrap());
            Ok(Route::Clients(ClientsPage { after, limit }))
        };
        assert_eq!(route("GET", "/clients"), page(None, 100));
        assert_eq!(route("GET", "/clients?limit=1000"), page(None, 1000));
        assert_eq!(route("GET", "/clients?after=%ffa%26+&limit=1"), page(Some(b"\xffa&+"), 1));
        for wrong in
            ["limit=0", "limit=1001", "limit=x", "limit", "after=", "proxy=a", "limit=1&x=2"]
        {
            assert_eq!(route("GET", &format!("/clients?{wrong}")), Err(400), "{wrong}");
        }
    }

    #[test]
    fn a_path_has_its_methods() {
        for (method, path) in [
            ("POST", "/status"),
            ("HEAD", "/status"),
            ("DELETE", "/proxies"),
            ("PUT", "/moves"),
            ("POST", "/clients"),
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
            !["/status", "/proxies", "/moves", "/clients", "/clients/a"]
                .iter()
                .any(|it| changes("GET", it))
        );
        for path in ["/moves", "/clients/a/abort", "/proxies/a/drain", "/sites/a/evacuate"] {
            assert!(changes("POST", path), "{path}");
        }
        assert!(changes("DELETE", "/proxies/a/drain") && changes("DELETE", "/sites/a/evacuate"));
    }
}
