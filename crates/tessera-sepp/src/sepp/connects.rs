//! Where connections come from.

use std::sync::Arc;

use tessera_proxy::http::client::Connect;

use crate::names::Fqdn;
use crate::sbi::api_root::Scheme;

/// Makes what connects to peers and to own network functions. What it gives goes on after a reload: a connector takes
/// its configuration anew for each connection.
pub trait Connects: Send + Sync {
    /// For N32-c to this peer: a full handshake with certificates, and no early data. `name` is the one that its
    /// certificate must have: the peer's own, or the one it redirected to.
    fn n32c(&self, peer: &Fqdn, name: &Fqdn) -> Option<Arc<dyn Connect>>;

    /// For N32-f to this peer. `name` is the one that its certificate must have: the peer's own, or the one of its
    /// N32-c.
    fn n32f(&self, peer: &Fqdn, name: &Fqdn) -> Option<Arc<dyn Connect>>;

    /// For an own network function of this name. `None` where `https` isn't configured.
    fn function(&self, scheme: Scheme, name: &str) -> Option<Arc<dyn Connect>>;
}
