//! Bodies that are passed on as they come.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep, sleep_until};

use super::deadline::after;
use super::place::Place;

/// The body of a request or a response: nothing, bytes that are there, or what a peer is sending, within limits.
/// Trailers are passed on.
///
/// ```
/// use bytes::Bytes;
/// use tessera_proxy::http::body::Body;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let collected = Body::full(Bytes::from_static(b"hello")).collect_up_to(5).await.unwrap();
/// assert_eq!(collected.data, "hello");
/// // Passed on with its trailers, if it had any.
/// let body = Body::from(collected);
/// assert!(body.collect_up_to(4).await.is_err());
/// # }
/// ```
#[derive(Default)]
pub struct Body(Kind);

#[derive(Default)]
enum Kind {
    #[default]
    Empty,
    Full(Bytes),
    Trailers(Box<HeaderMap>),
    FullWithTrailers(Bytes, Box<HeaderMap>),
    Hyper(Limited<Incoming>),
    Http2(Limited<Http2>),
}

impl Body {
    /// No byte and no trailers.
    pub fn empty() -> Self {
        Self(Kind::Empty)
    }

    /// These bytes.
    pub fn full(data: Bytes) -> Self {
        if data.is_empty() { Self::empty() } else { Self(Kind::Full(data)) }
    }

    /// What a peer is sending, as hyper reads it.
    pub fn incoming(incoming: Incoming, limits: BodyLimits) -> Self {
        Self::http1(incoming, limits, None)
    }

    /// The same. `whole` becomes true when all was read.
    pub(super) fn http1(
        incoming: Incoming,
        limits: BodyLimits,
        whole: Option<Arc<AtomicBool>>,
    ) -> Self {
        if http_body::Body::is_end_stream(&incoming) {
            return Self::empty();
        }
        Self(Kind::Hyper(Limited::new(incoming, limits, whole)))
    }

    /// What a peer is sending on a stream of HTTP/2. `length` is what it announced; `whole`, if anybody wants to know,
    /// becomes true when all was read.
    pub(super) fn http2(
        stream: h2::RecvStream,
        length: Option<u64>,
        limits: BodyLimits,
        whole: Option<Arc<AtomicBool>>,
    ) -> Self {
        if whole.is_none() && stream.is_end_stream() {
            return Self::empty();
        }
        let source = Http2 { stream, data_ended: false, left: length };
        Self(Kind::Http2(Limited::new(source, limits, whole)))
    }

    /// What a server is sending on a stream of HTTP/2, as an answer.
    pub(super) fn answer(stream: h2::RecvStream, length: Option<u64>, limits: BodyLimits) -> Self {
        if stream.is_end_stream() {
            return Self::empty();
        }
        let source = Http2 { stream, data_ended: false, left: length };
        Self(Kind::Http2(Limited::new(source, limits, None)))
    }

    /// The same, keeping the place of its call until its end.
    pub(super) fn holding(mut self, place: Place) -> Self {
        match &mut self.0 {
            Kind::Hyper(limited) => limited.place = Some(place),
            Kind::Http2(limited) => limited.place = Some(place),
            // It is here.
            _ => drop(place),
        }
        self
    }

    /// The same once more, if it is here.
    pub(super) fn try_clone(&self) -> Option<Self> {
        Some(Self(match &self.0 {
            Kind::Empty => Kind::Empty,
            Kind::Full(data) => Kind::Full(data.clone()),
            Kind::Trailers(trailers) => Kind::Trailers(trailers.clone()),
            Kind::FullWithTrailers(data, trailers) => {
                Kind::FullWithTrailers(data.clone(), trailers.clone())
            }
            Kind::Hyper(_) | Kind::Http2(_) => return None,
        }))
    }

    /// The whole body, if it has no more than `limit` bytes. Nothing is copied if it came in one piece.
    ///
    /// An error says that there are more bytes, or that the rest doesn't come.
    pub async fn collect_up_to(mut self, limit: usize) -> Result<Collected, BodyError> {
        // More was announced.
        if self.size().lower() > limit as u64 {
            return Err(BodyError::TooLong);
        }
        let (mut first, mut all, mut trailers) = (Bytes::new(), BytesMut::new(), None);
        while let Some(frame) = poll_fn(|cx| self.poll(cx)).await {
            match frame?.into_data() {
                Ok(data) if first.len() + all.len() + data.len() > limit => {
                    return Err(BodyError::TooLong);
                }
                Ok(data) if first.is_empty() && all.is_empty() => first = data,
                Ok(data) => {
                    if all.is_empty() {
                        // A peer that announces much gets no memory for it before it sends it.
                        all.reserve(first.len() + data.len());
                        all.extend_from_slice(&std::mem::take(&mut first));
                    }
                    all.extend_from_slice(&data);
                }
                Err(frame) => trailers = frame.into_trailers().ok(),
            }
        }
        let data = if all.is_empty() { first } else { all.freeze() };
        Ok(Collected { data, trailers })
    }

