//! An upgrade over an HTTP/1.1 connection of its own.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use http::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tessera_tokio::TrackedStream;
use tokio::sync::OwnedSemaphorePermit;

use super::{Handshake, UpgradeOutcome, UpgradedStream};
use crate::http::body::Body;
use crate::http::client::PoolOptions;
use crate::http::client::connect::Stream;
use crate::http::client::connection::http1_builder;
use crate::http::client::error::{CallError, CallErrorKind, Delivery};
use crate::http::place::{Place, Places};
use crate::http::upgrade::Leftover;

/// Sends the request, and returns the stream, or the response instead.
pub(in crate::http::client) async fn switch(
    stream: Stream,
    request: Request<Body>,
    handshake: Handshake,
    permit: OwnedSemaphorePermit,
    options: &PoolOptions,
) -> Result<UpgradeOutcome, CallError> {
    let lost = || CallError::new(CallErrorKind::ConnectionLost, Delivery::Maybe);
    let begun = http1_builder(options).handshake(TokioIo::new(stream)).await;
    let (mut sender, driver) = begun.map_err(|error| lost().because(error))?;
    let mut driver = Box::new(driver);
    let mut response = pin!(sender.send_request(request));
    let mut has_ended = false;
    let response = poll_fn(|cx| {
        loop {
            if let Poll::Ready(response) = response.as_mut().poll(cx) {
                return Poll::Ready(response.map_err(|error| lost().because(error)));
            }
            if has_ended {
                return Poll::Ready(Err(lost()));
            }
            match driver.poll_without_shutdown(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(_) => has_ended = true,
            }
        }
    })
    .await?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        if !has_ended {
            // Until the end of the body, which has its own limits: the sender is dropped.
            drop(tokio::spawn(driver));
        }
        let place = Place::of(Arc::new(Refused(permit)));
        let limits = options.body;
        return Ok(UpgradeOutcome::Refused(
            response.map(|body| Body::incoming(body, limits).holding(place)),
        ));
    }
    if !has_ended {
        let ended = poll_fn(|cx| driver.poll_without_shutdown(cx)).await;
        ended.map_err(|error| lost().because(error))?;
    }
    let (mut head, _) = response.into_parts();
    handshake.check(&mut head.headers)?;
    let parts = driver.into_parts();
    let tracker = Leftover::new(parts.read_buf);
    let stream = TrackedStream { stream: parts.io.into_inner(), tracker };
    let response = http::Response::from_parts(head, ());
    Ok(UpgradeOutcome::Switched(response, UpgradedStream::http1(stream, permit)))
}

/// The place of an upgrade that was refused.
struct Refused(#[expect(dead_code, reason = "it is there to be dropped")] OwnedSemaphorePermit);

impl Places for Refused {
    fn release(self: Arc<Self>) {}
}
