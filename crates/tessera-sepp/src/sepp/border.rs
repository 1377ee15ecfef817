//! What a request and its answer pass on their way between a local network function and a peer: the rules, and the
//! translation of telescopic names.

use http::header::LOCATION;
use http::{HeaderMap, HeaderValue, Response, request, response};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::deadline::Deadline;

use super::exchange::{Exchange, Outcome};
use super::live::ActiveConfig;
use super::look::{ForwardRefusal, InspectedBody};
use super::observer::{Direction, MessageRefusal, Observer, RefusalReason};
use super::policy::PeerIndex;
use crate::guard::{Context, Refusal};
use crate::n32c::Association;
use crate::names::NetworkDomain;
use crate::sbi::errors::Problem;
use crate::sbi::telescopic::Rewriter;

/// The border that one request and its answer cross.
pub(super) struct Border<'a> {
    pub(super) live: &'a ActiveConfig,
    pub(super) observer: &'a dyn Observer,
    pub(super) association: &'a Association,
    pub(super) peer: PeerIndex,
    pub(super) context: Context<'a>,
    pub(super) deadline: Deadline,
}

/// The head of a message.
enum Head<'m> {
    Request(&'m mut request::Parts),
    Response(&'m mut response::Parts),
}

impl Border<'_> {
    /// Judges a request, and returns the body to forward.
    pub(super) async fn request(
        &self,
        exchange: &Exchange,
        parts: &mut request::Parts,
        body: Body,
    ) -> Result<Body, Problem> {
        let judged = self.judge(exchange, Head::Request(parts), body).await;
        judged.map_err(|refusal| refusal.to_request())
    }

    /// Judges the answer, and returns it as it is forwarded.
    pub(super) async fn response(&self, exchange: &Exchange, response: Response<Body>) -> Outcome {
        let (mut parts, body) = response.into_parts();
        exchange.strip(&mut parts);
        match self.judge(exchange, Head::Response(&mut parts), body).await {
            Ok(body) => Ok(Response::from_parts(parts, body)),
            Err(refusal) => Err(refusal.to_response()),
        }
    }

    async fn judge(
        &self,
        exchange: &Exchange,
        mut head: Head<'_>,
        body: Body,
    ) -> Result<Body, ForwardRefusal> {
        let mut logged = Vec::new();
        let passed = self.pass(exchange, &mut head, body, &mut logged).await;
        let refused = |refusal, is_enforced| {
            self.observer.refused(&MessageRefusal {
                peer: self.context.peer,
                association: Some(self.association.id),
                direction: exchange.direction,
                is_response: !head.is_request(),
                reason: RefusalReason::Guard(refusal),
                is_enforced,
            });
        };
        logged.iter().for_each(|refusal| refused(refusal, false));
        if let Err(ForwardRefusal::Rule(refusal)) = &passed {
            refused(refusal, true);
        }
        passed
    }

    /// `logged`: what log-only rules would have refused.
    async fn pass(
        &self,
        exchange: &Exchange,
        head: &mut Head<'_>,
        body: Body,
        logged: &mut Vec<Refusal>,
    ) -> Result<Body, ForwardRefusal> {
        let Self { live, context, deadline, .. } = self;
        let guard = &live.guard;
        let telescopic = live.policy.telescopic.as_ref();
        let rewrites = telescopic.is_some();
        let body = InspectedBody::at(guard, head.headers(), body, rewrites, *deadline, logged);
        let mut body = body.await?;
        let is_of_peer = (exchange.direction == Direction::Incoming) == head.is_request();
        // The rules judge what telescopic names stand for; only local network functions know these names.
        if let (Some(domain), false) = (telescopic, is_of_peer) {
            head.rewrite(&Rewriter::outwards(domain), &mut body);
        }
        let data = body.data();
        let judged = match (&mut *head, is_of_peer) {
            (Head::Request(parts), true) => guard.incoming_request(context, parts, data),
            (Head::Request(parts), false) => guard.outgoing_request(context, parts, data),
            (Head::Response(parts), true) => {
                guard.incoming_response(context, exchange.asked, parts, data)
            }
            (Head::Response(parts), false) => {
                guard.outgoing_response(context, exchange.asked, parts, data)
            }
        };
        logged.extend(judged?.logged);
        // Callbacks pass this SEPP, so that local functions that know nothing of it can send them.
        if let (Some(domain), true) = (telescopic, is_of_peer) {
            let is_foreign = |network: &NetworkDomain| live.policy.is_of(self.peer, network);
            head.rewrite(&Rewriter::inwards(domain, &is_foreign), &mut body);
        }
        Ok(body.into_body(head.headers()))
    }
}

impl Head<'_> {
    fn is_request(&self) -> bool {
        matches!(self, Self::Request(_))
    }

    fn headers(&mut self) -> &mut HeaderMap {
        match self {
            Self::Request(parts) => &mut parts.headers,
            Self::Response(parts) => &mut parts.headers,
        }
    }

    /// Translates telescopic names in the body, and in `Location`: local network functions reach a created resource
    /// through this SEPP.
    fn rewrite(&mut self, rewriting: &Rewriter<'_>, body: &mut InspectedBody) {
        if let Self::Response(parts) = self
            && let Some(location) = parts.headers.get(LOCATION)
            && let Ok(location) = location.to_str()
            && let Some(new) = rewriting.uri(location)
            && let Ok(new) = HeaderValue::try_from(new)
        {
            parts.headers.insert(LOCATION, new);
        }
        body.rewrite(rewriting, self.headers());
    }
}
