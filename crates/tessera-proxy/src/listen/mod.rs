//! Listening sockets: TCP, Unix, and those that a supervisor passes.

mod private;
mod unix;

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::num::NonZeroU16;
use std::os::unix::net as unix_net;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use socket2::{Domain, Protocol, SockRef, Socket as RawSocket, Type};
use tessera_kit::ProgramError;
use tessera_kit::inherited::InheritedSocket;
pub use tessera_kit::inherited::InheritedSockets;
use tessera_tokio::fast_open::accept_on;
use tokio::net::{TcpListener, UnixListener};

pub use self::private::listen_private;
pub use self::unix::{SocketFile, listen_at};
use crate::address::ListenAddress;
use crate::socket::{Peer, Socket, prepare};

/// Options for listening.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ListenOptions {
    /// How many connections may wait to be accepted; the kernel limits it to `net.core.somaxconn`. Default: 4,096.
    pub backlog: NonZeroU16,
    /// Whether to accept data in SYNs: see [`tessera_tokio::fast_open`] for its cost. Default: no.
    pub fast_open: bool,
    /// The permissions of a Unix socket's file: write permission lets a user connect. Default: 0o600, only the user
    /// that this process runs as.
    pub unix_mode: u32,
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self { backlog: BACKLOG, fast_open: false, unix_mode: 0o600 }
    }
}

/// A listener on all sockets of one [`ListenAddress`]. The files of its Unix sockets are removed when it is dropped.
#[derive(Debug)]
pub struct Listener {
    sockets: Vec<ListeningSocket>,
    /// The socket to poll first next time, so that a busy one doesn't starve the others.
    first: AtomicUsize,
    fast_open_lacks: Option<io::Error>,
}

#[derive(Debug)]
enum ListeningSocket {
    Tcp(TcpListener),
    Unix {
        listener: UnixListener,
        /// `None` for an inherited socket: its file is the supervisor's.
        _file: Option<SocketFile>,
    },
}

