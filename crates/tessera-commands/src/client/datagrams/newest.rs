//! A connection whose newest datagram is sent again if the server has lost the connection.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tessera::Error;
use tessera_proxy::datagrams::{Datagram, DatagramSide};
use tessera_tokio::{ClientDatagramConnection, ReceivedDatagram};

/// A connection, and the newest datagram that was sent on it, until something comes from the server.
///
/// A server that has restarted answers the record of a lost connection by a reset, and doesn't read it. That record was
/// the newest, if that was sent just before: so it is sent again on the next connection. Those before it may have been
/// executed, and are lost, as on the network. The newest is executed twice only if the server executed it, ended, started
/// again and got another record of this connection, all within [`JUST_BEFORE`]: a network that doubles datagrams does no
/// worse.
pub(super) struct NewestKept<'c> {
    connection: &'c ClientDatagramConnection,
    newest: Mutex<Option<(Instant, Datagram)>>,
}

impl<'c> NewestKept<'c> {
    pub(super) fn new(connection: &'c ClientDatagramConnection) -> Self {
        Self { connection, newest: Mutex::default() }
    }

    /// Returns the connection itself.
    pub(super) fn connection(&self) -> &'c ClientDatagramConnection {
        self.connection
    }

    /// Returns what is to be sent again after this error, which ended the connection; `None` unless the server has lost it.
    pub(super) fn after(self, error: &io::Error) -> Option<Option<Datagram>> {
        let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
        let newest = self.newest.into_inner().unwrap_or_else(PoisonError::into_inner);
        let just_before = newest.filter(|(sent, _)| sent.elapsed() < JUST_BEFORE);
        (cause == Some(&Error::AssociationLost)).then(|| just_before.map(|(_, datagram)| datagram))
    }

    fn newest(&self) -> MutexGuard<'_, Option<(Instant, Datagram)>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DatagramSide for NewestKept<'_> {
    type Received = ReceivedDatagram;

    async fn recv(&self) -> io::Result<Option<ReceivedDatagram>> {
        let received = DatagramSide::recv(self.connection).await?;
        *self.newest() = None;
        Ok(received)
    }

    async fn send(&self, datagram: &[u8]) -> io::Result<bool> {
        *self.newest() = Some((Instant::now(), Datagram::new(datagram)));
        DatagramSide::send(self.connection, datagram).await
    }

    async fn lost(&self) -> io::Error {
        DatagramSide::lost(self.connection).await
    }
}

/// How long before a reset the datagram was sent that it answers.
const JUST_BEFORE: Duration = Duration::from_secs(1);

/// What a person reads then.
pub(super) const LOST: &str =
    "the server has lost the connection, as after a restart: connecting again";
