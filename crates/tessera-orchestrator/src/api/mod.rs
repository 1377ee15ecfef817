//! The API: what a request does, and its answer.

mod caller;
mod problem;
mod route;
mod views;

use std::sync::Arc;

use http::header::{CONTENT_TYPE, ORIGIN};
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use serde::Serialize;
use tessera_bindings::{BindingError, DrainScope};
use tessera_proxy::http::body::{Body, BodyError};
use tessera_proxy::logging::tracing;
use tokio::sync::Semaphore;

pub(crate) use self::caller::{Caller, Operators};
use self::problem::Refusal;
pub(crate) use self::problem::of_server;
use self::route::Route;
use crate::moves::{MoveRequest, Mover, Placement};
use crate::state::{ClientBinding, JsonClient, NoKeys, RequestedMove};

/// The most bytes of a request's body.
pub(crate) const MOST_BYTES: usize = 64 * 1024;

/// Answers the requests of operators.
pub(crate) struct Api {
    mover: Arc<Mover>,
    /// Places for reads of the store: callers who may only read must not keep it from renewing the proxies' leases.
    reads: Semaphore,
}

/// How many clients are read at once.
const READS: usize = 16;

impl Api {
    pub(crate) fn new(mover: Arc<Mover>) -> Self {
        Self { mover, reads: Semaphore::new(READS) }
    }

    pub(crate) async fn answer(&self, caller: &Caller, request: Request<Body>) -> Response<Body> {
        let answered = Box::pin(self.answer_or_refuse(caller, request)).await;
        answered.unwrap_or_else(Refusal::into_response)
    }

    async fn answer_or_refuse(
        &self,
        caller: &Caller,
        request: Request<Body>,
    ) -> Result<Response<Body>, Refusal> {
        let route = Route::of(request.method(), request.uri())?;
        if route.is_change() {
            self.admit(caller, &request)?;
            tracing::info!(
                caller = caller.name,
                method = %request.method(),
                path = request.uri().path(),
                "a change was requested"
            );
        }
        let (mover, table) = (&self.mover, &self.mover.table);
        match route {
            Route::Status => json(StatusCode::OK, &views::pool(mover)),
            Route::Proxies => json(StatusCode::OK, &views::proxies(&Placement::of(table))),
            Route::Moves => json(StatusCode::OK, &views::moves(table)),
            Route::Clients(page) => json(StatusCode::OK, &views::clients(table, &page)),
            Route::Client(client) => {
                // It is never closed.
                let _place = self.reads.acquire().await;
                let read = mover.bindings.read(&client).await;
                let binding = read.map_err(Refusal::of_step)?;
                json(StatusCode::OK, &ClientBinding { client: (&client).into(), binding })
            }
            Route::Move => self.begin(request).await,
            Route::Abort(client) => {
                expect_no_keys(request).await?;
                let aborted = mover.abort(&client).await;
                let binding = aborted.map_err(|it| Refusal::of_move(&it, mover.times.dwell))?;
                json(StatusCode::OK, &ClientBinding { client: (&client).into(), binding })
            }
            Route::Drain(scope) => {
                expect_no_keys(request).await?;
                self.drain(&scope).await
            }
            Route::UndoDrain(scope) => {
                expect_no_keys(request).await?;
                mover.bindings.undo_drain(&scope).await.map_err(Refusal::of_step)?;
                Ok(empty(StatusCode::NO_CONTENT))
            }
        }
    }

    fn admit(&self, caller: &Caller, request: &Request<Body>) -> Result<(), Refusal> {
        let refuse = |cause, detail| Err(Refusal::new(StatusCode::FORBIDDEN, cause, detail));
        if !caller.may_change {
            let detail = "this certificate may only read: add one of its names to [api] operators";
            return refuse("read-only", detail);
        }
        // A browser that has the certificate must not do what its operator didn't ask for.
        if request.headers().contains_key(ORIGIN) || request.headers().contains_key(SEC_FETCH_SITE)
        {
            return refuse("web-page", "requests from web pages change nothing");
        }
        Ok(())
    }

    async fn begin(&self, request: Request<Body>) -> Result<Response<Body>, Refusal> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let media = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
        if !media.trim().eq_ignore_ascii_case("application/json") {
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            let detail = "set Content-Type to application/json";
            return Err(Refusal::new(status, "bad-request", detail));
        }
        let body = request.into_body().collect_up_to(MOST_BYTES).await.map_err(unread)?;
        let requested: RequestedMove = serde_json::from_slice(&body.data)
            .map_err(|error| Refusal::bad(format!("the body is no move: {error}")))?;
        let client = requested.client.name().map_err(Refusal::of_step)?;
        let request = MoveRequest {
            client,
            to: requested.to,
            wait: requested.wait,
            is_queued: requested.queue,
        };
        let moved = self.mover.request(&request).await;
        let moved = moved.map_err(|it| Refusal::of_move(&it, self.mover.times.dwell))?;
        let status = if moved.is_there { StatusCode::OK } else { StatusCode::ACCEPTED };
        let client = JsonClient::from(&request.client);
        json(status, &ClientBinding { client, binding: moved.binding })
    }

    async fn drain(&self, scope: &DrainScope) -> Result<Response<Body>, Refusal> {
        let table = &self.mover.table;
        let is_known = match scope {
            DrainScope::Proxy(proxy) => table.proxy(proxy).is_some(),
            DrainScope::Site(site) => table.proxies().iter().any(|(_, it)| it.site == *site),
        };
        let is_drained = || table.drains().iter().any(|(it, _)| it == scope);
        if !is_known && !is_drained() {
            let error = match scope {
                DrainScope::Proxy(proxy) => BindingError::ProxyGone(proxy.clone()),
                DrainScope::Site(site) => {
                    let detail = format!("no live proxy is at the site {site}");
                    return Err(Refusal::unknown("unknown-site", detail));
                }
            };
            return Err(Refusal::of_step(error));
        }
        self.mover.bindings.drain(scope).await.map_err(Refusal::of_step)?;
        Ok(empty(StatusCode::ACCEPTED))
    }
}

/// Reads a body that has no keys: what a caller set there would have no effect.
async fn expect_no_keys(request: Request<Body>) -> Result<(), Refusal> {
    let body = request.into_body().collect_up_to(MOST_BYTES).await.map_err(unread)?;
    if body.data.is_empty() {
        return Ok(());
    }
    let parsed = serde_json::from_slice(&body.data).map(|NoKeys {}| ());
    parsed.map_err(|error| Refusal::bad(format!("this request has no keys in its body: {error}")))
}

/// Web browsers set it on each request (Fetch Metadata).
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

fn unread(error: BodyError) -> Refusal {
    match error {
        BodyError::TooLong => {
            let detail = "a body has at most 64 KiB";
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "bad-request", detail)
        }
        error => Refusal::bad(format!("the body is incomplete: {error}")),
    }
}

fn json(status: StatusCode, value: &impl Serialize) -> Result<Response<Body>, Refusal> {
    let body = serde_json::to_vec(value).map_err(|error| {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string())
    })?;
    let mut response = Response::new(Body::full(body.into()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
