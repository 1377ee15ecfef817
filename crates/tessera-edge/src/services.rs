//! The services: which one a request is for, whom it admits, and its instances.

use std::sync::Arc;

use http::uri::Authority;
use http::{HeaderMap, Method, Request, StatusCode};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::{Pool, Protocol};

use crate::config::ServiceSection;
use crate::paths::{CanonicalPath, is_plain_path};

/// A service with its instances.
pub(crate) struct Service {
    pub(crate) name: String,
    hosts: Vec<String>,
    path: CanonicalPath,
    /// The path in any case, if the service has a policy: its instances, or another service's, may ignore case.
    guarded: Option<CanonicalPath>,
    methods: Vec<Method>,
    admit: Vec<String>,
    /// The path below which its instances export and import state.
    pub(crate) state: Option<String>,
    /// In any case.
    private: Option<CanonicalPath>,
    pub(crate) is_repeatable: bool,
    pub(crate) instances: Pool,
    /// The version of HTTP in which upgrades are sent to them.
    pub(crate) upgrades: Protocol,
}

/// All services of a proxy.
pub(crate) struct Services(Vec<Arc<Service>>);

impl Service {
    /// Makes a service of its section.
    pub(crate) fn new(name: &str, section: &ServiceSection, instances: Pool) -> Self {
        let method = |method: &String| Method::from_bytes(method.as_bytes()).ok();
        Self {
            name: name.to_owned(),
            hosts: section.hosts.clone(),
            guarded: (!section.methods.is_empty() || !section.admit.is_empty())
                .then(|| CanonicalPath::of(&section.path).in_any_case()),
            path: CanonicalPath::of(&section.path),
            methods: section.methods.iter().filter_map(method).collect(),
            admit: section.admit.clone(),
            state: section.state.clone(),
            private: section.state.as_deref().map(|it| CanonicalPath::of(it).in_any_case()),
            is_repeatable: section.repeatable,
            instances,
            upgrades: if section.http2 { Protocol::Http2 } else { Protocol::Http1 },
        }
    }

    fn serves(&self, host: &str, path: &CanonicalPath, in_any_case: &CanonicalPath) -> bool {
        let is_below = match &self.guarded {
            Some(guarded) => in_any_case.is_below(guarded),
            None => path.is_below(&self.path),
        };
        is_below && (self.hosts.is_empty() || self.hosts.iter().any(|own| own == host))
    }

    /// Checks the policy: `identity` is what the client's certificate names.
    pub(crate) fn admit(&self, method: &Method, identity: Option<&[u8]>) -> Result<(), StatusCode> {
        let is_allowed = match self.methods.is_empty() {
            true => *method != Method::CONNECT && *method != Method::TRACE,
            false => self.methods.contains(method),
        };
        if !is_allowed {
            return Err(StatusCode::METHOD_NOT_ALLOWED);
        }
        let is_admitted =
            self.admit.is_empty() || identity.is_some_and(|it| names_one(it, &self.admit));
        is_admitted.then_some(()).ok_or(StatusCode::FORBIDDEN)
    }

    /// Returns a host for requests that are of no client.
    pub(crate) fn any_host(&self) -> &str {
        self.hosts.first().map_or("localhost", String::as_str)
    }

    /// Returns the methods that clients may use, for the field `Allow`; if those are all, the ones of RFC 9110 and RFC 5789.
    pub(crate) fn allowed(&self) -> String {
        if self.methods.is_empty() {
            return "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS".to_owned();
        }
        self.methods.iter().map(Method::as_str).collect::<Vec<_>>().join(", ")
    }
}

impl Services {
    pub(crate) fn new(services: Vec<Service>) -> Self {
        let mut services: Vec<_> = services.into_iter().map(Arc::new).collect();
        // The longest path first, and of the same path the one with hosts.
        services.sort_by_key(|it| std::cmp::Reverse((it.path.len(), !it.hosts.is_empty())));
        Self(services)
    }

    /// Returns the service that a request is for.
    pub(crate) fn find(&self, request: &Request<Body>) -> Result<&Arc<Service>, StatusCode> {
        let path = request.uri().path();
        // `/public/../private` may be another path at the instance than here.
        if !is_plain_path(path) || !has_scheme_of_http(request) {
            return Err(StatusCode::BAD_REQUEST);
        }
        let host = host(request).ok_or(StatusCode::BAD_REQUEST)?;
        let path = CanonicalPath::of(path);
        // Only proxies read and write clients' state. Another service may have the same instances.
        let in_any_case = path.in_any_case();
        if self.is_private(&in_any_case) {
            return Err(StatusCode::NOT_FOUND);
        }
        let service = self.0.iter().find(|it| it.serves(&host, &path, &in_any_case));
        service.ok_or(StatusCode::NOT_FOUND)
    }

