//! One request: to an alternative, and back to the origin where that can't execute it twice.

use std::future::Future;
use std::pin::pin;
use std::time::{Duration, Instant};

use http::header::{AGE, ALT_SVC};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Request, Response, StatusCode, Uri};
use http_body::Body;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::Error;
use hyper_util::client::legacy::connect::Connection;
use tessera_tokio::Connector;
use tessera_tokio::hyper::first_flight_error;
use tokio::time::timeout;
use tower_service::Service;
use tracing::debug;

use crate::alt_svc::{AltSvc, delta_seconds, parse};
use crate::alternative::{Alternative, Origin, Protocol, Route};
use crate::body::{BodySlot, SlotBody};
use crate::client::{FollowingClient, HttpClient};
use crate::connector::BoxError;
use crate::pools::Pool;

impl<B, C> FollowingClient<B, C>
where
    B: Body<Data: Send, Error: Into<BoxError>> + Send + Unpin + 'static,
    C: Service<Uri, Error: Into<BoxError>, Future: Send + 'static> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Unpin + Send + 'static,
{
    pub(crate) async fn send(self, request: Request<B>) -> Result<Response<Incoming>, Error> {
        let origin = Origin::of(&request);
        let (head, body) = request.into_parts();
        let body = BodySlot::new(body);
        let Some(origin) = origin else {
            // Nothing is known of alternatives for it, or hyper-util refuses it.
            let request = Request::from_parts(head, body.body());
            return self.client_for(&Route::Origin).request(request).await;
        };
        let pool = self.pool(&origin);
        if let Route::Alternative(alternative) = pool.route.clone() {
            let target = Target { client: &self, origin: &origin, alternative, pool };
            match target.try_send(&head, body).await {
                Attempt::Over(result) => return result,
                Attempt::NotExecuted(body) => {
                    let request = Request::from_parts(head, BodySlot::new(body).body());
                    return self.exchange(&origin, &self.origin_pool(&origin), request).await;
                }
            }
        }
        self.exchange(&origin, &pool, Request::from_parts(head, body.body())).await
    }

    /// Sends a request by one pool, and notes what its response announces.
    async fn exchange(
        &self,
        origin: &Origin,
        pool: &Pool<HttpClient<B, C>>,
        request: Request<SlotBody<B>>,
    ) -> Result<Response<Incoming>, Error> {
        let mut response = pool.client.request(request).await?;
        let is_misdirected = response.status() == StatusCode::MISDIRECTED_REQUEST;
        // RFC 7838 §6: a server that isn't authoritative has nothing to announce.
        if !is_misdirected {
            let mut state = self.state();
            state.pools.answered(origin, pool);
            if let Route::Alternative(alternative) = &pool.route {
                state.cache.answered(origin, alternative);
            }
            if let Some((field, age)) = announced(response.headers(), self.tls()) {
                state.cache.announce(origin, field, age, Instant::now());
            }
        }
        response.extensions_mut().insert(pool.route.clone());
        Ok(response)
    }
}

/// What became of a request to an alternative.
enum Attempt<B> {
    /// It was answered, or may have been executed.
    Over(Result<Response<Incoming>, Error>),
    /// It was not executed and never will be; its body wasn't read.
    NotExecuted(B),
}

/// An alternative to which one request goes.
struct Target<'c, B, C> {
    client: &'c FollowingClient<B, C>,
    origin: &'c Origin,
    alternative: Alternative,
    pool: Pool<HttpClient<B, C>>,
}

