//! A TCP or Unix socket.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tessera_tokio::fast_open::FastOpenStream;
use tessera_tokio::{Origin, ResetOnClose};
use tokio::net::{TcpStream, UnixStream};

/// A connection over TCP or a Unix socket.
#[derive(Debug)]
pub enum Socket {
    /// TCP.
    Tcp(TcpStream),
    /// TCP whose first bytes may travel in the SYN (RFC 7413): its owner must write first.
    FastOpen(Box<FastOpenStream>),
    /// A Unix socket.
    Unix(UnixStream),
}

/// The other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Peer {
    /// A TCP address. IPv4-mapped addresses, as an IPv6 listener reports them, are converted to IPv4.
    Tcp(SocketAddr),
    /// A program of this machine.
    Local,
}

impl Socket {
    /// Returns the other end.
    pub fn peer(&self) -> io::Result<Peer> {
        match self {
            Self::Tcp(socket) => socket.peer_addr().map(Peer::from),
            Self::FastOpen(socket) => socket.peer_addr().map(Peer::from),
            Self::Unix(_) => Ok(Peer::Local),
        }
    }

    /// Returns this end's address; `None` for Unix sockets.
    pub fn local_addr(&self) -> io::Result<Option<SocketAddr>> {
        match self {
            Self::Tcp(socket) => socket.local_addr().map(Some),
            Self::FastOpen(socket) => socket.get_ref().local_addr().map(Some),
            Self::Unix(_) => Ok(None),
        }
    }
}

/// Resets TCP connections: SO_LINGER with 0 seconds. Unix sockets close as usual.
impl ResetOnClose for Socket {
    fn reset_on_close(&self) {
        match self {
            Self::Tcp(socket) => socket.reset_on_close(),
            Self::FastOpen(socket) => socket.reset_on_close(),
            Self::Unix(socket) => socket.reset_on_close(),
        }
    }
}

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(SocketAddr::new(address.ip().to_canonical(), address.port()))
    }
}

impl From<Peer> for Origin {
    fn from(peer: Peer) -> Self {
        match peer {
            Peer::Tcp(address) => address.ip().into(),
            Peer::Local => Self::LOCAL,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Local => f.write_str("unix"),
        }
    }
}

/// Sets the options of every TCP connection. None is essential: without them answers, and noticing a dead peer, only
/// take longer.
pub(crate) fn prepare(socket: SockRef<'_>) {
    let _ = socket.set_tcp_nodelay(true);
    let keep_alive = TcpKeepalive::new().with_time(SILENCE).with_interval(BETWEEN_PROBES);
    let _ = socket.set_tcp_keepalive(&keep_alive);
}

/// Defines a stream that is one of several kinds.
macro_rules! either_stream {
    ($either:ident: $($kind:ident),+) => {
        impl tokio::io::AsyncRead for $either {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffer: &mut tokio::io::ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                match self.get_mut() { $(Self::$kind(stream) => Pin::new(stream).poll_read(cx, buffer),)+ }
            }
        }

        impl tokio::io::AsyncWrite for $either {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                data: &[u8],
            ) -> Poll<io::Result<usize>> {
                match self.get_mut() { $(Self::$kind(stream) => Pin::new(stream).poll_write(cx, data),)+ }
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                slices: &[io::IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                match self.get_mut() {
                    $(Self::$kind(stream) => Pin::new(stream).poll_write_vectored(cx, slices),)+
                }
            }

            fn is_write_vectored(&self) -> bool {
                match self { $(Self::$kind(stream) => stream.is_write_vectored(),)+ }
            }

            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                match self.get_mut() { $(Self::$kind(stream) => Pin::new(stream).poll_flush(cx),)+ }
            }

            fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                match self.get_mut() { $(Self::$kind(stream) => Pin::new(stream).poll_shutdown(cx),)+ }
            }
        }
    };
}
#[cfg(feature = "http")]
pub(crate) use either_stream;

either_stream!(Socket: Tcp, FastOpen, Unix);

/// How long a peer may be silent before the kernel probes it, and the interval of probes. Nine unanswered probes end
/// the connection: ten minutes after a peer's machine or a NAT forgot it.
const SILENCE: Duration = Duration::from_secs(240);
const BETWEEN_PROBES: Duration = Duration::from_secs(40);
