//! The file of `tessera tunnel run`: what tunnels there are.
//!
//! Paths are as written until [`resolve`](Tunnels::resolve) has put the directory of the file before relative ones.

mod client;
mod fleet;
mod limits;
mod peers;
mod process;
mod server;
mod values;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

pub use client::{ClientSection, EarlyKeyExchange};
pub use fleet::{EtcdSection, Fleet, FleetVault, SiteSection, SitesSection};
pub use limits::{ClientLimits, ServerLimits};
pub use peers::{Anchors, Peers};
pub use process::{LogFormat, Process};
pub use server::ServerSection;
pub use tessera_kit::KeySource;
pub use values::Early;

/// A whole configuration.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tunnels {
    /// `[process]`: what all tunnels share.
    #[serde(default)]
    pub process: Process,
    /// `[server.NAME]`: the ends that clients of tunnels connect to.
    #[serde(default)]
    pub server: BTreeMap<String, ServerSection>,
    /// `[client.NAME]`: the ends that programs connect to.
    #[serde(default)]
    pub client: BTreeMap<String, ClientSection>,
}

impl Tunnels {
    /// Puts the directory of the configuration before all paths that are relative.
    pub fn resolve(&mut self, directory: &Path) {
        self.server.values_mut().for_each(|section| section.resolve(directory));
        self.client.values_mut().for_each(|section| section.resolve(directory));
    }
}
