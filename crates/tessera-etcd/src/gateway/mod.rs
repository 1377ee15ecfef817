//! Serves any store as a subset of etcd's JSON gateway, so that [`EtcdClient`](crate::EtcdClient) is its client on
//! other machines.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use tessera_etcd::gateway;
//! use tessera_store::{FileStore, Store};
//! use tessera_tokio::Acceptor;
//! use tokio::net::TcpListener;
//!
//! /// The acceptor requires client certificates.
//! async fn example(acceptor: Acceptor, listener: TcpListener) -> Result<(), Box<dyn std::error::Error>> {
//!     let store: Arc<dyn Store> = Arc::new(FileStore::open("/var/lib/tessera/store".as_ref())?);
//!     loop {
//!         let (socket, _) = listener.accept().await?;
//!         let (acceptor, store) = (acceptor.clone(), store.clone());
//!         tokio::spawn(async move {
//!             let stream = acceptor.accept(socket).await?;
//!             gateway::serve(store, stream).await
//!         });
//!     }
//! }
//! ```
//!
//! **Each client can do everything: there is no authentication here.** That is the caller's, as TLS is: mutual TLS by
//! `tessera-tokio`, whose verifier accepts the fleet's members alone. So are the number of connections, and the time of
//! one that has no request or doesn't read.
//!
//! It serves what `EtcdClient` sends as a store, by `POST`:
//!
//! | path | what it takes |
//! |---|---|
//! | `/v3/kv/range` | a key, or the range of a prefix |
//! | `/v3/kv/txn` | the comparisons that a key is absent (`CREATE`) or unchanged (`MOD`, `EQUAL`), and that none of a prefix was written since (`MOD`, `LESS`); puts and deletions of keys; no `failure`; its answer has no `responses` |
//! | `/v3/lease/grant` | a lifetime; the store chooses the id |
//! | `/v3/lease/keepalive` | an id; the `TTL` in its answer is 1, whatever the lifetime is |
//! | `/v3/lease/revoke`, `/v3/kv/lease/revoke` | an id |
//! | `/v3/watch` | a key's or a prefix's changes from a revision on, which isn't 0 |
//!
//! Everything else is answered with a status of 400 or more, a message, and gRPC's code, as etcd does. A request has 10
//! seconds for its head, 10 for its body, and 2 MiB. A connection without a request for 10 seconds is closed; the
//! client opens another.

mod error;
mod requests;
mod watch;

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tessera_store::{LeaseId, Store};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use error::GatewayError;
use requests::{
    GrantAnswer, GrantRequest, KeepAliveAnswer, LeaseRequest, RangeRequest, RangeResponse,
    Selection, TxnRequest, TxnResponse, WatchRequest,
};
use watch::WatchBody;

/// The time for a request's head, and for its body.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest body, in bytes: a store's largest transaction in base64.
const MAX_BODY: usize = 2 * 1024 * 1024;

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Serves a store over one connection, until the client closes it.
///
/// # Errors
/// If the connection fails, or the client speaks no HTTP or sends no whole head for 10 seconds, as an idle one does.
pub async fn serve(
    store: Arc<dyn Store>,
    io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> io::Result<()> {
    let service = service_fn(|request| {
        let store = store.clone();
        async move {
            let answer = answer(&*store, request).await;
            Ok::<_, Infallible>(answer.unwrap_or_else(GatewayError::into_response))
        }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(io), service)
        .await
        .map_err(io::Error::other)
}

async fn answer(
    store: &dyn Store,
    request: Request<Incoming>,
) -> Result<Response<Body>, GatewayError> {
    if request.method() != Method::POST {
        let message = "only POST is served".to_owned();
        return Err(GatewayError::unimplemented(StatusCode::METHOD_NOT_ALLOWED, message));
    }
    let (head, body) = request.into_parts();
    match head.uri.path() {
        "/v3/kv/range" => range(store, read(body).await?).await,
        "/v3/kv/txn" => txn(store, read(body).await?).await,
        "/v3/lease/grant" => grant(store, read(body).await?).await,
        "/v3/lease/keepalive" => keep_alive(store, read(body).await?).await,
        "/v3/lease/revoke" | "/v3/kv/lease/revoke" => revoke(store, read(body).await?).await,
        "/v3/watch" => watch(store, read(body).await?).await,
        path => {
            let message = format!("{path} is not served");
            Err(GatewayError::unimplemented(StatusCode::NOT_FOUND, message))
        }
    }
}

async fn range(store: &dyn Store, it: RangeRequest) -> Result<Response<Body>, GatewayError> {
    let selection = it.selection()?;
    let mut snapshot = store.read(selection.prefix()).await?;
    if let Selection::Key(key) = &selection {
        snapshot.entries.retain(|entry| entry.key == *key);
    }
    json(&RangeResponse::new(&snapshot))
}

async fn txn(store: &dyn Store, it: TxnRequest) -> Result<Response<Body>, GatewayError> {
    let revision = store.commit(it.transaction()?).await?;
    json(&TxnResponse::new(revision))
}

async fn grant(store: &dyn Store, it: GrantRequest) -> Result<Response<Body>, GatewayError> {
    let LeaseId(id) = store.grant(it.lifetime()?).await?;
    json(&GrantAnswer { id, ttl: it.ttl })
}

async fn keep_alive(store: &dyn Store, it: LeaseRequest) -> Result<Response<Body>, GatewayError> {
    let lives = store.keep_alive(&LeaseId(it.id.clone())).await?;
    json(&KeepAliveAnswer::new(it.id, lives))
}

async fn revoke(store: &dyn Store, it: LeaseRequest) -> Result<Response<Body>, GatewayError> {
    store.revoke(&LeaseId(it.id)).await?;
    json(&serde_json::Map::new())
}

async fn watch(store: &dyn Store, it: WatchRequest) -> Result<Response<Body>, GatewayError> {
    let (selection, after) = it.begin()?;
    let watch = store.watch(selection.prefix(), after).await?;
    Ok(response(StatusCode::OK, WatchBody::new(watch, selection).boxed_unsync()))
}

async fn read<T: DeserializeOwned>(body: Incoming) -> Result<T, GatewayError> {
    let body = timeout(PATIENCE, Limited::new(body, MAX_BODY).collect()).await;
    let body = match body {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let message = format!("the request has more than {MAX_BODY} bytes");
            return Err(GatewayError::invalid(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        Ok(Err(error)) => {
            return Err(GatewayError::invalid(StatusCode::BAD_REQUEST, error.to_string()));
        }
        Err(_) => {
            let message = format!("the request's body took more than {PATIENCE:?}");
            return Err(GatewayError::invalid(StatusCode::REQUEST_TIMEOUT, message));
        }
    };
    serde_json::from_slice(&body)
        .map_err(|error| GatewayError::invalid(StatusCode::BAD_REQUEST, error.to_string()))
}

fn json(answer: &impl Serialize) -> Result<Response<Body>, GatewayError> {
    let bytes = serde_json::to_vec(answer).map_err(|error| GatewayError::internal(&error))?;
    Ok(response(StatusCode::OK, Full::from(bytes).boxed_unsync()))
}

fn response(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
