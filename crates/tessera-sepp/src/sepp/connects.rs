//! Opens connections.

use std::sync::Arc;

use tessera_proxy::http::client::Connect;

use crate::names::Fqdn;
use crate::sbi::api_root::Scheme;

/// Creates connectors to peers and to local network functions. They stay valid after a reload: a connector reads its
/// configuration for each connection.
pub trait ConnectorFactory: Send + Sync {
    /// Returns a connector for N32-c to this peer: a full handshake with certificates, and no early data. Its
    /// certificate must contain `name`: the peer's own, or the one that it redirected to.
    fn n32c(&self, peer: &Fqdn, name: &Fqdn) -> Option<Arc<dyn Connect>>;

    /// Returns a connector for N32-f to this peer. Its certificate must contain `name`: the peer's own, or the one
    /// announced over N32-c.
    fn n32f(&self, peer: &Fqdn, name: &Fqdn) -> Option<Arc<dyn Connect>>;

    /// Returns a connector to the local network function with this name; `None` if `https` isn't configured.
    fn function(&self, scheme: Scheme, name: &str) -> Option<Arc<dyn Connect>>;
}
