//! The channel to the other proxies of the pool: HTTP/2 over mutual TLS.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use tessera_bindings::{ClientName, Generation};
use tessera_proxy::address::DialAddress;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::{
    Call, CallError, CallErrorKind, Connect, Pool, PoolOptions, Protocol,
};
use tessera_proxy::http::deadline::Deadline;
use tessera_proxy::logging::tracing;
use tokio::time::Instant;

use crate::fields::{self, INCOMPLETE, REFUSED, STATE, STATE_VERSION};
use crate::state::ClientState;
use crate::troubles::Troubles;
use crate::upgrade::call_or_upgrade;

/// Calls the other proxies.
pub(crate) struct Peers {
    connect: Arc<dyn Connect>,
    /// By address. One for each proxy that was ever called, of a pool that is small.
    pools: Mutex<HashMap<(String, Purpose), Pool>>,
    /// By address as well.
    troubles: Troubles<String>,
}

/// What connections are for: clients' requests take as long as they like, and must not delay a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Purpose {
    Requests,
    State,
}

impl Purpose {
    /// The most connections to another proxy, of 100 calls each.
    const fn connections(self) -> usize {
        match self {
            Self::Requests => 64,
            Self::State => 4,
        }
    }
}

/// Why a request wasn't answered by another proxy.
pub(crate) enum ForwardError {
    /// It doesn't serve the client, and executed nothing.
    Refused,
    /// It can't be reached, or failed.
    Failed(CallError),
}

/// What another proxy is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateQuestion {
    /// The state as it is now.
    Export,
    /// The last state: the other proxy executes no more requests in this generation.
    HandOver,
}

/// A client's state, as another proxy has exported it.
pub(crate) struct SealedState {
    pub(crate) sealed: Bytes,
    /// Whether no request of the client was in progress there.
    pub(crate) is_complete: bool,
}

/// How many WebSockets may be forwarded to a proxy at a time.
const UPGRADES: usize = 400;

/// How long an export may take.
const EXPORT: Duration = Duration::from_secs(5);

impl StateQuestion {
    const fn text(self) -> &'static str {
        match self {
            Self::Export => "export",
            Self::HandOver => "hand-over",
        }
    }

    pub(crate) fn of(text: &HeaderValue) -> Option<Self> {
        [Self::Export, Self::HandOver].into_iter().find(|it| text == it.text())
    }
}

impl Peers {
    /// `connect` reaches them by mutual TLS.
    pub(crate) fn new(connect: Arc<dyn Connect>) -> Self {
        Self { connect, pools: Mutex::default(), troubles: Troubles::new() }
    }

    /// Moves new calls to new connections, since certificates were replaced.
    pub(crate) fn renew(&self) {
        let pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.values().for_each(Pool::renew);
    }

    /// Forwards a request, which names its client.
    pub(crate) async fn forward(
        &self,
        to: &str,
        request: Request<Body>,
        deadline: Deadline,
    ) -> Result<Response<Body>, ForwardError> {
        let Some(pool) = self.pool(to, Purpose::Requests) else {
            return Err(ForwardError::Refused);
        };
        let answer = call_or_upgrade(&pool, request, Call::until(deadline), Protocol::Http2).await;
        let response = answer.map_err(|error| {
            self.report(to, &error);
            ForwardError::Failed(error)
        })?;
        match response.headers().contains_key(REFUSED) {
            true => Err(ForwardError::Refused),
            false => Ok(response),
        }
    }

    /// Logs a failure of the other proxy, or of the way there.
    fn report(&self, to: &str, error: &CallError) {
        let is_its_own = matches!(
            error.kind,
            CallErrorKind::Unreachable
                | CallErrorKind::Busy
                | CallErrorKind::DeadlineExceeded
                | CallErrorKind::ConnectionLost
        );
        if is_its_own && let Some(left_out) = self.troubles.due(&to.to_owned(), Instant::now()) {
            tracing::warn!(
                to,
                left_out,
                "a request can't be forwarded to the proxy that owns its client: {error}; compare [peers] of both"
            );
        }
    }

    /// Returns a client's sealed state, as its owner exports it for this move.
    pub(crate) async fn state(
        &self,
        owner: &str,
        client: &ClientName,
        generation: Generation,
    ) -> Result<Bytes, String> {
        let asked = self.ask(owner, client, generation, StateQuestion::Export, EXPORT).await?;
        Ok(asked.sealed)
    }

    /// Takes the client's last state from its earlier owner, which executes no more of its requests.
    pub(crate) async fn last_changes(
        &self,
        earlier: &str,
        client: &ClientName,
        generation: Generation,
        limit: Duration,
    ) -> Result<SealedState, String> {
        self.ask(earlier, client, generation, StateQuestion::HandOver, limit).await
    }

    async fn ask(
        &self,
        to: &str,
        client: &ClientName,
        generation: Generation,
        question: StateQuestion,
        limit: Duration,
    ) -> Result<SealedState, String> {
        let deadline = Deadline::after(limit);
        let pool = self.pool(to, Purpose::State).ok_or_else(|| format!("{to} is no address"))?;
        let mut request = Request::new(Body::empty());
        *request.uri_mut() =
            format!("https://{to}/").parse().map_err(|_| format!("{to} is no host"))?;
        fields::name_to_proxy(request.headers_mut(), client, generation);
        request.headers_mut().insert(STATE, HeaderValue::from_static(question.text()));
        let call = Call::until(deadline).repeatable();
        let answer = pool.call(request, call).await.map_err(|error| format!("{to}: {error}"))?;
        let response = answer.response;
        match response.status() {
            StatusCode::OK if response.headers().contains_key(STATE_VERSION) => (),
            other => return Err(format!("{to} answered {other}")),
        }
        let is_complete = !response.headers().contains_key(INCOMPLETE);
        let body = response.into_body().collect_up_to(ClientState::LONGEST_SEALED);
        let body = deadline.limit(body).await.map_err(|_| format!("{to} is too slow"))?;
        let sealed = body.map_err(|error| error.to_string())?.data;
        Ok(SealedState { sealed, is_complete })
    }

    /// Returns how many pools there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn pool(&self, to: &str, purpose: Purpose) -> Option<Pool> {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (to.to_owned(), purpose);
        if let Some(pool) = pools.get(&key) {
            return Some(pool.clone());
        }
        let address: DialAddress = to.parse().ok()?;
        // WebSockets leave streams for ordinary requests.
        let options = PoolOptions {
            connections: purpose.connections(),
            upgrades: UPGRADES,
            ..PoolOptions::default()
        };
        let pool = Pool::new(self.connect.clone(), address, options);
        pools.insert(key, pool.clone());
        Some(pool)
    }
}
