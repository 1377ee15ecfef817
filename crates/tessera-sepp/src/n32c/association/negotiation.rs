//! Judges a peer's claims against its certificate, its trust anchor and the configuration.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::settings::{LocalSettings, PeerSettings};
use super::{Association, AssociationId};
use crate::identity::CertificateIdentity;
use crate::n32c::messages::{
    Features, HandshakeId, IntendedN32Purpose, N32Purpose, SecNegotiateReqData, SecNegotiateRspData,
};
use crate::n32c::refusal::{Refusal, Rule};
use crate::names::{Fqdn, NetworkDomain, PlmnId, PlmnSet};

/// The limits on a peer's claims.
#[derive(Clone, Copy)]
pub(super) struct Bounds<'a> {
    pub local: &'a LocalSettings,
    pub peer: &'a PeerSettings,
    /// The name by which the peer is known, or to which it redirected.
    pub name: &'a Fqdn,
    /// The number of associations with the peer that were ended.
    pub terminations: u64,
    pub now: Instant,
}

/// The members that a request and its answer have in common.
pub(super) struct Claims<'a> {
    sender: &'a Fqdn,
    plmns: Option<&'a [PlmnId]>,
    target_plmn: Option<&'a PlmnId>,
    /// The intended or allowed purposes.
    purposes: Option<&'a [IntendedN32Purpose]>,
    /// The rejected purposes.
    rejected: Option<&'a [IntendedN32Purpose]>,
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
            rejected: None,
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
            rejected: answer.rejected_usage_purpose.as_deref(),
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

/// Returns what is agreed, given the peer's claims.
pub(super) fn judge(
    bounds: Bounds<'_>,
    identity: &CertificateIdentity,
    claims: &Claims<'_>,
) -> Result<Association, Refusal> {
    let Bounds { local, peer, name, .. } = bounds;
    judge_sender(peer, name, identity, claims.sender)?;
    let plmns = judge_plmns(peer, identity, claims.plmns)?;
    judge_target(bounds, claims)?;
    let n32f_fqdn = claims.n32f_fqdn.unwrap_or(name);
    if n32f_fqdn != name && !is_name_of(peer, n32f_fqdn) {
        return Err(Refusal::new(
            Rule::N32fAddress,
            "the name doesn't belong to the sender's network",
        )
        .at("/senderN32fFqdn")
        .claiming(n32f_fqdn));
    }
    let features = claims.features.map(|features| features.common(&local.features));
    let mut association = Association {
        id: AssociationId([0; 16]),
        peer: peer.fqdn.clone(),
        certificate: identity.clone(),
        plmns,
        target_api_root: claims.target_api_root,
        features: features.unwrap_or_default(),
        purposes: judge_purposes(peer, claims)?,
        n32f_fqdn: n32f_fqdn.clone(),
        n32f_ports: judge_ports(claims)?,
        keep_alive: keep_alive(peer, claims.keep_alive),
        handshake_id: claims.handshake_id,
        since: bounds.now,
    };
    association.id = AssociationId::of(local, &association, bounds.terminations);
    Ok(association)
}

/// Judges the network that a peer targets. It has no effect; some peers send their own once they know this SEPP's.
fn judge_target(bounds: Bounds<'_>, claims: &Claims<'_>) -> Result<(), Refusal> {
    let Some(target) = claims.target_plmn else { return Ok(()) };
    let is_among = |plmns: &PlmnSet| plmns.iter().any(|plmn| is_same(&plmn, target));
    if is_among(&bounds.local.plmns) || is_among(&bounds.peer.plmns) {
        return Ok(());
    }
    Err(Refusal::new(Rule::TargetPlmn, "this SEPP doesn't serve this network")
        .at("/targetPlmnId")
        .claiming(target))
}

