//! Limits of a server, and its refusals.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use tessera_tokio::http::check;

use super::upgrade_options::UpgradeOptions;
use crate::http::body::{Body, BodyLimits};

/// Limits on a client in size and time. The defaults suit a proxy of APIs.
#[derive(Clone)]
pub struct ServerOptions {
    /// The longest head of a request, in bytes. HTTP/2 counts 32 more for each field (RFC 9113 §6.5.2); HTTP/1.1
    /// takes at least 8 KiB. Default: 64 KiB.
    pub head_bytes: u32,
    /// The most fields of a head. Default: 128.
    pub head_fields: usize,
    /// Limits on a request's body. Default: 128 MiB, and 30 s without a byte of it.
    pub body: BodyLimits,
    /// How many requests an HTTP/2 connection may have open at once. Default: 100.
    pub streams: u32,
    /// How much of a body a client may send ahead of its reader, on each HTTP/2 stream, in bytes. Default: 256 KiB.
    pub stream_window: u32,
    /// The same for all streams of a connection together. Default: 1 MiB.
    pub connection_window: u32,
    /// The time for the preface of an HTTP/2 connection, and in HTTP/1.1 for each head from its first byte to its last.
    /// Default: 10 s.
    pub head_time: Duration,
    /// The time from a request's head to the head of its answer. Default: 60 s.
    pub request_time: Duration,
    /// The time from a request's head to the last byte of its answer. Default: 15 min.
    pub exchange_time: Duration,
    /// How long an answer waits for a client that reads nothing of it, and the bytes after an upgrade for either side.
    /// Default: 30 s.
    pub stall_time: Duration,
    /// How long a connection without a request stays open, and up to a second more. Requests that cross its end have their
    /// own limits. Default: 10 min.
    pub idle_time: Duration,
    /// Whether a client of HTTP/1.1 may end its side of the connection before its answers, as scripts do. Otherwise it is taken
    /// for gone: the request in progress is cancelled at once, as in HTTP/2 at a reset. Default: it may.
    pub half_close: bool,
    /// How long open requests and upgraded connections may last after shutdown begins. Default: 30 s.
    pub drain_time: Duration,
    /// Checks whether an HTTP/2 client is alive. Default: a PING each minute, 20 s for its answer.
    pub keep_alive: Option<KeepAlive>,
    /// Whether answers without a `Date` get one (RFC 9110 §6.6.1). Default: yes.
    pub date: bool,
    /// Which upgrades clients may request. Default: none, and `Upgrade` is ignored.
    pub upgrades: Option<UpgradeOptions>,
    /// Decides on requests received before their connection's handshake was complete. Default:
    /// [`ServerOptions::safe_early`].
    pub early: EarlyRule,
    /// Makes the answer to a request that the server itself refuses. Default: the status, and no body.
    pub refusal: Arc<dyn Fn(Refusal) -> Response<Body> + Send + Sync>,
}

impl ServerOptions {
    /// Refuses requests that may be a replay and aren't safe (RFC 9110 §9.2.1), and processes all others.
    pub fn safe_early(request: &Request<Body>) -> Early {
        if check(request).is_ok() { Early::Process } else { Early::Refuse }
    }
}

impl Default for ServerOptions {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            head_bytes: 64 * 1024,
            head_fields: 128,
            body: BodyLimits { max_len: 128 * 1024 * 1024, idle: seconds(30) },
            streams: 100,
            stream_window: 256 * 1024,
            connection_window: 1024 * 1024,
            head_time: seconds(10),
            request_time: seconds(60),
            exchange_time: seconds(15 * 60),
            stall_time: seconds(30),
            idle_time: seconds(10 * 60),
            half_close: true,
            drain_time: seconds(30),
            keep_alive: Some(KeepAlive { interval: seconds(60), timeout: seconds(20) }),
            date: true,
            upgrades: None,
            early: Arc::new(Self::safe_early),
            refusal: Arc::new(Refusal::into_response),
        }
    }
}

impl fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerOptions")
            .field("head_bytes", &self.head_bytes)
            .field("body", &self.body)
            .field("streams", &self.streams)
            .finish_non_exhaustive()
    }
}

/// How to check whether the other end is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepAlive {
    /// The time between PINGs.
    pub interval: Duration,
    /// How long to wait for the answer.
    pub timeout: Duration,
}

/// Decides on an early request.
pub type EarlyRule = Arc<dyn Fn(&Request<Body>) -> Early + Send + Sync>;

/// What to do with a request received before its connection's handshake was complete (RFC 8470 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Early {
    /// Process it now.
    Process,
    /// Wait until the handshake is complete.
    Wait,
    /// Answer 425 (Too Early): the client sends it again after the handshake.
    Refuse,
}

/// Why a server itself refuses a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// 431: its head has too many fields.
    TooManyFields,
    /// 413: it announces a body that is too long.
    BodyTooLong,
    /// 425: it came too early ([`Early::Refuse`]).
    TooEarly,
    /// 408: it wasn't complete in time.
    Slow,
    /// 504: it was complete, but not answered in time.
    Unanswered,
    /// 400: a request of HTTP/1.1 without `Host`, or any with several (RFC 9112 §3.2, RFC 9113 §8.3.1).
    Host,
    /// 400: a target that its method can't have (RFC 9112 §3.2).
    Target,
    /// 501: transfer codings other than `chunked` (RFC 9112 §6.1).
    TransferCoding,
    /// 400: an upgrade that has content, isn't a GET, or lacks fields of its protocol (RFC 6455 §4.2.1).
    Upgrade,
    /// 501: Extended CONNECT to a protocol that isn't offered.
    UnknownProtocol,
    /// 503: an upgrade while the server shuts down.
    Draining,
}

impl Refusal {
    /// Returns the status code.
    pub fn status(self) -> StatusCode {
        match self {
            Self::TooManyFields => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::BodyTooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooEarly => StatusCode::TOO_EARLY,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Unanswered => StatusCode::GATEWAY_TIMEOUT,
            Self::Host | Self::Target | Self::Upgrade => StatusCode::BAD_REQUEST,
            Self::TransferCoding | Self::UnknownProtocol => StatusCode::NOT_IMPLEMENTED,
            Self::Draining => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Returns an answer with the status and no body.
    pub fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status();
        response
    }
}
