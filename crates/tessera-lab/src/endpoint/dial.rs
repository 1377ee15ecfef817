//! TCP connections, some of which begin in the SYN (RFC 7413).

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, connect, setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};
use tessera_tokio::fast_open::connect_on;

use super::configuration::PATIENCE;

/// Connects to the server; with `fast_open` only at the first write, if the kernel has the server's cookie.
pub(super) fn dial(server: SocketAddr, fast_open: bool) -> io::Result<TcpStream> {
    if !fast_open {
        return TcpStream::connect_timeout(&server, PATIENCE);
    }
    let family = if server.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let socket = socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    // This bounds connect() too.
    let patience = TimeVal::seconds(PATIENCE.as_secs().try_into().unwrap_or(i64::MAX));
    setsockopt(&socket, sockopt::SendTimeout, &patience)?;
    connect_on(&socket)?;
    connect(socket.as_raw_fd(), &SockaddrStorage::from(server))?;
    Ok(TcpStream::from(socket))
}

/// Writes the first bytes of a connection; returns how many left in the SYN.
pub(super) fn open(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
    // Before the SYN there is no peer.
    let waits = stream.peer_addr().is_err();
    let mut in_syn = 0;
    if waits {
        // Otherwise it would block until everything was sent.
        stream.set_nonblocking(true)?;
        let written = stream.write(bytes);
        stream.set_nonblocking(false)?;
        in_syn = match written {
            // The cookie is gone.
            Err(error) if error.raw_os_error() == Some(Errno::EINPROGRESS as i32) => 0,
            written => written?,
        };
    }
    stream.write_all(&bytes[in_syn..])?;
    Ok(in_syn)
}
