//! Sends a request's body as fast as the server's window allows.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::{Reason, SendStream};
use http_body::Body as _;
use tokio::time::timeout;

use crate::http::body::{Body, BodyError};

/// A body being sent.
pub(super) struct Pipe {
    body: Body,
    stream: SendStream<Bytes>,
    /// Something was sent: the next frame waits for the window.
    has_begun: bool,
}

impl Pipe {
    pub(super) fn new(body: Body, stream: SendStream<Bytes>) -> Self {
        Self { body, stream, has_begun: false }
    }

    /// Ready when all was passed to the stream, or the server wants no more. An error is the body's, and resets the
    /// stream.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BodyError>> {
        loop {
            ready!(self.poll_frame(cx))?;
            if self.body.is_end() {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Ready after one frame; the body's end counts as one.
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BodyError>> {
        if self.has_begun && !ready!(self.poll_window(cx)) {
            self.body = Body::empty();
            return Poll::Ready(Ok(()));
        }
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) else {
            if self.stream.poll_reset(cx).is_ready() {
                self.body = Body::empty();
                return Poll::Ready(Ok(()));
            }
            return Poll::Pending;
        };
        self.has_begun = true;
        let sent = match frame {
            None => {
                self.body = Body::empty();
                self.stream.send_data(Bytes::new(), true)
            }
            Some(Err(error)) => {
                self.stream.send_reset(Reason::CANCEL);
                return Poll::Ready(Err(error));
            }
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => self.stream.send_data(data, self.body.is_end()),
                Err(frame) => {
                    self.body = Body::empty();
                    match frame.into_trailers() {
                        Ok(trailers) => self.stream.send_trailers(trailers),
                        Err(_) => self.stream.send_data(Bytes::new(), true),
                    }
                }
            },
        };
        if sent.is_err() {
            // The response, or its error, has the reason.
            self.body = Body::empty();
        }
        Poll::Ready(Ok(()))
    }

    /// Returns whether the stream accepts more; ready once it has sent what it holds.
    fn poll_window(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        self.stream.reserve_capacity(1);
        while self.stream.capacity() == 0 {
            match ready!(self.stream.poll_capacity(cx)) {
                Some(Ok(_)) => {}
                _ => return Poll::Ready(false),
            }
        }
        Poll::Ready(true)
    }

    /// Sends the rest; gives up after `idle` without progress.
    pub(super) async fn finish(mut self, idle: Duration) {
        while !self.body.is_end() {
            let moved = timeout(idle, poll_fn(|cx| self.poll_frame(cx))).await;
            if !matches!(moved, Ok(Ok(()))) {
                self.stream.send_reset(Reason::CANCEL);
                return;
            }
        }
    }
}
