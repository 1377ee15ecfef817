//! The server end of a tunnel.

use std::path::PathBuf;

use tessera_proxy::stores::StoresSection;

use super::options::{self, PROXY, STATE};
use super::{DialAddress, Fleet, KeySource, ListenAddress, Network, ServerLimits};

section! {
    /// `[server.NAME]`: accepts TLS connections of client ends, and forwards their contents to a backend.
    ServerSection as "server" with ServerLimits {
        /// Where client ends connect to.
        #[arg(long, value_name = "[ADDRESS:]PORT|unix:PATH|systemd:NAME")]
        listen: ListenAddress,

        /// The backend; every address of a name is tried in turn.
        #[arg(long, value_name = "HOST:PORT|unix:PATH")]
        forward: DialAddress,
    }

    /// Keeps ticket keys and one-time keys in this directory, sealed, so that a restart costs clients nothing. Each
    /// server needs its own directory. Don't back it up.
    #[arg(long, value_name = "DIRECTORY", help_heading = STATE)]
    #[serde(deserialize_with = "super::values::some_path")]
    state: Option<PathBuf>,

    /// The key that seals that directory. Without it the server keeps a key below $RUNTIME_DIRECTORY, /run/tessera
    /// (root) or $XDG_RUNTIME_DIR, or in /dev/shm if those two are no tmpfs (containers): the state is lost when the
    /// machine or the container stops.
    #[arg(long, value_name = "FILE|credential:NAME", value_parser = options::key_source, requires = "state",
          help_heading = STATE)]
    #[serde(deserialize_with = "super::values::some_key")]
    state_key: Option<KeySource>,

    /// A directory on another file system, which lets the server detect that its state was rolled back. With
    /// --state-key nothing else does.
    #[arg(long, value_name = "DIRECTORY", requires = "state_key", help_heading = STATE)]
    #[serde(deserialize_with = "super::values::some_path")]
    state_witness: Option<PathBuf>,

    /// Networks whose connections must begin with a PROXY header (version 2), separated by commas; `unix` for Unix
    /// sockets.
    #[arg(long, value_name = "NETWORKS", value_delimiter = ',', help_heading = PROXY)]
    accept_proxy_from: Vec<Network>,

    /// Sends the backend a PROXY header (version 2).
    #[arg(long, help_heading = PROXY)]
    send_proxy: bool,

    /// Adds the client's identity, and the name of the flight that carried early data.
    #[arg(long, requires = "send_proxy", help_heading = PROXY)]
    send_proxy_identity: bool,

    /// Dials the backend when the client's first byte arrives, for clients with --spare.
    #[arg(long)]
    wait_for_client: bool,

    /// What several servers behind one name share; only in a file.
    #[arg(skip)]
    fleet: Option<Fleet>,
}

// A confined process may connect to no port but that of `forward`.
tessera_proxy::lasting!(ServerSection:
    listen, forward, state, state_key, state_witness, tcp_fast_open, limits, fleet);

impl ServerSection {
    /// Returns the settings of its stores. `label` is the section as named in errors: `server.NAME`.
    pub(crate) fn stores<'c>(&'c self, label: &'c str) -> StoresSection<'c> {
        StoresSection {
            name: label,
            state: self.state.as_deref(),
            state_key: self.state_key.as_ref(),
            state_witness: self.state_witness.as_deref(),
            fleet: self.fleet.as_ref(),
        }
    }
}
