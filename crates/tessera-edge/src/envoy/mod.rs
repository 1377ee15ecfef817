//! An Envoy as a member of the pool: its external authorization (`ext_authz`), over gRPC on a Unix socket.
//!
//! Envoy asks before each request. The answer names the client to services, and the client's current proxy to the client
//! (`Alt-Svc`); the steps of moves are taken here. A request of a client that another proxy owns gets the fields
//! `tessera-owner`, `tessera-client` and `tessera-generation`, by which a route of Envoy's leads to that proxy.

pub(crate) mod messages;
mod service;

use std::sync::Arc;
use std::time::Duration;

use http::header::{COOKIE, HeaderName};
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::time::{Instant, timeout};

use self::messages::{
    CheckRequest, CheckResponse, DeniedHttpResponse, HeaderValueOption, HttpRequest, HttpStatus,
    OkHttpResponse, RpcStatus,
};
pub(crate) use self::service::AuthorizationService;
use crate::edge::{Edge, Routed};
use crate::fields;
use crate::metrics::RequestResult;
use crate::names::KnownCookie;
use crate::paths::{CanonicalPath, is_plain_path};

/// How long Envoy waits for an answer at most: less than its own limit, after which a request passes unchecked or fails.
const PATIENCE: Duration = Duration::from_secs(4);

/// gRPC's codes of the answer: the request may pass, or not, or not now.
const OK: i32 = 0;
const PERMISSION_DENIED: i32 = 7;
const UNAVAILABLE: i32 = 14;

/// Decides on a request.
pub(crate) async fn check(edge: &Arc<Edge>, request: CheckRequest) -> CheckResponse {
    let attributes = request.attributes.unwrap_or_default();
    let http = attributes.request.and_then(|request| request.http).unwrap_or_default();
    let source = attributes.source.unwrap_or_default();
    let (identity, address) = (identity(&source.principal), source.ip());
    if is_private(edge, &http.path) {
        edge.metrics.request(RequestResult::Refused);
        return deny(PERMISSION_DENIED, StatusCode::NOT_FOUND, "no service has this path");
    }
    let named = edge.naming.client(identity.as_deref(), &cookies(&http), &KnownCookie::default());
    let (cookie, no_cookie) = hidden(edge, &http);
    // What the service or the next proxy gets, with these fields of ours.
    let ok = |own: Vec<HeaderValueOption>, names: &[HeaderName]| OkHttpResponse {
        headers: own.into_iter().chain(cookie.clone()).collect(),
        headers_to_remove: claims(&http, names).into_iter().chain(no_cookie.clone()).collect(),
        ..OkHttpResponse::default()
    };
    let Some(named) = named else {
        edge.metrics.request(RequestResult::Served);
        let cookie = edge.naming.new_cookie(tessera_aws_lc::provider().random);
        let cookie = cookie.as_ref().and_then(|cookie| cookie.to_str().ok());
        let cookie = cookie.map(|cookie| HeaderValueOption::add("set-cookie", cookie));
        return allow(OkHttpResponse {
            response_headers_to_add: cookie.into_iter().collect(),
            ..ok(Vec::new(), &[])
        });
    };
    let client = edge.clients.at(&named.name, Instant::now());
    if let Some(identity) = named.identity {
        client.identity.get_or_init(|| identity);
    }
    let name =
        HeaderValueOption::set(fields::CLIENT.as_str(), fields::percent_encoded(&client.name));
    let routed = timeout(PATIENCE, edge.route(&client, edge.has_state(), address)).await;
    match routed.unwrap_or(Routed::Refuse("the client is moving: try again")) {
        Routed::Serve { announce, fence, .. } => {
            edge.metrics.request(RequestResult::Served);
            let announced = edge.alt_svc(&announce);
            let announced = announced.as_ref().and_then(|value| value.to_str().ok());
            let announced = announced.map(|value| HeaderValueOption::set("alt-svc", value));
            let fence = HeaderValueOption::set(fields::FENCE.as_str(), fence.to_string());
            let own = [name].into_iter().chain(edge.has_state().then_some(fence)).collect();
            allow(OkHttpResponse {
                response_headers_to_add: announced.into_iter().collect(),
                ..ok(own, &[fields::CLIENT, fields::FENCE])
            })
        }
        Routed::ServeUnbound => {
            edge.metrics.request(RequestResult::Served);
            allow(ok(vec![name], &[fields::CLIENT]))
        }
        // Its name is another proxy's, and goes into a field.
        Routed::Forward { owner, generation, .. } if HeaderValue::from_str(&owner.0).is_ok() => {
            edge.metrics.request(RequestResult::Forwarded);
            let mut names = HeaderMap::new();
            fields::name_to_proxy(&mut names, &client.name, generation);
            let names = names.iter().filter_map(|(name, value)| {
                Some(HeaderValueOption::set(name.as_str(), value.to_str().ok()?))
            });
            let mut headers: Vec<_> = names.collect();
            headers.push(HeaderValueOption::set(fields::OWNER.as_str(), owner.0));
            allow(ok(headers, &[fields::CLIENT, fields::GENERATION, fields::OWNER]))
        }
        Routed::Forward { .. } => {
            edge.metrics.request(RequestResult::Refused);
            deny(UNAVAILABLE, StatusCode::SERVICE_UNAVAILABLE, "the owner's name can't be sent")
        }
        Routed::Refuse(why) => {
            edge.metrics.request(RequestResult::Refused);
            deny(UNAVAILABLE, StatusCode::SERVICE_UNAVAILABLE, why)
        }
    }
}

