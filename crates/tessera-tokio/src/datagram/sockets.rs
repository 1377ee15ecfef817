//! The sockets of a hub: the first one, which the driver serves, and others with tasks of their own.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::task::AbortHandle;

use super::socket::Socket;

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

    /// Adds another socket, from which this task receives.
    pub(super) fn add(&mut self, name: SocketAddr, socket: Arc<Socket>, task: AbortHandle) {
        self.others.insert(name, OtherSocket { socket, task });
    }

    /// Closes a socket. If it is the first one, another takes its place; returns whether it was.
    pub(super) fn remove(&mut self, name: SocketAddr) -> bool {
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
