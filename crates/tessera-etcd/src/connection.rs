//! One HTTP/1.1 connection to a member of etcd.

use std::io;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tessera::Destination;
use tessera_tokio::Connector;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// How to reach etcd.
#[derive(Clone)]
pub enum Transport {
    /// TLS 1.3. The connector's configuration decides whom to trust, and has this server's certificate if etcd requires
    /// one (`--client-cert-auth`).
    Tls {
        /// Connects.
        connector: Connector,
        /// The name in the members' certificates.
        server_name: String,
    },
    /// No protection on the wire.
    ///
    /// Values are wrapped, so eavesdroppers can't read them; but an attacker who can write to the connection can take
    /// keys, and restore keys that were taken. For a network without other users.
    PlaintextOnPrivateNetwork,
}

pub(crate) type Sender = SendRequest<Full<Bytes>>;

impl Transport {
    /// Connects to `host:port`. A task drives the connection until its sender is dropped.
    pub(crate) async fn connect(&self, endpoint: &str) -> io::Result<Sender> {
        let socket = TcpStream::connect(endpoint).await?;
        socket.set_nodelay(true)?;
        match self {
            Self::PlaintextOnPrivateNetwork => speak(socket).await,
            Self::Tls { connector, server_name } => {
                let server_name = server_name.clone();
                let destination = Destination { server_name, ..Destination::default() };
                speak(connector.connect(destination, socket).await?).await
            }
        }
    }
}

async fn speak(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> io::Result<Sender> {
    let (sender, connection) =
        http1::handshake(TokioIo::new(io)).await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    Ok(sender)
}
