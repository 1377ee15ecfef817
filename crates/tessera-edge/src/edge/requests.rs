//! A client's request: served here, or forwarded to the proxy that owns the client.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{ALT_SVC, SET_COOKIE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use tessera_bindings::{ClientName, Fence, Generation};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::{Call, CallErrorKind, Permission};
use tessera_proxy::http::deadline::Deadline;
use tessera_proxy::http::server::{UpgradeRequest, keep};
use tessera_proxy::logging::tracing;
use tessera_tokio::Origin;
use tessera_tokio::http::EarlyRequest;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::response::{failed, no_service, not_admitted, refuse, too_many_sockets};
use super::routing::{MOVING, Routed};
use super::{Edge, PATIENCE};
use crate::clients::{Client, InProgress};
use crate::config::is_authority;
use crate::fields;
use crate::metrics::RequestResult;
use crate::names::{KnownCookie, NamedClient};
use crate::peers::ForwardError;
use crate::places::{Place, SocketHolder};
use crate::services::{self, Service};
use crate::upgrade::call_or_upgrade;

/// A client's connection.
pub(crate) struct ClientConnection {
    pub(crate) address: Option<IpAddr>,
    /// What the client's certificate names.
    pub(crate) identity: Option<Vec<u8>>,
    /// The client of the last request, and the signal that its connections should end, from that request on.
    client: Mutex<Option<(Arc<Client>, watch::Receiver<u64>)>>,
    named: Notify,
    cookie: KnownCookie,
    /// Whether the one-time keys of this connection's tickets went where the client's next connection goes.
    has_moved_keys: AtomicBool,
}

/// A request that this proxy executes as the client's owner.
#[derive(Clone, Copy)]
pub(crate) struct OwnRequest<'r> {
    pub(crate) fence: Fence,
    pub(crate) in_progress: &'r InProgress,
}

/// A client or an address has as many WebSockets as it may.
#[derive(Debug)]
pub(super) struct TooManySockets;

/// How often a request is forwarded, if each time the other proxy refuses it.
const FORWARDS: usize = 3;

impl ClientConnection {
    pub(crate) fn new(address: Option<IpAddr>, identity: Option<Vec<u8>>) -> Self {
        Self {
            address,
            identity,
            client: Mutex::default(),
            named: Notify::new(),
            cookie: KnownCookie::default(),
            has_moved_keys: AtomicBool::new(false),
        }
    }

    /// Completes when the connection's client has moved to another proxy.
    pub(crate) async fn left(&self) {
        loop {
            let named = self.named.notified();
            let leaving = self.client.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let Some((_, mut leaving)) = leaving else {
                named.await;
                continue;
            };
            tokio::select! {
                changed = leaving.changed() => match changed {
                    Ok(()) => return,
                    Err(_) => std::future::pending().await,
                },
                // Another client: a gateway's connection.
                () = named => {}
            }
        }
    }

    fn note_client(&self, client: &Arc<Client>) {
        let mut current = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if !current.as_ref().is_some_and(|(current, _)| Arc::ptr_eq(current, client)) {
            *current = Some((client.clone(), client.leaving()));
            self.named.notify_waiters();
        }
    }
}

