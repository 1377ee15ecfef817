//! A server with a single connection.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use tessera_proxy::http::body::{Body, BodyError};
use tessera_proxy::http::server::{AcceptedConnection, ConnectionSummary, ServerOptions, serve};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, duplex};
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub const SECOND: Duration = Duration::from_secs(1);

/// A connection being served.
pub struct ServedConnection {
    drain: watch::Sender<bool>,
    task: JoinHandle<ConnectionSummary>,
}

impl ServedConnection {
    /// Serves one end of a stream, and returns the other.
    pub fn start<F>(
        options: ServerOptions,
        service: impl Fn(Request<Body>) -> F + Send + Sync + 'static,
    ) -> (DuplexStream, Self)
    where
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let (near, far) = duplex(256 * 1024);
        (near, Self::of(AcceptedConnection::plaintext(far), options, service))
    }

    /// Serves this connection.
    pub fn of<IO, F>(
        accepted: AcceptedConnection<IO>,
        options: ServerOptions,
        service: impl Fn(Request<Body>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let (drain, mut draining) = watch::channel(false);
        let drained = async move {
            if draining.wait_for(|drain| *drain).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let task = tokio::spawn(serve(accepted, Arc::new(options), service, drained));
        Self { drain, task }
    }

    /// Starts to drain.
    pub fn drain(&self) {
        self.drain.send_replace(true);
    }

    /// Waits for its end.
    pub async fn ended(self) -> ConnectionSummary {
        self.task.await.unwrap()
    }
}

/// Sends back what it received, trailers too.
pub async fn echo(request: Request<Body>) -> Response<Body> {
    match request.into_body().collect_up_to(1 << 20).await {
        Ok(collected) => Response::new(Body::from(collected)),
        Err(error) => status(match error {
            BodyError::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            BodyError::Idle => StatusCode::REQUEST_TIMEOUT,
            _ => StatusCode::BAD_REQUEST,
        }),
    }
}

/// Streams back what it receives.
pub async fn stream_back(request: Request<Body>) -> Response<Body> {
    Response::new(request.into_body())
}

/// Answers with this many bytes, in one piece.
pub fn large(len: usize) -> impl Fn(Request<Body>) -> std::future::Ready<Response<Body>> {
    let data = Bytes::from(vec![b'x'; len]);
    move |_| std::future::ready(Response::new(Body::full(data.clone())))
}

/// Never answers.
pub fn never(_: Request<Body>) -> std::future::Pending<Response<Body>> {
    std::future::pending()
}

pub fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
