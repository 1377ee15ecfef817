//! Connections of clients, served within limits: HTTP/2 by h2, HTTP/1.1 by hyper.
//!
//! [`serve`] carries one connection from its first byte to its end. Its future is the whole connection: requests
//! need no tasks of their own, and their limits share one timer.
//!
//! | what a client does | what becomes of it |
//! |---|---|
//! | a head with too many bytes or fields | 431 |
//! | a body that is announced too long | 413; one that becomes too long is [`BodyError::TooLong`] for the service |
//! | a request that isn't answered in time | 504, or 408 if it isn't whole |
//! | early data that must not be early | 425 (RFC 8470 §5.2) |
//! | HTTP/1.1 without one `Host`, or that can't be read | 400 |
//! | HTTP/2 that can't be read | GOAWAY, or RST_STREAM where one stream is concerned |
//! | requests taken back in masses | GOAWAY with ENHANCE_YOUR_CALM |
//! | an answer that it doesn't take | RST_STREAM with CANCEL after [`ServerOptions::stall_time`] |
//! | nothing | the connection ends after [`ServerOptions::idle_time`], or when a PING isn't answered |
//!
//! ```
//! use std::sync::Arc;
//!
//! use http::{Request, Response};
//! use tessera_proxy::http::body::Body;
//! use tessera_proxy::http::server::{Accepted, ServerOptions, serve};
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
//!             let ended = serve(Accepted::plaintext(socket), options, hello, drain).await;
//!             tracing::debug!("{} requests: {}", ended.requests, ended.cause);
//!         });
//!     }
//! }
//! ```
//!
//! [`BodyError::TooLong`]: super::body::BodyError::TooLong

mod admit;
mod alarm;
mod ended;
mod http1;
mod http2;
mod io;
mod kept;
mod options;
mod preface;

use std::future::Future;
use std::sync::Arc;

use http::{Request, Response};
use tessera_tokio::{HandshakeWatch, ServerStream};
use tokio::io::{AsyncRead, AsyncWrite};

pub use self::ended::{Cause, Ended};
use self::io::{Io, Writes};
pub use self::kept::keep;
pub use self::options::{Early, EarlyRule, KeepAlive, Refusal, ServerOptions};
pub use self::preface::Protocol;
use super::body::Body;

/// A connection of a client, of which nothing was read.
pub struct Accepted<IO> {
    /// Its stream.
    pub io: IO,
    /// What it speaks.
    pub protocol: Protocol,
    /// Whether its handshake is complete, if what is read may be early data.
    pub watch: Option<HandshakeWatch>,
}

impl<IO> Accepted<IO> {
    /// A connection without TLS.
    pub fn plaintext(io: IO) -> Self {
        Self { io, protocol: Protocol::Detect, watch: None }
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Accepted<ServerStream<IO>> {
    /// A connection with TLS, whose protocol ALPN chose. Requests that come before its handshake is complete are
    /// marked and judged.
    pub fn tls(mut io: ServerStream<IO>) -> Self {
        let protocol = Protocol::of_alpn(io.protocol());
        let watch = (!io.is_handshake_complete()).then(|| io.handshake_watch());
        Self { io, protocol, watch }
    }
}

/// Serves a connection until it ends. `drain` is ready when the server ends: requests under way then end within
/// [`ServerOptions::drain_time`], and no others begin.
///
/// `service` answers requests. Its future is dropped when the client takes its request back or leaves, or when it takes
/// longer than [`ServerOptions::request_time`]. It is polled where the connection is: what computes for long belongs
/// elsewhere. Dropping the future cuts the connection.
pub async fn serve<IO, S, F>(
    accepted: Accepted<IO>,
    options: Arc<ServerOptions>,
    service: S,
    drain: impl Future<Output = ()>,
) -> Ended
where
    IO: AsyncRead + AsyncWrite + Unpin,
    S: Fn(Request<Body>) -> F,
    F: Future<Output = Response<Body>>,
{
    let Accepted { mut io, protocol, watch } = accepted;
    let mut drain = std::pin::pin!(drain);
    let found = tokio::select! {
        biased;
        () = &mut drain => Err(Cause::Drained { cut: 0 }),
        found = protocol.find(&mut io, &options) => found,
    };
    let (protocol, prefix) = match found {
        Ok(found) => found,
        Err(cause) => return Ended { requests: 0, cause },
    };
    let io = Io { stream: io, tracker: Writes::new(prefix, options.stall_time) };
    if protocol == Protocol::Http2 {
        http2::serve(io, watch, options, service, drain).await
    } else {
        // What HTTP/1.1 holds on to is not to be room in each connection of HTTP/2.
        Box::pin(http1::serve(io, watch, options, service, drain)).await
    }
}
