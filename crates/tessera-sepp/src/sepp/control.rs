//! N32-c, as far as it is HTTP.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use tessera_proxy::http::body::{Body, BodyError};
use tessera_proxy::http::deadline::Deadline;

use super::Sepp;
use crate::identity::Identity;
use crate::n32c::responder::{MAX_BODY, respond};
use crate::sbi::errors::problems;

impl Sepp {
    /// Answers a request on N32-c. `identity` is what was verified of the connection, in a full handshake.
    pub async fn n32c(&self, identity: &Identity, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let body = match Deadline::after(BODY_TIME).limit(body.collect_up_to(MAX_BODY)).await {
            Ok(Ok(body)) => body.data,
            // What is longer than it may be is too long, whatever stands there.
            Ok(Err(BodyError::TooLong)) => Bytes::from_static(&[b' '; MAX_BODY + 1]),
            Ok(Err(_)) => return problems::CUT_BODY.to_peer(&self.live().policy.own.server),
            Err(_) => return problems::SLOW_BODY.to_peer(&self.live().policy.own.server),
        };
        respond(&self.associations, &identity.certificate, &parts, &body).map(Body::full)
    }

    /// Answers a request on a listener that N32-c and N32-f share. N32-c is only taken where the handshake was a full
    /// one: a connection that resumed shows no certificate.
    pub async fn n32(
        &self,
        identity: &Identity,
        is_resumed: bool,
        request: Request<Body>,
    ) -> Response<Body> {
        if !request.uri().path().starts_with(N32C) {
            return self.n32f(identity, request).await;
        }
        if is_resumed {
            return problems::RESUMED_N32C.to_peer(&self.live().policy.own.server);
        }
        self.n32c(identity, request).await
    }
}

/// Paths of N32-c (TS 29.573 §6.1.1).
const N32C: &str = "/n32c-handshake/";

/// How long the body of a message may take.
const BODY_TIME: Duration = Duration::from_secs(10);
