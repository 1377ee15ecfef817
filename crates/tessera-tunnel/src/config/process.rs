//! Settings that all tunnels of a process share.

use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use tessera_proxy::check::in_words;
use tessera_proxy::with_defaults;

use super::options::{PROCESS, drain};
use super::{ListenAddress, LogFormat, values};

with_defaults! {
    /// `[process]`.
    #[derive(Debug, Clone, Args, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
    pub struct Process {
        /// Where to serve metrics and health, for this machine's monitoring: /metrics, /healthz, /readyz.
        #[arg(long, value_name = "[ADDRESS:]PORT|unix:PATH", help_heading = PROCESS)]
        pub admin: Option<ListenAddress> = None,

        /// The format of log lines on standard error. By default text on a terminal, and JSON elsewhere.
        #[arg(long, value_name = "text|json", help_heading = PROCESS)]
        pub log: Option<LogFormat> = None,

        /// How long to wait for open connections to end at shutdown.
        #[arg(long, value_name = "TIME", value_parser = drain, default_value = in_words(Self::default().drain),
              help_heading = PROCESS)]
        #[serde(deserialize_with = "values::duration")]
        pub drain: Duration = Duration::from_secs(30),
    }
}

tessera_proxy::lasting!(Process: admin, log, drain);
