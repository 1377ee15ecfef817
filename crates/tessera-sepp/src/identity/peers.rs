//! The peers in the configuration.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tessera::auth::{VerifierDigest, VerifierPolicy};

use super::anchors::TrustAnchors;
use super::modes::Modes;
use crate::names::{Fqdn, PlmnSet};

/// A SEPP that this one may talk to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownPeer {
    /// Its name on N32.
    pub fqdn: Fqdn,
    /// Its networks.
    pub plmns: PlmnSet,
    /// The trust anchor that vouches for it.
    pub anchor: Arc<str>,
    /// SHA-256 of its certificates, one of which it must show; empty allows any.
    pub pins: Vec<[u8; 32]>,
    /// How it may reconnect.
    pub modes: Modes,
    /// Whether it may connect without a server name, against TS 33.501 §13.1.2.
    pub without_server_name: bool,
}

/// All peers and trust anchors of a configuration, loaded once.
pub struct KnownPeers {
    anchors: TrustAnchors,
    peers: HashMap<Fqdn, (KnownPeer, u64)>,
}

impl KnownPeers {
    /// Collects all peers. `own` is what this SEPP presents, such as its certificate: when that changes, every epoch
    /// does.
    ///
    /// # Errors
    /// If two peers have the same name, or a peer has an unknown anchor, or networks that its anchor doesn't have.
    pub fn new(
        anchors: TrustAnchors,
        peers: Vec<KnownPeer>,
        own: &[Vec<u8>],
    ) -> Result<Self, PeerConflict> {
        let mut known = HashMap::new();
        for peer in peers {
            let conflict = |what| Err(PeerConflict { peer: peer.fqdn.clone(), what });
            let Some(anchor) = anchors.get(&peer.anchor) else {
                return conflict("its anchor is not configured");
            };
            if !peer.plmns.is_subset_of(&anchor.plmns) {
                return conflict("its plmns are not all in its anchor");
            }
            let policy = VerifierPolicy::new("tessera-sepp: peer, 1")
                .with_policy(&anchor.policy())
                .with(peer.fqdn.as_str().as_bytes())
                .with_set(peer.plmns.iter().map(|plmn| plmn.to_octets()))
                .with_set(&peer.pins)
                .with(&peer.modes.policy())
                .with(&[u8::from(peer.without_server_name)]);
            let policy = own.iter().fold(policy, |policy, own| policy.with(own));
            let VerifierDigest(digest) = VerifierDigest::of(&policy, &tessera_aws_lc::provider());
            let epoch = digest.first_chunk().copied().map(u64::from_be_bytes).unwrap_or_default();
            let name = peer.fqdn.clone();
            if known.insert(name, (peer.clone(), epoch)).is_some() {
                return conflict("another peer has the same fqdn");
            }
        }
        Ok(Self { anchors, peers: known })
    }

    /// Returns the peer with this name.
    #[must_use]
    pub fn get(&self, fqdn: &Fqdn) -> Option<&KnownPeer> {
        self.peers.get(fqdn).map(|(peer, _)| peer)
    }

    /// Returns the epoch of all settings of a peer that decide whether and how it is accepted. It is derived only from
    /// them, so it survives a restart, and two instances with the same configuration agree.
    #[must_use]
    pub fn epoch_of(&self, fqdn: &Fqdn) -> Option<u64> {
        self.peers.get(fqdn).map(|(_, epoch)| *epoch)
    }

    /// Returns each peer, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &KnownPeer> {
        self.peers.values().map(|(peer, _)| peer)
    }

    /// Returns the trust anchors.
    #[must_use]
    pub fn anchors(&self) -> &TrustAnchors {
        &self.anchors
    }
}

/// Invalid settings of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerConflict {
    /// The peer.
    pub peer: Fqdn,
    /// What is wrong with it.
    pub what: &'static str,
}

impl fmt::Display for PeerConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the peer {}: {}", self.peer, self.what)
    }
}

impl std::error::Error for PeerConflict {}
