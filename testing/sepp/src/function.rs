//! A network function that answers, and counts.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use tessera_proxy::http::body::{Body, BodyLimits};
use tessera_proxy::http::server::{AcceptedConnection, ServerOptions, serve};
use tokio::net::TcpListener;

use crate::RUNTIME;

/// The home network's function: it answers according to the last segment of the path, and records requests.
pub struct Function {
    /// Where it is.
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<RequestHead>>>,
}

/// The head of a request that reached it.
#[derive(Debug, Clone)]
pub struct RequestHead {
    /// The method.
    pub method: Method,
    /// The path.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
}

impl Function {
    /// Its API root for foreign functions.
    pub const API_ROOT: &str = "http://udm.5gc.mnc070.mcc999.3gppnetwork.org:8000";

    /// The header with the name of a request, which is unique.
    pub const NAME: &str = "3gpp-sbi-correlation-info";

    /// The answer to `am-data`: as long as in a real registration.
    pub const AM_DATA: &str = r#"{"gpsis":["msisdn-491700000001"],"subscribedUeAmbr":{"uplink":"1 Gbps","downlink":"1 Gbps"},"nssai":{"defaultSingleNssais":[{"sst":1}]}}"#;

    /// Starts it.
    pub fn start() -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let listener = RUNTIME.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let remembers = asked.clone();
        RUNTIME.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let asked = remembers.clone();
                tokio::spawn(async move {
                    let service = |request: Request<Body>| {
                        let head = RequestHead {
                            method: request.method().clone(),
                            path: request.uri().path().to_owned(),
                            headers: request.headers().clone(),
                        };
                        asked.lock().unwrap_or_else(PoisonError::into_inner).push(head);
                        answer(request)
                    };
                    let body = BodyLimits { max_len: u64::MAX, idle: Duration::from_secs(60) };
                    let options = Arc::new(ServerOptions { body, ..ServerOptions::default() });
                    serve(
                        AcceptedConnection::plaintext(socket),
                        options,
                        service,
                        std::future::pending(),
                    )
                    .await;
                });
            }
        });
        Self { address, asked }
    }

    /// Returns all requests.
    pub fn asked(&self) -> Vec<RequestHead> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how often it processed the request of this name.
    pub fn executions(&self, name: &str) -> usize {
        self.asked().iter().filter(|asked| asked.is_called(name)).count()
    }

    /// Returns the names of requests that it processed more than once, and how often.
    pub fn executed_again(&self) -> Vec<(String, usize)> {
        let mut times = HashMap::<String, usize>::new();
        for asked in self.asked() {
            *times.entry(asked.name()).or_default() += 1;
        }
        times.into_iter().filter(|(_, times)| *times > 1).collect()
    }
}

impl RequestHead {
    /// Returns the name of the request.
    pub fn name(&self) -> String {
        let name = self.headers.get(Function::NAME).and_then(|name| name.to_str().ok());
        name.unwrap_or_default().to_owned()
    }

    fn is_called(&self, name: &str) -> bool {
        self.headers.get(Function::NAME).is_some_and(|it| it == name)
    }
}

async fn answer(request: Request<Body>) -> Response<Body> {
    let json = |status: u16, text: &'static str| {
        Response::builder()
            .status(status)
            .header("content-type", "application/json")
            .header("etag", "yes")
            .body(Body::full(Bytes::from_static(text.as_bytes())))
    };
    let path = request.uri().path().to_owned();
    let response = match path.rsplit('/').next().unwrap_or_default() {
        "am-data" => json(200, Function::AM_DATA),
        "echo" => Ok(echo(request, StatusCode::OK)),
        "created" => Ok(echo(request, StatusCode::CREATED)),
        "nothing" => Response::builder().status(204).body(Body::empty()),
        "missing" => json(404, r#"{"status":404,"cause":"USER_NOT_FOUND"}"#),
        "slow" => {
            tokio::time::sleep(Duration::from_secs(1)).await;
            json(200, Function::AM_DATA)
        }
        _ => Response::builder().status(418).body(Body::empty()),
    };
    response.unwrap()
}

fn echo(request: Request<Body>, status: StatusCode) -> Response<Body> {
    let kind = request.headers().get("content-type").cloned();
    let mut response = Response::new(request.into_body());
    *response.status_mut() = status;
    kind.map(|kind| response.headers_mut().insert("content-type", kind));
    response
}
