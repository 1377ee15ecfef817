//! The socket that the server listens on.

use std::io;
use std::net::{self, SocketAddr};

use tessera_kit::ProgramError;
use tessera_kit::inherited::{InheritedSocket, InheritedSockets};
use tokio::net::{TcpListener, UdpSocket};

use crate::listening::cannot_listen;
use crate::options::ServeOptions;

/// The socket that the server listens on.
pub(super) enum ServerSocket {
    Tcp(TcpListener),
    Udp(UdpSocket),
}

impl ServerSocket {
    /// Binds the address of the options, or takes over a supervisor's socket.
    pub(super) async fn bind(
        options: &ServeOptions,
        inherited: Option<net::TcpListener>,
    ) -> Result<Self, ProgramError> {
        if let Some(socket) = inherited {
            if options.udp {
                return Err(ProgramError::settings(
                    "LISTEN_FDS passes a TCP socket, and --udp binds its own: leave one of them out",
                ));
            }
            let socket = socket.set_nonblocking(true).and_then(|()| TcpListener::from_std(socket));
            let socket =
                socket.map_err(|error| ProgramError::failed("the socket of LISTEN_FDS", error));
            return socket.map(Self::Tcp);
        }
        let bound = match options.udp {
            true => UdpSocket::bind(options.listen).await.map(Self::Udp),
            false => TcpListener::bind(options.listen).await.map(Self::Tcp),
        };
        bound.map_err(|error| cannot_listen(options.listen, &error))
    }

    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr(),
            Self::Udp(socket) => socket.local_addr(),
        }
    }
}

/// Returns the listening socket passed by a supervisor (sd_listen_fds(3)), if any.
pub(super) fn inherited() -> Result<Option<net::TcpListener>, ProgramError> {
    let wrong = |what: &str| {
        ProgramError::settings(format!(
            "LISTEN_FDS: {what}; pass one TCP socket, as ListenStream=4433 does"
        ))
    };
    let mut sockets = InheritedSockets::from_env()?.take_all();
    match (sockets.pop(), sockets.len()) {
        (None, _) => Ok(None),
        (Some(InheritedSocket::Tcp(socket)), 0) => Ok(Some(socket)),
        (Some(InheritedSocket::Unix(_)), 0) => Err(wrong("the socket is not a TCP socket")),
        (_, more) => Err(wrong(&format!("{} sockets, but the server listens on one", more + 1))),
    }
}
