//! Peers that were restarted and lost the association: their N32-f reports it, and N32-c negotiates again.

use std::sync::Arc;

use http::header::{CONTENT_TYPE, SERVER};
use http::{Response, StatusCode};
use http_body::Body as _;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::deadline::Deadline;

use super::Sepp;
use super::look::of_body;
use crate::n32c::Association;
use crate::n32c::messages::{Cause, ProblemDetails, decode};
use crate::sbi::errors::{Problem, problems};

/// The longest problem of a SEPP, in octets. Longer ones come from a function.
const LIMIT: u64 = 4096;

impl Sepp {
    /// Checks whether a peer's answer reports that it has no association. Returns the answer unchanged.
    pub(super) async fn heed(
        &self,
        association: &Arc<Association>,
        response: Response<Body>,
        deadline: Deadline,
    ) -> Result<Response<Body>, Problem> {
        if response.status() != StatusCode::FORBIDDEN {
            return Ok(response);
        }
        let headers = response.headers();
        // Network functions behind the peer can't end associations.
        let is_its_own = headers.get(SERVER).is_some_and(|server| {
            server.as_bytes().strip_prefix(b"SEPP-") == Some(association.peer.as_str().as_bytes())
        });
        let kind = headers.get(CONTENT_TYPE);
        let is_problem = kind.is_some_and(|kind| kind == "application/problem+json");
        let is_short = response.body().size_hint().upper().is_some_and(|len| len <= LIMIT);
        if !is_its_own || !is_problem || !is_short {
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        let body = match deadline.limit(body.collect_up_to(LIMIT as usize)).await {
            Ok(body) => body.map_err(|error| of_body(&error))?,
            Err(_) => return Err(problems::SLOW_BODY),
        };
        let problem = decode::<ProblemDetails>(&body.data);
        if problem.is_ok_and(|problem| problem.cause == Some(Cause::ContextNotFound)) {
            self.associations().lost(association);
        }
        Ok(Response::from_parts(parts, Body::from(body)))
    }
}
