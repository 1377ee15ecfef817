//! Serves clients' connections within limits: HTTP/2 by h2, HTTP/1.1 by hyper.
//!
//! [`serve`] handles one connection from its first byte to its end. Its future is the whole connection: requests need
//! no tasks, and their limits share one timer.
//!
//! | client | result |
//! |---|---|
//! | a head with too many bytes or fields | 431 |
//! | a body announced as too long | 413; one that becomes too long is [`BodyError::TooLong`] for the service |
//! | a request that isn't answered in time | 504, or 408 if it is incomplete |
//! | early data that must not be early | 425 (RFC 8470 §5.2) |
//! | HTTP/1.1 without exactly one `Host`, or malformed | 400 |
//! | malformed HTTP/2 | GOAWAY, or RST_STREAM if only one stream is affected |
//! | an upgrade that is malformed or has content | 400; over HTTP/2 501 if the protocol isn't offered |
//! | an upgrade in early data, or during shutdown | 425, or 503 |
//! | mass cancellation of requests | GOAWAY with ENHANCE_YOUR_CALM |
//! | an answer that it doesn't read | RST_STREAM with CANCEL after [`ServerOptions::stall_time`] |
//! | no requests | the connection ends after [`ServerOptions::idle_time`], or when a PING isn't answered |
//!
//! If [`ServerOptions::upgrades`] allows it, a client may switch to another protocol such as WebSocket, by HTTP/1.1's
//! Upgrade or HTTP/2's Extended CONNECT (RFC 8441): the service then finds an [`UpgradeRequest`], whose answer is bound to
//! the stream that the connection carries from then on. Otherwise `Upgrade` is ignored. After an upgrade that is refused,
//! an HTTP/1.1 connection ends with the answer: the client may already have sent bytes of the other protocol, and they
//! must not be read as a request (RFC 9931).
//!
//! ```
//! use std::sync::Arc;
//!
//! use http::{Request, Response};
//! use tessera_proxy::http::body::Body;
//! use tessera_proxy::http::server::{AcceptedConnection, ServerOptions, serve};
//! use tokio::net::TcpListener;
//! use tokio::sync::watch;
//!
//! async fn hello(request: Request<Body>) -> Response<Body> {
//!     Response::new(Body::full(format!("You asked for {}.\n", request.uri().path()).into()))
//! }
//!
//! async fn listen(listener: TcpListener, ending: watch::Receiver<bool>) -> std::io::Result<()> {
//!     let options = Arc::new(ServerOptions::default());
//!     loop {
//!         let (socket, _) = listener.accept().await?;
//!         let (options, mut ending) = (options.clone(), ending.clone());
//!         tokio::spawn(async move {
//!             let drain = async move {
//!                 let _ = ending.wait_for(|ending| *ending).await;
//!             };
//!             let ended = serve(AcceptedConnection::plaintext(socket), options, hello, drain).await;
//!             tracing::debug!("{} requests: {}", ended.requests, ended.cause);
//!         });
//!     }
//! }
//! ```
//!
//! [`BodyError::TooLong`]: super::body::BodyError::TooLong

mod admit;
mod alarm;
mod connection_summary;
mod held_value;
mod http1;
mod http2;
mod io;
mod options;
mod preface;
mod upgrade;
mod upgrade_end;
mod upgrade_options;

use std::future::Future;
use std::sync::Arc;

use http::{Request, Response};
use tessera_tokio::{HandshakeWatch, ServerStream};
use tokio::io::{AsyncRead, AsyncWrite};

pub use self::connection_summary::{Cause, ConnectionSummary};
pub use self::held_value::keep;
use self::io::{Io, WriteState};
pub use self::options::{Early, EarlyRule, KeepAlive, Refusal, ServerOptions};
pub use self::preface::Protocol;
pub use self::upgrade::UpgradeRequest;
use self::upgrade::carry;
pub use self::upgrade_end::UpgradeEnd;
pub use self::upgrade_options::UpgradeOptions;
use super::body::Body;

/// A client's connection, before anything was read.
pub struct AcceptedConnection<IO> {
    /// The stream.
    pub io: IO,
    /// The protocol.
    pub protocol: Protocol,
    /// Whether the handshake is complete, if early data is possible.
    pub watch: Option<HandshakeWatch>,
}

impl<IO> AcceptedConnection<IO> {
    /// Wraps a connection without TLS.
    pub fn plaintext(io: IO) -> Self {
        Self { io, protocol: Protocol::Detect, watch: None }
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AcceptedConnection<ServerStream<IO>> {
    /// Wraps a TLS connection, with the protocol that ALPN chose. Requests received before the handshake is complete
    /// are marked and checked.
    pub fn tls(mut io: ServerStream<IO>) -> Self {
        let (protocol, watch) = of_tls(&mut io);
        Self { io, protocol, watch }
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AcceptedConnection<Box<ServerStream<IO>>> {
    /// The same, for a stream in a box: the futures that it passes through then have no room for it each, which counts
    /// where many connections are idle.
    pub fn boxed_tls(mut io: Box<ServerStream<IO>>) -> Self {
        let (protocol, watch) = of_tls(&mut io);
        Self { io, protocol, watch }
    }
}

fn of_tls<IO: AsyncRead + AsyncWrite + Unpin>(
    io: &mut ServerStream<IO>,
) -> (Protocol, Option<HandshakeWatch>) {
    let watch = (!io.is_handshake_complete()).then(|| io.handshake_watch());
    (Protocol::of_alpn(io.protocol()), watch)
}

/// Serves a connection until it ends. When `drain` is ready, no new requests begin, and open ones must end within
/// [`ServerOptions::drain_time`].
///
/// `service` answers requests. Its future is dropped when the client cancels the request or disconnects, or when it
/// takes longer than [`ServerOptions::request_time`]. It is polled on the connection's task: run long computations
/// elsewhere. Dropping the returned future cuts the connection.
pub async fn serve<IO, S, F>(
    accepted: AcceptedConnection<IO>,
    options: Arc<ServerOptions>,
    service: S,
    drain: impl Future<Output = ()>,
) -> ConnectionSummary
where
    IO: AsyncRead + AsyncWrite + Unpin,
    S: Fn(Request<Body>) -> F,
    F: Future<Output = Response<Body>>,
{
    let AcceptedConnection { mut io, protocol, watch } = accepted;
    let mut drain = std::pin::pin!(drain);
    let found = tokio::select! {
        biased;
        () = &mut drain => Err(Cause::Drained { cut: 0 }),
        found = protocol.find(&mut io, &options) => found,
    };
    let (protocol, prefix) = match found {
        Ok(found) => found,
        Err(cause) => return ConnectionSummary { requests: 0, cause },
    };
    let io = Io { stream: io, tracker: WriteState::new(prefix, options.stall_time) };
    if protocol == Protocol::Http2 {
        http2::serve(io, watch, options, service, drain).await
    } else {
        // Boxed, so that HTTP/2 and upgraded connections don't reserve room for HTTP/1.1's state.
        let ended =
            Box::pin(http1::serve(io, watch, options.clone(), service, drain.as_mut())).await;
        match ended {
            http1::Ended::Connection(summary) => summary,
            http1::Ended::Upgrade(carrier, requests) => {
                let cause = Box::pin(carry(carrier, &options, drain)).await;
                ConnectionSummary { requests, cause }
            }
        }
    }
}
