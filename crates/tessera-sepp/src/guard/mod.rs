//! The rules that decide which messages may pass between networks (TS 33.501 §5.9.3.2, §13.1; GSMA's categories 1 and
//! 2).
//!
//! A [`Guard`] judges requests and responses in both directions, by their heads and bodies alone: it calls no other
//! part of the SEPP and never waits. The peer's identity comes from a [`Context`], never from the message.
//!
//! Which network a message may name depends on the place. In a request of a visited network to a home network, which is
//! most of roaming:
//!
//! | place | may name |
//! |---|---|
//! | `3gpp-Sbi-Originating-Network-Id`, `3gpp-Sbi-Asserted-Plmn-Id`, `src..` of `3gpp-Sbi-NF-Peer-Info` | the sender's |
//! | `requester-plmn-list`, `requesterPlmn`, `consumerPlmnId` of a token | the sender's |
//! | `servingNetworkName`, `servingNetwork`, `plmnId`, `visitedPlmn`, `guami` | the sender's |
//! | callback URIs: members ending in `Uri`, `callbackReference` | the sender's |
//! | `target-plmn-list`, `targetPlmn`, `producerPlmnId` of a token, `guami` of a query to an NRF | the receiver's |
//! | `3gpp-Sbi-Target-apiRoot` | the receiver's |
//! | SUPI and SUCI at `nudm-*` and `nausf-*` | the receiver's |
//! | GUTI, `tai`, `homePlmnId`, URIs of sessions, networks in unknown members, SUPI elsewhere | either's |
//! | `allowedPlmns`, `equivalentPlmns`, steering of roaming, SUPI at `namf-comm` | any |
//!
//! In other requests (callbacks of a home network), members of the third row may name either network. In responses, an
//! NRF's answers name the
//! sender's functions, tokens name both ends, and subscriptions may be about any network. `fields.rs` has the whole
//! table.
//!
//! The guard knows what a member holds (a network, a subscriber, a URI) for every name in 3GPP's OpenAPI files
//! (`members.txt`). At their services, any other name in a peer's requests and responses breaks a rule, except in
//! errors and tokens.
//!
//! A message is forwarded in the form in which it was read, so that its receiver reads what was judged: JSON, forms,
//! multipart bodies and the request line are rewritten unless that gives the same bytes, and a peer's headers that no
//! API has are removed. Constructs that only some servers understand are malformed: duplicate members, text with NUL,
//! paths with dot segments or encoded slashes, values encoded repeatedly, multipart bodies with anything around the
//! parts, tokens within tokens. The prefix in a peer's `3gpp-Sbi-Target-apiRoot`, which precedes the API's path, must
//! be in the configuration.
//!
//! If local names are hidden from a peer, its messages must not name what it may not reach: a local function could repeat
//! the name, and hidden names are always reachable.
//!
//! Not inspected: NAS and NGAP messages within multipart bodies, and PLMN IDs used as names of members. A peer's
//! trailers are dropped. Instance identifiers, paths, and host names outside of URIs, profiles and the headers named in
//! `hiding/headers.rs` are not hidden. Subscribers in ranges and in group identifiers, and addresses of nodes that are
//! reached over other protocols (Diameter, DNS, GTP, trace collection), are not judged.

mod body;
mod context;
mod fields;
mod headers;
mod hiding;
mod identity;
mod judge;
mod media;
mod members;
mod network;
mod path;
mod percent;
mod query;
mod rates;
mod refusal;
mod request_head;
mod rule;
mod shed;
mod target;
mod uri;

use std::collections::HashMap;

use bytes::Bytes;
use http::{HeaderMap, request, response};

pub(crate) use self::body::set_length;
use self::context::Service;
pub use self::context::{Context, RequestSummary, RevealedTarget};
use self::fields::Kind;
use self::hiding::{Pseudonyms, Translation, Way};
use self::judge::{Changes, Judge};
use self::network::Sides;
pub use self::rates::RateLimits;
pub(crate) use self::refusal::is_shown;
pub use self::refusal::{Passage, Refusal};
pub use self::rule::{Rule, RuleSet, UnknownRule};
pub use self::shed::{InFlightRequest, LoadShed};
use self::target::Targets;
use crate::config::{ApiRule, Configuration, Peer};
use crate::names::{Fqdn, NetworkDomain, PlmnSet};

