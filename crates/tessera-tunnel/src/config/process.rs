//! What all tunnels of a process share.

use std::time::Duration;

use serde::Deserialize;

use super::values;

/// `[process]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Process {
    /// Where `/metrics`, `/healthz` and `/readyz` are served. Default: nowhere.
    pub admin: Option<String>,
    /// How log lines look. Default: text on a terminal, JSON elsewhere.
    pub log: Option<LogFormat>,
    /// How long connections may take to end when the process does. Default: 30 seconds.
    #[serde(deserialize_with = "values::duration")]
    pub drain: Duration,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One object a line.
    Json,
}

impl Default for Process {
    fn default() -> Self {
        Self { admin: None, log: None, drain: Duration::from_secs(30) }
    }
}
