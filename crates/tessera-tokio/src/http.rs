//! Early data in HTTP (RFC 8470).
//!
//! A server reads requests from the stream of [`Acceptor::accept_early`](crate::Acceptor) and [`mark`]s each
//! before handling it. A handler then [`check`]s requests that must not be replayed, or waits for the
//! handshake with [`EarlyRequest::completed`].
//!
//! ```
//! use http::{Request, Response, StatusCode};
//! use tessera_tokio::HandshakeWatch;
//! use tessera_tokio::http::{check, mark};
//!
//! fn handle(mut request: Request<()>, watch: &HandshakeWatch) -> Response<()> {
//!     mark(&mut request, watch);
//!     match check(&request) {
//!         Err(too_early) => too_early.into_response(),
//!         Ok(()) => Response::new(()),
//!     }
//! }
//! ```

use std::io;

use http::header::{HeaderName, HeaderValue};
use http::{Request, Response, StatusCode};

use crate::watch::HandshakeWatch;

/// The header field by which an intermediary reports that a request came as early data
/// (RFC 8470 §5.1).
pub const EARLY_DATA: HeaderName = HeaderName::from_static("early-data");

/// Request extension for requests that arrived before the handshake was complete.
#[derive(Debug, Clone)]
pub struct EarlyRequest {
    watch: HandshakeWatch,
    /// An intermediary reported it as early data.
    was_early_before: bool,
}

impl EarlyRequest {
    /// Returns whether the request may be a replay at this moment: no if it arrived under a forward-secret
    /// ticket, and no after the handshake, unless an intermediary reports it.
    pub fn is_replayable(&self) -> bool {
        self.was_early_before || (self.watch.is_replayable() && !self.watch.is_complete())
    }

    /// Waits until the handshake is complete, which proves that this connection's client sent it (RFC 8470
    /// §3). After an error the handshake will not complete, and the request must not be executed.
    ///
    /// The server must keep reading meanwhile: if it reads the connection only between requests, this never
    /// returns.
    pub async fn completed(&self) -> io::Result<()> {
        self.watch.completed().await
    }
}

/// Marks a request that arrived before its connection's handshake is complete with an [`EarlyRequest`]. One
/// that may be a replay also gets `Early-Data: 1`, for when it is forwarded (RFC 8470 §5.1). A field that the
/// client sent stays, since the client may be an intermediary.
pub fn mark<B>(request: &mut Request<B>, watch: &HandshakeWatch) {
    if watch.is_complete() {
        return;
    }
    let was_early_before = request.headers().contains_key(EARLY_DATA);
    let early = EarlyRequest { watch: watch.clone(), was_early_before };
    if early.is_replayable() {
        request.headers_mut().insert(EARLY_DATA, HeaderValue::from_static("1"));
    }
    request.extensions_mut().insert(early);
}

/// Refuses a request that may be a replay and is not safe to execute twice (RFC 9110 §9.2.1): one that
/// arrived here as replayable early data, or at an intermediary that reported it.
pub fn check<B>(request: &Request<B>) -> Result<(), TooEarly> {
    let is_replayable = match request.extensions().get::<EarlyRequest>() {
        // The field may be `mark`'s own, and the handshake complete by now.
        Some(early) => early.is_replayable(),
        // RFC 8470 §5.1: any number of fields, and any value, mean the same.
        None => request.headers().contains_key(EARLY_DATA),
    };
    if is_replayable && !request.method().is_safe() { Err(TooEarly) } else { Ok(()) }
}

/// The request may be a replay: the client must send it again after the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooEarly;

impl TooEarly {
    /// Returns 425 (Too Early), RFC 8470 §5.2.
    pub fn into_response<B: Default>(self) -> Response<B> {
        let mut response = Response::new(B::default());
        *response.status_mut() = StatusCode::TOO_EARLY;
        response
    }
}

impl std::fmt::Display for TooEarly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the request came as early data that may be a replay")
    }
}

impl std::error::Error for TooEarly {}
