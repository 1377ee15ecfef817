//! How peers come back.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use tessera_proxy::stores::{Fleet, StoresSection};

use super::{KeySource, values};

/// `[tickets]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Tickets {
    /// How long one lasts; never longer than the certificate of the peer that got it. Default: 2 hours.
    #[serde(deserialize_with = "values::duration")]
    pub lifetime: Duration,
    /// The directory in which ticket keys and one-time keys survive a restart. Default: memory alone.
    #[serde(deserialize_with = "values::some_path")]
    pub state: Option<PathBuf>,
    /// Where the key of that directory is. Default: the program keeps one in the runtime directory.
    #[serde(deserialize_with = "values::some_key")]
    pub state_key: Option<KeySource>,
    /// A directory on another file system, by which a state is noticed that was put back as it was earlier. Default:
    /// none.
    #[serde(deserialize_with = "values::some_path")]
    pub state_witness: Option<PathBuf>,
    /// `[tickets.fleet]`: what several servers behind one name share. Default: nothing.
    pub fleet: Option<Fleet>,
}

impl Tickets {
    /// What it says of stores.
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

impl Default for Tickets {
    fn default() -> Self {
        Self {
            lifetime: Duration::from_secs(7_200),
            state: None,
            state_key: None,
            state_witness: None,
            fleet: None,
        }
    }
}
