//! Trust anchors (TS 33.501 §13.1.2): roots, and the networks that they vouch for.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use tessera::auth::{PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer};
use tessera::wire::{AlertDescription, CipherSuite};
use tessera_kit::trust;
use tessera_webpki::KnownChains;

use super::CertificateIdentity;
use crate::names::{Fqdn, NetworkDomain, PlmnSet};

/// Roots, and the networks that they vouch for.
pub struct TrustAnchor {
    /// Its name in the configuration.
    pub name: Arc<str>,
    /// The networks.
    pub plmns: PlmnSet,
    /// The roots and revocation lists.
    pub verifier: KnownChains,
}

/// All trust anchors; each network is in at most one.
pub struct TrustAnchors {
    anchors: Vec<TrustAnchor>,
    by_domain: HashMap<NetworkDomain, usize>,
    own: HashSet<NetworkDomain>,
}

impl TrustAnchors {
    /// Collects all anchors.
    ///
    /// # Errors
    /// If two of them have a network in common. Networks that share a domain, such as 999-70 and 999-070, count as one:
    /// certificates have domains.
    pub fn new(anchors: Vec<TrustAnchor>) -> Result<Self, SharedNetwork> {
        let mut by_domain = HashMap::new();
        for (at, anchor) in anchors.iter().enumerate() {
            for plmn in anchor.plmns.iter() {
                let domain = NetworkDomain::from(plmn);
                let earlier = by_domain.insert(domain, at).filter(|earlier| *earlier != at);
                if let Some(earlier) = earlier.and_then(|at| anchors.get(at)) {
                    let anchors = [earlier.name.clone(), anchor.name.clone()];
                    return Err(SharedNetwork { domain, anchors });
                }
            }
        }
        Ok(Self { anchors, by_domain, own: HashSet::new() })
    }

    /// Refuses certificates of peers that name these networks, which are this SEPP's own.
    #[must_use]
    pub fn with_own(mut self, plmns: &PlmnSet) -> Self {
        self.own = plmns.iter().map(NetworkDomain::from).collect();
        self
    }

    /// Returns the anchor with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&TrustAnchor> {
        self.anchors.iter().find(|anchor| &*anchor.name == name)
    }

    /// Returns each anchor.
    pub fn iter(&self) -> impl Iterator<Item = &TrustAnchor> {
        self.anchors.iter()
    }

    /// Judges a certificate flight by the anchor of the networks that its certificate names, and by no other.
    pub(super) fn judge(&self, question: &VerifyPeer) -> Result<CertificateIdentity, PeerRejected> {
        let leaf = trust::end_entity(question)?;
        let names = tessera_webpki::dns_names(leaf).map_err(|error| PeerRejected {
            alert: AlertDescription::BAD_CERTIFICATE,
            reason: error.to_string(),
        })?;
        // Wildcards aren't names of SEPPs, but they too claim networks.
        let domains: HashSet<_> =
            names.iter().filter_map(|name| NetworkDomain::of_name(name)).collect();
        if let Some(own) = domains.intersection(&self.own).next() {
            return Err(PeerRejected {
                alert: AlertDescription::ACCESS_DENIED,
                reason: format!("the certificate names {own}, which is this SEPP's own network"),
            });
        }
        let anchor = self.anchor_of(&domains)?;
        let expires_at = anchor.verifier.verify_without_names(question)?;
        let is_named = |plmn: &_| domains.contains(&NetworkDomain::from(*plmn));
        let fingerprint = fingerprint(leaf).ok_or_else(|| PeerRejected {
            alert: AlertDescription::INTERNAL_ERROR,
            reason: "no SHA-256".to_owned(),
        })?;
        let mut fqdns: Vec<Fqdn> = names.iter().filter_map(|name| name.parse().ok()).collect();
        fqdns.sort_unstable();
        fqdns.dedup();
        Ok(CertificateIdentity {
            fqdns,
            plmns: anchor.plmns.iter().filter(is_named).collect(),
            anchor: anchor.name.clone(),
            fingerprint,
            expires_at,
        })
    }

    /// Returns the anchor of those networks that are in one. Networks without an anchor are ignored: the certificate
    /// doesn't represent them.
    fn anchor_of(&self, domains: &HashSet<NetworkDomain>) -> Result<&TrustAnchor, PeerRejected> {
        let mut found = domains.iter().filter_map(|domain| self.by_domain.get(domain));
        let refuse = |alert, reason: String| Err(PeerRejected { alert, reason });
        let Some(first) = found.next().and_then(|at| self.anchors.get(*at)) else {
            return refuse(
                AlertDescription::UNKNOWN_CA,
                "the certificate names no network of a trust anchor".to_owned(),
            );
        };
        match found.filter_map(|at| self.anchors.get(*at)).find(|it| it.name != first.name) {
            None => Ok(first),
            Some(other) => refuse(
                AlertDescription::CERTIFICATE_UNKNOWN,
                format!(
                    "the certificate names networks of two trust anchors, {:?} and {:?}",
                    first.name, other.name
                ),
            ),
        }
    }
}

impl TrustAnchor {
    /// Returns everything that decides here: when it changes, peers accepted earlier must be verified again.
    pub(super) fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("tessera-sepp: trust anchor, 1")
            .with(self.name.as_bytes())
            .with_set(self.plmns.iter().map(|plmn| plmn.to_octets()))
            .with_policy(&self.verifier.policy())
    }
}

/// Returns the SHA-256 of a certificate (DER).
pub(crate) fn fingerprint(der: &[u8]) -> Option<[u8; 32]> {
    let provider = tessera_aws_lc::provider();
    let suite = provider.suite(CipherSuite::TLS_AES_128_GCM_SHA256)?;
    suite.hash.hash(der).as_ref().try_into().ok()
}

/// A network is in two trust anchors, so it is undefined which one counts (TS 33.501 §13.1.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedNetwork {
    /// Of the network.
    pub domain: NetworkDomain,
    /// The names of both anchors.
    pub anchors: [Arc<str>; 2],
}

impl fmt::Display for SharedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, other] = &self.anchors;
        write!(
            f,
            "the network of {} is in [trust.{one}] and in [trust.{other}]: a network may be in one trust anchor at \
             most",
            self.domain
        )
    }
}

impl std::error::Error for SharedNetwork {}
