//! The process as a whole.

use std::num::NonZeroUsize;
use std::time::Duration;

use serde::Deserialize;
use tessera_proxy::with_defaults;

use super::{ListenAddress, LogFormat, values};

with_defaults! {
    /// `[process]`.
    #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
    pub struct Process {
        /// Where `/metrics`, `/healthz`, `/readyz` and `/peers` are served. Default: nowhere.
        pub admin: Option<ListenAddress> = None,
        /// The format of log lines. Default: text on a terminal, JSON elsewhere.
        pub log: Option<LogFormat> = None,
        /// How long requests in progress and the farewell to peers may take when the process ends. Default: 30 seconds.
        #[serde(deserialize_with = "values::duration")]
        pub drain: Duration = Duration::from_secs(30),
        /// Worker threads. Default: one for each core.
        pub threads: Option<NonZeroUsize> = None,
    }
}

impl Process {
    /// Returns the part of `drain` for notifying peers that this SEPP leaves.
    pub(crate) fn farewell(&self) -> Duration {
        Duration::from_secs(5).min(self.drain / 2)
    }

    /// Returns the rest of `drain`, for requests in progress.
    pub(crate) fn requests_end(&self) -> Duration {
        self.drain.saturating_sub(self.farewell())
    }
}

tessera_proxy::lasting!(Process: admin, log, drain, threads);
