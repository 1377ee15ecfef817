//! A network function that sends requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use tessera_proxy::address::DialAddress;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::{Call, Plaintext, Pool, PoolOptions, Protocol};
use tessera_proxy::http::deadline::Deadline;

use crate::{Function, RUNTIME, VISITED};

/// A network function that sends requests to its SEPP.
pub struct Consumer(Pool);

/// The answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, whole.
    pub body: Bytes,
}

impl Consumer {
    /// Creates one for the SEPP at this address.
    pub fn at(sbi: SocketAddr) -> Self {
        let _runtime = RUNTIME.enter();
        let plain = Arc::new(Plaintext(Protocol::Http2));
        Self(Pool::new(plain, DialAddress::Tcp(sbi), PoolOptions::default()))
    }

    /// Sends a request; returns the answer, or why there is none.
    ///
    /// # Errors
    /// If the SEPP itself doesn't answer.
    pub fn try_ask(&self, request: Request<Bytes>) -> Result<Reply, String> {
        RUNTIME.block_on(async {
            let call = Call::until(Deadline::after(Duration::from_secs(40)));
            let answer = self.0.call(request.map(Body::full), call).await;
            let (parts, body) = answer.map_err(|error| error.to_string())?.response.into_parts();
            let body = body.collect_up_to(64 << 20).await.map_err(|error| error.to_string())?;
            Ok(Reply { status: parts.status, headers: parts.headers, body: body.data })
        })
    }

    /// Sends a request, which the SEPP must answer.
    #[track_caller]
    pub fn ask(&self, request: Request<Bytes>) -> Reply {
        self.try_ask(request).unwrap()
    }
}

/// Returns a request of the visited network's function to the home network's, of this name.
pub fn request(method: Method, path: &str, name: &str) -> http::request::Builder {
    Request::builder()
        .method(method)
        .uri(format!("http://{VISITED}{path}"))
        .header("3gpp-sbi-target-apiroot", Function::API_ROOT)
        .header(Function::NAME, name)
}
