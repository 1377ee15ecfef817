//! Requests of peers to local network functions.

use std::time::{Duration, Instant, SystemTime};

use http::{HeaderMap, Request, Response, request};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::Call;
use tessera_proxy::http::deadline::Deadline;
use tessera_tokio::http::EarlyRequest;

use super::Sepp;
use super::border::Border;
use super::exchange::{Exchange, Outcome};
use super::live::ActiveConfig;
use super::look::ForwardRefusal;
use super::observer::{Direction, MessageRefusal, RefusalReason};
use crate::guard::{Context, Passage, Refusal, RequestSummary, RevealedTarget};
use crate::identity::Identity;
use crate::n32c::Association;
use crate::n32f::early;
use crate::sbi::api_root::ApiRoot;
use crate::sbi::errors::{Problem, problems};
use crate::sbi::{headers, request as passing, time};

/// How long a request waits for this SEPP's first exchange with its peer.
const BEGINNING: Duration = Duration::from_secs(3);

impl Sepp {
    /// Answers a request of a peer on N32-f: with the local network function's answer, or with a problem that reveals
    /// nothing internal. `identity` is what was verified about the connection.
    pub(super) async fn n32f(&self, identity: &Identity, request: Request<Body>) -> Response<Body> {
        let begun = Instant::now();
        let live = self.live();
        let (parts, body) = request.into_parts();
        let mut exchange = Exchange::new(Direction::Incoming, RequestSummary::of(&parts), begun);
        exchange.was_early = parts.extensions.get::<EarlyRequest>().is_some();
        let outcome = self.incoming(&live, &mut exchange, identity, parts, body).await;
        let response = outcome.unwrap_or_else(|problem| problem.to_peer(&live.policy.own.server));
        exchange.relayed(&live, self.observer(), response.status());
        response
    }

    async fn incoming(
        &self,
        live: &ActiveConfig,
        exchange: &mut Exchange,
        identity: &Identity,
        mut parts: request::Parts,
        body: Body,
    ) -> Outcome {
        // TS 33.501 §13.1.2: without N32-c, or beyond what N32-c proved, nothing passes.
        let refuse = |association: Option<&Association>, reason: RefusalReason<'_>| {
            self.observer().refused(&MessageRefusal {
                peer: &identity.peer,
                association: association.map(|association| association.id),
                direction: Direction::Incoming,
                is_response: false,
                reason,
                is_enforced: true,
            });
        };
        let peer = live.policy.named(&identity.peer);
        exchange.peer = peer;
        let beginning = Deadline::after(BEGINNING.min(live.policy.response_time));
        let association = self.associations().established_or_beginning(&identity.peer, beginning);
        let association = association
            .await
            .filter(|association| identity.certificate.is_within(&association.certificate));
        let (Some(peer), Some(association)) = (peer, association) else {
            refuse(None, RefusalReason::Association);
            return Err(problems::NO_CONTEXT);
        };
        // N32-f's certificate may have fewer networks than N32-c's (TS 33.501 §13.1.2); it doesn't represent the
        // others.
        let plmns = association.plmns.common_with(&identity.certificate.plmns);
        let context = Context { peer: &identity.peer, plmns: &plmns };
        self.admit(live, exchange.asked, Some(&association), &context)?;
        if parts.uri.path().starts_with(PRINS) {
            return Err(problems::NO_PRINS);
        }
        let of_peer = live.policy.peer(peer).ok_or(problems::NO_CONTEXT)?;
        if exchange.was_early && !early::may_come_early(&parts.method, &of_peer.reconnection) {
            return Err(problems::TOO_EARLY);
        }
        let left = time::left(&parts.headers, live.policy.response_time, SystemTime::now);
        let deadline = Deadline::after(left.map_err(|_| problems::TIMED_OUT)?);
        passing::pass_on(&mut parts)?;
        let refuse_target = |headers: &HeaderMap, problem| -> Problem {
            refuse(Some(&association), RefusalReason::Guard(&Refusal::of_target(headers)));
            problem
        };
        ApiRoot::of_headers(&parts.headers)
            .map_err(|_| refuse_target(&parts.headers, problems::BAD_TARGET))?
            .ok_or(problems::NO_TARGET)?;
        if let Some(origin) = &of_peer.origin {
            passing::add_origin(&mut parts.headers, origin);
        }
        let border = Border {
            live,
            observer: self.observer(),
            association: &association,
            peer,
            context,
            deadline,
        };
        let body = border.request(exchange, &mut parts, body).await?;
        // Read it again: the guard may have replaced a hidden name by the real one, which is always valid.
        let was_hidden = parts.extensions.get::<RevealedTarget>().is_some();
        let target = match was_hidden {
            true => ApiRoot::of_revealed(&parts.headers),
            false => ApiRoot::of_headers(&parts.headers),
        };
        let target = target
            .map_err(|_| refuse_target(&parts.headers, problems::BAD_TARGET))?
            .ok_or(problems::NO_TARGET)?;
        if !was_hidden && !live.policy.targets.allow(&target) {
            return Err(refuse_target(&parts.headers, problems::NOT_ALLOWED_TARGET));
        }
        let function = self.connects.route(live, &target, Some(&identity.peer))?;
        let prefix = target.prefix.to_owned();
        headers::remove_routing(&mut parts.headers);
        passing::address(&mut parts, &function.scheme, &function.authority, &prefix)?;
        let request = Request::from_parts(parts, body);
        let answer = function.pool.call(request, Call::until(deadline)).await;
        let response = answer.map_err(|error| exchange.failed(live, &error))?.response;
        border.response(exchange, response).await
    }

    /// Charges a request to its peer's rate limit, before waiting for its body.
    pub(super) fn admit(
        &self,
        live: &ActiveConfig,
        asked: RequestSummary,
        association: Option<&Association>,
        context: &Context<'_>,
    ) -> Result<(), Problem> {
        let refused = |refusal: &Refusal, is_enforced| {
            self.observer().refused(&MessageRefusal {
                peer: context.peer,
                association: association.map(|association| association.id),
                direction: Direction::Incoming,
                is_response: false,
                reason: RefusalReason::Guard(refusal),
                is_enforced,
            });
        };
        match live.guard.admit(context, asked) {
            Ok(Passage { logged }) => {
                logged.iter().for_each(|refusal| refused(refusal, false));
                Ok(())
            }
            Err(refusal) => {
                refused(&refusal, true);
                Err(ForwardRefusal::from(refusal).to_request())
            }
        }
    }
}

/// The path of PRINS messages (TS 29.573 §6.2).
const PRINS: &str = "/n32f-forward/";
