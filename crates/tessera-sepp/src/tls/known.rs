//! Trust anchors and peers, from the configuration.

use std::sync::Arc;

use tessera_kit::{ProgramError, SettingFile, trust};

use super::own::OwnCertificate;
use crate::config::{Configuration, EarlyData, Peer};
use crate::identity::{KnownPeer, KnownPeers, TrustAnchor, TrustAnchors};
use crate::reconnection::Modes;

/// Loads the roots and revocation lists of every `[trust.NAME]`, and collects the peers.
pub(super) fn load(
    configuration: &Configuration,
    own: &OwnCertificate,
) -> Result<KnownPeers, ProgramError> {
    let mut anchors = Vec::new();
    for (name, anchor) in &configuration.trust {
        let settings = ["roots", "crl"].map(|key| format!("[trust.{name}] {key}"));
        let [roots, crl] = settings.each_ref().map(String::as_str);
        let lists: Vec<_> =
            anchor.crl.iter().map(|path| SettingFile { setting: crl, path }).collect();
        let roots = SettingFile { setting: roots, path: &anchor.roots };
        anchors.push(TrustAnchor {
            name: Arc::from(name.as_str()),
            plmns: anchor.plmns.clone(),
            verifier: trust::remembering(trust::roots_and_revocation_lists(roots, &lists)?)?,
        });
    }
    let settings = |error: &dyn std::fmt::Display| ProgramError::settings(error.to_string());
    let anchors = TrustAnchors::new(anchors).map_err(|error| settings(&error))?;
    let anchors = anchors.with_own(&configuration.local.plmns);
    let peers = configuration.peer.values().map(|peer| known(peer, configuration)).collect();
    KnownPeers::new(anchors, peers, &own.epoch()).map_err(|error| settings(&error))
}

fn known(peer: &Peer, configuration: &Configuration) -> KnownPeer {
    let reconnection = &peer.reconnection;
    KnownPeer {
        fqdn: peer.fqdn.clone(),
        plmns: peer.plmns.clone(),
        anchor: Arc::from(peer.anchor.as_str()),
        pins: peer.pins.iter().map(|pin| pin.0).collect(),
        modes: Modes {
            resume: reconnection.resume,
            forward_secret_early_data: reconnection.early_data == EarlyData::Fs,
            risky_psk_ke: reconnection.risky_psk_ke,
            risky_replayable_early_data: reconnection.risky_replayable_early_data,
            ticket_lifetime: reconnection.ticket_lifetime.unwrap_or(configuration.tickets.lifetime),
        },
        without_server_name: peer.risky_without_sni,
    }
}
