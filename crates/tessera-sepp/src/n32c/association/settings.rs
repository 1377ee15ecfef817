//! The settings for negotiating associations.

use std::sync::Arc;
use std::time::Duration;

use crate::config::{Configuration, ListenAddress};
use crate::n32c::messages::{Features, N32Purpose};
use crate::names::{Fqdn, PlmnSet};

/// What this SEPP offers, and to which peers.
#[derive(Debug, Clone)]
pub struct Settings {
    /// This SEPP's own settings.
    pub local: LocalSettings,
    /// The peers.
    pub peers: Vec<PeerSettings>,
}

/// What this SEPP claims about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalSettings {
    /// Its name.
    pub fqdn: Fqdn,
    /// The networks that it represents.
    pub plmns: PlmnSet,
    /// The port of its N32-f, unless it is the port of its N32-c.
    pub n32f_port: Option<u16>,
    /// Its optional features of N32-c.
    pub features: Features,
}

/// The limits on a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerSettings {
    /// Its name.
    pub fqdn: Fqdn,
    /// The networks that it may represent.
    pub plmns: PlmnSet,
    /// The trust anchor under which its certificate must be verified.
    pub anchor: Arc<str>,
    /// The allowed purposes of associations with it.
    pub purposes: Vec<N32Purpose>,
    /// Whether this SEPP initiates; otherwise it waits for the peer.
    pub initiate: bool,
    /// How long a connection of N32-f may be quiet.
    pub keep_alive: Duration,
}

impl Settings {
    /// Takes the settings from a configuration.
    pub fn of(configuration: &Configuration) -> Self {
        let local = &configuration.local;
        let listen = &configuration.listen;
        let n32f_port = if listen.is_shared() { None } else { port(&listen.n32f) };
        let peers = configuration.peer.values();
        Self {
            local: LocalSettings {
                fqdn: local.fqdn.clone(),
                plmns: local.plmns.clone(),
                n32f_port,
                features: Features::default(),
            },
            peers: peers
                .map(|peer| PeerSettings {
                    fqdn: peer.fqdn.clone(),
                    plmns: peer.plmns.clone(),
                    anchor: peer.anchor.as_str().into(),
                    purposes: peer.purposes.iter().map(|purpose| purpose.as_str().into()).collect(),
                    initiate: peer.initiate,
                    keep_alive: peer.keep_alive,
                })
                .collect(),
        }
    }
}

/// Returns the port, if the configuration has it.
fn port(address: &ListenAddress) -> Option<u16> {
    let port = match address {
        ListenAddress::Everywhere(port) => *port,
        ListenAddress::Tcp(address) => address.port(),
        ListenAddress::Name(name) => name.port,
        ListenAddress::Unix(_) | ListenAddress::Inherited(_) => return None,
    };
    (port != 0).then_some(port)
}
