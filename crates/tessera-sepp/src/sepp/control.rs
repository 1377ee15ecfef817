//! The HTTP side of N32-c.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use tessera_proxy::http::body::{Body, BodyError};
use tessera_proxy::http::deadline::Deadline;

use super::Sepp;
use crate::guard::{Context, RequestSummary};
use crate::identity::Identity;
use crate::n32c::responder::{MAX_BODY, respond};
use crate::reconnection::PeerConnection;
use crate::sbi::errors::problems;

impl Sepp {
    /// Answers a request of a peer on any N32 listener: N32-c, or a request that N32-f carries. `connected` is what was
    /// verified about its connection.
    pub async fn n32(&self, connected: &PeerConnection, request: Request<Body>) -> Response<Body> {
        let is_n32c = request.uri().path().starts_with(N32C);
        if is_n32c && connected.carries_n32c() {
            return self.n32c(&connected.identity, request).await;
        }
        if !is_n32c && connected.carries_n32f() {
            return self.n32f(&connected.identity, request).await;
        }
        problems::OTHER_CONNECTION.to_peer(&self.live().policy.own.server)
    }

    /// Answers a request on N32-c.
    async fn n32c(&self, identity: &Identity, request: Request<Body>) -> Response<Body> {
        let live = self.live();
        let server = &live.policy.own.server;
        let (parts, body) = request.into_parts();
        let context = Context { peer: &identity.peer, plmns: &identity.certificate.plmns };
        if let Err(problem) = self.admit(&live, RequestSummary::of(&parts), None, &context) {
            return problem.to_peer(server);
        }
        let body = match Deadline::after(BODY_TIME).limit(body.collect_up_to(MAX_BODY)).await {
            Ok(Ok(body)) => body.data,
            // A stand-in of excess length: the content doesn't matter.
            Ok(Err(BodyError::TooLong)) => Bytes::from_static(&[b' '; MAX_BODY + 1]),
            Ok(Err(_)) => return problems::CUT_BODY.to_peer(server),
            Err(_) => return problems::SLOW_BODY.to_peer(server),
        };
        respond(&self.associations, &identity.certificate, &parts, &body).map(Body::full)
    }
}

/// Paths of N32-c (TS 29.573 §6.1.1).
const N32C: &str = "/n32c-handshake/";

/// How long the body of a message may take.
const BODY_TIME: Duration = Duration::from_secs(10);
