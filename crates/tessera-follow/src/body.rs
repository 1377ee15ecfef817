//! A request's body that can be sent elsewhere as long as no connection has read it.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http_body::{Body, Frame, SizeHint};

/// Holds a body until it is read for the first time. hyper's client drops the request that it couldn't send;
/// the body stays here. An empty body is never read, and so stays even after an answer.
pub(crate) struct BodySlot<B>(Arc<Slot<B>>);

struct Slot<B> {
    body: Mutex<Option<B>>,
    has_failed: AtomicBool,
}

impl<B> BodySlot<B> {
    pub(crate) fn new(body: B) -> Self {
        Self(Arc::new(Slot { body: Mutex::new(Some(body)), has_failed: AtomicBool::new(false) }))
    }

    /// Returns the body for a request.
    pub(crate) fn body(&self) -> SlotBody<B> {
        SlotBody { slot: Self(self.0.clone()), own: None }
    }

    /// Takes the body back, unless a connection has begun to read it. Bodies of this slot are then empty.
    pub(crate) fn take(&self) -> Option<B> {
        self.look(Option::take)
    }

    /// Returns whether the body itself failed while it was read.
    pub(crate) fn has_failed(&self) -> bool {
        self.0.has_failed.load(Ordering::Relaxed)
    }

    fn look<T>(&self, look: impl FnOnce(&mut Option<B>) -> T) -> T {
        look(&mut self.0.body.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The body in a slot.
pub(crate) struct SlotBody<B> {
    slot: BodySlot<B>,
    /// The body, once it was read from.
    own: Option<B>,
}

impl<B> SlotBody<B> {
    fn look<T>(&self, look: impl FnOnce(&B) -> T) -> Option<T> {
        match &self.own {
            Some(body) => Some(look(body)),
            None => self.slot.look(|body| body.as_ref().map(look)),
        }
    }
}

impl<B: Body + Unpin> Body for SlotBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        if self.own.is_none() {
            self.own = self.slot.take();
        }
        let Some(body) = &mut self.own else { return Poll::Ready(None) };
        let frame = Pin::new(body).poll_frame(cx);
        if let Poll::Ready(Some(Err(_))) = frame {
            self.slot.0.has_failed.store(true, Ordering::Relaxed);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.look(B::is_end_stream).unwrap_or(true)
    }

    fn size_hint(&self) -> SizeHint {
        self.look(B::size_hint).unwrap_or_else(|| SizeHint::with_exact(0))
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use http_body_util::Full;
    use hyper::body::Bytes;

    use super::*;

    #[test]
    fn a_body_can_be_taken_back_until_it_is_read() {
        let slot = BodySlot::new(Full::new(Bytes::from("hello")));
        let mut first = slot.body();
        assert!(!first.is_end_stream());
        assert_eq!(first.size_hint().exact(), Some(5));
        let slot = BodySlot::new(slot.take().unwrap());
        // What still holds the first one gets nothing.
        let mut cx = Context::from_waker(Waker::noop());
        assert!(first.is_end_stream() && first.size_hint().exact() == Some(0));
        assert!(matches!(Pin::new(&mut first).poll_frame(&mut cx), Poll::Ready(None)));
        let mut second = slot.body();
        assert!(matches!(Pin::new(&mut second).poll_frame(&mut cx), Poll::Ready(Some(Ok(_)))));
        assert!(slot.take().is_none() && second.is_end_stream());
    }
}
