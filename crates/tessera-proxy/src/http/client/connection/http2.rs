//! An HTTP/2 connection: many calls at a time.
//!
//! It uses the crate h2 directly, below hyper's client: a call is polled by its caller, without its own channel and
//! task, and its error shows whether the server refused the stream.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use bytes::Bytes;
use h2::Reason;
use h2::client::{Builder, SendRequest};
use http::header::CONTENT_LENGTH;
use http::{Request, Response};
use tessera_tokio::FirstFlightFailure;

use super::keep_alive::{KeepAlive, Next};
use super::pipe::Pipe;
use super::pool_stream::{PoolStream, watched};
use super::{Connection, Lease, Sender, Standing};
use crate::http::body::Body;
use crate::http::client::PoolOptions;
use crate::http::client::connect::Stream;
use crate::http::client::error::{CallError, CallErrorKind, Delivery};
use crate::http::client::failure::Failure;

/// The future that drives the connection.
pub(in crate::http::client) struct Driver {
    connection: h2::client::Connection<PoolStream, Bytes>,
    /// Detects GOAWAY, and the number of streams that the server allows.
    probe: SendRequest<Bytes>,
}

/// Prepares the connection. With early data nothing is sent before there is a request, or it is driven.
pub(in crate::http::client) async fn begin(
    connection: &Arc<Connection>,
    stream: Stream,
    options: &PoolOptions,
) -> Result<Driver, h2::Error> {
    let watched = watched(stream, connection.clone());
    let (sender, driver) = Builder::new()
        .enable_push(false)
        .initial_window_size(options.stream_window)
        .initial_connection_window_size(options.connection_window)
        .max_header_list_size(options.max_header_len)
        // RFC 9113 §6.5.2 recommends that servers allow at least this many; assumed until its SETTINGS arrive.
        .initial_max_send_streams(connection.places().min(100))
        .handshake(watched)
        .await?;
    connection.set_sender(Sender::Http2(sender.clone()));
    Ok(Driver { connection: driver, probe: sender })
}

impl Connection {
    /// Runs until the connection ends.
    pub(in crate::http::client) async fn drive_http2(
        self: Arc<Self>,
        driver: Driver,
        options: Arc<PoolOptions>,
    ) {
        let Driver { connection: mut driver, probe } = driver;
        let mut probe = Some(probe);
        let mut keep_alive = pin!(KeepAlive::new(driver.ping_pong(), &options));
        let mut retired = pin!(self.retired.notified());
        poll_fn(|cx| {
            if let Next::GiveUp = keep_alive.as_mut().poll(&self, cx) {
                return Poll::Ready(());
            }
            loop {
                if Pin::new(&mut driver).poll(cx).is_ready() {
                    return Poll::Ready(());
                }
                self.connect.note(probe.as_ref());
                let Some(sender) = &mut probe else { return Poll::Pending };
                let has_ended = self.standing() == Standing::Retired
                    || retired.as_mut().poll(cx).is_ready()
                    // GOAWAY, or an error.
                    || matches!(sender.poll_ready(cx), Poll::Ready(Err(_)));
                if !has_ended {
                    let allowed = sender.current_max_send_streams().min(options.streams);
                    if self.places.swap(allowed, Ordering::Relaxed) < allowed {
                        self.has_changed();
                    }
                    return Poll::Pending;
                }
                // Without senders h2 ends with the last stream, but must be polled to notice it.
                probe = None;
                self.retire();
            }
        })
        .await;
        drop((driver, probe));
        self.ended();
    }

    /// Returns the error of an early call whose flight can't continue.
    pub(super) fn early_failure(&self) -> Option<CallError> {
        let error = self.flight.error()?;
        if error.may_be_sent_again() {
            return Some(CallError::unsent(CallErrorKind::ConnectionLost).because(error));
        }
        let kind = match error.reason() {
            FirstFlightFailure::Rejected => CallErrorKind::EarlyDataRefused,
            _ => CallErrorKind::ConnectionLost,
        };
        Some(CallError::new(kind, Delivery::Maybe).in_flight(error.outcome()).because(error))
    }

    /// Whether the server allows Extended CONNECT; waits for its SETTINGS on a new connection.
    pub(in crate::http::client) async fn allows_connect(
        &self,
        sender: &SendRequest<Bytes>,
    ) -> bool {
        self.connect.is_allowed(sender).await
    }

    pub(in crate::http::client) fn http2_sender(&self) -> Option<SendRequest<Bytes>> {
        match &*self.sender() {
            Some(Sender::Http2(sender)) => Some(sender.clone()),
            _ => None,
        }
    }
}

/// Sends a request, and waits for the head of its response.
pub(in crate::http::client) async fn exchange(
    lease: Lease,
    is_early: bool,
    request: Request<Body>,
    options: &PoolOptions,
) -> Result<Response<Body>, Failure> {
    let connection = lease.connection();
    let writes = connection.writes.load(Ordering::Relaxed);
    let failed = |error| Failure::from(failure(connection, is_early, writes, error));
    let Some(mut sender) = connection.http2_sender() else { return Err(Failure::unsent(request)) };
    let (head, body) = request.into_parts();
    let is_whole = body.is_end();
    let begun = sender.send_request(Request::from_parts(head, ()), is_whole);
    let (mut response, stream) = begun.map_err(failed)?;
    drop(sender);
    let mut pipe = (!is_whole).then(|| Pipe::new(body, stream));
    let response = poll_fn(|cx| {
        if let Some(sending) = &mut pipe {
            match sending.poll(cx) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => pipe = None,
                Poll::Ready(Err(error)) => {
                    let error =
                        CallError::new(CallErrorKind::RequestBody, Delivery::Maybe).because(error);
                    return Poll::Ready(Err(error.into()));
                }
            }
        }
        Pin::new(&mut response).poll(cx).map_err(failed)
    })
    .await?;
    if let Some(rest) = pipe {
        // The server answered before it had the whole request.
        drop(tokio::spawn(rest.finish(options.body.idle)));
    }
    let length = response.headers().get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
    Ok(response
        .map(|body| Body::http2(body, length, options.body, None).holding(lease.into_place())))
}

pub(in crate::http::client) fn failure(
    connection: &Connection,
    is_early: bool,
    writes: u64,
    error: h2::Error,
) -> CallError {
    if is_early && let Some(error) = connection.early_failure() {
        return error;
    }
    let (kind, sent) = match error.reason() {
        // RFC 9113 §8.7: the server processed nothing. h2 gives a GOAWAY's error to streams above its last one.
        Some(Reason::REFUSED_STREAM) if error.is_reset() && error.is_remote() => {
            (CallErrorKind::Reset(Reason::REFUSED_STREAM.into()), Delivery::Nothing)
        }
        Some(_) if error.is_go_away() && error.is_remote() => {
            (CallErrorKind::ConnectionLost, Delivery::Nothing)
        }
        Some(reason) if error.is_reset() => (CallErrorKind::Reset(reason.into()), Delivery::Maybe),
        None if !error.is_io() => (CallErrorKind::InvalidRequest, Delivery::Nothing),
        _ if connection.writes.load(Ordering::Relaxed) == writes => {
            (CallErrorKind::ConnectionLost, Delivery::Nothing)
        }
        _ => (CallErrorKind::ConnectionLost, Delivery::Maybe),
    };
    let error = CallError::new(kind, sent).because(error);
    if is_early { error.in_flight(connection.early_data()) } else { error }
}
