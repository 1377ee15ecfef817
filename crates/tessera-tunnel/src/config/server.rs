//! The server end of a tunnel.

use std::path::PathBuf;

use serde::Deserialize;
use tessera::wire::{CipherSuite, NamedGroup};
use tessera_proxy::stores::StoresSection;

use super::{
    DialAddress, Early, Fleet, KeySource, ListenAddress, Peers, ServerLimits, TrustedNetworks,
    values,
};

/// `[server.NAME]`: takes TLS connections from tunnels' clients, and hands what is in them to a backend.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ServerSection {
    /// Where it listens: `:8443`, `127.0.0.1:8443`, `unix:/run/x.sock`, `systemd:NAME`.
    pub listen: ListenAddress,
    /// The backend: `127.0.0.1:5432`, `db.internal:5432`, `unix:/run/x.sock`. Every address of a name is tried.
    pub forward: DialAddress,
    /// The certificate chain, PEM, this end's own first. None where external PSKs are all there is.
    #[serde(default, deserialize_with = "values::some_path")]
    pub certificate: Option<PathBuf>,
    /// Its private key, PEM. Default: in the file of the certificate. Without a certificate this end shows the raw
    /// public key of it (RFC 7250).
    #[serde(default, deserialize_with = "values::some_path")]
    pub key: Option<PathBuf>,
    /// Who may connect.
    #[serde(default)]
    pub peers: Peers,
    /// Whether data may come in a client's first flight. Default: forward-secret, at most once.
    #[serde(default)]
    pub early: Early,
    /// The directory in which ticket keys and one-time keys survive a restart. Default: memory alone.
    #[serde(default, deserialize_with = "values::some_path")]
    pub state: Option<PathBuf>,
    /// Where the key of that directory is. Default: the program keeps one in the runtime directory.
    #[serde(default, deserialize_with = "values::some_key")]
    pub state_key: Option<KeySource>,
    /// A directory on another file system, by which a state is noticed that was put back as it was earlier. Default:
    /// none.
    #[serde(default, deserialize_with = "values::some_path")]
    pub state_witness: Option<PathBuf>,
    /// Networks whose connections begin with a PROXY header (version 2): `10.0.0.0/8`, `::1`, `unix` for all that come
    /// over a Unix socket. From these it is required; what others send is never read as one.
    #[serde(default)]
    pub accept_proxy_from: TrustedNetworks,
    /// Whether the backend is sent a PROXY header (version 2). Default: no.
    #[serde(default)]
    pub send_proxy: bool,
    /// Whether that header tells who the client is, and the name of the flight that came early. Default: no.
    #[serde(default)]
    pub send_proxy_identity: bool,
    /// Whether the backend is dialled only when the client's first byte is there, for clients that keep spare
    /// connections. Default: no, at once.
    #[serde(default)]
    pub wait_for_client: bool,
    /// Whether data is taken in SYNs (TCP Fast Open, RFC 7413). Default: no.
    #[serde(default)]
    pub tcp_fast_open: bool,
    /// The groups, in order of preference. Default: those that are not rare.
    #[serde(default, deserialize_with = "values::groups")]
    pub groups: Vec<NamedGroup>,
    /// The cipher suites, in order of preference. Default: all.
    #[serde(default, deserialize_with = "values::suites")]
    pub suites: Vec<CipherSuite>,
    /// How much clients may have.
    #[serde(default)]
    pub limits: ServerLimits,
    /// What several servers behind one name share.
    pub fleet: Option<Fleet>,
}

impl ServerSection {
    /// A section with nothing but what it needs.
    pub fn new(listen: ListenAddress, forward: DialAddress) -> Self {
        Self {
            listen,
            forward,
            certificate: None,
            key: None,
            peers: Peers::default(),
            early: Early::default(),
            state: None,
            state_key: None,
            state_witness: None,
            accept_proxy_from: TrustedNetworks::default(),
            send_proxy: false,
            send_proxy_identity: false,
            wait_for_client: false,
            tcp_fast_open: false,
            groups: Vec::new(),
            suites: Vec::new(),
            limits: ServerLimits::default(),
            fleet: None,
        }
    }

    /// What it says of stores. `label` is how errors name it: `server.NAME`.
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

// A process may connect to no other port than that of `forward`.
tessera_proxy::lasting!(ServerSection:
    listen, forward, state, state_key, state_witness, tcp_fast_open, limits, fleet);
