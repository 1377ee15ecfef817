//! An upgraded stream (RFC 8441 §5).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use h2::{RecvStream, SendStream};

use super::exchange::SendOutcome;
use crate::http::server::held_value::HeldValue;
use crate::http::server::io::{Io, WriteState};
use crate::http::server::upgrade::{Carrier, OtherSide};
use crate::http::server::{ServerOptions, UpgradeEnd};
use crate::http::upgrade::Http2Stream;

/// A stream that carries bytes to and from another side, until its end.
pub(super) struct Tunnel(Box<Carrier<Io<Http2Stream>>>);

impl Tunnel {
    pub(super) fn new(
        (receive, send): (RecvStream, SendStream<Bytes>),
        other: OtherSide,
        held: Option<HeldValue>,
        options: &ServerOptions,
    ) -> Self {
        let tracker = WriteState::new(Bytes::new(), options.stall_time);
        let client = Io { stream: Http2Stream::new(receive, send), tracker };
        Self(Box::new(Carrier::new(client, other, held, options)))
    }
}

/// Dropped before its regular end, it resets the stream.
impl Future for Tunnel {
    type Output = SendOutcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<SendOutcome> {
        if let Poll::Ready(end) = Pin::new(&mut *self.0).poll(cx) {
            return Poll::Ready(match end {
                UpgradeEnd::Closed => SendOutcome::Whole,
                UpgradeEnd::Client(_) => SendOutcome::TakenBack,
                _ => SendOutcome::Cut,
            });
        }
        // The client may have ended its direction, and then reset the stream.
        self.0.client().stream.poll_reset(cx).map(|()| SendOutcome::TakenBack)
    }
}
