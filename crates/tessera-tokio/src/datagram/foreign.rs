//! Datagrams of other protocols on a server's port.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tessera::handshake::ServerHandshake;

use super::associations::DatagramHandshake;
use super::hub::{Hub, State};
use super::inbox::{ForeignDatagram, Inbox};
use super::socket::is_of_network;
use super::waiting::wait_for;

/// The datagrams at a [`DatagramListener`](crate::DatagramListener)'s socket that aren't DTLS 1.3 (RFC 7983, RFC 9443),
/// such as those of DTLS 1.2. Their senders proved nothing: an answer may go to a victim.
///
/// Up to 128 KiB wait to be received; then they are dropped.
pub struct ForeignDatagrams {
    hub: Arc<Hub<ServerHandshake>>,
}

impl ForeignDatagrams {
    pub(super) fn new(hub: &Arc<Hub<ServerHandshake>>) -> Self {
        let mut state = hub.lock();
        state.foreign = Some(Inbox::new(state.room.clone()));
        state.users += 1;
        Self { hub: hub.clone() }
    }

    /// Receives the next one. Dropping the future loses nothing.
    ///
    /// # Errors
    /// The socket doesn't work any more.
    pub async fn recv(&self) -> io::Result<ForeignDatagram> {
        wait_for(&self.hub.foreign_arrived, || self.take().transpose()).await
    }

    fn take(&self) -> io::Result<Option<ForeignDatagram>> {
        let mut state = self.hub.lock();
        match state.foreign.as_mut().and_then(Inbox::pop) {
            None if state.is_over => Err(io::ErrorKind::NotConnected.into()),
            taken => Ok(taken),
        }
    }

    /// Sends a datagram from the socket, as it is.
    pub async fn send_to(&self, datagram: &[u8], to: SocketAddr) -> io::Result<()> {
        loop {
            let socket = self.hub.lock().sockets.first.clone();
            match socket.try_send(datagram, to) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    socket.writable().await?;
                }
                // A report about an earlier datagram, which is read by being returned.
                Err(error) if is_of_network(&error) => {
                    return socket.try_send(datagram, to).map(drop);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for ForeignDatagrams {
    fn drop(&mut self) {
        let mut state = self.hub.lock();
        state.foreign = None;
        state.leave();
    }
}

impl<S: DatagramHandshake> State<S> {
    /// Keeps a foreign datagram for its user, if there is one.
    pub(super) fn hand_out(&mut self, datagram: ForeignDatagram) {
        if let (Some(foreign), Some(hub)) = (&mut self.foreign, self.hub.upgrade()) {
            foreign.push(datagram);
            hub.foreign_arrived.notify_waiters();
        }
    }
}
