//! One request and its answer, until h2 has the answer's last byte.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{Method, Response};
use pin_project_lite::pin_project;
use tokio::time::Instant;

use crate::http::body::Body;
use crate::http::server::held_value::HeldValue;

pin_project! {
    /// A request being answered by the service.
    pub(super) struct PendingAnswer<F> {
        asked: Option<Responder>,
        #[pin]
        answer: F,
        timer: Timer,
    }
}

/// Where to send an answer.
pub(super) struct Responder {
    pub respond: SendResponse<Bytes>,
    pub method: Method,
    pub since: Instant,
    /// Whether the whole request was read; `None` if it was complete with its head.
    pub whole: Option<Arc<AtomicBool>>,
    /// What the client sends after an upgrade that it asked for.
    pub upgrade: Option<RecvStream>,
}

impl Responder {
    pub(super) fn is_whole(&self) -> bool {
        self.whole.as_ref().is_none_or(|whole| whole.load(Ordering::Relaxed))
    }
}

/// Why the service has not answered.
pub(super) enum AnswerFailure {
    /// The client cancelled the request.
    TakenBack,
    /// The service took too long.
    Late,
}

/// How the sweep ends an exchange that takes too long: it is polled once more.
#[derive(Default)]
struct Timer {
    late: bool,
    waker: Option<Waker>,
}

impl Timer {
    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.late && self.waker.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
            self.waker = Some(cx.waker().clone());
        }
        self.late
    }

    fn end(&mut self) {
        self.late = true;
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl<F> PendingAnswer<F> {
    pub(super) fn new(asked: Responder, answer: F) -> Self {
        Self { asked: Some(asked), answer, timer: Timer::default() }
    }

    /// Ends it if it began more than `limit` before `now`.
    pub(super) fn sweep(self: Pin<&mut Self>, now: Instant, limit: Duration) {
        let this = self.project();
        if this.asked.as_ref().is_some_and(|asked| has_passed(asked.since, limit, now)) {
            this.timer.end();
        }
    }
}

impl<F: Future<Output = Response<Body>>> Future for PendingAnswer<F> {
    type Output = Option<(Responder, Result<Response<Body>, AnswerFailure>)>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Some(asked) = this.asked else { return Poll::Ready(None) };
        let handled = if let Poll::Ready(response) = this.answer.poll(cx) {
            Ok(response)
        } else if asked.respond.poll_reset(cx).is_ready() {
            Err(AnswerFailure::TakenBack)
        } else if this.timer.is_over(cx) {
            Err(AnswerFailure::Late)
        } else {
            return Poll::Pending;
        };
        Poll::Ready(this.asked.take().map(|asked| (asked, handled)))
    }
}

/// An answer whose head was sent, and whose body follows.
pub(super) struct BodySender {
    stream: SendStream<Bytes>,
    body: Body,
    /// Data waiting for the client's window.
    data: Bytes,
    trailers: Option<http::HeaderMap>,
    body_ended: bool,
    /// When the request arrived.
    since: Instant,
    /// Since when the client's window is too small.
    blocked: Option<Instant>,
    timer: Timer,
    _kept: Option<HeldValue>,
}

pub(super) enum SendOutcome {
    Whole,
    /// The client cancelled it.
    TakenBack,
    /// The body ended early, or the client took too long.
    Cut,
}

impl BodySender {
    pub(super) fn new(
        stream: SendStream<Bytes>,
        body: Body,
        since: Instant,
        kept: Option<HeldValue>,
    ) -> Self {
        Self {
            stream,
            body,
            data: Bytes::new(),
            trailers: None,
            body_ended: false,
            since,
            blocked: None,
            timer: Timer::default(),
            _kept: kept,
        }
    }

    /// Ends it if its client reads nothing, or if the whole exchange takes too long.
    pub(super) fn sweep(&mut self, now: Instant, stall: Duration, exchange: Duration) {
        let stalled = self.blocked.is_some_and(|blocked| has_passed(blocked, stall, now));
        if stalled || has_passed(self.since, exchange, now) {
            self.timer.end();
        }
    }

    fn reset(&mut self, reason: Reason) -> Poll<SendOutcome> {
        self.stream.send_reset(reason);
        Poll::Ready(SendOutcome::Cut)
    }

    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<SendOutcome> {
        loop {
            if !self.data.is_empty() {
                match ready!(self.poll_send(cx)) {
                    Ok(()) => {}
                    Err(sent) => return Poll::Ready(sent),
                }
            }
            if self.body_ended {
                // If the end of data was known, the flag was already sent.
                let ended = match self.trailers.take() {
                    Some(trailers) => self.stream.send_trailers(trailers),
                    None => self.stream.send_data(Bytes::new(), true),
                };
                return Poll::Ready(if ended.is_ok() {
                    SendOutcome::Whole
                } else {
                    SendOutcome::TakenBack
                });
            }
            match ready!(http_body::Body::poll_frame(Pin::new(&mut self.body), cx)) {
                None => self.body_ended = true,
                // The client must notice that the answer is truncated (RFC 9113 §8.1).
                Some(Err(_)) => return self.reset(Reason::INTERNAL_ERROR),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if self.body.is_end() => {
                        // The common case: the end goes with the last bytes, if the window has room.
                        let len = data.len();
                        self.stream.reserve_capacity(len);
                        if self.stream.capacity() >= len {
                            let sent = self.stream.send_data(data, true);
                            return Poll::Ready(if sent.is_ok() {
                                SendOutcome::Whole
                            } else {
                                SendOutcome::TakenBack
                            });
                        }
                        self.data = data;
                    }
                    Ok(data) => self.data = data,
                    Err(frame) => {
                        self.trailers = frame.into_trailers().ok();
                        self.body_ended = true;
                    }
                },
            }
        }
    }

    /// Passes on only as much as the client's window allows: h2 would buffer the rest without a limit.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SendOutcome>> {
        while !self.data.is_empty() {
            self.stream.reserve_capacity(self.data.len());
            let capacity = match self.stream.capacity() {
                0 => match self.stream.poll_capacity(cx) {
                    Poll::Ready(Some(Ok(0))) => continue,
                    Poll::Ready(Some(Ok(capacity))) => capacity,
                    Poll::Ready(_) => return Poll::Ready(Err(SendOutcome::TakenBack)),
                    Poll::Pending => {
                        self.blocked.get_or_insert_with(Instant::now);
                        return Poll::Pending;
                    }
                },
                capacity => capacity,
            };
            self.blocked = None;
            let data = self.data.split_to(capacity.min(self.data.len()));
            if self.stream.send_data(data, false).is_err() {
                return Poll::Ready(Err(SendOutcome::TakenBack));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Future for BodySender {
    type Output = SendOutcome;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<SendOutcome> {
        let this = self.get_mut();
        if let Poll::Ready(sent) = this.poll_body(cx) {
            return Poll::Ready(sent);
        }
        if this.stream.poll_reset(cx).is_ready() {
            return Poll::Ready(SendOutcome::TakenBack);
        }
        if this.timer.is_over(cx) {
            return this.reset(Reason::CANCEL);
        }
        Poll::Pending
    }
}

fn has_passed(since: Instant, limit: Duration, now: Instant) -> bool {
    now.saturating_duration_since(since) >= limit
}
