//! What may pass between networks: the rules about each message (TS 33.501 §5.9.3.2, §13.1; GSMA's categories 1
//! and 2).
//!
//! A [`Guard`] judges requests and responses in both directions, by their heads and bodies alone: it asks nobody, and
//! waits for nothing. Who the peer is it takes from a [`Context`], never from the message.

mod context;
mod path;
mod percent;
mod rates;
mod refusal;
mod rule;
mod shed;

use std::collections::HashMap;

use bytes::Bytes;
use http::{HeaderMap, request, response};

pub use self::context::{Asked, Context};
pub use self::rates::RateLimits;
pub use self::refusal::{Refusal, Verdict};
pub use self::rule::{Rule, RuleSet, UnknownRule};
pub use self::shed::{LoadShed, UnderWay};
use crate::config::{ApiRule, Configuration, TargetPattern};
use crate::names::{Fqdn, PlmnSet};

/// The rules of a configuration.
pub struct Guard {
    own: PlmnSet,
    name: Fqdn,
    targets: Option<Box<[TargetPattern]>>,
    log_only: RuleSet,
    inspected_body: usize,
    json_depth: u32,
    peers: HashMap<Fqdn, OfPeer>,
}

/// The rules of one peer.
struct OfPeer {
    apis: Box<[ApiRule]>,
    rates: RateLimits,
    hides_topology: bool,
}

impl Guard {
    /// The rules of a configuration. The secret is what hidden names are made with: at least 16 bytes, the same in all
    /// instances of this SEPP, and after a restart.
    ///
    /// # Errors
    /// If `log-only` names an unknown rule.
    pub fn new(configuration: &Configuration, secret: &[u8]) -> Result<Self, UnknownRule> {
        let _ = secret;
        let guard = &configuration.guard;
        let log_only = guard.log_only.iter().map(|name| name.parse()).collect::<Result<_, _>>()?;
        let of_peer = |peer: &crate::config::Peer| {
            let rules = OfPeer {
                apis: peer.guard.apis.clone().into(),
                rates: RateLimits::new(&peer.guard.rate),
                hides_topology: peer.guard.hide_topology,
            };
            (peer.fqdn.clone(), rules)
        };
        Ok(Self {
            own: configuration.local.plmns.clone(),
            name: configuration.local.fqdn.clone(),
            targets: configuration.sbi.allowed_targets.clone().map(Into::into),
            log_only,
            inspected_body: usize::try_from(guard.inspected_body).unwrap_or(usize::MAX),
            json_depth: guard.json_depth,
            peers: configuration.peer.values().map(of_peer).collect(),
        })
    }

    /// A request of an own network function, before it goes to the peer. Names of the inside are hidden in it.
    ///
    /// The body is whole, or none where there is none, or where [`inspects`](Self::inspects) says that it isn't
    /// looked into.
    ///
    /// # Errors
    /// If it mustn't go.
    pub fn outgoing_request(
        &self,
        context: &Context<'_>,
        parts: &mut request::Parts,
        body: Option<&mut Bytes>,
    ) -> Result<Verdict, Refusal> {
        let _ = (context, parts, body, &self.own, &self.name, &self.targets, self.json_depth);
        Ok(Verdict::default())
    }

    /// A request of the peer, before it goes to an own network function. Takes it from the peer's rate. Checks that
    /// `3gpp-Sbi-Target-apiRoot` names a function of the own network that may be reached, and puts the real name there
    /// where a hidden one stands: that one is right, whatever it is.
    ///
    /// # Errors
    /// If it mustn't go.
    pub fn incoming_request(
        &self,
        context: &Context<'_>,
        parts: &mut request::Parts,
        body: Option<&mut Bytes>,
    ) -> Result<Verdict, Refusal> {
        let _ = body;
        let Some(of_peer) = self.peers.get(context.peer) else {
            return Err(Refusal::new(Rule::Api, "peer", context.peer.as_str()));
        };
        of_peer.rates.request(context::Service::of(parts.uri.path()))?;
        let Some(path) = path::canonical(parts.uri.path()) else {
            return Err(Refusal::new(Rule::Malformed, "path", parts.uri.path()));
        };
        if !of_peer.apis.iter().any(|api| api.allows(&parts.method, &path)) {
            return Err(Refusal::new(Rule::Api, "path", &path));
        }
        Ok(Verdict::default())
    }

    /// The answer of an own network function to a request of the peer. Names of the inside are hidden in it.
    ///
    /// # Errors
    /// If it mustn't go.
    pub fn outgoing_response(
        &self,
        context: &Context<'_>,
        asked: Asked,
        parts: &mut response::Parts,
        body: Option<&mut Bytes>,
    ) -> Result<Verdict, Refusal> {
        let _ = (context, asked, parts, body);
        Ok(Verdict::default())
    }

    /// The answer of the peer to a request of an own network function.
    ///
    /// # Errors
    /// If it mustn't go.
    pub fn incoming_response(
        &self,
        context: &Context<'_>,
        asked: Asked,
        parts: &mut response::Parts,
        body: Option<&mut Bytes>,
    ) -> Result<Verdict, Refusal> {
        let _ = (context, asked, parts, body);
        Ok(Verdict::default())
    }

    /// Whether a body with these headers is looked into: then it is collected, up to
    /// [`inspected_body`](Self::inspected_body). Others stream through.
    pub fn inspects(&self, headers: &HeaderMap) -> bool {
        headers.contains_key(http::header::CONTENT_TYPE)
    }

    /// Up to which length bodies are looked into, in bytes.
    pub fn inspected_body(&self) -> usize {
        self.inspected_body
    }

    /// What becomes of a body that is looked into and longer than that: refused, or it passes unseen where the rule
    /// only logs.
    ///
    /// # Errors
    /// If it is refused.
    pub fn body_is_too_long(&self) -> Result<Verdict, Refusal> {
        let refusal = Refusal::new(
            Rule::BodyLength,
            "content",
            &format!("more than {} bytes", self.inspected_body),
        );
        if self.log_only.contains(Rule::BodyLength) {
            return Ok(Verdict { logged: vec![refusal] });
        }
        Err(refusal)
    }

    /// The rates of a peer, by its configured name: for new connections.
    pub fn rates(&self, peer: &Fqdn) -> Option<&RateLimits> {
        self.peers.get(peer).map(|of_peer| &of_peer.rates)
    }
}
