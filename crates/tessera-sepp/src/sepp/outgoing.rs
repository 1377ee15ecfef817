//! Requests of local network functions to peers.

use std::time::{Instant, SystemTime};

use http::uri::Scheme as UriScheme;
use http::{Request, Response, request};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::Call;
use tessera_proxy::http::deadline::Deadline;

use super::Sepp;
use super::border::Border;
use super::exchange::{Exchange, Outcome};
use super::live::ActiveConfig;
use super::observer::Direction;
use super::route::route;
use crate::guard::{Context, RequestSummary};
use crate::n32f::early;
use crate::sbi::errors::{Problem, problems};
use crate::sbi::headers::TARGET_API_ROOT;
use crate::sbi::telescopic::api;
use crate::sbi::{request as passing, time};

impl Sepp {
    /// Answers a request of a local network function: with the answer of the peer's network function, or with the
    /// reason why there is none.
    pub async fn sbi(&self, request: Request<Body>) -> Response<Body> {
        let begun = Instant::now();
        let live = self.live();
        let (parts, body) = request.into_parts();
        if parts.uri.path() == api::MAPPING && !parts.headers.contains_key(TARGET_API_ROOT) {
            let domain = live.policy.telescopic.as_ref();
            return api::answer(domain, &parts, &live.policy.own.server);
        }
        let mut exchange = Exchange::new(Direction::Outgoing, RequestSummary::of(&parts), begun);
        let outcome = self.outgoing(&live, &mut exchange, parts, body).await;
        let response = outcome.unwrap_or_else(|problem| problem.to_own(&live.policy.own.server));
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
        // A peer that doesn't answer delays only requests to itself.
        let _share = self.requests.take(name).ok_or(problems::PEER_BUSY)?;
        let association = match self.associations().established(name) {
            Some(association) => association,
            None => self.associations().ensure(name, deadline).await.map_err(|why| Problem {
                detail: why.to_string().into(),
                ..problems::NO_ASSOCIATION
            })?,
        };
        passing::add_origin(&mut parts.headers, &live.policy.own.origin);
        let context = Context { peer: name, plmns: &association.plmns };
        let border = Border {
            live,
            observer: self.observer(),
            association: &association,
            peer,
            context,
            deadline,
        };
        let body = border.request(exchange, &mut parts, body).await?;
        let link = self.connects.link(live, peer, &association).ok_or(problems::UNREACHABLE)?;
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
        border.response(exchange, response).await
    }
}
