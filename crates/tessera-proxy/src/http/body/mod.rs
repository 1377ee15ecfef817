//! Bodies, passed on as they arrive.

mod limited;

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;

use self::limited::{Http2, LimitedBody};
use super::place::Place;

/// The body of a request or a response: nothing, bytes in memory, or what a peer is sending, within limits. Trailers
/// are passed on, unless they are [dropped](Self::without_trailers).
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
    Hyper(LimitedBody<Incoming>),
    Http2(LimitedBody<Http2>),
}

impl Body {
    /// Creates a body without bytes or trailers.
    pub fn empty() -> Self {
        Self(Kind::Empty)
    }

    /// Creates a body of these bytes.
    pub fn full(data: Bytes) -> Self {
        if data.is_empty() { Self::empty() } else { Self(Kind::Full(data)) }
    }

    /// Wraps a body from a peer, as hyper reads it.
    pub fn incoming(incoming: Incoming, limits: BodyLimits) -> Self {
        Self::http1(incoming, limits, None)
    }

    /// The same; sets `whole` when all was read.
    pub(super) fn http1(
        incoming: Incoming,
        limits: BodyLimits,
        whole: Option<Arc<AtomicBool>>,
    ) -> Self {
        if http_body::Body::is_end_stream(&incoming) {
            return Self::empty();
        }
        Self(Kind::Hyper(LimitedBody::new(incoming, limits, whole)))
    }

    /// Wraps a body from a peer on an HTTP/2 stream, of the announced `length`; sets `whole`, if given, when all was
    /// read.
    pub(super) fn http2(
        stream: h2::RecvStream,
        length: Option<u64>,
        limits: BodyLimits,
        whole: Option<Arc<AtomicBool>>,
    ) -> Self {
        if whole.is_none() && stream.is_end_stream() {
            return Self::empty();
        }
        Self(Kind::Http2(LimitedBody::new(Http2::new(stream, length), limits, whole)))
    }

    /// Drops its trailers, also those that are yet to arrive.
    #[must_use]
    pub fn without_trailers(mut self) -> Self {
        match &mut self.0 {
            Kind::Hyper(limited) => limited.drop_trailers(),
            Kind::Http2(limited) => limited.drop_trailers(),
            Kind::Trailers(_) => self.0 = Kind::Empty,
            Kind::FullWithTrailers(data, _) => self.0 = Kind::Full(std::mem::take(data)),
            Kind::Empty | Kind::Full(_) => {}
        }
        self
    }

    /// Keeps the call's place until the body's end.
    pub(super) fn holding(mut self, place: Place) -> Self {
        match &mut self.0 {
            Kind::Hyper(limited) => limited.hold(place),
            Kind::Http2(limited) => limited.hold(place),
            // The body is complete.
            _ => drop(place),
        }
        self
    }

    /// Clones the body if it is in memory.
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

    /// Collects the whole body, if it has at most `limit` bytes. A body in one piece is not copied.
    ///
    /// Fails if there are more bytes, or the rest does not arrive.
    pub async fn collect_up_to(mut self, limit: usize) -> Result<CompleteBody, BodyError> {
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
                        // Allocates only for bytes that arrived, whatever the peer announced.
                        all.reserve(first.len() + data.len());
                        all.extend_from_slice(&std::mem::take(&mut first));
                    }
                    all.extend_from_slice(&data);
                }
                Err(frame) => trailers = frame.into_trailers().ok(),
            }
        }
        let data = if all.is_empty() { first } else { all.freeze() };
        Ok(CompleteBody { data, trailers })
    }

    /// Whether nothing follows.
    pub fn is_end(&self) -> bool {
        match &self.0 {
            Kind::Empty => true,
            Kind::Full(_) | Kind::Trailers(_) | Kind::FullWithTrailers(..) => false,
            Kind::Hyper(limited) => limited.is_end(),
            Kind::Http2(limited) => limited.is_end(),
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
            Kind::Hyper(limited) => limited.size(),
            Kind::Http2(limited) => limited.size(),
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

impl From<CompleteBody> for Body {
    fn from(CompleteBody { data, trailers }: CompleteBody) -> Self {
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

/// A complete body.
#[derive(Debug, Clone, Default)]
pub struct CompleteBody {
    /// Its bytes.
    pub data: Bytes,
    /// The trailers.
    pub trailers: Option<HeaderMap>,
}

/// Limits on a body from a peer.
#[derive(Debug, Clone, Copy)]
pub struct BodyLimits {
    /// The most bytes.
    pub max_len: u64,
    /// The longest wait for the next byte, while a reader waits.
    pub idle: Duration,
}

/// Why a body is incomplete.
#[derive(Debug)]
#[non_exhaustive]
pub enum BodyError {
    /// It has, or announced, too many bytes.
    TooLong,
    /// No byte arrived for too long.
    Idle,
    /// The peer ended it early, or violated the protocol.
    Cut(Box<dyn std::error::Error + Send + Sync>),
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("the body is too long"),
            Self::Idle => f.write_str("no more of the body arrived for too long"),
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
