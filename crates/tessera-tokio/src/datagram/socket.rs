//! The UDP socket.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::{Context, Poll};

use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

/// A server's socket, or a client's, which is connected unless the client follows its server to other addresses.
///
/// It is tokio's: one datagram per system call. `quinn-udp` would send and receive several at once (GSO, GRO), and
/// report the local address of each; its segments need datagrams of one length to one address, which the endpoint does
/// not group yet.
pub(super) struct Socket {
    io: UdpSocket,
    remote: Option<SocketAddr>,
}

impl Socket {
    /// A socket for datagrams from and to any address.
    pub(super) fn unconnected(io: UdpSocket) -> Self {
        Self { io, remote: None }
    }

    /// Takes a client's socket, and connects it unless the client follows its server to other addresses.
    pub(super) async fn of_client(
        io: UdpSocket,
        remote: SocketAddr,
        follows: bool,
    ) -> io::Result<Self> {
        if follows {
            return Ok(Self::unconnected(io));
        }
        io.connect(remote).await?;
        Ok(Self { io, remote: Some(remote) })
    }

    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// Receives a datagram; returns where it came from. For the driver's task alone.
    pub(super) fn poll_receive(
        &self,
        buffer: &mut ReadBuf<'_>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        match self.remote {
            Some(remote) => self.io.poll_recv(cx, buffer).map_ok(|()| remote),
            None => self.io.poll_recv_from(cx, buffer),
        }
    }

    /// Receives a datagram that has arrived; returns its length, and where it came from.
    pub(super) fn try_receive(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        match self.remote {
            Some(remote) => self.io.try_recv(buffer).map(|len| (len, remote)),
            None => self.io.try_recv_from(buffer),
        }
    }

    /// Sends a datagram, if there is room for it now.
    pub(super) fn try_send(&self, datagram: &[u8], to: SocketAddr) -> io::Result<usize> {
        match self.remote {
            Some(_) => self.io.try_send(datagram),
            None => self.io.try_send_to(datagram, to),
        }
    }

    /// Waits until there may be room. For the driver's task alone.
    pub(super) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_send_ready(cx)
    }

    /// Waits until there may be room.
    pub(super) async fn writable(&self) -> io::Result<()> {
        self.io.writable().await
    }

    /// Waits until something may have arrived.
    pub(super) async fn readable(&self) -> io::Result<()> {
        self.io.readable().await
    }
}

/// Returns the address of a socket that sends to a server from wherever the system chooses.
pub(super) fn any_address(server: SocketAddr) -> SocketAddr {
    match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

/// Returns whether an error reports what happened to an earlier datagram.
pub(super) fn is_of_network(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable
    )
}

/// How many datagrams are received before others have their turn.
pub(super) const BATCH: usize = 32;

/// The longest datagram of UDP, in bytes.
pub(super) const LONGEST_DATAGRAM: usize = 65_535;