    /// Whether nothing follows.
    pub fn is_end(&self) -> bool {
        match &self.0 {
            Kind::Empty => true,
            Kind::Full(_) | Kind::Trailers(_) | Kind::FullWithTrailers(..) => false,
            Kind::Hyper(limited) => limited.source.is_end(),
            Kind::Http2(limited) => limited.source.is_end(),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.0 {
            Kind::Hyper(limited) => return limited.poll(cx),
            Kind::Http2(limited) => return limited.poll(cx),
            _ => {}
        }
        let (frame, rest) = match std::mem::take(&mut self.0) {
            Kind::Full(data) => (Frame::data(data), Kind::Empty),
            Kind::FullWithTrailers(data, trailers) => (Frame::data(data), Kind::Trailers(trailers)),
            Kind::Trailers(trailers) => (Frame::trailers(*trailers), Kind::Empty),
            _ => return Poll::Ready(None),
        };
        self.0 = rest;
        Poll::Ready(Some(Ok(frame)))
    }

    fn size(&self) -> SizeHint {
        match &self.0 {
            Kind::Empty | Kind::Trailers(_) => SizeHint::with_exact(0),
            Kind::Full(data) | Kind::FullWithTrailers(data, _) => {
                SizeHint::with_exact(data.len() as u64)
            }
            Kind::Hyper(limited) => http_body::Body::size_hint(&limited.source),
            Kind::Http2(limited) => {
                limited.source.left.map_or_else(SizeHint::new, SizeHint::with_exact)
            }
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.get_mut().poll(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.is_end()
    }

    fn size_hint(&self) -> SizeHint {
        self.size()
    }
}

impl From<Bytes> for Body {
    fn from(data: Bytes) -> Self {
        Self::full(data)
    }
}

impl From<Collected> for Body {
    fn from(Collected { data, trailers }: Collected) -> Self {
        Self(match trailers.map(Box::new) {
            None => return Self::full(data),
            Some(trailers) if data.is_empty() => Kind::Trailers(trailers),
            Some(trailers) => Kind::FullWithTrailers(data, trailers),
        })
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("size", &self.size()).finish_non_exhaustive()
    }
}

/// A body that came whole.
#[derive(Debug, Clone, Default)]
pub struct Collected {
    /// Its bytes.
    pub data: Bytes,
    /// What followed them.
    pub trailers: Option<HeaderMap>,
}

/// What a peer may send as one body.
#[derive(Debug, Clone, Copy)]
pub struct BodyLimits {
    /// The most bytes.
    pub max_len: u64,
    /// The longest wait for the next byte, while somebody wants it.
    pub idle: Duration,
}

/// Why a body didn't come whole.
#[derive(Debug)]
#[non_exhaustive]
pub enum BodyError {
    /// It has, or announced, more bytes than it may.
    TooLong,
    /// Nothing came for too long.
    Idle,
    /// The peer ended it early, or broke the protocol.
    Cut(Box<dyn std::error::Error + Send + Sync>),
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("the body is too long"),
            Self::Idle => f.write_str("nothing more of the body came for too long"),
            Self::Cut(why) => write!(f, "the body was cut: {why}"),
        }
    }
}

impl std::error::Error for BodyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Cut(why) => Some(&**why),
            Self::TooLong | Self::Idle => None,
        }
    }
}

/// Where frames come from.
trait Source {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>>;
    /// The fewest bytes that follow.
    fn lower(&self) -> u64;
    /// Whether nothing follows.
    fn is_end(&self) -> bool;
}

struct Limited<S> {
    source: S,
    /// Bytes that may still come.
    left: u64,
    idle: Duration,
    /// Since when the next frame is waited for.
    waits_since: Option<Instant>,
    /// Made when a body lets wait; most are there at once. It is set once and moved only when it rings.
    timer: Option<Pin<Box<Sleep>>>,
    /// To be set when all was read.
    whole: Option<Arc<AtomicBool>>,
    /// Of a client's call: its place on the connection.
    place: Option<Place>,
}

impl<S: Source> Limited<S> {
    fn new(source: S, limits: BodyLimits, whole: Option<Arc<AtomicBool>>) -> Self {
        let BodyLimits { max_len, idle } = limits;
        Self { source, left: max_len, idle, waits_since: None, timer: None, whole, place: None }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.source.lower() > self.left {
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

    fn lower(&self) -> u64 {
        http_body::Body::size_hint(self).lower()
    }

    fn is_end(&self) -> bool {
        http_body::Body::is_end_stream(self)
    }
}

/// What a client sends on a stream. Its window opens as far as frames are taken.
struct Http2 {
    stream: h2::RecvStream,
    data_ended: bool,
    /// What is missing of the announced length. That no more and no less comes is for h2 to see
    /// (RFC 9113 §8.1.1).
    left: Option<u64>,
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
            // An error: the stream is closed, and nobody wants a window.
            let _ = self.stream.flow_control().release_capacity(len);
            if len > 0 {
                self.left = self.left.map(|left| left.saturating_sub(len as u64));
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
        }
        let trailers = ready!(self.stream.poll_trailers(cx)).map_err(cut)?;
        Poll::Ready(trailers.map(Frame::trailers).map(Ok))
    }

    fn lower(&self) -> u64 {
        self.left.unwrap_or(0)
    }

    fn is_end(&self) -> bool {
        self.stream.is_end_stream()
    }
}
