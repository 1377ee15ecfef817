//! The configuration file of `tessera tunnel run`.
//!
//! [`tessera_proxy::config::load`] reads it; relative paths start at its directory.

#[macro_use]
mod section;

mod between;
mod check;
mod client;
mod limits;
mod options;
mod peers;
mod process;
mod server;
mod values;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use client::{ClientSection, EarlyKeyExchange};
pub use limits::{ClientLimits, ServerLimits};
pub use peers::{Anchors, Peers};
pub use process::Process;
pub(crate) use section::End;
pub use server::ServerSection;
pub use tessera_kit::KeySource;
pub use tessera_proxy::address::{DialAddress, ListenAddress};
pub use tessera_proxy::logging::LogFormat;
pub use tessera_proxy::proxy_protocol::{Network, TrustedNetworks};
pub use tessera_proxy::stores::{EtcdSection, Fleet, FleetVault, SiteSection, SitesSection};
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
