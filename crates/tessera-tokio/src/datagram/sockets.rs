//! The sockets of a hub: the first one, which the driver serves, and others with tasks of their own.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use tessera_endpoint::Path;
use tokio::task::AbortHandle;

use super::associations::{Associations, DatagramHandshake};
use super::hub::{Hub, State};
use super::inbox::wipe;
use super::socket::{BATCH, LONGEST_DATAGRAM, Socket};

/// The sockets of a hub.
pub(super) struct Sockets {
    /// The one that the driver serves, and its name in paths.
    pub(super) first: Arc<Socket>,
    pub(super) first_name: Option<SocketAddr>,
    others: HashMap<SocketAddr, OtherSocket>,
}

/// A socket with a task.
struct OtherSocket {
    socket: Arc<Socket>,
    task: AbortHandle,
}

impl Sockets {
    pub(super) fn new(first: Socket, first_name: Option<SocketAddr>) -> Self {
        Self { first: Arc::new(first), first_name, others: HashMap::new() }
    }

    /// Returns the socket of this name, or the first one.
    pub(super) fn named(&self, name: Option<SocketAddr>) -> &Arc<Socket> {
        let other = name.and_then(|name| self.others.get(&name));
        other.map_or(&self.first, |other| &other.socket)
    }

    /// Closes a socket. If it is the first one, another takes its place; returns whether it was.
    fn remove(&mut self, name: SocketAddr) -> bool {
        if self.others.remove(&name).is_some() || self.first_name != Some(name) {
            return false;
        }
        if let Some(name) = self.others.keys().next().copied()
            && let Some(other) = self.others.remove(&name)
        {
            self.first = other.socket.clone();
            self.first_name = Some(name);
        }
        true
    }
}

impl Drop for OtherSocket {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<S: DatagramHandshake> State<S> {
    /// Receives from another socket, too, which its local address names.
    pub(super) fn add_socket(&mut self, socket: Socket) -> io::Result<SocketAddr> {
        let name = socket.local_addr()?;
        let socket = Arc::new(socket);
        let task = tokio::spawn(receive(self.hub.clone(), socket.clone(), name)).abort_handle();
        self.sockets.others.insert(name, OtherSocket { socket, task });
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
