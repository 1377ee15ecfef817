//! What a peer says of itself, against what its certificate, its trust anchor and the configuration let it say.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use http::StatusCode;

use super::settings::{LocalSettings, PeerSettings};
use crate::identity::CertificateIdentity;
use crate::n32c::messages::{
    Cause, Features, HandshakeId, IntendedN32Purpose, N32Purpose, PlmnIdNid, ProblemDetails,
    SecNegotiateReqData, SecNegotiateRspData, SecurityCapability,
};
use crate::names::{Fqdn, NetworkDomain, PlmnId, PlmnSet};

/// What both agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Terms {
    pub certificate: CertificateIdentity,
    pub plmns: PlmnSet,
    pub target_api_root: bool,
    pub features: Features,
    pub purposes: Option<BTreeSet<N32Purpose>>,
    pub n32f_fqdn: Fqdn,
    pub n32f_ports: Vec<u16>,
    pub keep_alive: Duration,
    pub handshake_id: Option<HandshakeId>,
}

/// The members that a request and its answer have in common.
pub(super) struct Claims<'a> {
    sender: &'a Fqdn,
    plmns: Option<&'a [PlmnId]>,
    target_plmn: Option<&'a PlmnId>,
    /// What it is to be for, or may be for.
    purposes: Option<&'a [IntendedN32Purpose]>,
    purposes_name: &'static str,
    target_api_root: bool,
    features: Option<&'a Features>,
    n32f_fqdn: Option<&'a Fqdn>,
    n32f_port: Option<u64>,
    n32f_port_list: Option<&'a [u64]>,
    keep_alive: Option<i64>,
    handshake_id: Option<HandshakeId>,
}

impl<'a> From<&'a SecNegotiateReqData> for Claims<'a> {
    fn from(request: &'a SecNegotiateReqData) -> Self {
        Self {
            sender: &request.sender,
            plmns: request.plmn_id_list.as_deref(),
            target_plmn: request.target_plmn_id.as_ref(),
            purposes: request.intended_usage_purpose.as_deref(),
            purposes_name: "/intendedUsagePurpose",
            target_api_root: request.target_api_root_supported,
            features: request.supported_features.as_ref(),
            n32f_fqdn: request.sender_n32f_fqdn.as_ref(),
            n32f_port: request.sender_n32f_port,
            n32f_port_list: request.sender_n32f_port_list.as_deref(),
            keep_alive: request.n32_keepalive_timer,
            handshake_id: request.n32_handshake_id,
        }
    }
}

impl<'a> From<&'a SecNegotiateRspData> for Claims<'a> {
    fn from(answer: &'a SecNegotiateRspData) -> Self {
        Self {
            sender: &answer.sender,
            plmns: answer.plmn_id_list.as_deref(),
            target_plmn: None,
            purposes: answer.allowed_usage_purpose.as_deref(),
            purposes_name: "/allowedUsagePurpose",
            target_api_root: answer.target_api_root_supported,
            features: answer.supported_features.as_ref(),
            n32f_fqdn: answer.sender_n32f_fqdn.as_ref(),
            n32f_port: answer.sender_n32f_port,
            n32f_port_list: answer.sender_n32f_port_list.as_deref(),
            keep_alive: answer.n32_keepalive_timer,
            handshake_id: answer.n32_handshake_id,
        }
    }
}

