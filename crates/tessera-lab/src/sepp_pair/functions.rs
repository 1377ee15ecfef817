//! The network functions on both sides: the home network's answers, the visited network's asks.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use tessera_link::{End, Link};
use tessera_proxy::address::DialAddress;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::{Call, Plaintext, Pool, PoolOptions, Protocol};
use tessera_proxy::http::deadline::Deadline;
use tessera_proxy::http::server::{AcceptedConnection, ServerOptions, serve};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use super::configuration::HOME_DOMAIN;
use crate::error::LabError;
use crate::registration::{Exchange, LOCAL_BREAKOUT};

/// The home network's functions, all at one address.
pub(super) struct Producers {
    /// Where they are, at the server's end.
    pub(super) address: SocketAddr,
    arrivals: Arc<Mutex<Vec<Instant>>>,
    // Ends with this value.
    _runtime: Runtime,
}

impl Producers {
    pub(super) fn start(link: &Link) -> Result<Self, LabError> {
        let failed = LabError::system("starting the home network's functions");
        let runtime = runtime_at(link, End::Server)?;
        let arrivals = Arc::new(Mutex::new(Vec::new()));
        let bound = runtime.block_on(runtime.spawn(TcpListener::bind(NEARBY)));
        let listener = bound.unwrap_or_else(|error| Err(io::Error::other(error)));
        let (listener, address) = listener
            .and_then(|listener| listener.local_addr().map(|address| (listener, address)))
            .map_err(failed)?;
        runtime.spawn(accept(listener, arrivals.clone()));
        Ok(Self { address, arrivals, _runtime: runtime })
    }

    /// Returns the times at which complete requests arrived, since the last call.
    pub(super) fn take_arrivals(&self) -> Vec<Instant> {
        std::mem::take(&mut *lock(&self.arrivals))
    }
}

/// A function of the visited network.
pub(super) struct Consumer {
    sepp: Pool,
    runtime: Runtime,
}

/// The start of an exchange, and the time of its complete answer.
pub(super) struct AnsweredExchange {
    pub(super) began: Instant,
    pub(super) ended: Instant,
}

impl Consumer {
    /// Starts one that sends requests to its SEPP at this address of the client's end.
    pub(super) fn start(link: &Link, sepp: SocketAddr) -> Result<Self, LabError> {
        let plaintext = Arc::new(Plaintext(Protocol::Http2));
        let sepp = Pool::new(plaintext, DialAddress::Tcp(sepp), PoolOptions::default());
        Ok(Self { sepp, runtime: runtime_at(link, End::Client)? })
    }

    /// Sends a request, and waits for the answer that the registration has there.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn ask(&self, exchange: &'static Exchange) -> Result<AnsweredExchange, String> {
        let asking = self.runtime.spawn(ask(self.sepp.clone(), exchange));
        let asked = self.runtime.block_on(asking).unwrap_or_else(|error| Err(error.to_string()));
        asked.map_err(|why| {
            let path = exchange.path.split('?').next().unwrap_or_default();
            format!("{} {path}: {why}", exchange.method)
        })
    }
}

async fn ask(sepp: Pool, exchange: &'static Exchange) -> Result<AnsweredExchange, String> {
    let words = |error: &dyn std::error::Error| error.to_string();
    let mut request = Request::builder()
        .method(exchange.method)
        .uri(format!("http://{}.{HOME_DOMAIN}{}", exchange.function, exchange.path))
        .header(TARGET_API_ROOT, format!("http://{}.{HOME_DOMAIN}", exchange.function));
    if !exchange.request.is_empty() {
        let kind = match exchange.method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        request = request.header(CONTENT_TYPE, kind);
    }
    let body = Body::full(exchange.request.bytes());
    let request = request.body(body).map_err(|error| words(&error))?;
    let began = Instant::now();
    let call = Call::until(Deadline::after(PATIENCE));
    let answer = sepp.call(request, call).await.map_err(|error| words(&error))?.response;
    let status = answer.status().as_u16();
    let body = answer.into_body().collect_up_to(MAX_BODY).await.map_err(|error| words(&error))?;
    let ended = Instant::now();
    if status != exchange.status {
        return Err(format!("{status}: {}", String::from_utf8_lossy(&body.data)));
    }
    Ok(AnsweredExchange { began, ended })
}

async fn accept(listener: TcpListener, arrivals: Arc<Mutex<Vec<Instant>>>) {
    while let Ok((socket, _)) = listener.accept().await {
        // If it fails, requests are only slower.
        let _ = socket.set_nodelay(true);
        let arrivals = arrivals.clone();
        tokio::spawn(async move {
            let service = async |request: Request<Body>| answer(request, &arrivals).await;
            let options = Arc::new(ServerOptions::default());
            serve(AcceptedConnection::plaintext(socket), options, service, std::future::pending())
                .await;
        });
    }
}

async fn answer(request: Request<Body>, arrivals: &Mutex<Vec<Instant>>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let (status, sent) = match body.collect_up_to(MAX_BODY).await {
        Ok(sent) => (StatusCode::NOT_FOUND, sent.data),
        Err(_) => (StatusCode::BAD_REQUEST, Bytes::new()),
    };
    lock(arrivals).push(Instant::now());
    let asked = parts.uri.path_and_query().map_or("", |path| path.as_str());
    let known = |exchange: &&Exchange| parts.method == exchange.method && asked == exchange.path;
    let known = LOCAL_BREAKOUT.iter().find(known).filter(|_| status == StatusCode::NOT_FOUND);
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    if let Some(exchange) = known {
        *response.status_mut() = StatusCode::from_u16(exchange.status).unwrap_or(status);
        let body = if exchange.is_repeated() { sent } else { exchange.response.bytes() };
        if !body.is_empty() {
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, json);
            *response.body_mut() = Body::full(body);
        }
    }
    response
}

/// Returns a runtime whose tasks make their sockets at this end: its only thread runs there.
fn runtime_at(link: &Link, end: End) -> Result<Runtime, LabError> {
    let failed = || LabError::system("starting network functions at one end of the link");
    let make = || Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let made = link.spawn_thread(end, make).map_err(failed())?.join();
    made.unwrap_or_else(|_| Err(io::Error::other("the thread failed"))).map_err(failed())
}

fn lock(arrivals: &Mutex<Vec<Instant>>) -> MutexGuard<'_, Vec<Instant>> {
    arrivals.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A free port of the machine; each end has its own.
const NEARBY: &str = "127.0.0.1:0";

/// The header with the target of a request (TS 29.500 §5.2.3.2.4).
const TARGET_API_ROOT: &str = "3gpp-sbi-target-apiroot";

/// How long an answer may take: longer than a SEPP waits for it, so that the SEPP can report the error.
const PATIENCE: Duration = Duration::from_secs(40);

/// In bytes.
const MAX_BODY: usize = 64 << 10;
