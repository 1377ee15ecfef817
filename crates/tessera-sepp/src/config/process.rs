//! The process as a whole.

use std::num::NonZeroUsize;
use std::time::Duration;

use serde::Deserialize;

use super::{ListenAddress, LogFormat, values};

/// `[process]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Process {
    /// Where `/metrics`, `/healthz`, `/readyz` and `/peers` are served. Default: nowhere.
    pub admin: Option<ListenAddress>,
    /// How log lines look. Default: text on a terminal, JSON elsewhere.
    pub log: Option<LogFormat>,
    /// How long requests under way and the farewell to peers may take when the process ends. Default: 30 seconds.
    #[serde(deserialize_with = "values::duration")]
    pub drain: Duration,
    /// Threads that work. Default: as many as the machine has cores.
    pub threads: Option<NonZeroUsize>,
}

impl Default for Process {
    fn default() -> Self {
        Self { admin: None, log: None, drain: Duration::from_secs(30), threads: None }
    }
}

impl Process {
    /// How long peers may take to hear that this SEPP goes: a part of `drain`.
    pub(crate) fn farewell(&self) -> Duration {
        Duration::from_secs(5).min(self.drain / 2)
    }

    /// How long requests under way have: the rest of it.
    pub(crate) fn requests_end(&self) -> Duration {
        self.drain.saturating_sub(self.farewell())
    }
}

tessera_proxy::lasting!(Process: admin, log, drain, threads);
