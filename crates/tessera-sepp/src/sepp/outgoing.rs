//! Requests of local network functions to peers.

use std::time::{Instant, SystemTime};

use http::header::LOCATION;
use http::uri::Scheme as UriScheme;
use http::{HeaderMap, HeaderValue, Request, Response, request};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::Call;
use tessera_proxy::http::deadline::Deadline;

use super::Sepp;
use super::exchange::{Exchange, Outcome};
use super::live::ActiveConfig;
use super::look::{InspectedBody, Stop};
use super::observer::Direction;
use super::policy::PeerIndex;
use super::route::route;
use crate::guard::{Context, RequestSummary};
use crate::n32c::Association;
use crate::n32f::early;
use crate::names::NetworkDomain;
use crate::sbi::errors::{Problem, problems};
use crate::sbi::telescopic::{Rewriter, api};
use crate::sbi::{request as passing, time};

impl Sepp {
    /// Answers a request of a local network function: with the answer of the peer's network function, or with the
    /// reason why there is none.
    pub async fn sbi(&self, request: Request<Body>) -> Response<Body> {
        let begun = Instant::now();
        let live = self.live();
        let (parts, body) = request.into_parts();
        if parts.uri.path() == api::MAPPING && !parts.headers.contains_key(TARGET) {
            let domain = live.policy.telescopic.as_ref();
            return api::answer(domain, &parts, &live.policy.own.server);
        }
        let mut exchange = Exchange::new(Direction::Outgoing, RequestSummary::of(&parts), begun);
        let response = match self.outgoing(&live, &mut exchange, parts, body).await {
            Ok(response) => response,
            Err(problem) => problem.to_own(&live.policy.own.server),
        };
        exchange.relayed(&live, self.observer(), response.status());
        response
    }

    async fn outgoing(
        &self,
        live: &ActiveConfig,
        exchange: &mut Exchange,
        mut parts: request::Parts,
        body: Body,
    ) -> Outcome {
        let peer = route(&live.policy, &mut parts)?;
        exchange.peer = Some(peer);
        let left = time::left(&parts.headers, live.policy.response_time, SystemTime::now);
        let deadline = Deadline::after(left.map_err(|_| problems::TIMED_OUT)?);
        passing::pass_on(&mut parts)?;
        let of_peer = live.policy.peer(peer).ok_or(problems::NO_ROUTE)?;
        let name = &of_peer.fqdn;
        let association = match self.associations().established(name) {
            Some(association) => association,
            None => self.associations().ensure(name, deadline).await.map_err(|why| Problem {
                detail: why.to_string().into(),
                ..problems::NO_ASSOCIATION
            })?,
        };
        passing::add_origin(&mut parts.headers, &live.policy.own.origin);
        let context = Context { peer: name, plmns: &association.plmns };
        let body =
            self.judge_request(live, exchange, &association, &context, &mut parts, body, deadline);
        let body = body.await?;
        let link = live.link(peer, &association).ok_or(problems::UNREACHABLE)?;
        passing::address(&mut parts, &UriScheme::HTTPS, &link.authority, "")?;
        let reconnection = &of_peer.reconnection;
        let mut call = Call::until(deadline);
        if early::may_be_early(&parts.method, reconnection) {
            call = call.early();
        }
        if early::is_repeatable(&parts.method, parts.uri.path(), reconnection) {
            call = call.repeatable();
        }
        let request = Request::from_parts(parts, body);
        let answer = link.pool.call(request, call).await;
        let answer = answer.map_err(|error| {
            self.note_call(live, peer, &error);
            exchange.failed(live, &error)
        })?;
        exchange.was_early = answer.was_early();
        exchange.resent = answer.resent;
        let response = self.heed(&association, answer.response, deadline).await?;
        self.judge_response(live, exchange, &association, peer, &context, response, deadline).await
    }

    #[expect(clippy::too_many_arguments, reason = "all of one request")]
    async fn judge_request(
        &self,
        live: &ActiveConfig,
        exchange: &Exchange,
        association: &Association,
        context: &Context<'_>,
        parts: &mut request::Parts,
        body: Body,
        deadline: Deadline,
    ) -> Result<Body, Problem> {
        let telescopic = live.policy.telescopic.as_ref();
        let mut logged = Vec::new();
        let judged = async {
            let rewrites = telescopic.is_some();
            let headers = &parts.headers;
            let mut body =
                InspectedBody::at(&live.guard, headers, body, rewrites, deadline, &mut logged)
                    .await?;
            if let Some(domain) = telescopic {
                body.rewrite(&Rewriter::outwards(domain), headers);
            }
            let verdict = live.guard.outgoing_request(context, parts, body.data())?;
            logged.extend(verdict.logged);
            Ok::<_, Stop>(body.into_body(&mut parts.headers))
        };
        let judged = judged.await;
        exchange.logged(self.observer(), association, context.peer, false, &logged);
        judged.map_err(|stop| {
            exchange.stopped(self.observer(), association, context.peer, false, &stop);
            stop.to_request()
        })
    }

    #[expect(clippy::too_many_arguments, reason = "all of one response")]
    async fn judge_response(
        &self,
        live: &ActiveConfig,
        exchange: &Exchange,
        association: &Association,
        peer: PeerIndex,
        context: &Context<'_>,
        response: Response<Body>,
        deadline: Deadline,
    ) -> Outcome {
        let telescopic = live.policy.telescopic.as_ref();
        let (mut parts, body) = response.into_parts();
        exchange.strip(&mut parts);
        let mut logged = Vec::new();
        let judged = async {
            let rewrites = telescopic.is_some();
            let headers = &parts.headers;
            let mut body =
                InspectedBody::at(&live.guard, headers, body, rewrites, deadline, &mut logged)
                    .await?;
            let data = body.data();
            let verdict =
                live.guard.incoming_response(context, exchange.asked, &mut parts, data)?;
            logged.extend(verdict.logged);
            if let Some(domain) = telescopic {
                let is_foreign = |network: &NetworkDomain| live.policy.is_of(peer, network);
                let rewriting = Rewriter::inwards(domain, &is_foreign);
                rewrite_location(&rewriting, &mut parts.headers);
                body.rewrite(&rewriting, &parts.headers);
            }
            Ok::<_, Stop>(body.into_body(&mut parts.headers))
        };
        let judged = judged.await;
        exchange.logged(self.observer(), association, context.peer, true, &logged);
        match judged {
            Ok(body) => Ok(Response::from_parts(parts, body)),
            Err(stop) => {
                exchange.stopped(self.observer(), association, context.peer, true, &stop);
                Err(stop.to_response())
            }
        }
    }
}

const TARGET: http::HeaderName = crate::sbi::headers::TARGET_API_ROOT;

/// Rewrites `Location`, where a created resource is: local network functions reach it through this SEPP.
pub(super) fn rewrite_location(rewriting: &Rewriter<'_>, headers: &mut HeaderMap) {
    let Some(location) = headers.get(LOCATION).and_then(|value| value.to_str().ok()) else {
        return;
    };
    if let Some(new) = rewriting.uri(location)
        && let Ok(new) = HeaderValue::try_from(new)
    {
        headers.insert(LOCATION, new);
    }
}