impl Edge {
    /// Answers a client's request.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        connection: &ClientConnection,
        request: Request<Body>,
    ) -> Response<Body> {
        // Nothing checks what a client claims there.
        let mut request = request.map(Body::without_trailers);
        fields::remove_claims(request.headers_mut());
        let services = self.services();
        let service = match services.find(&request) {
            Ok(service) => service,
            Err(status) => return self.refused(no_service(status)),
        };
        let identity = connection.identity.as_deref();
        if let Err(status) = service.admit(request.method(), identity) {
            return self.refused(not_admitted(service, status));
        }
        let host = services::host(&request).unwrap_or_default();
        let version = request.version();
        fields::add_way(request.headers_mut(), version, connection.address, &host);
        let named = self.naming.client(identity, request.headers(), &connection.cookie);
        self.naming.hide(request.headers_mut());
        let holder = || match &named {
            // It has no other name.
            Some(NamedClient { name, identity: Some(_) }) => SocketHolder::Client(name.clone()),
            _ => SocketHolder::Address(connection.address.map_or(Origin::LOCAL, Origin::from)),
        };
        let Ok(place) = self.socket_place(&request, holder) else {
            return self.refused(too_many_sockets());
        };
        let mut response = match named {
            Some(named) => self.answer_named(service, connection, named, request).await,
            None => self.answer_nameless(service, request).await,
        };
        if let Some(place) = place {
            keep(&mut response, place);
        }
        response
    }

    /// Returns the place of the WebSocket for which a request asks, if it does: it is held as long as that is open. Fails if
    /// its holder has as many as it may.
    pub(super) fn socket_place(
        &self,
        request: &Request<Body>,
        holder: impl FnOnce() -> SocketHolder,
    ) -> Result<Option<Place<SocketHolder>>, TooManySockets> {
        match request.extensions().get::<UpgradeRequest>() {
            Some(_) => self.sockets.take(holder()).map(Some).ok_or(TooManySockets),
            None => Ok(None),
        }
    }

    async fn answer_nameless(
        self: &Arc<Self>,
        service: &Service,
        request: Request<Body>,
    ) -> Response<Body> {
        let mut response = self.execute(service, None, None, request).await;
        if let Some(cookie) = self.naming.new_cookie(tessera_aws_lc::provider().random) {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        response
    }

    async fn answer_named(
        self: &Arc<Self>,
        service: &Service,
        connection: &ClientConnection,
        named: NamedClient,
        request: Request<Body>,
    ) -> Response<Body> {
        let client = self.clients.at(&named.name, Instant::now());
        if let Some(identity) = named.identity {
            client.identity.get_or_init(|| identity);
        }
        connection.note_client(&client);
        self.send_keys_ahead(connection, &client, request.extensions().get());
        self.answer_client(service, &client, connection.address, request).await
    }

    /// Moves the one-time keys of this connection's tickets to the proxy that the client's next connection goes to: a flight
    /// whose key isn't there costs a round trip.
    fn send_keys_ahead(
        self: &Arc<Self>,
        connection: &ClientConnection,
        client: &Client,
        early: Option<&EarlyRequest>,
    ) {
        if self.vault.is_none() {
            return;
        }
        let next = self.table.binding(&client.name).map(|binding| binding.announced().clone());
        let Some(next) = next.filter(|next| *next != self.own) else { return };
        if connection.has_moved_keys.swap(true, Ordering::Relaxed) {
            return;
        }
        let (edge, name, early) = (self.clone(), client.name.clone(), early.cloned());
        tokio::spawn(async move {
            // Its tickets are sent at the end of the handshake.
            if let Some(early) = early
                && early.completed().await.is_err()
            {
                return;
            }
            edge.move_keys(&name, &next);
        });
    }

    /// Answers a request of a client that has a name.
    async fn answer_client(
        self: &Arc<Self>,
        service: &Service,
        client: &Arc<Client>,
        from: Option<IpAddr>,
        mut request: Request<Body>,
    ) -> Response<Body> {
        let name = &client.name;
        for _ in 0..FORWARDS {
            match self.route(client, service.state.is_some(), from).await {
                Routed::Serve { announce, fence, in_progress } => {
                    let own = OwnRequest { fence, in_progress: &in_progress };
                    let is_upgrade = request.extensions().get::<UpgradeRequest>().is_some();
                    let mut response = self.execute(service, Some(name), Some(own), request).await;
                    // A WebSocket ends where it is, and no hand-over waits for it.
                    if !is_upgrade {
                        keep(&mut response, in_progress);
                    }
                    self.announce(&mut response, &announce);
                    return response;
                }
                Routed::ServeUnbound => {
                    return self.execute(service, Some(name), None, request).await;
                }
                Routed::Forward { to, generation, .. } => {
                    let again = repeated(&request);
                    match self.forward(&to, name, generation, request).await {
                        Ok(response) => return response,
                        Err(ForwardError::Failed(error)) => {
                            self.metrics.request(RequestResult::Failed);
                            return failed("the client's proxy", &error);
                        }
                        Err(ForwardError::Refused) => {}
                    }
                    let binding = self.table.binding(name);
                    let is_other = || self.table.binding(name) != binding;
                    match again {
                        Some(again) if self.wait_until(name, is_other).await => request = again,
                        _ => break,
                    }
                }
                Routed::Refuse(why) => {
                    return self.refused(refuse(StatusCode::SERVICE_UNAVAILABLE, why));
                }
            }
        }
        self.refused(refuse(StatusCode::SERVICE_UNAVAILABLE, MOVING))
    }

    /// Sends a request to an instance of its service, which is one without state if the client has no owner.
    pub(crate) async fn execute(
        self: &Arc<Self>,
        service: &Service,
        client: Option<&ClientName>,
        own: Option<OwnRequest<'_>>,
        mut request: Request<Body>,
    ) -> Response<Body> {
        if let Some(client) = client {
            fields::name_to_service(request.headers_mut(), client);
        }
        let mut call = Call::until(Deadline::after(self.settings.answer));
        if service.is_repeatable || is_safe(request.method()) {
            call = call.repeatable();
        }
        if let Some(own) = own.filter(|_| service.state.is_some()) {
            fields::add_fence(request.headers_mut(), own.fence);
            let (edge, may_be_sent) = (self.clone(), own.in_progress.may_be_sent());
            let is_own = move || edge.table.is_sure_for(&edge.lease) && may_be_sent();
            call = call.while_permitted(Permission::new(is_own));
        }
        match call_or_upgrade(&service.instances, request, call, service.upgrades).await {
            Ok(mut response) => {
                let status = response.status();
                if fields::is_fenced_off(status, response.headers()) {
                    return self.refused(refuse(StatusCode::SERVICE_UNAVAILABLE, MOVING));
                }
                fields::clean_response(response.headers_mut(), status);
                self.naming.hide_set(response.headers_mut());
                self.metrics.request(RequestResult::Served);
                response
            }
            Err(error) => {
                tracing::debug!(service = service.name, "{error}");
                self.metrics.request(match error.kind {
                    CallErrorKind::Withdrawn => RequestResult::Refused,
                    _ => RequestResult::Failed,
                });
                failed("the service", &error)
            }
        }
    }

    /// Forwards a request to the proxy that owns the client.
    async fn forward(
        &self,
        to: &str,
        name: &ClientName,
        generation: Generation,
        mut request: Request<Body>,
    ) -> Result<Response<Body>, ForwardError> {
        fields::name_to_proxy(request.headers_mut(), name, generation);
        let deadline = Deadline::after(self.settings.answer.saturating_add(PATIENCE));
        let mut response = self.peers.forward(to, request, deadline).await?;
        fields::remove_own(response.headers_mut());
        self.metrics.request(RequestResult::Forwarded);
        Ok(response)
    }

    /// Names the client's current proxy.
    pub(super) fn announce(&self, response: &mut Response<Body>, authority: &str) {
        if let Some(value) = self.alt_svc(authority) {
            response.headers_mut().insert(ALT_SVC, value);
        }
    }

    /// Returns the field `Alt-Svc` (RFC 7838) with a proxy. It is always the same `ma`: see
    /// [`PoolSection::ma`](crate::config::PoolSection::ma). None: what the proxy has in the store is no authority, and would
    /// be more than one value of the field.
    pub(crate) fn alt_svc(&self, authority: &str) -> Option<HeaderValue> {
        if authority == self.entry.authority {
            return self.own_alt_svc.clone();
        }
        alt_svc(authority, self.settings.ma)
    }

    pub(super) fn refused(&self, response: Response<Body>) -> Response<Body> {
        self.metrics.request(RequestResult::Refused);
        response
    }
}

/// Returns the field `Alt-Svc` with an authority.
pub(crate) fn alt_svc(authority: &str, ma: Duration) -> Option<HeaderValue> {
    if !is_authority(authority) {
        return None;
    }
    let ma = ma.as_secs();
    HeaderValue::try_from(format!("h2=\"{authority}\"; ma={ma}; persist=1")).ok()
}

/// RFC 9110 §9.2.1.
fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// Returns a second copy of a request that has no body, for when the first one is refused.
fn repeated(request: &Request<Body>) -> Option<Request<Body>> {
    if !request.body().is_end() {
        return None;
    }
    let mut copy = Request::new(Body::empty());
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    if let Some(upgrade) = request.extensions().get::<UpgradeRequest>() {
        copy.extensions_mut().insert(upgrade.clone());
    }
    Some(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_whose_body_is_gone_is_not_sent_again() {
        let request = |body| Request::post("https://www.example/x").body(body).unwrap();
        assert!(repeated(&request(Body::full("x".into()))).is_none());
        let copy = repeated(&request(Body::empty())).unwrap();
        assert_eq!((copy.method(), copy.uri().path()), (&Method::POST, "/x"));
        assert!(copy.body().is_end());
    }
}