/// Judges what a peer says. `name`: that under which it is known, or to which it redirected.
pub(super) fn judge(
    local: &LocalSettings,
    peer: &PeerSettings,
    name: &Fqdn,
    identity: &CertificateIdentity,
    claims: &Claims<'_>,
) -> Result<Terms, Refusal> {
    judge_sender(peer, name, identity, claims.sender)?;
    let plmns = judge_plmns(peer, identity, claims.plmns)?;
    if let Some(target) = claims.target_plmn {
        // Peers were seen to send their own network, once they know ours: neither changes where anything goes.
        let is_known = |plmns: &PlmnSet| plmns.iter().any(|plmn| is_same(&plmn, target));
        if !is_known(&local.plmns) && !is_known(&peer.plmns) {
            return Err(Refusal::new(Rule::TargetPlmn, "this network isn't served here")
                .at("/targetPlmnId")
                .claiming(target));
        }
    }
    let n32f_fqdn = claims.n32f_fqdn.unwrap_or(name);
    if n32f_fqdn != name && !is_name_of(peer, n32f_fqdn) {
        return Err(Refusal::new(Rule::N32fAddress, "the name isn't of the sender's network")
            .at("/senderN32fFqdn")
            .claiming(n32f_fqdn));
    }
    let features = claims.features.map(|features| features.common(&local.features));
    Ok(Terms {
        certificate: identity.clone(),
        plmns,
        target_api_root: claims.target_api_root,
        features: features.unwrap_or_default(),
        purposes: judge_purposes(peer, claims)?,
        n32f_fqdn: n32f_fqdn.clone(),
        n32f_ports: judge_ports(claims)?,
        keep_alive: keep_alive(peer, claims.keep_alive),
        handshake_id: claims.handshake_id,
    })
}

/// sender = a name in the certificate = the configured peer, under its anchor (TS 33.501 §5.9.3.2).
pub(super) fn judge_sender(
    peer: &PeerSettings,
    name: &Fqdn,
    identity: &CertificateIdentity,
    sender: &Fqdn,
) -> Result<(), Refusal> {
    if sender != name || !identity.fqdns.contains(sender) {
        let detail = "the sender isn't who its certificate says";
        return Err(Refusal::new(Rule::Sender, detail).at("/sender").claiming(sender));
    }
    if *identity.anchor != *peer.anchor {
        let detail = "the certificate is of another trust anchor than the sender's";
        return Err(Refusal::new(Rule::Anchor, detail).claiming(sender));
    }
    Ok(())
}

/// The networks that a peer speaks for: those that it claims, each of which its certificate, its anchor (which
/// bounds the certificate's) and the configuration must have; else all that they have.
fn judge_plmns(
    peer: &PeerSettings,
    identity: &CertificateIdentity,
    claimed: Option<&[PlmnId]>,
) -> Result<PlmnSet, Refusal> {
    let certified = |plmn: &PlmnId| identity.plmns.iter().any(|of| is_same(&of, plmn));
    let allowed: PlmnSet = peer.plmns.iter().filter(certified).collect();
    let refuse = |detail| Refusal::new(Rule::Plmn, detail).at("/plmnIdList").allowing(&allowed);
    let Some(claimed) = claimed else {
        if allowed.is_empty() {
            return Err(refuse("the certificate is of none of the sender's networks"));
        }
        return Ok(allowed);
    };
    // Two digits of network code are another network than three: compared as they are.
    let claimed: PlmnSet = claimed.iter().copied().collect();
    if !claimed.is_subset_of(&allowed) {
        return Err(refuse("the sender may not speak for all of these").claiming(&claimed));
    }
    Ok(claimed)
}

/// Whether they are one network in a domain name, where 70 is 070.
fn is_same(one: &PlmnId, other: &PlmnId) -> bool {
    NetworkDomain::from(*one) == NetworkDomain::from(*other)
}

/// Whether a name is a peer's: its own, or one in the domain of its networks.
pub(super) fn is_name_of(peer: &PeerSettings, name: &Fqdn) -> bool {
    let domain = NetworkDomain::of_name(name.as_str());
    *name == peer.fqdn
        || domain.is_some_and(|domain| peer.plmns.iter().any(|plmn| domain.is_of(&plmn)))
}

fn judge_purposes(
    peer: &PeerSettings,
    claims: &Claims<'_>,
) -> Result<Option<BTreeSet<N32Purpose>>, Refusal> {
    let Some(purposes) = claims.purposes else { return Ok(None) };
    let purposes = purposes.iter().map(|purpose| &purpose.usage_purpose);
    let allowed: BTreeSet<_> =
        purposes.clone().filter(|purpose| peer.purposes.contains(purpose)).cloned().collect();
    if allowed.is_empty() {
        let claimed: Vec<_> = purposes.map(N32Purpose::as_str).take(20).collect();
        return Err(Refusal::new(Rule::Purpose, "none of these purposes is agreed")
            .at(claims.purposes_name)
            .claiming(claimed.join(", ")));
    }
    Ok(Some(allowed))
}

