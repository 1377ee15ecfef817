//! The client's network interfaces, and its sockets on them.

use std::net::{IpAddr, SocketAddr};

/// A socket of the client. The owner opens it, at the socket's address, when it is first used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SocketId(pub(crate) usize);

impl SocketId {
    /// Returns the socket with this [name](Interfaces::name).
    pub(super) fn named(name: Option<SocketAddr>) -> Self {
        Self(name.map_or(0, |name| name.port().into()))
    }
}

/// All interfaces and sockets.
pub(super) struct Interfaces {
    interfaces: Vec<Interface>,
    /// Each with its interface.
    sockets: Vec<(usize, IpAddr)>,
    current: SocketId,
    /// The first of the present association.
    first: SocketId,
}

struct Interface {
    address: IpAddr,
    is_up: bool,
}

impl Interfaces {
    /// Creates interfaces with these addresses, all up, and a socket on the first.
    pub(super) fn new(addresses: &[IpAddr]) -> Self {
        let interfaces: Vec<_> =
            addresses.iter().map(|address| Interface { address: *address, is_up: true }).collect();
        let sockets = interfaces.first().map(|first| (0, first.address)).into_iter().collect();
        Self { interfaces, sockets, current: SocketId(0), first: SocketId(0) }
    }

    pub(super) fn address(&self, socket: SocketId) -> Option<IpAddr> {
        self.sockets.get(socket.0).map(|(_, address)| *address)
    }

    /// Returns the name of a socket in paths: its address, and its number instead of a port.
    pub(super) fn name(&self, socket: SocketId) -> Option<SocketAddr> {
        Some(SocketAddr::new(self.address(socket)?, socket.0 as u16))
    }

    pub(super) fn current(&self) -> SocketId {
        self.current
    }

    pub(super) fn set_down(&mut self, index: usize) {
        if let Some(interface) = self.interfaces.get_mut(index) {
            interface.is_up = false;
        }
    }

    pub(super) fn set_up(&mut self, index: usize, address: IpAddr) {
        if let Some(interface) = self.interfaces.get_mut(index) {
            *interface = Interface { address, is_up: true };
        }
    }

    /// Opens a socket for another association, which leaves the present ones to what still comes for the one before.
    pub(super) fn begin(&mut self) -> SocketId {
        self.first = self.open();
        self.first
    }

    /// Returns whether a socket is of the present association.
    pub(super) fn has(&self, socket: SocketId) -> bool {
        socket.0 >= self.first.0
    }

    /// Opens another socket where the next datagram leaves.
    fn open(&mut self) -> SocketId {
        let place = self.route();
        self.sockets.push(place);
        self.current = SocketId(self.sockets.len() - 1);
        self.current
    }

    /// Changes to a socket where the next datagram leaves, if the current one isn't there; returns whether it did, and
    /// whether the socket is new.
    pub(super) fn follow(&mut self) -> Option<bool> {
        let place = self.route();
        if self.sockets.get(self.current.0) == Some(&place) {
            return None;
        }
        let known = self.sockets.iter().rposition(|it| *it == place);
        let known = known.filter(|index| self.has(SocketId(*index)));
        match known {
            Some(index) => self.current = SocketId(index),
            None => _ = self.open(),
        }
        Some(known.is_none())
    }

    /// Returns the interface, and its address, from which a datagram leaves: the first that is up, as routes change when
    /// an interface goes down; if none is, the one before.
    fn route(&self) -> (usize, IpAddr) {
        let current = self.sockets.get(self.current.0).copied();
        let up = self.interfaces.iter().position(|interface| interface.is_up);
        let of = |index: usize| Some((index, self.interfaces.get(index)?.address));
        up.and_then(of).or(current).unwrap_or((0, [0, 0, 0, 0].into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_leave_from_the_first_interface_that_is_up() {
        let [one, other, new] = [1, 2, 3].map(|last| IpAddr::from([10, 77, 0, last]));
        let mut interfaces = Interfaces::new(&[one, other]);
        assert_eq!(interfaces.follow(), None);
        interfaces.set_down(0);
        assert_eq!(interfaces.follow(), Some(true));
        assert_eq!(interfaces.address(interfaces.current()), Some(other));
        interfaces.set_up(0, new);
        assert_eq!(interfaces.follow(), Some(true), "another address");
        interfaces.set_down(0);
        assert_eq!(interfaces.follow(), Some(false), "the socket is still there");
        interfaces.set_down(1);
        assert_eq!(interfaces.follow(), None, "none is up");
    }
}
