//! Connections to peers and to own network functions.

use std::sync::Arc;

use tessera_proxy::http::client::{Connect, Plaintext, Protocol, Tls};
use tessera_tokio::Connector;

use crate::names::Fqdn;
use crate::sbi::api_root::Scheme;
use crate::sepp::connects::Connects;
use crate::tls::N32Tls;

/// With TLS on N32, and as targets say it on the side of own network functions.
pub(super) struct Connecting {
    pub(super) n32: Arc<N32Tls>,
    /// Where `[sbi] ca` is configured.
    pub(super) functions: Option<Connector>,
}

impl Connects for Connecting {
    fn n32c(&self, peer: &Fqdn, name: &Fqdn) -> Option<Arc<dyn Connect>> {
        let connectors = self.n32.to(peer)?;
        Some(Arc::new(Tls::new(connectors.n32c).named(name.as_str())))
    }

    fn n32f(&self, peer: &Fqdn, name: &Fqdn) -> Option<Arc<dyn Connect>> {
        let connectors = self.n32.to(peer)?;
        Some(Arc::new(Tls::new(connectors.n32f).named(name.as_str())))
    }

    fn function(&self, scheme: Scheme, name: &str) -> Option<Arc<dyn Connect>> {
        match scheme {
            // TS 29.500 §5.2.1: HTTP/2, with prior knowledge where there is no TLS.
            Scheme::Http => Some(Arc::new(Plaintext(Protocol::Http2))),
            Scheme::Https => Some(Arc::new(Tls::new(self.functions.clone()?).named(name))),
        }
    }
}
