//! The state that handles a request from beginning to end.

use std::sync::Arc;

use tessera_kit::ProgramError;
use tessera_proxy::http::body::BodyLimits;
use tessera_proxy::http::client::PoolOptions;

use super::connects::ConnectorFactory;
use super::functions::Functions;
use super::link::{Link, Slot};
use super::policy::{PeerIndex, Policy};
use crate::config::{Configuration, Limits};
use crate::guard::Guard;
use crate::n32c::{Association, Associations};
use crate::sbi;

/// A configuration in use. A reload replaces it; requests that began with it finish with it.
pub(super) struct ActiveConfig {
    /// As it is in effect: with the ports that listeners have, and settings that wait for a restart as they were.
    pub(super) configuration: Arc<Configuration>,
    /// When the certificate for local network functions expires, in seconds since the Unix epoch.
    pub(super) functions_end: Option<u64>,
    pub(super) policy: Policy,
    pub(super) guard: Arc<Guard>,
    pub(super) functions: Arc<Functions>,
    slots: Vec<Arc<Slot>>,
    connects: Arc<dyn ConnectorFactory>,
}

impl ActiveConfig {
    /// Prepares a checked configuration. Keeps connections of an earlier one whose destinations are unchanged.
    pub(super) fn new(
        config: &Configuration,
        guard: Arc<Guard>,
        connects: Arc<dyn ConnectorFactory>,
        earlier: Option<&Self>,
    ) -> Result<Self, ProgramError> {
        let policy = Policy::new(config, earlier.map(|earlier| &earlier.policy))?;
        let options = options(&config.limits);
        let known = |peer| {
            let slots = earlier.map(|earlier| earlier.slots.as_slice()).unwrap_or_default();
            slots.iter().find(|slot| slot.is_for(peer)).cloned()
        };
        let slot = |peer| known(peer).unwrap_or_else(|| Arc::new(Slot::new(peer, options.clone())));
        let slots = config.peer.values().map(slot).collect();
        let functions = earlier.map(|earlier| earlier.functions.clone());
        let functions = functions.filter(|functions| functions.are_at(&config.sbi.hosts));
        let functions = functions.unwrap_or_else(|| {
            let hosts = config.sbi.hosts.clone();
            Arc::new(Functions::new(hosts, connects.clone(), options.clone()))
        });
        let functions_end = sbi::tls::expires_at(&config.sbi)?;
        let configuration = Arc::new(config.clone());
        Ok(Self { configuration, functions_end, policy, guard, functions, slots, connects })
    }

    /// Returns N32-f to a peer under this association.
    pub(super) fn link(&self, peer: PeerIndex, association: &Association) -> Option<Arc<Link>> {
        self.slots.get(peer.get())?.link(association, &*self.connects)
    }

    /// Returns the slot of a peer.
    pub(super) fn slot(&self, peer: PeerIndex) -> Option<&Arc<Slot>> {
        self.slots.get(peer.get())
    }

    /// Returns the slots of all peers.
    pub(super) fn slots(&self) -> impl Iterator<Item = &Arc<Slot>> {
        self.slots.iter()
    }

    /// Closes N32-f connections whose association is no longer valid.
    pub(super) fn close_ended(&self, associations: &Associations) {
        self.slots.iter().for_each(|slot| slot.close_unless(associations));
    }

    /// Closes the N32-f connections to a peer.
    pub(super) fn close(&self, peer: PeerIndex) {
        if let Some(slot) = self.slots.get(peer.get()) {
            slot.close();
        }
    }
}

fn options(limits: &Limits) -> PoolOptions {
    PoolOptions {
        connect: limits.connect,
        idle: limits.idle,
        max_header_len: u32::try_from(limits.header_bytes).unwrap_or(u32::MAX),
        max_headers: limits.headers,
        body: BodyLimits { max_len: limits.body, idle: limits.body_idle },
        ..PoolOptions::default()
    }
}
