//! What a hub does with its sockets but the first: it binds and closes them, and receives from them.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use tessera_endpoint::Path;

use super::associations::{Associations, DatagramHandshake};
use super::hub::{Hub, State};
use super::inbox::wipe;
use super::socket::{BATCH, LONGEST_DATAGRAM, Socket};

impl<S: DatagramHandshake> State<S> {
    /// Receives from another socket, too, which its local address names.
    pub(super) fn add_socket(&mut self, socket: Socket) -> io::Result<SocketAddr> {
        let name = socket.local_addr()?;
        let socket = Arc::new(socket);
        let task = tokio::spawn(receive(self.hub.clone(), socket.clone(), name)).abort_handle();
        self.sockets.add(name, socket, task);
        Ok(name)
    }

    /// Closes the sockets that have no use.
    pub(super) fn close_sockets(&mut self) {
        while let Some(name) = self.associations.next_released_socket() {
            self.unsent.take_if(|path| path.local == Some(name));
            if self.sockets.remove(name) {
                self.wake_driver();
            }
        }
    }

    /// The same, and binds those that associations want.
    pub(super) fn exchange_sockets(&mut self) {
        self.close_sockets();
        if self.associations.sockets_wanted() == 0 {
            return;
        }
        let Some(mut binder) = self.binder.take() else { return };
        let now = self.now().monotonic;
        while self.associations.sockets_wanted() > 0 && binder.may_bind(now) {
            let bound = binder.bind().and_then(|io| self.add_socket(Socket::unconnected(io)));
            if !bound.is_ok_and(|name| self.associations.add_socket(name)) {
                binder.note_failure(now);
            }
        }
        self.binder = Some(binder);
    }

    /// Receives what has arrived at another socket.
    fn receive_at(&mut self, socket: &Socket, name: SocketAddr) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(LONGEST_DATAGRAM, 0);
        for _ in 0..BATCH {
            match socket.try_receive(&mut buffer) {
                Ok((len, remote)) => {
                    let datagram = &mut buffer[..len];
                    self.receive(Path { remote, local: Some(name) }, datagram);
                    // Data was decrypted in place.
                    wipe(datagram);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => self.note_error(&error),
            }
        }
        self.buffer = buffer;
        self.flush();
    }
}

/// Receives from a socket until that is closed.
async fn receive<S: DatagramHandshake>(hub: Weak<Hub<S>>, socket: Arc<Socket>, name: SocketAddr) {
    while socket.readable().await.is_ok() {
        let Some(hub) = hub.upgrade() else { return };
        hub.lock().receive_at(&socket, name);
    }
}