fn judge_ports(claims: &Claims<'_>) -> Result<Vec<u16>, Refusal> {
    let port = |port: &u64| {
        u16::try_from(*port).ok().filter(|port| *port != 0).ok_or_else(|| {
            let name = if claims.n32f_port_list.is_some() { "List" } else { "" };
            Refusal::new(Rule::N32fAddress, "a port is 1 to 65535")
                .at(&format!("/senderN32fPort{name}"))
                .claiming(port)
        })
    };
    match claims.n32f_port_list {
        Some(ports) => ports.iter().take(16).map(port).collect(),
        None => claims.n32f_port.iter().map(port).collect(),
    }
}

/// The shorter of both, but no less than a second.
fn keep_alive(peer: &PeerSettings, claimed: Option<i64>) -> Duration {
    let claimed = claimed.and_then(|seconds| u64::try_from(seconds).ok()).filter(|s| *s != 0);
    claimed.map_or(peer.keep_alive, |seconds| peer.keep_alive.min(Duration::from_secs(seconds)))
}

/// What is answered to a request whose terms are these.
pub(super) fn own_answer(
    local: &LocalSettings,
    peer: &PeerSettings,
    request: &SecNegotiateReqData,
    selected: SecurityCapability,
) -> SecNegotiateRspData {
    let is_over = selected == SecurityCapability::None;
    let intended = request.intended_usage_purpose.as_deref().filter(|_| !is_over);
    let (allowed, rejected): (Vec<_>, Vec<_>) = intended
        .unwrap_or_default()
        .iter()
        .cloned()
        .partition(|purpose| peer.purposes.contains(&purpose.usage_purpose));
    let some = |purposes: Vec<_>| (!purposes.is_empty()).then_some(purposes);
    let port = local.n32f_port.map(u64::from).filter(|_| !is_over);
    let common =
        request.supported_features.as_ref().map(|features| features.common(&local.features));
    SecNegotiateRspData {
        sender: local.fqdn.clone(),
        selected_sec_capability: selected,
        n32_handshake_id: request.n32_handshake_id,
        target_api_root_supported: true,
        plmn_id_list: Some(local.plmns.iter().collect()),
        snpn_id_list: None::<Vec<PlmnIdNid>>,
        allowed_usage_purpose: some(allowed),
        rejected_usage_purpose: some(rejected),
        supported_features: common,
        sender_n32f_fqdn: port.map(|_| local.fqdn.clone()),
        sender_n32f_port: port,
        sender_n32f_port_list: port.map(|port| vec![port]),
        n32_keepalive_timer: Some(seconds(peer.keep_alive)),
    }
}

/// What is asked of a peer.
pub(super) fn own_request(
    local: &LocalSettings,
    peer: &PeerSettings,
    capability: SecurityCapability,
    handshake_id: HandshakeId,
) -> SecNegotiateReqData {
    let is_over = capability == SecurityCapability::None;
    let purposes = peer.purposes.iter().cloned().map(IntendedN32Purpose::from);
    let port = local.n32f_port.map(u64::from).filter(|_| !is_over);
    SecNegotiateReqData {
        sender: local.fqdn.clone(),
        // Never NONE beside TLS: a peer was seen to end the association for it.
        supported_sec_capability_list: vec![capability],
        n32_handshake_id: Some(handshake_id),
        target_api_root_supported: true,
        plmn_id_list: (!local.plmns.is_empty()).then(|| local.plmns.iter().collect()),
        snpn_id_list: None,
        target_plmn_id: peer.plmns.iter().next(),
        target_snpn_id: None,
        intended_usage_purpose: Some(purposes.collect())
            .filter(|purposes: &Vec<_>| !is_over && !purposes.is_empty()),
        supported_features: Some(local.features.clone()),
        sender_n32f_fqdn: port.map(|_| local.fqdn.clone()),
        sender_n32f_port: port,
        sender_n32f_port_list: port.map(|port| vec![port]),
        n32_keepalive_timer: Some(seconds(peer.keep_alive)),
    }
}