/// The rules of a configuration.
pub struct Guard {
    own: PlmnSet,
    domains: Box<[NetworkDomain]>,
    public: Box<[Fqdn]>,
    pseudonyms: Pseudonyms,
    targets: Targets,
    log_only: RuleSet,
    inspected_body: usize,
    json_depth: u32,
    peers: HashMap<Fqdn, PeerRules>,
}

/// The rules of one peer.
struct PeerRules {
    apis: Box<[ApiRule]>,
    rates: RateLimits,
    hides_topology: bool,
}

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Incoming,
    Outgoing,
}

/// Why a guard could not be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoGuard {
    /// `log-only` contains an unknown rule.
    Rule(UnknownRule),
    /// No local network is configured; hidden names need the domain of one.
    Networks,
    /// The secret is too short to derive a key.
    Secret,
}

impl Guard {
    /// Builds the rules of a configuration. Hidden names are derived from the secret: at least 16 bytes that no other
    /// party knows, the same in all instances of this SEPP and after a restart.
    ///
    /// # Errors
    /// If `log-only` contains an unknown rule, there is no local network, or the secret is too short.
    pub fn new(configuration: &Configuration, secret: &[u8]) -> Result<Self, NoGuard> {
        let guard = &configuration.guard;
        let local = &configuration.local;
        let rules = guard.log_only.iter().map(|name| name.parse());
        let log_only = rules.collect::<Result<_, _>>().map_err(NoGuard::Rule)?;
        let domains: Box<[_]> = local.plmns.iter().map(NetworkDomain::from).collect();
        let domain = NetworkDomain::of_name(local.fqdn.as_str()).or(domains.first().copied());
        let domain = domain.ok_or(NoGuard::Networks)?;
        if secret.len() < LEAST_SECRET {
            return Err(NoGuard::Secret);
        }
        let telescopic = configuration.sbi.telescopic_domain.clone();
        Ok(Self {
            own: local.plmns.clone(),
            domains,
            public: [local.fqdn.clone()].into_iter().chain(telescopic).collect(),
            pseudonyms: Pseudonyms::new(secret, &domain).map_err(|_| NoGuard::Secret)?,
            targets: Targets {
                names: configuration.sbi.allowed_targets.clone().map(Into::into),
                prefixes: configuration.sbi.target_prefixes.clone().into(),
            },
            log_only,
            inspected_body: usize::try_from(guard.inspected_body).unwrap_or(usize::MAX),
            json_depth: guard.json_depth,
            peers: configuration.peer.values().map(of_peer).collect(),
        })
    }

    /// Judges a request of a local network function before it goes to the peer, and hides internal names in it. The
    /// caller has already resolved telescopic names.
    ///
    /// The body is complete. Pass `None` if there is none, or if it is [not inspected](Self::inspects). If it changes,
    /// so does `content-length`.
    ///
    /// # Errors
    /// If the request must not be forwarded.
    pub fn outgoing_request(
        &self,
        context: &Context<'_>,
        parts: &mut request::Parts,
        body: Option<&mut Bytes>,
    ) -> Result<Passage, Refusal> {
        let of_peer = self.of_peer(context)?;
        let service = Service::of(parts.uri.path());
        let mut judge = self.judge(context, of_peer, Direction::Outgoing, service, true);
        judge.translation = of_peer.hides_topology.then(|| self.translation(context, Way::Hide));
        request_head::judge(&mut judge, parts)?;
        target::judge(&mut judge, &mut parts.headers, None, None)?;
        if let Some(translation) = judge.translation {
            hiding::hide_request(&translation, &mut parts.headers);
        }
        finish(judge, &mut parts.headers, body, false)
    }

