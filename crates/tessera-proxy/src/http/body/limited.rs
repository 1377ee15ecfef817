//! A body from a peer, within limits.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep, sleep_until};

use super::{BodyError, BodyLimits};
use crate::http::deadline::after;
use crate::http::place::Place;

/// A source of frames.
pub(super) trait Source {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>>;
    /// Whether nothing follows.
    fn is_end(&self) -> bool;
    /// Returns how many bytes follow.
    fn size(&self) -> SizeHint;
}

/// A body from a peer, limited in length and time.
pub(super) struct LimitedBody<S> {
    source: S,
    /// Bytes that may still arrive.
    left: u64,
    idle: Duration,
    /// Since when the reader waits for the next frame.
    waits_since: Option<Instant>,
    /// Created at the first wait; most bodies need none. It is moved only when it fires.
    timer: Option<Pin<Box<Sleep>>>,
    /// Set when all was read.
    whole: Option<Arc<AtomicBool>>,
    /// A client call's place on the connection.
    place: Option<Place>,
    drops_trailers: bool,
}

impl<S: Source> LimitedBody<S> {
    pub(super) fn new(source: S, limits: BodyLimits, whole: Option<Arc<AtomicBool>>) -> Self {
        let BodyLimits { max_len, idle } = limits;
        let (waits_since, timer, place, drops_trailers) = (None, None, None, false);
        Self { source, left: max_len, idle, waits_since, timer, whole, place, drops_trailers }
    }

    /// Ends the body where its trailers begin.
    pub(super) fn drop_trailers(&mut self) {
        self.drops_trailers = true;
    }

    /// Keeps the call's place until the end.
    pub(super) fn hold(&mut self, place: Place) {
        self.place = Some(place);
    }

    pub(super) fn is_end(&self) -> bool {
        self.source.is_end()
    }

    pub(super) fn size(&self) -> SizeHint {
        self.source.size()
    }

    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.source.size().lower() > self.left {
            return Poll::Ready(Some(Err(BodyError::TooLong)));
        }
        let Poll::Ready(frame) = self.source.poll(cx) else {
            ready!(self.poll_idle(cx));
            return Poll::Ready(Some(Err(BodyError::Idle)));
        };
        self.waits_since = None;
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            match self.left.checked_sub(data.len() as u64) {
                Some(left) => self.left = left,
                None => return Poll::Ready(Some(Err(BodyError::TooLong))),
            }
        }
        if matches!(frame, Some(Err(_))) {
            self.place = None;
        }
        if self.source.is_end() && !matches!(frame, Some(Err(_))) {
            self.end();
        }
        let is_dropped = |frame: &Frame<Bytes>| self.drops_trailers && frame.is_trailers();
        if frame.as_ref().is_some_and(|frame| frame.as_ref().is_ok_and(is_dropped)) {
            return Poll::Ready(None);
        }
        Poll::Ready(frame)
    }

    fn end(&mut self) {
        if let Some(whole) = self.whole.take() {
            whole.store(true, Ordering::Relaxed);
        }
        self.place = None;
    }

    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let end = after(*self.waits_since.get_or_insert_with(Instant::now), self.idle);
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(end)));
        while timer.deadline() < end {
            ready!(timer.as_mut().poll(cx));
            timer.as_mut().reset(end);
        }
        timer.as_mut().poll(cx)
    }
}

impl Source for Incoming {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        http_body::Body::poll_frame(Pin::new(self), cx)
            .map_err(|error| BodyError::Cut(Box::new(error)))
    }

    fn is_end(&self) -> bool {
        http_body::Body::is_end_stream(self)
    }

    fn size(&self) -> SizeHint {
        http_body::Body::size_hint(self)
    }
}

/// A body on an HTTP/2 stream. Its window opens as frames are read.
pub(super) struct Http2 {
    stream: h2::RecvStream,
    data_ended: bool,
    /// The rest of the announced length. h2 checks that the body has exactly that length (RFC 9113 §8.1.1).
    left: Option<u64>,
}

impl Http2 {
    pub(super) fn new(stream: h2::RecvStream, length: Option<u64>) -> Self {
        Self { stream, data_ended: false, left: length }
    }
}

impl Source for Http2 {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let cut = |error| BodyError::Cut(Box::new(error));
        while !self.data_ended {
            let Some(data) = ready!(self.stream.poll_data(cx)).transpose().map_err(cut)? else {
                self.data_ended = true;
                break;
            };
            let len = data.len();
            // On an error the stream is closed, and needs no window.
            let _ = self.stream.flow_control().release_capacity(len);
            if len > 0 {
                self.left = self.left.map(|left| left.saturating_sub(len as u64));
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
        }
        let trailers = ready!(self.stream.poll_trailers(cx)).map_err(cut)?;
        Poll::Ready(trailers.map(Frame::trailers).map(Ok))
    }

    fn is_end(&self) -> bool {
        self.stream.is_end_stream()
    }

    fn size(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}
