//! Listening sockets: TCP, Unix, and those that a supervisor hands over.

mod inherited;
mod unix;

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::num::NonZeroU16;
use std::os::unix::net as unix_net;
use std::task::Poll;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket as RawSocket, TcpKeepalive, Type};
use tessera_kit::ProgramError;
use tessera_tokio::fast_open::accept_on;
use tokio::net::{TcpListener, TcpStream, UnixListener};

pub use self::inherited::Inherited;
use self::inherited::InheritedSocket;
use self::unix::SocketFile;
use crate::address::ListenAddress;
use crate::socket::{Peer, Socket};

/// How to listen.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ListenOptions {
    /// How many connections may wait to be accepted; the kernel takes no more than `net.core.somaxconn`.
    /// Default: 4,096.
    pub backlog: NonZeroU16,
    /// Whether data in SYNs is taken: see [`tessera_tokio::fast_open`] for what that costs. Default: no.
    pub fast_open: bool,
    /// The permissions of a Unix socket's file: whoever may write to it may connect. Default: 0o600, the user that
    /// this process runs as.
    pub unix_mode: u32,
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self { backlog: BACKLOG, fast_open: false, unix_mode: 0o600 }
    }
}

/// A listener at all sockets that one [`ListenAddress`] means. Unix sockets' files are removed when it is dropped.
#[derive(Debug)]
pub struct Listener {
    sockets: Vec<Listening>,
    fast_open_lacks: Option<io::Error>,
}

#[derive(Debug)]
enum Listening {
    Tcp(TcpListener),
    Unix {
        listener: UnixListener,
        /// `None` for inherited ones: the file is the supervisor's.
        _file: Option<SocketFile>,
    },
}

impl Listener {
    /// Listens. Inherited sockets are taken out of `inherited`, where each is once. Needs a tokio runtime. Names
    /// are looked up in this thread.
    pub fn bind(
        address: &ListenAddress,
        options: ListenOptions,
        inherited: &mut Inherited,
    ) -> Result<Self, ProgramError> {
        let cannot = |error: io::Error| cannot_listen(address, &error);
        let sockets = match address {
            ListenAddress::Everywhere(port) => vec![everywhere(*port, options).map_err(cannot)?],
            ListenAddress::Tcp(tcp) => vec![bind_tcp(*tcp, options).map_err(cannot)?],
            ListenAddress::Name(name) => {
                let found = (name.host.as_str(), name.port).to_socket_addrs().map_err(cannot)?;
                let bound = found.map(|tcp| bind_tcp(tcp, options));
                bound.collect::<io::Result<_>>().map_err(cannot)?
            }
            ListenAddress::Unix(path) => {
                let (listener, file) = unix::bind(path, options)?;
                vec![from_unix(listener, Some(file)).map_err(cannot)?]
            }
            ListenAddress::Inherited(name) => {
                let taken = inherited.take(name)?.into_iter().map(|socket| match socket {
                    InheritedSocket::Tcp(listener) => from_tcp(listener),
                    InheritedSocket::Unix(listener) => from_unix(listener, None),
                });
                taken.collect::<io::Result<_>>().map_err(cannot)?
            }
        };
        let mut listener = Self { sockets, fast_open_lacks: None };
        if options.fast_open {
            listener.fast_open_lacks = listener.take_data_in_syns().err();
        }
        Ok(listener)
    }

