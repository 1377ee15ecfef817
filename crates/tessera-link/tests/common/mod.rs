//! What tests of NATs share: sockets at both ends, and what passes between them.
#![allow(dead_code, reason = "no test uses all of it")]

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use tessera_link::{End, Link, LinkKind, LinkParameters};

/// Long enough for every machine, short enough to notice a test that hangs.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns an emulated link; `None` only if the machine does not allow it to a user other than root.
pub fn emulated(parameters: &LinkParameters) -> Option<Link> {
    if nix::unistd::geteuid().is_root() {
        return Some(Link::open(LinkKind::Tun, parameters).unwrap());
    }
    let link = Link::open(LinkKind::Auto, &LinkParameters::default()).unwrap();
    if let Some(reason) = link.fallback_reason() {
        eprintln!("not tested: {reason}");
        return None;
    }
    link.set(parameters).unwrap();
    Some(link)
}

/// Makes a socket at one end.
pub fn socket(link: &Link, end: End, address: SocketAddr) -> UdpSocket {
    let made = link.spawn_thread(end, move || UdpSocket::bind(address));
    let socket = made.unwrap().join().unwrap().unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// Sends a datagram, and returns whence it came, as its receiver sees it.
#[track_caller]
pub fn carry(from: &UdpSocket, destination: SocketAddr, to: &UdpSocket) -> SocketAddr {
    from.send_to(b"datagram", destination).unwrap();
    let mut buffer = [0; 64];
    let (length, sender) = to.recv_from(&mut buffer).unwrap();
    assert_eq!(&buffer[..length], b"datagram");
    sender
}

/// A client's socket with the port 5000, and three of a server's.
pub struct Sockets {
    pub client: UdpSocket,
    pub servers: [UdpSocket; 3],
}

/// What a NAT does with the orders in which a server and its client speak.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the server reaches the client first from another port (IPC).
    pub server_first: bool,
    /// Whether a client that speaks first to another port (TCS) gets there from the same external port.
    pub same_external_port: bool,
}

impl Sockets {
    pub fn at(link: &Link) -> Self {
        let addresses = link.addresses();
        let client = socket(link, End::Client, SocketAddr::new(addresses.client, 5000));
        let server = SocketAddr::new(addresses.server, 0);
        Self { client, servers: [(); 3].map(|()| socket(link, End::Server, server)) }
    }

    /// Sends from the client to a server's socket, which answers; returns the client's external address.
    pub fn meet(&self, server: usize) -> SocketAddr {
        let server = &self.servers[server];
        let address = server.local_addr().unwrap();
        let external = carry(&self.client, address, server);
        assert_eq!(carry(server, external, &self.client), address);
        external
    }

    /// Whether a datagram of a server's socket, to which the client has not sent, reaches it.
    fn is_reached_by(&self, external: SocketAddr, stranger: usize) -> bool {
        self.servers[stranger].send_to(b"stranger", external).unwrap();
        // It arrives before this one, if it does.
        self.servers[0].send_to(b"last", external).unwrap();
        let mut buffer = [0; 64];
        let mut next = || {
            let (length, from) = self.client.recv_from(&mut buffer).unwrap();
            (buffer[..length].to_vec(), from)
        };
        let (first, from) = next();
        let is_reached = first == b"stranger";
        if is_reached {
            assert_eq!(from, self.servers[stranger].local_addr().unwrap());
            assert_eq!(next().0, b"last");
        }
        is_reached
    }

    pub fn outcome(&self) -> Outcome {
        let external = self.meet(0);
        Outcome {
            server_first: self.is_reached_by(external, 1),
            same_external_port: self.meet(2) == external,
        }
    }

    /// Whether nothing that the client sends arrives in a while.
    pub fn are_separated(&self) -> bool {
        let server = &self.servers[0];
        self.client.send_to(b"datagram", server.local_addr().unwrap()).unwrap();
        server.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let received = server.recv_from(&mut [0; 64]);
        matches!(received.unwrap_err().kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
    }
}
