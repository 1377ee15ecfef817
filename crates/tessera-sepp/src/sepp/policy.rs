//! The configuration of a relay, prepared for lookups on each request.

use std::collections::HashMap;
use std::time::Duration;

use http::HeaderValue;
use tessera_kit::ProgramError;

use crate::config::{Configuration, ListenAddress, Reconnection};
use crate::n32f::routes::Routes;
use crate::n32f::targets::Targets;
use crate::names::{Fqdn, NetworkDomain, PlmnSet};
use crate::sbi::api_root::Scheme;
use crate::sbi::origin;
use crate::sbi::telescopic::TelescopicDomain;

/// Everything that decides where requests go. Immutable: a reload creates another one.
#[derive(Debug)]
pub struct Policy {
    /// This SEPP.
    pub own: OwnIdentity,
    /// The peers, by their index.
    pub peers: Vec<PeerPolicy>,
    by_name: HashMap<Fqdn, PeerIndex>,
    /// Which peer represents a network.
    pub routes: Routes<PeerIndex>,
    /// What peers may reach.
    pub targets: Targets,
    /// How local functions name foreign ones, if telescopic names are configured.
    pub telescopic: Option<TelescopicDomain>,
    /// The maximum time for a request.
    pub response_time: Duration,
}

/// This SEPP.
#[derive(Debug)]
pub struct OwnIdentity {
    /// Its name on N32.
    pub fqdn: Fqdn,
    /// The networks that it represents.
    pub plmns: PlmnSet,
    /// `3gpp-Sbi-Originating-Network-Id`, added to requests without one.
    pub origin: HeaderValue,
    /// `server` of answers that it generates itself.
    pub server: HeaderValue,
}

/// A peer of the configuration.
#[derive(Debug)]
pub struct PeerPolicy {
    /// Its name on N32.
    pub fqdn: Fqdn,
    /// The networks that it represents.
    pub plmns: PlmnSet,
    /// The origin of its requests that name none, if it represents exactly one network.
    pub origin: Option<HeaderValue>,
    /// Which requests may be early, and which may be repeated.
    pub reconnection: Reconnection,
}

/// A peer in one [`Policy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PeerIndex(usize);

impl Policy {
    /// Prepares a checked configuration. Keeps the telescopic names of an earlier one.
    ///
    /// # Errors
    /// If two peers represent the same network.
    pub fn new(config: &Configuration, earlier: Option<&Self>) -> Result<Self, ProgramError> {
        let local = &config.local;
        let first = local.plmns.iter().next();
        let origin = first.and_then(|plmn| origin::value(plmn, &local.fqdn));
        let origin =
            origin.ok_or_else(|| ProgramError::settings("[local] plmns: must not be empty"))?;
        // Every character of a name is valid in a header.
        let server = HeaderValue::from_str(&format!("SEPP-{}", local.fqdn));
        let server = server.unwrap_or(HeaderValue::from_static("SEPP"));
        let own =
            OwnIdentity { fqdn: local.fqdn.clone(), plmns: local.plmns.clone(), origin, server };
        let (mut peers, mut by_name, mut networks) = (Vec::new(), HashMap::new(), Vec::new());
        for peer in config.peer.values() {
            let index = PeerIndex(peers.len());
            networks.extend(peer.plmns.iter().map(|plmn| (plmn, index)));
            by_name.insert(peer.fqdn.clone(), index);
            let mut plmns = peer.plmns.iter();
            let origin = plmns.next().filter(|_| plmns.next().is_none());
            peers.push(PeerPolicy {
                fqdn: peer.fqdn.clone(),
                plmns: peer.plmns.clone(),
                origin: origin.and_then(|plmn| origin::value(plmn, &peer.fqdn)),
                reconnection: peer.reconnection.clone(),
            });
        }
        let routes = Routes::new(networks);
        let routes = routes.map_err(|error| ProgramError::settings(format!("[peer]: {error}")))?;
        let earlier = earlier.and_then(|earlier| earlier.telescopic.as_ref());
        let telescopic = telescopic(config).map(|domain| domain.remembering(earlier));
        let never = [Some(&local.fqdn), config.sbi.telescopic_domain.as_ref()];
        let targets = Targets::new(
            &local.plmns,
            config.sbi.allowed_targets.clone(),
            never.into_iter().flatten().map(Fqdn::as_str),
        );
        let response_time = config.limits.response;
        Ok(Self { own, peers, by_name, routes, targets, telescopic, response_time })
    }

    /// Returns the peer with this name.
    pub fn named(&self, fqdn: &Fqdn) -> Option<PeerIndex> {
        self.by_name.get(fqdn).copied()
    }

    /// Returns the policy of a peer; `None` if the index belongs to another policy.
    pub fn peer(&self, index: PeerIndex) -> Option<&PeerPolicy> {
        self.peers.get(index.0)
    }

    /// Returns each peer.
    pub fn all(&self) -> impl Iterator<Item = (PeerIndex, &PeerPolicy)> {
        self.peers.iter().enumerate().map(|(index, peer)| (PeerIndex(index), peer))
    }

    /// Returns whether a network is this peer's.
    pub fn is_of(&self, index: PeerIndex, domain: &NetworkDomain) -> bool {
        self.routes.leads_to(domain, index)
    }
}

impl PeerIndex {
    /// Returns its position among the peers.
    pub fn get(self) -> usize {
        self.0
    }
}

/// Returns the telescopic domain: local functions reach this SEPP at its SBI listener, with TLS if that has a
/// certificate.
fn telescopic(config: &Configuration) -> Option<TelescopicDomain> {
    let domain = config.sbi.telescopic_domain.clone()?;
    let scheme = if config.sbi.certificate.is_some() { Scheme::Https } else { Scheme::Http };
    let port = match &config.listen.sbi {
        ListenAddress::Tcp(address) => address.port(),
        ListenAddress::Everywhere(port) => *port,
        ListenAddress::Name(name) => name.port,
        // An inherited or Unix socket doesn't reveal its port: assume the default.
        ListenAddress::Unix(_) | ListenAddress::Inherited(_) => scheme.default_port(),
    };
    Some(TelescopicDomain::new(domain, scheme, port))
}
