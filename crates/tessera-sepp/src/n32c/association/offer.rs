//! What this SEPP offers.

use std::time::Duration;

use super::settings::{LocalSettings, PeerSettings};
use crate::n32c::messages::{
    HandshakeId, IntendedN32Purpose, SecNegotiateReqData, SecNegotiateRspData, SecurityCapability,
};
use crate::names::PlmnId;

/// Returns the answer to a request.
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
        plmn_id_list: plmns(local),
        snpn_id_list: None,
        allowed_usage_purpose: some(allowed),
        rejected_usage_purpose: some(rejected),
        supported_features: common,
        sender_n32f_fqdn: port.map(|_| local.fqdn.clone()),
        sender_n32f_port: port,
        sender_n32f_port_list: port.map(|port| vec![port]),
        n32_keepalive_timer: Some(seconds(peer.keep_alive)),
    }
}

/// Returns the request to a peer.
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
        // Never offer NONE together with TLS: some peers end the association.
        supported_sec_capability_list: vec![capability],
        n32_handshake_id: Some(handshake_id),
        target_api_root_supported: true,
        plmn_id_list: plmns(local),
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

/// Returns the networks, or `None` if there are none: a list has at least one item.
fn plmns(local: &LocalSettings) -> Option<Vec<PlmnId>> {
    (!local.plmns.is_empty()).then(|| local.plmns.iter().collect())
}

fn seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX).max(1)
}
