//! How peers resume.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use tessera_proxy::stores::{Fleet, StoresSection};
use tessera_proxy::with_defaults;

use super::{KeySource, values};

with_defaults! {
    /// `[tickets]`.
    #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
    pub struct Tickets {
        /// The lifetime of a ticket; never longer than the certificate of the peer that got it. Default: 2 hours.
        #[serde(deserialize_with = "values::duration")]
        pub lifetime: Duration = Duration::from_secs(7_200),
        /// The directory in which ticket keys and one-time keys survive a restart. Default: only in memory.
        #[serde(deserialize_with = "values::some_path")]
        pub state: Option<PathBuf> = None,
        /// The key of that directory. Default: the program keeps one in the runtime directory.
        #[serde(deserialize_with = "values::some_key")]
        pub state_key: Option<KeySource> = None,
        /// A directory on another file system that detects a state rolled back to an earlier copy. Default: none.
        #[serde(deserialize_with = "values::some_path")]
        pub state_witness: Option<PathBuf> = None,
        /// `[tickets.fleet]`: what several servers with the same name share. Default: nothing.
        pub fleet: Option<Fleet> = None,
    }
}

impl Tickets {
    /// Returns the settings of the stores.
    pub fn stores(&self) -> StoresSection<'_> {
        StoresSection {
            name: "tickets",
            state: self.state.as_deref(),
            state_key: self.state_key.as_ref(),
            state_witness: self.state_witness.as_deref(),
            fleet: self.fleet.as_ref(),
        }
    }
}
