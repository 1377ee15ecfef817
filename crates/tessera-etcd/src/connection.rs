//! One HTTP/1.1 connection to a member of etcd.

use std::io;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use socket2::{SockRef, TcpKeepalive};
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
        let socket = dial(endpoint).await?;
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

/// After this time without a packet the kernel asks whether the member is still there, nine times on Linux.
const SILENCE: Duration = Duration::from_secs(5);

/// The time between two such questions.
const BETWEEN_PROBES: Duration = Duration::from_secs(1);

async fn dial(endpoint: &str) -> io::Result<TcpStream> {
    let socket = TcpStream::connect(endpoint).await?;
    socket.set_nodelay(true)?;
    // A watch sends nothing, and would wait forever on a connection that vanished without a FIN.
    let keep_alive = TcpKeepalive::new().with_time(SILENCE).with_interval(BETWEEN_PROBES);
    SockRef::from(&socket).set_tcp_keepalive(&keep_alive)?;
    Ok(socket)
}

async fn speak(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> io::Result<Sender> {
    let (sender, connection) =
        http1::handshake(TokioIo::new(io)).await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    Ok(sender)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn the_kernel_notices_a_connection_that_has_vanished() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = dial(&listener.local_addr().unwrap().to_string()).await.unwrap();
        assert!(SockRef::from(&socket).keepalive().unwrap());
    }
}