    /// Whether a path, [in any case](CanonicalPath::in_any_case), leads to clients' state at the instances of any service.
    pub(crate) fn is_private(&self, in_any_case: &CanonicalPath) -> bool {
        self.0.iter().filter_map(|it| it.private.as_ref()).any(|it| in_any_case.is_below(it))
    }

    /// Returns all of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Service>> {
        self.0.iter()
    }
}

/// Whether one of the names of an identity is in the list. `tessera_webpki` lists names as `dns:a.example uri:urn:x`.
fn names_one(identity: &[u8], admitted: &[String]) -> bool {
    let Ok(text) = std::str::from_utf8(identity) else { return false };
    if !text.starts_with("dns:") && !text.starts_with("uri:") {
        return false;
    }
    text.split(' ').any(|name| match (name.strip_prefix("dns:"), name.strip_prefix("uri:")) {
        // RFC 4343: names of DNS don't differ by case, and identities have them in lower case.
        (Some(name), _) => admitted.iter().any(|it| it.eq_ignore_ascii_case(name)),
        (_, Some(uri)) => admitted.iter().any(|it| it == uri),
        _ => false,
    })
}

/// Whether a target in absolute form (RFC 9112 §3.2.2) names a scheme of HTTP.
fn has_scheme_of_http(request: &Request<Body>) -> bool {
    request.uri().scheme_str().is_none_or(|scheme| matches!(scheme, "http" | "https"))
}

/// Returns the host of a request, in lower case, without its port. A request with two different ones is for neither, and one
/// with a user's name is for none (RFC 9110 §4.2.4).
pub(crate) fn host(request: &Request<Body>) -> Option<String> {
    let of_uri = request.uri().authority();
    let of_field = host_field(request.headers());
    let is_named = |authority: &Authority| authority.as_str().contains('@');
    if of_uri.is_some_and(is_named) || of_field.as_ref().is_some_and(is_named) {
        return None;
    }
    let of_uri = of_uri.map(|it| it.host().to_ascii_lowercase());
    let of_field = of_field.map(|it| it.host().to_ascii_lowercase());
    match (of_uri, of_field) {
        (Some(uri), Some(field)) => (uri == field).then_some(uri),
        (uri, field) => uri.or(field),
    }
}

