//! Changes of the machine's network.

use std::io;

use tessera_tokio::ClientDatagramConnection;

/// The machine's network, whose changes Linux reports.
pub(super) struct Network {
    #[cfg(target_os = "linux")]
    changes: tessera_tokio::NetworkChanges,
}

#[cfg(target_os = "linux")]
impl Network {
    /// Watches it; `None`: the system reports nothing.
    pub(super) fn watch() -> Option<Self> {
        tessera_tokio::NetworkChanges::watch().ok().map(|changes| Self { changes })
    }

    /// Lets a connection follow it until that fails.
    pub(super) async fn lead(&self, connection: &ClientDatagramConnection) -> io::Result<()> {
        connection.follow_network(&self.changes).await
    }
}

#[cfg(not(target_os = "linux"))]
impl Network {
    pub(super) fn watch() -> Option<Self> {
        None
    }

    pub(super) async fn lead(&self, _: &ClientDatagramConnection) -> io::Result<()> {
        Ok(())
    }
}
