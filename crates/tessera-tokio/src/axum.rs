//! Servers with axum.
//!
//! [`TlsListener`] is a listener for `axum::serve`; handlers get facts about their connection from
//! [`StreamInfo`]. `docs/library.md` in the repository has a whole program.
//!
//! ```no_run
//! use axum::extract::ConnectInfo;
//! use axum::{Router, routing::get};
//! use tessera_tokio::{Server, StreamInfo, TlsListener};
//!
//! # async fn example(server: Server) -> std::io::Result<()> {
//! async fn hello(ConnectInfo(client): ConnectInfo<StreamInfo>) -> String {
//!     format!("hello, {:?}", client.facts.peer)
//! }
//!
//! let router = Router::new().route("/", get(hello));
//! let service = router.into_make_service_with_connect_info::<StreamInfo>();
//! axum::serve(TlsListener::new(server), service).await
//! # }
//! ```

use std::io;
use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Request, connect_info::Connected};
use axum::middleware::Next;
use axum::response::Response;
use axum::serve::{IncomingStream, Listener};

use crate::http::{check, mark};
use crate::server::{ListenerStream, StreamInfo, TlsListener};

impl Listener for TlsListener {
    type Io = ListenerStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (ListenerStream, SocketAddr) {
        let stream = Self::accept(self).await;
        let address = stream.info().address;
        (stream, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Self::local_addr(self)
    }
}

impl Connected<IncomingStream<'_, TlsListener>> for StreamInfo {
    fn connect_info(stream: IncomingStream<'_, TlsListener>) -> Self {
        stream.io().info().clone()
    }
}

/// Middleware that [`mark`]s requests that arrived before the handshake was complete, and answers 425 (Too
/// Early) to those that may be replays and are not safe to execute twice (RFC 8470 §5.2).
///
/// The listener may then be one [`with_replayable_early_data`](TlsListener::with_replayable_early_data). A
/// request without [`StreamInfo`] is answered with 500, because it can't be classified.
///
/// ```no_run
/// use axum::{Router, middleware, routing::get};
/// use tessera_tokio::{Server, StreamInfo, TlsListener};
///
/// # async fn example(server: Server) -> std::io::Result<()> {
/// let router: Router = Router::new()
///     .route("/", get(async || "hello"))
///     .layer(middleware::from_fn(tessera_tokio::axum::early_data));
/// let listener = TlsListener::new(server).with_replayable_early_data();
/// axum::serve(listener, router.into_make_service_with_connect_info::<StreamInfo>()).await
/// # }
/// ```
pub async fn early_data(
    ConnectInfo(client): ConnectInfo<StreamInfo>,
    mut request: Request,
    next: Next,
) -> Response {
    mark(&mut request, &client.watch);
    match check(&request) {
        Ok(()) => next.run(request).await,
        Err(too_early) => too_early.into_response(),
    }
}
