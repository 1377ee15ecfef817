//! What other proxies of the pool send: requests of this proxy's clients, and questions for a client's state. Only holders of
//! a certificate of the pool reach this.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Request, Response, StatusCode};
use tessera_bindings::{BindingState, ClientName, Fence, ForwardedRoute, Generation, ProxyLease};
use tessera_kit::clock::unix;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::deadline::Deadline;
use tessera_proxy::http::server::keep;
use tessera_proxy::logging::tracing;
use tokio::time::{Instant, timeout};

use super::Edge;
use super::requests::OwnRequest;
use super::response::{no_service, not_admitted, refuse, too_many_sockets};
use super::routing::Routed;
use crate::fields::{self, INCOMPLETE, REFUSED, STATE, STATE_VERSION};
use crate::peers::StateQuestion;
use crate::places::SocketHolder;

impl Edge {
    /// Answers another proxy.
    pub(crate) async fn answer_peer(
        self: &Arc<Self>,
        mut request: Request<Body>,
    ) -> Response<Body> {
        let question = request.headers_mut().remove(STATE);
        let Some((name, generation)) = fields::take_names(request.headers_mut()) else {
            return refuse(
                StatusCode::BAD_REQUEST,
                "another proxy must name the client and the generation",
            );
        };
        // An Envoy names the owner, too.
        fields::remove_own(request.headers_mut());
        if let Some(question) = question {
            let Some(question) = StateQuestion::of(&question) else {
                return refuse(
                    StatusCode::BAD_REQUEST,
                    "this question isn't known: upgrade this proxy",
                );
            };
            return self.answer_state(&name, generation, question).await;
        }
        self.answer_forwarded(&name, generation, request).await
    }

    /// Serves a request that another proxy forwarded, or refuses it: there is no second hop.
    async fn answer_forwarded(
        self: &Arc<Self>,
        name: &ClientName,
        generation: Generation,
        request: Request<Body>,
    ) -> Response<Body> {
        let route = || self.table.route_forwarded(name, &self.own, generation);
        // The other proxy may know of a move that this one doesn't know of yet.
        self.wait_until(name, || route() != ForwardedRoute::Wait).await;
        if route() != ForwardedRoute::Serve {
            return self.refused(not_here());
        }
        let services = self.services();
        let service = match services.find(&request) {
            Ok(service) => service,
            Err(status) => return self.refused(no_service(status)),
        };
        // An Envoy applies no policy, and another proxy may have another one.
        let identity = self.identity_of(name);
        if let Err(status) = service.admit(request.method(), identity.as_deref()) {
            return self.refused(not_admitted(service, status));
        }
        let holder = || SocketHolder::Client(name.clone());
        let Ok(place) = self.socket_place(&request, holder) else {
            return self.refused(too_many_sockets());
        };
        let client = self.clients.at(name, Instant::now());
        match self.route(&client, service.state.is_some(), None).await {
            Routed::Serve { announce, fence, in_progress } => {
                let own = OwnRequest { fence, in_progress: &in_progress };
                let mut response = self.execute(service, Some(name), Some(own), request).await;
                match place {
                    Some(place) => keep(&mut response, place),
                    None => keep(&mut response, in_progress),
                }
                self.announce(&mut response, &announce);
                response
            }
            _ => self.refused(not_here()),
        }
    }

    /// Exports a client's state for its next proxy.
    async fn answer_state(
        &self,
        name: &ClientName,
        generation: Generation,
        question: StateQuestion,
    ) -> Response<Body> {
        // The other proxy has read the store, and this one may be behind.
        let is_known = || self.table.binding(name).is_some_and(|it| it.generation >= generation);
        if !self.wait_until(name, is_known).await
            || self.table.binding(name).is_none_or(|it| it.generation != generation)
        {
            return not_here();
        }
        let (fence, limit, is_complete) = match question {
            StateQuestion::Export => match self.table.binding(name) {
                Some(binding) if binding.owner() == &self.own => (binding.fence(), EXPORT, true),
                _ => return not_here(),
            },
            StateQuestion::HandOver => {
                // It must not end for a client that stays: no other proxy serves it.
                let has_left = || {
                    self.table.binding(name).is_some_and(|it| match &it.state {
                        BindingState::Switched { earlier, .. } => *earlier == self.own,
                        _ => false,
                    })
                };
                if !self.wait_until(name, has_left).await {
                    return not_here();
                }
                let is_complete = self.hand_over(name, generation).await;
                (Fence::of_last_changes(generation), LAST_EXPORT, is_complete)
            }
        };
        let state = match self.export(name, fence, Deadline::after(limit)).await {
            Ok(state) => state,
            Err(why) => {
                tracing::warn!("a client's state can't be exported: {why}");
                return refuse(StatusCode::BAD_GATEWAY, &why);
            }
        };
        let version = state.version();
        match state.seal(&self.state_keys, name, generation, unix()) {
            Some(sealed) => {
                let mut response = Response::new(Body::full(sealed.into()));
                response.headers_mut().insert(STATE_VERSION, HeaderValue::from(version));
                if !is_complete {
                    response.headers_mut().insert(INCOMPLETE, HeaderValue::from_static("?1"));
                }
                response
            }
            None => refuse(StatusCode::INTERNAL_SERVER_ERROR, "the state can't be sealed"),
        }
    }

    /// Executes no more requests of a client in this generation; false if some are still in progress.
    async fn hand_over(&self, name: &ClientName, generation: Generation) -> bool {
        let client = self.clients.at(name, Instant::now());
        let is_quiet = timeout(HAND_OVER, client.hand_over(generation)).await.is_ok();
        if !is_quiet {
            tracing::warn!(
                client = %String::from_utf8_lossy(name.as_bytes()),
                "requests of the client are still in progress: what they change is lost"
            );
        }
        is_quiet
    }
}

/// How long the instances may take to export.
const EXPORT: Duration = Duration::from_secs(2);

/// How long a hand-over waits for requests in progress, and then for the export.
const HAND_OVER: Duration = Duration::from_millis(1500);
const LAST_EXPORT: Duration = Duration::from_secs(1);

/// How long the next proxy waits for the answer to a hand-over: longer than it takes.
pub(crate) const LAST_CHANGES: Duration = Duration::from_secs(3);

// This proxy may have been frozen before it could answer: when it goes on, the next one executes requests.
const _: () = assert!(
    LAST_CHANGES.as_millis() > HAND_OVER.as_millis() + LAST_EXPORT.as_millis()
        && LAST_CHANGES.as_millis() > ProxyLease::LONGEST_PAUSE.as_millis()
);

/// Refuses a request without having executed it. An Envoy passes the refusal on to the client, who may try again.
fn not_here() -> Response<Body> {
    let why = "another proxy serves this client: try again";
    let mut response = refuse(StatusCode::SERVICE_UNAVAILABLE, why);
    response.headers_mut().insert(REFUSED, HeaderValue::from_static("?1"));
    response
}