impl Listener {
    /// Listens. Inherited sockets are taken from `inherited`, which holds each once. Needs a tokio runtime. Resolves
    /// names on this thread.
    pub fn bind(
        address: &ListenAddress,
        options: ListenOptions,
        inherited: &mut InheritedSockets,
    ) -> Result<Self, ProgramError> {
        let cannot = |error: io::Error| cannot_listen(address, &error);
        let sockets = match address {
            ListenAddress::Everywhere(port) => vec![everywhere(*port, options).map_err(cannot)?],
            ListenAddress::Tcp(tcp) => vec![bind_tcp(*tcp, options).map_err(cannot)?],
            ListenAddress::Name(name) => {
                let found = (name.host.as_str(), name.port).to_socket_addrs().map_err(cannot)?;
                bind_all(found, options).map_err(cannot)?
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
        let mut listener = Self { sockets, first: AtomicUsize::new(0), fast_open_lacks: None };
        if options.fast_open {
            listener.fast_open_lacks = listener.take_data_in_syns().err();
        }
        Ok(listener)
    }

    /// Accepts the next connection from any of its sockets, for one task at a time. Dropping the future loses no
    /// connection. After an error there is no connection: [`Gate::accept`](crate::gate::Gate::accept) then continues.
    pub async fn accept(&self) -> io::Result<(Socket, Peer)> {
        poll_fn(|cx| {
            let first = self.first.load(Ordering::Relaxed);
            for index in (0..self.sockets.len()).map(|nth| (first + nth) % self.sockets.len()) {
                let accepted = self.sockets[index].poll_accept(cx);
                if accepted.is_ready() {
                    self.first.store(index + 1, Ordering::Relaxed);
                    return accepted;
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Returns its TCP addresses, with the actual port if 0 was requested.
    pub fn local_addrs(&self) -> io::Result<Vec<SocketAddr>> {
        let tcp = self.sockets.iter().filter_map(|socket| match socket {
            ListeningSocket::Tcp(listener) => Some(listener.local_addr()),
            ListeningSocket::Unix { .. } => None,
        });
        tcp.collect()
    }

    /// Returns why data in SYNs is not accepted although requested; connections then begin as usual.
    pub fn fast_open_lacks(&self) -> Option<&io::Error> {
        self.fast_open_lacks.as_ref()
    }

    fn take_data_in_syns(&self) -> io::Result<()> {
        for socket in &self.sockets {
            if let ListeningSocket::Tcp(listener) = socket {
                accept_on(listener, PENDING)?;
            }
        }
        Ok(())
    }
}

impl ListeningSocket {
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(Socket, Peer)>> {
        match self {
            Self::Tcp(listener) => listener
                .poll_accept(cx)
                .map_ok(|(stream, address)| (Socket::Tcp(stream), address.into())),
            Self::Unix { listener, .. } => {
                listener.poll_accept(cx).map_ok(|(stream, _)| (Socket::Unix(stream), Peer::Local))
            }
        }
    }
}

/// Listens on every address: an IPv6 socket that accepts IPv4 too, or an IPv4 socket if the system has no IPv6.
fn everywhere(port: u16, options: ListenOptions) -> io::Result<ListeningSocket> {
    match bind_tcp((Ipv6Addr::UNSPECIFIED, port).into(), options) {
        Err(error) if has_no_ipv6(&error) => {
            bind_tcp((Ipv4Addr::UNSPECIFIED, port).into(), options)
        }
        bound => bound,
    }
}

/// Listens on the addresses of a name, at one port. Without IPv6 in the system, `localhost` has one address too many.
fn bind_all(
    addresses: impl Iterator<Item = SocketAddr>,
    options: ListenOptions,
) -> io::Result<Vec<ListeningSocket>> {
    let mut bound = Vec::<ListeningSocket>::new();
    let mut lacks = None;
    for mut address in addresses {
        if let Some(ListeningSocket::Tcp(first)) = bound.first() {
            // With port 0, all use the port of the first.
            address.set_port(first.local_addr()?.port());
        }
        match bind_tcp(address, options) {
            Ok(listening) => bound.push(listening),
            Err(error) if address.is_ipv6() && has_no_ipv6(&error) => lacks = Some(error),
            Err(error) => return Err(error),
        }
    }
    match lacks {
        Some(error) if bound.is_empty() => Err(error),
        _ => Ok(bound),
    }
}

/// EAFNOSUPPORT has no `ErrorKind`.
fn has_no_ipv6(error: &io::Error) -> bool {
    const EAFNOSUPPORT: i32 = 97;
    error.raw_os_error() == Some(EAFNOSUPPORT) || error.kind() == ErrorKind::AddrNotAvailable
}

fn bind_tcp(address: SocketAddr, options: ListenOptions) -> io::Result<ListeningSocket> {
    let socket = RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        // The other addresses of a name may be IPv4.
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    // Otherwise the port is blocked for a minute after a server with connections has ended.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(options.backlog.get().into())?;
    from_tcp(socket.into())
}

fn from_tcp(listener: std::net::TcpListener) -> io::Result<ListeningSocket> {
    listener.set_nonblocking(true)?;
    // On Linux its connections inherit the options.
    prepare(SockRef::from(&listener));
    Ok(ListeningSocket::Tcp(TcpListener::from_std(listener)?))
}

fn from_unix(
    listener: unix_net::UnixListener,
    file: Option<SocketFile>,
) -> io::Result<ListeningSocket> {
    listener.set_nonblocking(true)?;
    Ok(ListeningSocket::Unix { listener: UnixListener::from_std(listener)?, _file: file })
}

fn cannot_listen(address: &ListenAddress, error: &io::Error) -> ProgramError {
    ProgramError::Failed(match error.kind() {
        ErrorKind::AddrInUse => {
            format!(
                "{address}: another program already listens there; stop it, or use another port"
            )
        }
        ErrorKind::PermissionDenied if is_privileged(address) => format!(
            "{address}: ports below 1024 need privileges: use another, or have systemd listen (systemd:NAME)"
        ),
        ErrorKind::AddrNotAvailable => {
            format!(
                "{address}: this machine doesn't have that address; :PORT listens on all it has"
            )
        }
        _ => format!("{address}: can't listen: {error}"),
    })
}

fn is_privileged(address: &ListenAddress) -> bool {
    match address {
        ListenAddress::Everywhere(port) => *port < 1024,
        ListenAddress::Tcp(address) => address.port() < 1024,
        ListenAddress::Name(name) => name.port < 1024,
        ListenAddress::Unix(_) | ListenAddress::Inherited(_) => false,
    }
}

const BACKLOG: NonZeroU16 = NonZeroU16::MIN.saturating_add(4095);

/// How many clients that began in the SYN may have an unfinished TCP handshake. Further ones begin as usual.
const PENDING: NonZeroU16 = NonZeroU16::MIN.saturating_add(255);

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    fn bind(address: &str) -> Result<Listener, ProgramError> {
        let address = address.parse().unwrap();
        Listener::bind(&address, ListenOptions::default(), &mut InheritedSockets::default())
    }

    #[tokio::test]
    async fn every_address_is_one_of_ipv4_too() {
        let listener = bind(":0").unwrap();
        let port = listener.local_addrs().unwrap()[0].port();
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        let (mut socket, peer) = listener.accept().await.unwrap();
        assert_eq!(peer, Peer::Tcp(client.local_addr().unwrap()), "not ::ffff:127.0.0.1");
        assert_eq!(socket.peer().unwrap(), peer);
        let Socket::Tcp(accepted) = &socket else { panic!("it is TCP") };
        assert!(accepted.nodelay().unwrap());
        assert!(SockRef::from(accepted).keepalive().unwrap());
        assert_eq!(SockRef::from(accepted).tcp_keepalive_time().unwrap().as_secs(), 240);
        client.write_all(b"x").await.unwrap();
        assert_eq!(socket.read_u8().await.unwrap(), b'x');
    }

    #[tokio::test]
    async fn all_sockets_of_a_name_take_turns() {
        let loopback = [[127, 0, 0, 1], [127, 0, 0, 2]].map(|ip| SocketAddr::from((ip, 0)));
        let sockets = bind_all(loopback.into_iter(), ListenOptions::default()).unwrap();
        let listener = Listener { sockets, first: AtomicUsize::new(0), fast_open_lacks: None };
        let addresses = listener.local_addrs().unwrap();
        assert_eq!(addresses[0].port(), addresses[1].port());

        let mut clients = Vec::new();
        for address in [addresses[0], addresses[0], addresses[1], addresses[1]] {
            clients.push(TcpStream::connect(address).await.unwrap());
        }
        let mut ips = Vec::new();
        for _ in 0..4 {
            let (socket, _) = listener.accept().await.unwrap();
            ips.push(socket.local_addr().unwrap().unwrap().ip().to_string());
        }
        assert_eq!(ips, ["127.0.0.1", "127.0.0.2", "127.0.0.1", "127.0.0.2"]);
    }

    #[tokio::test]
    async fn the_error_of_a_failed_listen_names_the_reason() {
        let listener = bind("127.0.0.1:0").unwrap();
        let taken = listener.local_addrs().unwrap()[0];
        let error = bind(&taken.to_string()).unwrap_err().to_string();
        assert!(error.contains("another program already listens there"), "{error}");
        // TEST-NET-1 (RFC 5737) belongs to no machine.
        let error = bind("192.0.2.1:8443").unwrap_err().to_string();
        assert!(error.contains("this machine doesn't have that address"), "{error}");
        let error = bind("systemd:pg").unwrap_err().to_string();
        assert!(error.contains("none was handed over"), "{error}");
    }
}