impl<B, C> Target<'_, B, C>
where
    B: Body<Data: Send, Error: Into<BoxError>> + Send + Unpin + 'static,
    C: Service<Uri, Error: Into<BoxError>, Future: Send + 'static> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Unpin + Send + 'static,
{
    async fn try_send(&self, head: &Parts, body: BodySlot<B>) -> Attempt<B> {
        let mut request = Request::from_parts(head.clone(), body.body());
        if let Some(value) = self.alternative.alt_used() {
            request.headers_mut().insert(ALT_USED, value);
        }
        let mut silence = Silence::begin(self);
        let exchange = self.client.exchange(self.origin, &self.pool, request);
        let result = silence.watch(exchange).await;
        let is_not_executed = match &result {
            Ok(response) if response.status() == StatusCode::MISDIRECTED_REQUEST => {
                let now = Instant::now();
                self.client.state().cache.misdirected(self.origin, &self.alternative, now);
                true
            }
            Ok(_) => false,
            // No byte was sent. hyper-util resends by itself only what a connection gave back unsent, and such a
            // request may then fail to connect.
            Err(error) if error.is_connect() => {
                self.fail(&error);
                true
            }
            Err(error) => {
                if silence.lasts() && !body.has_failed() {
                    self.fail(&error);
                }
                first_flight_error(error).is_some_and(|error| error.may_be_sent_again())
            }
        };
        match body.take() {
            Some(body) if is_not_executed => Attempt::NotExecuted(body),
            _ => Attempt::Over(result),
        }
    }
}

impl<B, C> Target<'_, B, C> {
    /// Sends new requests to the origin for a while.
    fn fail(&self, why: &dyn std::fmt::Debug) {
        let (origin, alternative) = (self.origin, &self.alternative);
        let pause = self.client.state().cache.failed(origin, alternative, Instant::now());
        debug!(%origin, %alternative, ?pause, ?why, "an alternative failed; its origin serves again");
    }
}

/// Whether an alternative has answered nothing since a request began. One that is dead may still have an open
/// connection, or accept one: then nothing fails, and only its silence shows it.
struct Silence<'t, 'c, B, C> {
    target: &'t Target<'c, B, C>,
    since: Instant,
    answers: usize,
    is_over: bool,
}

impl<'t, 'c, B, C> Silence<'t, 'c, B, C> {
    fn begin(target: &'t Target<'c, B, C>) -> Self {
        let answers = target.pool.answers();
        Self { target, since: Instant::now(), answers, is_over: false }
    }

    /// Waits for a request. An alternative that has never answered anything must do so within the client's
    /// patience, or new requests go to the origin; this one may have been executed, and waits on.
    async fn watch<T>(&mut self, request: impl Future<Output = T>) -> T {
        let mut request = pin!(request);
        let result = match timeout(self.target.client.patience(), &mut request).await {
            Ok(result) => result,
            Err(_) => {
                if self.target.pool.answers() == 0 {
                    self.target.fail(&"it did not answer its first request");
                }
                request.await
            }
        };
        self.is_over = true;
        result
    }

    fn lasts(&self) -> bool {
        self.target.pool.answers() == self.answers
    }
}

/// A caller that gives up may know that there will be no answer, and may have less patience than the client.
impl<B, C> Drop for Silence<'_, '_, B, C> {
    fn drop(&mut self) {
        if !self.is_over && self.lasts() {
            let silence = self.target.pool.gave_up(self.since, Instant::now());
            if silence >= self.target.client.patience() {
                self.target.fail(&"it did not answer requests that were given up");
            }
        }
    }
}

/// Returns what a response announces, and its age.
fn announced(headers: &HeaderMap, tls: &Connector) -> Option<(AltSvc, Duration)> {
    let lines = headers.get_all(ALT_SVC);
    let mut field = parse(lines.iter().map(|line| line.as_bytes()))?;
    if let AltSvc::Alternatives(alternatives) = &mut field {
        let config = tls.config();
        alternatives.retain(|alternative| {
            let protocol = alternative.protocol;
            // Without ALPN, the protocol is HTTP/1.1.
            config.protocols.iter().any(|it| it == protocol.alpn())
                || config.protocols.is_empty() && protocol == Protocol::Http1
        });
    }
    let age = headers.get(AGE).and_then(|age| delta_seconds(age.as_bytes()));
    Some((field, age.unwrap_or_default()))
}

/// RFC 7838 §5.
const ALT_USED: HeaderName = HeaderName::from_static("alt-used");
