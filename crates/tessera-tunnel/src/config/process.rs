//! What all tunnels of a process share.

use std::time::Duration;

use serde::Deserialize;

use super::{ListenAddress, LogFormat, values};

/// `[process]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Process {
    /// Where `/metrics`, `/healthz` and `/readyz` are served. Default: nowhere.
    pub admin: Option<ListenAddress>,
    /// How log lines look. Default: text on a terminal, JSON elsewhere.
    pub log: Option<LogFormat>,
    /// How long connections may take to end when the process does. Default: 30 seconds.
    #[serde(deserialize_with = "values::duration")]
    pub drain: Duration,
}

impl Default for Process {
    fn default() -> Self {
        Self { admin: None, log: None, drain: Duration::from_secs(30) }
    }
}

tessera_proxy::lasting!(Process: admin, log, drain);
