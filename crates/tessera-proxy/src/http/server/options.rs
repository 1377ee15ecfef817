//! What a server gives its clients, and how it refuses.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use tessera_tokio::http::check;

use crate::http::body::{Body, BodyLimits};

/// What a client of a server may have, and for how long. The defaults suit a proxy of APIs.
#[derive(Clone)]
pub struct ServerOptions {
    /// The longest head of a request, in bytes. HTTP/2 counts 32 more for each field (RFC 9113 §6.5.2); HTTP/1.1
    /// takes at least 8 KiB. Default: 64 KiB.
    pub head_bytes: u32,
    /// The most fields of a head. Default: 128.
    pub head_fields: usize,
    /// What a request's body may be. Default: 128 MiB, and 30 s without a byte of it.
    pub body: BodyLimits,
    /// How many requests of a connection of HTTP/2 may be under way at once. Default: 100.
    pub streams: u32,
    /// How much of a body a client may send before it is read: on each stream of HTTP/2, in bytes. Default: 256 KiB.
    pub stream_window: u32,
    /// The same for all streams of a connection together. Default: 1 MiB.
    pub connection_window: u32,
    /// From the beginning of a connection of HTTP/2 to the end of its preface, and in HTTP/1.1 from the first byte of
    /// each head to its last. Default: 10 s.
    pub head_time: Duration,
    /// From a request's head to the head of its answer. Default: 60 s.
    pub request_time: Duration,
    /// From a request's head to the last byte of its answer. Default: 15 min.
    pub exchange_time: Duration,
    /// How long an answer waits for a client that takes nothing of it. Default: 30 s.
    pub stall_time: Duration,
    /// How long a connection without a request stays open. Default: 10 min.
    pub idle_time: Duration,
    /// How long requests under way have once the server ends. Default: 30 s.
    pub drain_time: Duration,
    /// Finds out whether a client of HTTP/2 is still there. Default: a PING each minute, 20 s for its answer.
    pub keep_alive: Option<KeepAlive>,
    /// Whether answers without a `Date` get one (RFC 9110 §6.6.1). Default: yes.
    pub date: bool,
    /// What is done with a request that came before its connection's handshake was complete. Default:
    /// [`ServerOptions::safe_early`].
    pub early: EarlyRule,
    /// The answer to a request that the server itself refuses. Default: the status, and no body.
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
            drain_time: seconds(30),
            keep_alive: Some(KeepAlive { interval: seconds(60), timeout: seconds(20) }),
            date: true,
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

/// How to find out whether the other end is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepAlive {
    /// From one PING to the next.
    pub interval: Duration,
    /// How long its answer may take.
    pub timeout: Duration,
}

/// Says what is done with a request that came early.
pub type EarlyRule = Arc<dyn Fn(&Request<Body>) -> Early + Send + Sync>;

/// What is done with a request that came before its connection's handshake was complete (RFC 8470 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Early {
    /// It is processed now.
    Process,
    /// It waits until the handshake is complete.
    Wait,
    /// It is answered by 425 (Too Early): the client sends it again after the handshake.
    Refuse,
}

/// Why a server answers a request itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// 431: its head has too many fields.
    TooManyFields,
    /// 413: it announces a body that is too long.
    BodyTooLong,
    /// 425: it came too early ([`Early::Refuse`]).
    TooEarly,
    /// 408: it didn't come whole in time.
    Slow,
    /// 504: it came whole, and wasn't answered in time.
    Unanswered,
    /// 400: a request of HTTP/1.1 without exactly one `Host` (RFC 9112 §3.2).
    Host,
}

impl Refusal {
    /// The status that says so.
    pub fn status(self) -> StatusCode {
        match self {
            Self::TooManyFields => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::BodyTooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooEarly => StatusCode::TOO_EARLY,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Unanswered => StatusCode::GATEWAY_TIMEOUT,
            Self::Host => StatusCode::BAD_REQUEST,
        }
    }

    /// The status, and no body.
    pub fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status();
        response
    }
}
