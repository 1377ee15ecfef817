//! An upgrade over a stream of an HTTP/2 connection: Extended CONNECT (RFC 8441).

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{Request, Response};
use tokio::sync::OwnedSemaphorePermit;

use super::handshake::{over_http2, strip};
use super::{UpgradeOutcome, UpgradedStream};
use crate::http::body::Body;
use crate::http::client::PoolOptions;
use crate::http::client::connection::{Lease, failure_http2};
use crate::http::client::error::{CallError, CallErrorKind};
use crate::http::client::failure::Failure;
use crate::http::place::{Place, Places};
use crate::http::upgrade::Http2Stream;

/// Sends the request, and returns the stream, or the response instead.
pub(in crate::http::client) async fn switch(
    lease: Lease,
    request: Request<Body>,
    protocol: &str,
    permit: OwnedSemaphorePermit,
    options: &PoolOptions,
) -> Result<UpgradeOutcome, Failure> {
    let connection = lease.connection().clone();
    let writes = connection.writes();
    let failed = |error| Failure::from(failure_http2(&connection, false, writes, error));
    let Some(mut sender) = connection.http2_sender() else { return Err(Failure::unsent(request)) };
    if !connection.allows_connect(&sender).await {
        let why = "it doesn't allow Extended CONNECT (RFC 8441 §3)";
        return Err(CallError::unsent(CallErrorKind::NoUpgrade).because(why).into());
    }
    let request = over_http2(request, protocol)?;
    let (response, mut send) = sender.send_request(request, false).map_err(failed)?;
    drop(sender);
    let (mut head, receive) = response.await.map_err(failed)?.into_parts();
    if head.status.is_success() {
        strip(&mut head.headers);
        let stream = UpgradedStream::http2(Http2Stream::new(receive, send), permit, lease);
        return Ok(UpgradeOutcome::Switched(Response::from_parts(head, ()), stream));
    }
    // The server may have ended the stream already.
    let _ = send.send_data(Bytes::new(), true);
    let length = head.headers.get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
    let place = Place::of(Arc::new(Refused { _lease: lease, _permit: permit }));
    let body = Body::http2(receive, length, options.body, None).holding(place);
    Ok(UpgradeOutcome::Refused(Response::from_parts(head, body)))
}

/// The place of an upgrade that was refused.
struct Refused {
    _lease: Lease,
    _permit: OwnedSemaphorePermit,
}

impl Places for Refused {
    fn release(self: Arc<Self>) {}
}
