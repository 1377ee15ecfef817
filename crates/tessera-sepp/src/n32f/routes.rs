//! Which peer represents a network.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use crate::names::{NetworkDomain, PlmnId};

/// Maps the network of a target to a peer. Only the configuration determines it: nothing that a message claims changes
/// any route (TS 33.501 §5.9.3.2).
#[derive(Debug, Clone, Default)]
pub struct Routes<P>(HashMap<NetworkDomain, P>);

impl<P: Copy + Eq> Routes<P> {
    /// Collects the networks of each peer.
    ///
    /// # Errors
    /// If two peers represent networks with the same domain: names don't distinguish `70` and `070`.
    pub fn new(networks: impl IntoIterator<Item = (PlmnId, P)>) -> Result<Self, DuplicateNetwork> {
        let mut routes = HashMap::new();
        for (plmn, peer) in networks {
            match routes.entry(NetworkDomain::from(plmn)) {
                Entry::Occupied(taken) if *taken.get() != peer => {
                    return Err(DuplicateNetwork(plmn));
                }
                Entry::Occupied(_) => {}
                Entry::Vacant(free) => {
                    free.insert(peer);
                }
            }
        }
        Ok(Self(routes))
    }

    /// Returns the peer that represents this network.
    pub fn peer_of(&self, domain: &NetworkDomain) -> Option<P> {
        self.0.get(domain).copied()
    }

    /// Returns whether this peer represents that network.
    pub fn leads_to(&self, domain: &NetworkDomain, peer: P) -> bool {
        self.peer_of(domain) == Some(peer)
    }
}

/// Two peers represent the same network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DuplicateNetwork(pub PlmnId);

impl fmt::Display for DuplicateNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} has the domain name of another peer's network: requests could not be routed",
            self.0
        )
    }
}

impl std::error::Error for DuplicateNetwork {}

#[cfg(test)]
mod tests {
    use super::*;

    fn plmn(text: &str) -> PlmnId {
        text.parse().unwrap()
    }

    #[test]
    fn a_network_leads_to_its_peer() {
        let networks =
            (0..1000).map(|n| (plmn(&format!("{:03}-{:02}", n / 100 + 200, n % 100)), n / 10));
        let routes = Routes::new(networks).unwrap();
        let domain = |text| NetworkDomain::from(plmn(text));
        assert_eq!(routes.peer_of(&domain("203-45")), Some(34));
        assert!(routes.leads_to(&domain("203-045"), 34) && !routes.leads_to(&domain("203-45"), 35));
        assert_eq!(routes.peer_of(&domain("203-450")), None);
    }

    #[test]
    fn two_peers_for_one_domain_are_refused() {
        let refused = Routes::new([(plmn("999-70"), 1), (plmn("999-070"), 2)]);
        assert_eq!(refused.unwrap_err(), DuplicateNetwork(plmn("999-070")));
        assert!(Routes::new([(plmn("999-70"), 1), (plmn("999-070"), 1)]).is_ok());
    }
}
