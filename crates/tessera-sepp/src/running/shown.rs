//! What a demonstration reads of a SEPP that runs.

use std::net::SocketAddr;
use std::sync::Arc;

use super::RunningSepp;
use crate::sepp::Sepp;
use crate::tls::N32Tls;

impl RunningSepp {
    /// Where this listener is: `sbi`, `n32c`, `n32f` or `n32`.
    pub(crate) fn address(&self, listener: &str) -> Option<SocketAddr> {
        let (_, addresses) = self.bound.0.iter().find(|(name, _)| *name == listener)?;
        addresses.first().copied()
    }

    /// What answers.
    pub(crate) fn sepp(&self) -> &Arc<Sepp> {
        &self.shared.sepp
    }

    /// Its TLS.
    pub(crate) fn tls(&self) -> &Arc<N32Tls> {
        &self.shared.tls
    }
}
