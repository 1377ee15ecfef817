//! Checks requests before the service sees them.

use http::header::{CONTENT_LENGTH, HOST};
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, Request, Version};
use tessera_tokio::HandshakeWatch;
use tessera_tokio::http::{EarlyRequest, mark};

use super::upgrade::{Asked, check_upgrade};
use super::{Early, Refusal, ServerOptions};
use crate::http::body::Body;
use crate::http::hop_by_hop::is_chunked_at_most;

/// What to do with a request.
pub(super) enum Admission {
    Serve,
    /// After the handshake is complete.
    ServeAfter(EarlyRequest),
    Refuse(Refusal),
}

/// Marks an early request, and checks any. Clears `watch` once the handshake is complete.
pub(super) fn admit(
    request: &mut Request<Body>,
    asked: &Asked,
    watch: &mut Option<HandshakeWatch>,
    options: &ServerOptions,
) -> Admission {
    if let Err(refusal) = judge_head(request, options) {
        return Admission::Refuse(refusal);
    }
    match asked {
        Asked::Response => {}
        Asked::Protocol(protocol) => {
            if let Err(refusal) = check_upgrade(request, protocol) {
                return Admission::Refuse(refusal);
            }
        }
        Asked::Unknown => return Admission::Refuse(Refusal::UnknownProtocol),
    }
    let Some(handshake) = watch else { return Admission::Serve };
    mark(request, handshake);
    let Some(early) = request.extensions().get::<EarlyRequest>() else {
        *watch = None;
        return Admission::Serve;
    };
    // What follows it in the first flight could be replayed too, and isn't a request that a rule could judge.
    if !matches!(asked, Asked::Response) {
        return Admission::Refuse(Refusal::TooEarly);
    }
    match (options.early)(request) {
        Early::Process => Admission::Serve,
        Early::Wait => Admission::ServeAfter(early.clone()),
        Early::Refuse => Admission::Refuse(Refusal::TooEarly),
    }
}

fn judge_head(request: &Request<Body>, options: &ServerOptions) -> Result<(), Refusal> {
    let headers = request.headers();
    if headers.len() > options.head_fields {
        return Err(Refusal::TooManyFields);
    }
    // RFC 9112 §3.2. HTTP/2 has `:authority`, and HTTP/1.0 may do without.
    let hosts = headers.get_all(HOST).iter().count();
    if hosts > 1 || hosts == 0 && request.version() == Version::HTTP_11 {
        return Err(Refusal::Host);
    }
    if !has_target(request) {
        return Err(Refusal::Target);
    }
    if !is_chunked_at_most(headers) {
        return Err(Refusal::TransferCoding);
    }
    if !request.body().is_end() && length(headers).is_some_and(|len| len > options.body.max_len) {
        return Err(Refusal::BodyTooLong);
    }
    Ok(())
}

/// Whether the target has the form of its method (RFC 9112 §3.2): an authority alone is CONNECT's, and `*` is that of OPTIONS.
fn has_target(request: &Request<Body>) -> bool {
    match request.uri().path_and_query().map(PathAndQuery::path) {
        None => request.method() == Method::CONNECT,
        Some("*") => request.method() == Method::OPTIONS,
        Some(_) => true,
    }
}

/// Returns the length that a head announces. hyper and h2 check that there is a single one.
pub(super) fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(version: Version, method: Method, target: &str, hosts: usize) -> Result<(), Refusal> {
        let mut request = Request::new(Body::empty());
        (*request.version_mut(), *request.method_mut()) = (version, method);
        *request.uri_mut() = target.parse().expect("a target");
        for _ in 0..hosts {
            request.headers_mut().append(HOST, http::HeaderValue::from_static("www.example"));
        }
        judge_head(&request, &ServerOptions::default())
    }

    #[test]
    fn several_hosts_are_refused_in_each_version_and_none_in_the_one_that_needs_it() {
        let hosts = |version, hosts| judged(version, Method::GET, "/", hosts).is_ok();
        assert_eq!([0, 1, 2].map(|count| hosts(Version::HTTP_10, count)), [true, true, false]);
        assert_eq!([0, 1, 2].map(|count| hosts(Version::HTTP_11, count)), [false, true, false]);
        assert_eq!([0, 1, 2].map(|count| hosts(Version::HTTP_2, count)), [true, true, false]);
    }

    #[test]
    fn a_target_has_the_form_of_its_method() {
        let target = |method, target| judged(Version::HTTP_11, method, target, 1).is_ok();
        assert!(target(Method::GET, "/own") && target(Method::GET, "https://www.example"));
        assert!(target(Method::OPTIONS, "*") && !target(Method::GET, "*"));
        assert!(target(Method::CONNECT, "www.example:443"));
        assert!(!target(Method::GET, "www.example:443"));
    }
}