fn seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX).max(1)
}

/// Why what a peer says isn't accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What it is against.
    pub rule: Rule,
    /// A sentence that names nothing of the inside.
    pub detail: &'static str,
    /// The member at fault, as a JSON pointer.
    pub pointer: Option<String>,
    /// What was claimed, for the log.
    pub claimed: Option<String>,
    /// What is allowed, for the log.
    pub allowed: Option<String>,
}

/// What a refused message is against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The certificate is of no configured peer.
    UnknownPeer,
    /// `sender` is the certificate's name is the configured peer.
    Sender,
    /// The certificate is of the peer's trust anchor.
    Anchor,
    /// A peer speaks for networks of its certificate, its anchor and its configuration.
    Plmn,
    /// A peer talks to a network that this SEPP serves.
    TargetPlmn,
    /// One purpose at least is agreed.
    Purpose,
    /// N32-f is at a name of the peer, and at ports that there are.
    N32fAddress,
    /// One capability at least is common.
    Capability,
    /// PRINS is offered.
    Prins,
    /// There are no parameters to exchange where TLS was chosen.
    Params,
    /// The context exists.
    Context,
    /// The answer belongs to the request.
    HandshakeId,
    /// An association that was ended here isn't begun from outside.
    Ended,
    /// The message is one.
    Malformed,
    /// The request is one of N32-c.
    Request,
}

impl Rule {
    /// Its name in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownPeer => "unknown-peer",
            Self::Sender => "sender",
            Self::Anchor => "anchor",
            Self::Plmn => "plmn",
            Self::TargetPlmn => "target-plmn",
            Self::Purpose => "purpose",
            Self::N32fAddress => "n32f-address",
            Self::Capability => "capability",
            Self::Prins => "prins",
            Self::Params => "params",
            Self::Context => "context",
            Self::HandshakeId => "handshake-id",
            Self::Ended => "ended",
            Self::Malformed => "malformed",
            Self::Request => "request",
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::TargetPlmn | Self::HandshakeId | Self::Malformed | Self::Request => {
                StatusCode::BAD_REQUEST
            }
            Self::Params => StatusCode::CONFLICT,
            Self::Context => StatusCode::NOT_FOUND,
            Self::Capability | Self::Prins => StatusCode::NOT_IMPLEMENTED,
            Self::Ended => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::FORBIDDEN,
        }
    }

    fn cause(self) -> Option<Cause> {
        Some(match self {
            Self::Sender => Cause::MandatoryIeIncorrect,
            Self::TargetPlmn | Self::N32fAddress | Self::HandshakeId => Cause::OptionalIeIncorrect,
            Self::Plmn => Cause::PlmnIdNotAllowed,
            Self::Purpose => Cause::RequestedPurposeNotAllowed,
            Self::Params | Self::Capability => Cause::RequestedParamMismatch,
            Self::Context => Cause::ContextNotFound,
            Self::Malformed => Cause::InvalidMsgFormat,
            Self::UnknownPeer | Self::Anchor | Self::Prins | Self::Ended | Self::Request => {
                return None;
            }
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Refusal {
    pub(crate) fn new(rule: Rule, detail: &'static str) -> Self {
        Self { rule, detail, pointer: None, claimed: None, allowed: None }
    }

    pub(crate) fn at(mut self, pointer: &str) -> Self {
        self.pointer = Some(pointer.to_owned());
        self
    }

    pub(crate) fn claiming(mut self, claimed: impl fmt::Display) -> Self {
        // A peer says what it likes, at any length.
        self.claimed = Some(claimed.to_string().chars().take(400).collect());
        self
    }

    fn allowing(mut self, allowed: &PlmnSet) -> Self {
        self.allowed = Some(allowed.to_string());
        self
    }

    /// The answer to it.
    pub fn to_problem(&self) -> ProblemDetails {
        let mut problem = ProblemDetails::new(self.rule.status());
        problem.cause = self.rule.cause();
        match &self.pointer {
            Some(pointer) => problem.with_invalid_param(pointer.as_str(), self.detail),
            None => problem.with_detail(self.detail),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.detail)
    }
}
