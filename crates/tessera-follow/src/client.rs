//! The client, as its owner sees it.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{Request, Response, Uri};
use http_body::Body;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::client::legacy::{Builder, Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tessera_tokio::Connector;
use tower_service::Service;

use crate::alternative::{Origin, Route};
use crate::body::SlotBody;
use crate::cache::Cache;
use crate::connector::{BoxError, RouteConnector};
use crate::pools::{Pool, Pools};

/// A pooled HTTP client that goes where its servers send it by `Alt-Svc` (RFC 7838). Cheap to clone; clones
/// share their connections and what they know of alternatives.
///
/// `B` is the type of the requests' bodies, and `C` connects to a host and a port: by TCP, unless the client
/// is built [`over`](Self::over) something else.
pub struct FollowingClient<B, C = HttpConnector> {
    settings: Arc<Settings<C>>,
    state: Arc<Mutex<State<B, C>>>,
}

#[derive(Clone)]
struct Settings<C> {
    tls: Connector,
    inner: C,
    pool: Builder,
    patience: Duration,
}

/// What clones share.
pub(crate) struct State<B, C> {
    pub(crate) cache: Cache,
    pub(crate) pools: Pools<HttpClient<B, C>>,
}

/// The client under one route to one origin.
pub(crate) type HttpClient<B, C> = Client<RouteConnector<C>, SlotBody<B>>;

impl<B> FollowingClient<B> {
    /// Makes a client that connects by TCP.
    ///
    /// The configuration's `protocols` determine which alternatives it follows: those of `h2` and `http/1.1`
    /// that are among them.
    pub fn new(tls: Connector) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        Self::over(tcp, tls)
    }
}

impl<B, C> FollowingClient<B, C> {
    /// Makes a client that connects with `inner`, and runs TLS over that. `inner` is called with the URI of
    /// the origin, or with one that has the host and the port of an alternative.
    pub fn over(inner: C, tls: Connector) -> Self {
        let mut pool = Client::builder(TokioExecutor::new());
        // Lets idle connections end.
        pool.pool_timer(TokioTimer::new());
        let settings = Settings { tls, inner, pool, patience: PATIENCE };
        let state = State { cache: Cache::new(), pools: Pools::new() };
        Self { settings: Arc::new(settings), state: Arc::new(Mutex::new(state)) }
    }

    /// Notes that the network has changed, or that its connections no longer work, for example after the
    /// device slept or changed its cell: the next request uses a new connection, and alternatives without
    /// `persist=1` are forgotten (RFC 7838 §2.2).
    pub fn network_changed(&self) {
        let mut state = self.state();
        state.cache.network_changed();
        state.pools.clear();
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State<B, C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn tls(&self) -> &Connector {
        &self.settings.tls
    }

    pub(crate) fn patience(&self) -> Duration {
        self.settings.patience
    }
}

impl<B, C: Clone> FollowingClient<B, C> {
    /// Replaces the settings of the pools; call it before the first request.
    ///
    /// By default those of hyper-util apply, with a timer: idle connections end after 90 seconds.
    #[must_use]
    pub fn with_pool(mut self, pool: Builder) -> Self {
        Arc::make_mut(&mut self.settings).pool = pool;
        self
    }

    /// Sets how long an alternative may take to connect, TLS included, before the request goes to the origin;
    /// and to answer its very first request, before others do. Default: a second, a few round trips across
    /// the world.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        Arc::make_mut(&mut self.settings).patience = patience;
        self
    }
}

impl<B, C> FollowingClient<B, C>
where
    B: Body<Data: Send, Error: Into<BoxError>> + Send + Unpin + 'static,
    C: Service<Uri, Error: Into<BoxError>, Future: Send + 'static> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Unpin + Send + 'static,
{
    /// Sends a request, by the route that its origin announced, and waits for the head of the response. The
    /// response's extensions have a [`Route`], and the connection's
    /// [`FlightReport`](tessera_tokio::hyper::FlightReport).
    ///
    /// # Errors
    /// Returns the error of the last attempt. After one with a
    /// [`first_flight_error`](tessera_tokio::hyper::first_flight_error), or one that isn't
    /// [`is_connect`](Error::is_connect), the request may have been executed.
    pub fn request(
        &self,
        request: Request<B>,
    ) -> impl Future<Output = Result<Response<Incoming>, Error>> + Send + use<B, C> {
        self.clone().send(request)
    }

    /// Sends a `GET` request with the default body of its type, which must be empty.
    pub fn get(
        &self,
        uri: Uri,
    ) -> impl Future<Output = Result<Response<Incoming>, Error>> + Send + use<B, C>
    where
        B: Default,
    {
        let mut request = Request::new(B::default());
        *request.uri_mut() = uri;
        self.request(request)
    }

    /// Returns the pool for a new request to this origin.
    pub(crate) fn pool(&self, origin: &Origin) -> Pool<HttpClient<B, C>> {
        let mut state = self.state();
        let route = state.cache.route(origin, Instant::now());
        state.pools.pool(origin, &route, || self.client_for(&route))
    }

    /// Returns the pool of connections to the origin itself.
    pub(crate) fn origin_pool(&self, origin: &Origin) -> Pool<HttpClient<B, C>> {
        self.state().pools.pool(origin, &Route::Origin, || self.client_for(&Route::Origin))
    }

    /// Makes a client without connections.
    pub(crate) fn client_for(&self, route: &Route) -> HttpClient<B, C> {
        let Settings { tls, inner, pool, patience } = &*self.settings;
        let (inner, tls) = (inner.clone(), tls.clone());
        pool.build(match route {
            Route::Origin => RouteConnector::to_origin(inner, tls),
            Route::Alternative(it) => RouteConnector::to_alternative(inner, tls, it, *patience),
        })
    }
}

impl<B, C> Clone for FollowingClient<B, C> {
    fn clone(&self) -> Self {
        Self { settings: self.settings.clone(), state: self.state.clone() }
    }
}

/// The client as a service, for layers of tower.
impl<B, C> Service<Request<B>> for FollowingClient<B, C>
where
    B: Body<Data: Send, Error: Into<BoxError>> + Send + Unpin + 'static,
    C: Service<Uri, Error: Into<BoxError>, Future: Send + 'static> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Unpin + Send + 'static,
{
    type Response = Response<Incoming>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Incoming>, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        Box::pin(self.request(request))
    }
}

const PATIENCE: Duration = Duration::from_secs(1);