/// Whether a path leads to clients' state, or may lead to any path: without one, it isn't known where the request leads.
fn is_private(edge: &Edge, path: &str) -> bool {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    path.is_empty()
        || !is_plain_path(path)
        || edge.services().is_private(&CanonicalPath::of(path).in_any_case())
}

fn deny(code: i32, status: StatusCode, why: &str) -> CheckResponse {
    let retry = (status == StatusCode::SERVICE_UNAVAILABLE)
        .then(|| HeaderValueOption::set("retry-after", "1"));
    CheckResponse {
        status: Some(RpcStatus { code }),
        denied_response: Some(DeniedHttpResponse {
            status: Some(HttpStatus { code: i32::from(status.as_u16()) }),
            headers: retry.into_iter().collect(),
            body: format!("{why}\n"),
        }),
        ..CheckResponse::default()
    }
}

fn allow(response: OkHttpResponse) -> CheckResponse {
    CheckResponse {
        status: Some(RpcStatus { code: OK }),
        ok_response: Some(response),
        ..CheckResponse::default()
    }
}

/// Returns the fields that the client claims, other than those that are set: only proxies add such.
fn claims(http: &HttpRequest, set: &[HeaderName]) -> Vec<String> {
    let is_claim =
        |name: &&String| fields::is_own(name) && !set.iter().any(|set| set == name.as_str());
    http.headers.keys().filter(is_claim).cloned().collect()
}

/// Returns the cookies that a service sees, if they differ from those of the client; or the name of the field, if it sees none.
fn hidden(edge: &Edge, http: &HttpRequest) -> (Option<HeaderValueOption>, Option<String>) {
    let before = cookies(http);
    let mut after = before.clone();
    edge.naming.hide(&mut after);
    match (before == after, cookie_text(&after)) {
        (true, _) => (None, None),
        (false, Some(cookie)) => (Some(HeaderValueOption::set(COOKIE.as_str(), cookie)), None),
        (false, None) => (None, Some(COOKIE.as_str().to_owned())),
    }
}

/// Returns what a client's certificate names, as [`tessera_webpki`] writes it for a certificate with a single name.
pub(crate) fn identity(principal: &str) -> Option<Vec<u8>> {
    let name = match principal {
        "" => return None,
        // A URI begins with a scheme, and no name of DNS has a colon.
        uri if uri.contains(':') && !uri.contains('=') || uri.contains("://") => {
            return Some(format!("uri:{uri}").into_bytes());
        }
        // A subject, of a certificate without other names.
        subject if subject.contains('=') => return None,
        name => name.to_ascii_lowercase(),
    };
    Some(format!("dns:{name}").into_bytes())
}

/// Other cookies may have bytes that aren't ASCII.
fn cookie_text(headers: &HeaderMap) -> Option<&str> {
    headers.get(COOKIE).and_then(|cookie| std::str::from_utf8(cookie.as_bytes()).ok())
}

fn cookies(http: &HttpRequest) -> HeaderMap {
    let cookie = http.headers.get(COOKIE.as_str());
    let value = cookie.and_then(|cookie| HeaderValue::try_from(cookie).ok());
    value.map(|value| (COOKIE, value)).into_iter().collect::<HeaderMap<_>>()
}