    /// Charges a request of the peer to its rate limit, before any of it is read.
    ///
    /// # Errors
    /// If it exceeds the limit.
    pub fn admit(&self, context: &Context<'_>, asked: RequestSummary) -> Result<Passage, Refusal> {
        let of_peer = self.of_peer(context)?;
        let rates = &of_peer.rates;
        let mut judge = self.judge(context, of_peer, Direction::Incoming, asked.service, true);
        rates.of_service(asked.service).or_else(|refusal| judge.refuse(refusal))?;
        rates.of_peer(asked.service).or_else(|refusal| judge.refuse(refusal))?;
        Ok(judge.passage())
    }

    /// Judges a request of the peer that was [admitted](Self::admit), before it goes to a local network function.
    /// `3gpp-Sbi-Target-apiRoot` must name a reachable function of the local network. A hidden name there is replaced
    /// by the real one, which is always accepted: the request then carries the extension [`RevealedTarget`].
    ///
    /// The body is as in [`outgoing_request`](Self::outgoing_request).
    ///
    /// # Errors
    /// If the request must not be forwarded.
    pub fn incoming_request(
        &self,
        context: &Context<'_>,
        parts: &mut request::Parts,
        body: Option<&mut Bytes>,
    ) -> Result<Passage, Refusal> {
        let of_peer = self.of_peer(context)?;
        let service = Service::at_start(parts.uri.path());
        let mut judge = self.judge(context, of_peer, Direction::Incoming, service, true);
        let translation = of_peer.hides_topology.then(|| self.translation(context, Way::Reveal));
        judge.translation = translation;
        judge.targets = self.targets.names.as_deref();
        let path = request_head::judge(&mut judge, parts)?;
        if !of_peer.apis.iter().any(|api| api.allows(&parts.method, &path)) {
            // The operator needs method and path to tune `apis`.
            let claimed = format!("{} {}", parts.method, path::first_segment(&path));
            judge.against(Rule::Api, "path", &claimed)?;
        }
        let targets = Some(&self.targets);
        if target::judge(&mut judge, &mut parts.headers, targets, translation.as_ref())? {
            parts.extensions.insert(RevealedTarget);
        }
        finish(judge, &mut parts.headers, body, false)
    }

    /// Judges the answer of a local network function to a request of the peer, and hides internal names in it.
    ///
    /// The body is as in [`outgoing_request`](Self::outgoing_request).
    ///
    /// # Errors
    /// If the answer must not be forwarded.
    pub fn outgoing_response(
        &self,
        context: &Context<'_>,
        asked: RequestSummary,
        parts: &mut response::Parts,
        body: Option<&mut Bytes>,
    ) -> Result<Passage, Refusal> {
        let of_peer = self.of_peer(context)?;
        let mut judge = self.judge(context, of_peer, Direction::Outgoing, asked.service, false);
        judge.translation = of_peer.hides_topology.then(|| self.translation(context, Way::Hide));
        if of_peer.hides_topology {
            hiding::hide_response(&mut parts.headers);
        }
        response(judge, parts, body)
    }

    /// Judges the answer of the peer to a request of a local network function.
    ///
    /// The body is as in [`outgoing_request`](Self::outgoing_request).
    ///
    /// # Errors
    /// If the answer must not be forwarded.
    pub fn incoming_response(
        &self,
        context: &Context<'_>,
        asked: RequestSummary,
        parts: &mut response::Parts,
        body: Option<&mut Bytes>,
    ) -> Result<Passage, Refusal> {
        let of_peer = self.of_peer(context)?;
        let mut judge = self.judge(context, of_peer, Direction::Incoming, asked.service, false);
        judge.translation = of_peer.hides_topology.then(|| self.translation(context, Way::Reveal));
        judge.targets = self.targets.names.as_deref().filter(|_| of_peer.hides_topology);
        response(judge, parts, body)
    }

    fn of_peer(&self, context: &Context<'_>) -> Result<&PeerRules, Refusal> {
        let of_peer = self.peers.get(context.peer);
        of_peer.ok_or_else(|| Refusal::new(Rule::Api, "peer", context.peer.as_str()))
    }

