//! What associations are negotiated by.

use std::sync::Arc;
use std::time::Duration;

use crate::config::{Configuration, ListenAddress};
use crate::n32c::messages::{Features, N32Purpose};
use crate::names::{Fqdn, PlmnSet};

/// What this SEPP offers, and to whom.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What this SEPP is.
    pub local: LocalSettings,
    /// Whom it knows.
    pub peers: Vec<PeerSettings>,
}

/// What this SEPP says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalSettings {
    /// Its name.
    pub fqdn: Fqdn,
    /// The networks that it speaks for.
    pub plmns: PlmnSet,
    /// The port of its N32-f, if that isn't the port of its N32-c.
    pub n32f_port: Option<u16>,
    /// Its optional features of N32-c.
    pub features: Features,
}

/// What a peer may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerSettings {
    /// Its name.
    pub fqdn: Fqdn,
    /// The networks that it may speak for.
    pub plmns: PlmnSet,
    /// The trust anchor under which its certificate has to be verified.
    pub anchor: Arc<str>,
    /// What associations with it may be for.
    pub purposes: Vec<N32Purpose>,
    /// Whether this SEPP begins; else it waits for the peer.
    pub initiate: bool,
    /// How long a connection of N32-f may be quiet.
    pub keep_alive: Duration,
}

impl Settings {
    /// Those of a configuration.
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

/// The port, as far as it is in the configuration.
fn port(address: &ListenAddress) -> Option<u16> {
    let port = match address {
        ListenAddress::Everywhere(port) => *port,
        ListenAddress::Tcp(address) => address.port(),
        ListenAddress::Name(name) => name.port,
        ListenAddress::Unix(_) | ListenAddress::Inherited(_) => return None,
    };
    (port != 0).then_some(port)
}
