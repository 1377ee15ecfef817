//! The file of `tessera sepp run`: what this SEPP is, which peers it knows, and what it lets pass.
//!
//! [`tessera_proxy::config::Document`] reads it: relative paths start at its directory.

mod api;
mod check;
mod guard;
mod limits;
mod listen;
mod local;
mod peer;
mod process;
mod reconnection;
mod sbi;
mod tickets;
mod trust;
mod values;
mod warnings;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use api::{ApiRule, Operation, PathTemplate};
pub use guard::{Guard, PeerGuard, Rate};
pub use limits::Limits;
pub use listen::Listen;
pub use local::Local;
pub use peer::{Peer, Pin, Purpose};
pub use process::Process;
pub use reconnection::{EarlyData, Reconnection};
pub use sbi::{Nrf, Sbi, TargetPattern};
pub use tessera_kit::KeySource;
pub use tessera_proxy::address::{DialAddress, ListenAddress};
pub use tessera_proxy::logging::LogFormat;
pub use tickets::Tickets;
pub use trust::TrustAnchor;

/// A whole configuration.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Configuration {
    /// `[process]`: log, admin, threads.
    #[serde(default)]
    pub process: Process,
    /// `[local]`: what this SEPP is on N32.
    pub local: Local,
    /// `[listen]`: where it listens.
    pub listen: Listen,
    /// `[sbi]`: local network functions.
    #[serde(default)]
    pub sbi: Sbi,
    /// `[nrf]`: the NRF that this SEPP registers at. Default: none.
    pub nrf: Option<Nrf>,
    /// `[trust.NAME]`: which certificates may represent which networks.
    #[serde(default)]
    pub trust: BTreeMap<String, TrustAnchor>,
    /// `[peer.NAME]`: the SEPPs of roaming partners.
    #[serde(default)]
    pub peer: BTreeMap<String, Peer>,
    /// `[guard]`: how messages of all peers are judged.
    #[serde(default)]
    pub guard: Guard,
    /// `[limits]`: resources that clients may use, and timeouts.
    #[serde(default)]
    pub limits: Limits,
    /// `[tickets]`: how peers resume.
    #[serde(default)]
    pub tickets: Tickets,
}
