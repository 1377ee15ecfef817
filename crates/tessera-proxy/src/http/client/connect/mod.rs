//! Makes the connections of a pool.

mod tls;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tessera_tokio::FirstFlight;

pub use self::tls::Tls;
use crate::dial::Dialler;
use crate::socket::{Socket, either_stream};

/// Makes the connections of a pool.
pub trait Connect: Send + Sync {
    /// Connects by `to`. With `early` the first request may travel as early data: the TLS stream may then be returned
    /// before its handshake is complete. Otherwise no written byte may be sent before that.
    fn connect<'c>(&'c self, to: &'c Dialler, early: bool) -> Connecting<'c>;

    /// Connects for one upgrade, which needs HTTP/1.1. By default like any other connection without early data: the
    /// upgrade fails if that speaks HTTP/2.
    fn connect_http1<'c>(&'c self, to: &'c Dialler) -> Connecting<'c> {
        self.connect(to, false)
    }
}

/// A connection being made.
pub type Connecting<'c> = Pin<Box<dyn Future<Output = io::Result<Transport>> + Send + 'c>>;

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// HTTP/1.1: one call at a time.
    Http1,
    /// HTTP/2: many calls at a time.
    #[default]
    Http2,
}

/// A connection and its protocol.
pub struct Transport {
    pub(super) stream: Stream,
    pub(super) protocol: Protocol,
}

impl Transport {
    /// Wraps a plaintext connection.
    pub fn plain(socket: Socket, protocol: Protocol) -> Self {
        Self { stream: Stream::Plain(socket), protocol }
    }

    /// Wraps a TLS connection whose handshake is complete, or that may still send early data.
    pub fn tls(stream: FirstFlight<Socket>, protocol: Protocol) -> Self {
        Self { stream: Stream::Tls(Box::new(stream)), protocol }
    }
}

/// A stream with TLS or without.
pub(super) enum Stream {
    Tls(Box<FirstFlight<Socket>>),
    Plain(Socket),
}

either_stream!(Stream: Tls, Plain);

/// Connects without TLS, and speaks this protocol from the start (HTTP/2 with prior knowledge, RFC 9113 §3.3); for
/// upgrades HTTP/1.1.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plaintext(pub Protocol);

impl Connect for Plaintext {
    fn connect<'c>(&'c self, to: &'c Dialler, _: bool) -> Connecting<'c> {
        Box::pin(async move {
            let socket = to.dial().await.map_err(|error| io::Error::new(error.kind(), error))?;
            Ok(Transport::plain(socket, self.0))
        })
    }

    fn connect_http1<'c>(&'c self, to: &'c Dialler) -> Connecting<'c> {
        Box::pin(async move { Self(Protocol::Http1).connect(to, false).await })
    }
}