fn host_field(headers: &HeaderMap) -> Option<Authority> {
    headers.get(http::header::HOST)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tessera_proxy::address::DialAddress;
    use tessera_proxy::config::Document;
    use tessera_proxy::http::client::{Plaintext, PoolOptions};

    use super::*;

    fn service(name: &str, more: &str) -> Service {
        let text = format!("instances = [\"127.0.0.1:1\"]\n{more}");
        let section = Document::from_text(Path::new("s.toml"), text).parse().unwrap();
        let address: DialAddress = "127.0.0.1:1".parse().unwrap();
        let instances = Pool::new(Arc::new(Plaintext::default()), address, PoolOptions::default());
        Service::new(name, &section, instances)
    }

    fn found(services: &Services, uri: &str) -> Result<String, u16> {
        let request = Request::get(uri).body(Body::empty()).unwrap();
        services.find(&request).map(|it| it.name.clone()).map_err(|status| status.as_u16())
    }

    #[tokio::test]
    async fn the_longest_path_of_the_host_is_chosen() {
        let services = Services::new(vec![
            service("all", ""),
            service("www", "hosts = [\"www.example\"]"),
            service("api", "hosts = [\"www.example\"]\npath = \"/api\""),
        ]);
        let found = |uri| found(&services, uri);
        assert_eq!(found("https://other.example/api").unwrap(), "all");
        assert_eq!(found("https://WWW.example:8443/apis").unwrap(), "www");
        assert_eq!(found("https://www.example/api").unwrap(), "api");
        assert_eq!(found("https://www.example/api/x?/../").unwrap(), "api");
        assert_eq!(found("/api"), Err(400));
    }

    #[tokio::test]
    async fn a_path_that_others_may_read_otherwise_is_refused() {
        let services = Services::new(vec![service("public", "path = \"/public\"")]);
        for path in [
            "/public/../x",
            "/public/%2E%2e/x",
            "/public/.%2e",
            "/public/./x",
            "/public%2f..",
            "/public\\..\\x",
        ] {
            let request = Request::get("https://a.example/").body(Body::empty()).unwrap();
            let (mut parts, body) = request.into_parts();
            // `http` itself refuses some of them.
            let Ok(uri) = format!("https://a.example{path}").parse() else { continue };
            parts.uri = uri;
            assert_eq!(
                services.find(&Request::from_parts(parts, body)).err(),
                Some(StatusCode::BAD_REQUEST),
                "{path}"
            );
        }
        assert_eq!(found(&services, "https://a.example/public/..x").unwrap(), "public");
        assert_eq!(found(&services, "https://a.example/private"), Err(404));
    }

    #[tokio::test]
    async fn another_spelling_of_a_path_leads_to_the_same_service() {
        let services =
            Services::new(vec![service("open", ""), service("admin", "path = \"/admin\"")]);
        for path in ["/admin", "/%61dmin/x", "//admin", "/admin;x=1/y"] {
            let uri = format!("https://a.example{path}");
            assert_eq!(found(&services, &uri).unwrap(), "admin", "{path}");
        }
    }

    /// Its instances may ignore case, and those of the service that would get it too.
    #[tokio::test]
    async fn another_case_of_a_path_evades_no_policy() {
        let narrow = |path| service("narrow", &format!("path = \"{path}\"\nmethods = [\"GET\"]"));
        let services = Services::new(vec![
            service("open", ""),
            narrow("/Admin"),
            service("plain", "path = \"/plain\""),
        ]);
        let found = |path: &str| found(&services, &format!("https://a.example{path}")).unwrap();
        for path in ["/Admin", "/admin", "/ADMIN/x", "/%41dmin"] {
            assert_eq!(found(path), "narrow", "{path}");
        }
        assert_eq!((found("/plain/x"), found("/Plain")), ("plain".into(), "open".into()));
    }

    #[tokio::test]
    async fn clients_do_not_reach_the_state_of_clients() {
        let cart = service("cart", "path = \"/cart\"\nstate = \"/State\"");
        let services = Services::new(vec![service("web", ""), cart]);
        for path in
            ["/state/x", "/State", "//state/x", "/%73tate/x", "/state;y/x", "/STATE/x", "/%53tate"]
        {
            assert_eq!(found(&services, &format!("https://a.example{path}")), Err(404), "{path}");
        }
        assert_eq!(found(&services, "https://a.example/states").unwrap(), "web");
    }

    #[tokio::test]
    async fn a_target_of_another_scheme_is_refused() {
        let services = Services::new(vec![service("web", "")]);
        assert_eq!(found(&services, "ftp://a.example/"), Err(400));
        assert_eq!(found(&services, "http://a.example/").unwrap(), "web");
    }

    #[test]
    fn a_host_with_a_users_name_is_none() {
        let of = |uri: &str| host(&Request::get(uri).body(Body::empty()).unwrap());
        assert_eq!(of("https://king@a.example/"), None);
        assert_eq!(of("https://a.example/x@y").as_deref(), Some("a.example"));
        let field = Request::get("/").header("host", "king@a.example").body(Body::empty());
        assert_eq!(host(&field.unwrap()), None);
    }

    #[test]
    fn a_request_with_two_hosts_is_for_neither() {
        let request = |field: &str| {
            let request = Request::get("https://a.example/").header("host", field);
            host(&request.body(Body::empty()).unwrap())
        };
        assert_eq!(request("A.example:443").as_deref(), Some("a.example"));
        assert_eq!(request("b.example"), None);
    }

    #[tokio::test]
    async fn the_policy_names_methods_and_clients() {
        let open = service("open", "");
        assert_eq!(open.admit(&Method::PUT, None), Ok(()));
        assert_eq!(open.admit(&Method::TRACE, None), Err(StatusCode::METHOD_NOT_ALLOWED));
        assert_eq!(open.allowed(), "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
        let narrow =
            service("narrow", "methods = [\"GET\", \"HEAD\"]\nadmit = [\"drone-7.example\"]");
        let drone = Some(&b"dns:drone-7.example uri:urn:x"[..]);
        assert_eq!(narrow.admit(&Method::GET, drone), Ok(()));
        assert_eq!(narrow.admit(&Method::POST, drone), Err(StatusCode::METHOD_NOT_ALLOWED));
        assert_eq!(narrow.allowed(), "GET, HEAD");
        for other in
            [None, Some(&b"dns:drone-8.example"[..]), Some(b"subject:x dns:drone-7.example")]
        {
            assert_eq!(narrow.admit(&Method::GET, other), Err(StatusCode::FORBIDDEN), "{other:?}");
        }
    }
}
