//! The UDP server that datagrams are forwarded to.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::UdpSocket;

/// Returns a socket that is connected to the target.
pub(super) async fn socket_to(target: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = match target {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(target).await?;
    Ok(socket)
}