    /// The next connection of any of its sockets. Dropping the future loses none. An error says that there was
    /// none: [`Gate::accept`](crate::gate::Gate::accept) goes on then.
    pub async fn accept(&self) -> io::Result<(Socket, Peer)> {
        poll_fn(|cx| {
            for socket in &self.sockets {
                let accepted = match socket {
                    Listening::Tcp(listener) => {
                        listener.poll_accept(cx).map_ok(|(stream, address)| {
                            prepare(&stream);
                            (Socket::Tcp(stream), Peer::from(address))
                        })
                    }
                    Listening::Unix { listener, .. } => listener
                        .poll_accept(cx)
                        .map_ok(|(stream, _)| (Socket::Unix(stream), Peer::Local)),
                };
                if accepted.is_ready() {
                    return accepted;
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Where it listens, for TCP: with the port that it has where 0 was asked for.
    pub fn local_addrs(&self) -> io::Result<Vec<SocketAddr>> {
        let tcp = self.sockets.iter().filter_map(|socket| match socket {
            Listening::Tcp(listener) => Some(listener.local_addr()),
            Listening::Unix { .. } => None,
        });
        tcp.collect()
    }

    /// Why data in SYNs is not taken although it was asked for; connections begin as usual then.
    pub fn fast_open_lacks(&self) -> Option<&io::Error> {
        self.fast_open_lacks.as_ref()
    }

    fn take_data_in_syns(&self) -> io::Result<()> {
        for socket in &self.sockets {
            if let Listening::Tcp(listener) = socket {
                accept_on(listener, PENDING)?;
            }
        }
        Ok(())
    }
}

/// What every TCP connection gets. Without any of it the connection is as good, and only slower to answer or to
/// be found dead.
pub(crate) fn prepare(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let keep_alive = TcpKeepalive::new().with_time(SILENCE).with_interval(BETWEEN_PROBES);
    let _ = SockRef::from(stream).set_tcp_keepalive(&keep_alive);
}

/// Every address: a socket of IPv6 that takes IPv4 too, or one of IPv4 where the system has no IPv6.
fn everywhere(port: u16, options: ListenOptions) -> io::Result<Listening> {
    match bind_tcp((Ipv6Addr::UNSPECIFIED, port).into(), options) {
        Err(error) if has_no_ipv6(&error) => {
            bind_tcp((Ipv4Addr::UNSPECIFIED, port).into(), options)
        }
        bound => bound,
    }
}

/// EAFNOSUPPORT has no kind of its own.
fn has_no_ipv6(error: &io::Error) -> bool {
    const EAFNOSUPPORT: i32 = 97;
    error.raw_os_error() == Some(EAFNOSUPPORT) || error.kind() == ErrorKind::AddrNotAvailable
}

fn bind_tcp(address: SocketAddr, options: ListenOptions) -> io::Result<Listening> {
    let socket = RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        // The other addresses of a name may be IPv4's.
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    // Without it nobody can listen for a minute after a server with connections has ended.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(options.backlog.get().into())?;
    from_tcp(socket.into())
}

fn from_tcp(listener: std::net::TcpListener) -> io::Result<Listening> {
    listener.set_nonblocking(true)?;
    Ok(Listening::Tcp(TcpListener::from_std(listener)?))
}

fn from_unix(listener: unix_net::UnixListener, file: Option<SocketFile>) -> io::Result<Listening> {
    listener.set_nonblocking(true)?;
    Ok(Listening::Unix { listener: UnixListener::from_std(listener)?, _file: file })
}

fn cannot_listen(address: &ListenAddress, error: &io::Error) -> ProgramError {
    ProgramError::Failed(match error.kind() {
        ErrorKind::AddrInUse => {
            format!("{address}: another program listens there; end it, or use another port")
        }
        ErrorKind::PermissionDenied => format!(
            "{address}: ports below 1024 need privileges: take another, or have systemd listen (systemd:NAME)"
        ),
        ErrorKind::AddrNotAvailable => {
            format!("{address}: this machine doesn't have that address; :PORT listens on all")
        }
        _ => format!("{address}: can't listen: {error}"),
    })
}

const BACKLOG: NonZeroU16 = NonZeroU16::MIN.saturating_add(4095);

/// How many clients that began in the SYN may be without their end of TCP's handshake. More of them begin as
/// usual.
const PENDING: NonZeroU16 = NonZeroU16::MIN.saturating_add(255);

/// How long a peer may be silent before the kernel asks whether it is still there, and how often it asks then.
/// Nine questions without an answer end the connection: ten minutes after a peer's machine or a NAT forgot it.
const SILENCE: Duration = Duration::from_secs(240);
const BETWEEN_PROBES: Duration = Duration::from_secs(40);
