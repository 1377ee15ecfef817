//! An HTTP/1.1 connection: one call at a time.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Version};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::time::{sleep, timeout};

use super::pool_stream::{PoolStream, watched};
use super::{Connection, Lease, Sender};
use crate::http::body::Body;
use crate::http::client::PoolOptions;
use crate::http::client::connect::Stream;
use crate::http::client::error::{CallError, CallErrorKind, Delivery};
use crate::http::client::failure::Failure;
use crate::http::hop_by_hop::is_chunked_at_most;

/// The future that drives the connection.
pub(in crate::http::client) type Driver = http1::Connection<TokioIo<PoolStream>, Body>;

/// Prepares the connection. Nothing is sent before it is driven.
pub(in crate::http::client) async fn begin(
    connection: &Arc<Connection>,
    stream: Stream,
    options: &PoolOptions,
) -> hyper::Result<Driver> {
    let io = TokioIo::new(watched(stream, connection.clone()));
    let (sender, driver) = builder(options).handshake(io).await?;
    connection.set_sender(Sender::Http1(sender));
    Ok(driver)
}

/// Returns what makes connections within the limits on responses.
pub(in crate::http::client) fn builder(options: &PoolOptions) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.max_headers(options.max_headers);
    builder.max_buf_size((options.max_header_len as usize).max(SMALLEST_BUFFER));
    builder
}

/// hyper's minimum.
const SMALLEST_BUFFER: usize = 8192;

impl Connection {
    /// Runs until the connection ends.
    pub(in crate::http::client) async fn drive_http1(
        self: Arc<Self>,
        mut driver: Driver,
        options: Arc<PoolOptions>,
    ) {
        let opened = tokio::time::Instant::now();
        let max_age = options.max_age.mul_f64(1.0 - fastrand::f64() / 10.0);
        let (mut calls, mut last_call) = (0, opened);
        loop {
            tokio::select! {
                _ended = &mut driver => break,
                () = self.retired.notified() => {
                    // The sender is dropped: hyper ends with the current call.
                    let _ended = timeout(LONGEST_END, &mut driver).await;
                    if self.in_use() == 0 {
                        break;
                    }
                }
                () = sleep(options.idle.min(max_age).min(LONGEST_LOOK) / 4) => {
                    let now = tokio::time::Instant::now();
                    if self.in_use() > 0 || self.calls() != calls {
                        (calls, last_call) = (self.calls(), now);
                    }
                    let is_idle = now - last_call > options.idle && self.may_close();
                    if now - opened > max_age || is_idle {
                        // A call with a place continues.
                        self.refuse_calls();
                        if self.in_use() == 0 {
                            break;
                        }
                    }
                }
            }
        }
        drop(driver);
        self.ended();
    }

    /// After a call, returns whether the next may follow; otherwise a task waits for that.
    pub(super) fn is_free_again(self: &Arc<Self>) -> bool {
        let is_ready = match &*self.sender() {
            Some(Sender::Http1(sender)) => sender.is_ready() || sender.is_closed(),
            _ => true,
        };
        if !is_ready && let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let connection = self.clone();
            drop(runtime.spawn(async move {
                let ready = poll_fn(|cx| connection.poll_http1_ready(cx));
                if timeout(LONGEST_END, ready).await != Ok(true) {
                    connection.retire();
                }
                connection.in_use.fetch_sub(1, Ordering::SeqCst);
                connection.has_changed();
            }));
            return false;
        }
        true
    }

    fn poll_http1_ready(&self, cx: &mut Context<'_>) -> Poll<bool> {
        match &mut *self.sender() {
            Some(Sender::Http1(sender)) => sender.poll_ready(cx).map(|ready| ready.is_ok()),
            _ => Poll::Ready(false),
        }
    }
}

/// Sends a request, and waits for the head of its response.
pub(in crate::http::client) async fn exchange(
    lease: Lease,
    is_early: bool,
    request: Request<Body>,
    options: &PoolOptions,
) -> Result<http::Response<Body>, Failure> {
    let connection = lease.connection().clone();
    let writes = connection.writes.load(Ordering::Relaxed);
    let sending = match &mut *connection.sender() {
        Some(Sender::Http1(sender)) => sender.try_send_request(request),
        _ => return Err(Failure::unsent(request)),
    };
    let mut error = match sending.await {
        Ok(mut response) => {
            if !is_chunked_at_most(response.headers()) {
                let why = "the answer has a transfer coding other than chunked";
                let error = CallError::new(CallErrorKind::ConnectionLost, Delivery::Maybe);
                return Err(error.because(why).into());
            }
            // RFC 9110 §2.5: each recipient sends its own version.
            *response.version_mut() = Version::HTTP_11;
            return Ok(
                response.map(|body| Body::incoming(body, options.body).holding(lease.into_place()))
            );
        }
        Err(error) => error,
    };
    if let Some(request) = error.take_message() {
        return Err(Failure::unsent(request));
    }
    let error = error.into_error();
    if is_early && let Some(error) = connection.early_failure() {
        return Err(error.into());
    }
    let was_written = connection.writes.load(Ordering::Relaxed) != writes;
    let sent = if was_written { Delivery::Maybe } else { Delivery::Nothing };
    let kind =
        if error.is_user() { CallErrorKind::RequestBody } else { CallErrorKind::ConnectionLost };
    Err(CallError::new(kind, sent).because(error).into())
}

/// The time limit for the last bytes of a call.
const LONGEST_END: Duration = Duration::from_secs(5);
const LONGEST_LOOK: Duration = Duration::from_secs(60);
