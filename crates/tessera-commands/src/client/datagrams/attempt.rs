//! Connecting: each address of the server in turn.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tessera::Destination;
use tessera_tokio::{ClientDatagramConnection, DatagramConnector};

use super::early_datagrams::EarlyDatagrams;

/// How long to wait after a connection has failed before the next.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// When a server last lost a connection.
#[derive(Default)]
pub(super) struct LastLoss(Option<Instant>);

impl LastLoss {
    /// Notes a loss; returns whether to connect again: two within [`PAUSE`] are the server's trouble.
    pub(super) fn note(&mut self) -> bool {
        let earlier = self.0.replace(Instant::now());
        earlier.is_none_or(|at| at.elapsed() > PAUSE)
    }
}

/// A connection as far as it has come.
#[derive(Default)]
pub(super) struct Attempt {
    pub(super) connection: Option<ClientDatagramConnection>,
    pub(super) early: EarlyDatagrams,
    pub(super) handshake: Option<Duration>,
}

impl Attempt {
    /// Completes a handshake with one of the addresses. `early` writes early data.
    pub(super) async fn connect(
        &mut self,
        connector: &DatagramConnector,
        destination: impl Fn() -> Destination,
        addresses: &[SocketAddr],
        early: impl Fn(&ClientDatagramConnection) -> io::Result<EarlyDatagrams>,
    ) -> io::Result<()> {
        for (index, address) in addresses.iter().enumerate() {
            let started = Instant::now();
            let connection = connector.start(*address, destination()).await?;
            self.early = early(&connection)?;
            let connection = self.connection.insert(connection);
            match connection.handshake().await {
                Ok(()) => {
                    self.handshake = Some(started.elapsed());
                    return Ok(());
                }
                // A name may have an address of each family, and the server only one.
                Err(error)
                    if error.kind() == ErrorKind::ConnectionRefused
                        && self.early.lens.is_empty()
                        && index + 1 < addresses.len() => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::AddrNotAvailable.into())
    }
}
