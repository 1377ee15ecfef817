//! Access to a running SEPP for the demonstration.

use std::net::SocketAddr;
use std::sync::Arc;

use super::RunningSepp;
use crate::sepp::Sepp;

impl RunningSepp {
    /// Returns the address of this listener: `sbi`, `n32c`, `n32f` or `n32`.
    pub(crate) fn address(&self, listener: &str) -> Option<SocketAddr> {
        let (_, addresses) = self.bound.0.iter().find(|(name, _)| *name == listener)?;
        addresses.first().copied()
    }

    /// Returns the SEPP that answers.
    pub(crate) fn sepp(&self) -> &Arc<Sepp> {
        &self.shared.sepp
    }
}