/// Checks that sender = a name in the certificate = the configured peer, under its anchor (TS 33.501 §5.9.3.2).
pub(super) fn judge_sender(
    peer: &PeerSettings,
    name: &Fqdn,
    identity: &CertificateIdentity,
    sender: &Fqdn,
) -> Result<(), Refusal> {
    if sender != name || !identity.fqdns.contains(sender) {
        let detail = "`sender` must be a peer that its certificate names";
        return Err(Refusal::new(Rule::Sender, detail).at("/sender").claiming(sender));
    }
    if *identity.anchor != *peer.anchor {
        let detail = "the certificate doesn't belong to the sender's trust anchor";
        return Err(Refusal::new(Rule::Anchor, detail).claiming(sender));
    }
    Ok(())
}

/// Returns the networks that a peer represents: those that it claims, each of which its certificate, its anchor (which
/// bounds the certificate's) and the configuration must have; without claims, all that they have.
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
            return Err(refuse("the certificate names none of the sender's networks"));
        }
        return Ok(allowed);
    };
    // Two digits of network code are another network than three, so compare exactly.
    let claimed: PlmnSet = claimed.iter().copied().collect();
    if !claimed.is_subset_of(&allowed) {
        return Err(refuse("the sender may not represent all of these").claiming(&claimed));
    }
    Ok(claimed)
}

/// Returns whether both are the same network in a domain name, where 70 is 070.
fn is_same(one: &PlmnId, other: &PlmnId) -> bool {
    NetworkDomain::from(*one) == NetworkDomain::from(*other)
}

/// Returns whether a name is a peer's: its own, or one in the domain of its networks.
pub(super) fn is_name_of(peer: &PeerSettings, name: &Fqdn) -> bool {
    let domain = NetworkDomain::of_name(name.as_str());
    *name == peer.fqdn
        || domain.is_some_and(|domain| peer.plmns.iter().any(|plmn| domain.is_of(&plmn)))
}

/// Returns the purposes that both name. A side that names none sets no limit.
fn judge_purposes(
    peer: &PeerSettings,
    claims: &Claims<'_>,
) -> Result<Option<BTreeSet<N32Purpose>>, Refusal> {
    if claims.purposes.is_none() && claims.rejected.is_none() {
        return Ok(None);
    }
    let names = |list: &[IntendedN32Purpose], purpose: &N32Purpose| {
        list.iter().any(|item| item.usage_purpose == *purpose)
    };
    let is_agreed = |purpose: &&N32Purpose| {
        claims.purposes.is_none_or(|list| names(list, purpose))
            && !claims.rejected.is_some_and(|list| names(list, purpose))
    };
    let agreed: BTreeSet<_> = peer.purposes.iter().filter(is_agreed).cloned().collect();
    if agreed.is_empty() {
        let claimed = claims.purposes.unwrap_or_default().iter().take(20);
        let claimed: Vec<_> = claimed.map(|purpose| purpose.usage_purpose.as_str()).collect();
        return Err(Refusal::new(Rule::Purpose, "none of these purposes is accepted")
            .at(claims.purposes_name)
            .claiming(claimed.join(", ")));
    }
    Ok(Some(agreed))
}

fn judge_ports(claims: &Claims<'_>) -> Result<Vec<u16>, Refusal> {
    let port = |port: &u64| {
        u16::try_from(*port).ok().filter(|port| *port != 0).ok_or_else(|| {
            let name = if claims.n32f_port_list.is_some() { "List" } else { "" };
            Refusal::new(Rule::N32fAddress, "a port must be from 1 to 65535")
                .at(&format!("/senderN32fPort{name}"))
                .claiming(port)
        })
    };
    match claims.n32f_port_list {
        Some(ports) => ports.iter().take(16).map(port).collect(),
        None => claims.n32f_port.iter().map(port).collect(),
    }
}

/// Returns the shorter of both, but at least a second.
fn keep_alive(peer: &PeerSettings, claimed: Option<i64>) -> Duration {
    let claimed = claimed.and_then(|seconds| u64::try_from(seconds).ok()).filter(|s| *s != 0);
    claimed.map_or(peer.keep_alive, |seconds| peer.keep_alive.min(Duration::from_secs(seconds)))
}