    fn judge<'a>(
        &'a self,
        context: &Context<'a>,
        of_peer: &'a PeerRules,
        direction: Direction,
        service: Service,
        is_request: bool,
    ) -> Judge<'a> {
        let sides = match direction {
            Direction::Incoming => Sides { sender: context.plmns, receiver: &self.own },
            Direction::Outgoing => Sides { sender: &self.own, receiver: context.plmns },
        };
        Judge {
            sides,
            kind: Kind { is_request, service, is_query: false },
            is_incoming: direction == Direction::Incoming,
            json_depth: self.json_depth,
            log_only: self.log_only,
            rule: Rule::PlmnInHeader,
            translation: None,
            own_names: &self.public,
            targets: None,
            apis: &of_peer.apis,
            prefixes: &self.targets.prefixes,
            knows_members: direction == Direction::Incoming && service.is_known(),
            placed: Vec::new(),
            placed_len: 0,
            copies: 0,
            changes: Changes::Outside,
            is_patch: false,
            is_in_complex_query: false,
            logged: Vec::new(),
        }
    }

    fn translation<'a>(&'a self, context: &Context<'a>, way: Way) -> Translation<'a> {
        Translation {
            way,
            pseudonyms: &self.pseudonyms,
            peer: context.peer,
            own: &self.domains,
            public: &self.public,
        }
    }

    /// Returns whether a body with these headers is inspected. Inspected bodies are collected, up to
    /// [`inspected_body`](Self::inspected_body); others stream through.
    pub fn inspects(&self, headers: &HeaderMap) -> bool {
        body::is_inspected(headers, self.log_only.contains(Rule::ContentType))
    }

    /// Returns the maximum length of an inspected body, in bytes.
    pub fn inspected_body(&self) -> usize {
        self.inspected_body
    }

    /// Decides what happens to an inspected body above that length: it is refused, or passes uninspected if the rule
    /// only logs.
    ///
    /// # Errors
    /// If it is refused.
    pub fn body_is_too_long(&self) -> Result<Passage, Refusal> {
        let refusal = Refusal::new(
            Rule::BodyLength,
            "content",
            &format!("more than {} bytes", self.inspected_body),
        );
        if self.log_only.contains(Rule::BodyLength) {
            return Ok(Passage { logged: vec![refusal] });
        }
        Err(refusal)
    }

    /// Returns the rate limits of a peer, by its configured name; callers use them for new connections.
    pub fn rates(&self, peer: &Fqdn) -> Option<&RateLimits> {
        self.peers.get(peer).map(|of_peer| &of_peer.rates)
    }
}

fn of_peer(peer: &Peer) -> (Fqdn, PeerRules) {
    let rules = PeerRules {
        apis: peer.guard.apis.clone().into(),
        rates: RateLimits::new(&peer.guard.rate),
        hides_topology: peer.guard.hide_topology,
    };
    (peer.fqdn.clone(), rules)
}

/// The minimum length of the secret, in bytes.
const LEAST_SECRET: usize = 16;

/// Judges a response.
fn response(
    mut judge: Judge<'_>,
    parts: &mut response::Parts,
    body: Option<&mut Bytes>,
) -> Result<Passage, Refusal> {
    let is_error = parts.status.is_client_error() || parts.status.is_server_error();
    judge.knows_members &= !is_error;
    headers::judge_response(&mut judge, &mut parts.headers)?;
    if let Some(translation) = judge.translation
        && hiding::translate_places(&translation, &mut parts.headers).is_err()
    {
        judge.against(Rule::Topology, "location", "")?;
    }
    finish(judge, &mut parts.headers, body, is_error)
}

/// Judges the body, which is forwarded as it was read.
fn finish(
    mut judge: Judge<'_>,
    headers: &mut HeaderMap,
    body: Option<&mut Bytes>,
    is_error: bool,
) -> Result<Passage, Refusal> {
    judge.rule = Rule::PlmnInJson;
    body::judge(&mut judge, headers, body, is_error)?;
    Ok(judge.passage())
}

impl std::fmt::Display for NoGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rule(unknown) => write!(f, "log-only: {unknown}"),
            Self::Networks => f.write_str("[local] plmns: is empty: name at least one network"),
            Self::Secret => write!(f, "hidden-names-key: must have at least {LEAST_SECRET} bytes"),
        }
    }
}

impl std::error::Error for NoGuard {}
