//! What is drained.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::binding::{ProxyName, millis};

/// What is drained: an orchestrator moves its clients to other proxies, and none to it, until that is undone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DrainScope {
    /// One proxy, live or not.
    Proxy(ProxyName),
    /// All proxies of a site: those whose [`ProxyEntry::site`](crate::ProxyEntry::site) has this name.
    Site(String),
}

/// An entry of the store: while it exists, its scope is drained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drain {
    /// When it began, since the Unix epoch.
    #[serde(with = "millis")]
    pub since: Duration,
}

impl fmt::Display for DrainScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Proxy(proxy) => write!(f, "proxy {proxy}"),
            Self::Site(site) => write!(f, "site {site}"),
        }
    }
}
