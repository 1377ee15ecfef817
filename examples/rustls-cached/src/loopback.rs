//! A client and a server that meet over loopback TCP.

use std::io::{Error, Read, Result, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::DerefMut;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, ServerConfig, ServerConnection, SideData,
};

use crate::certificates::SERVER_NAME;

/// Both ends after their handshake.
pub struct Ends {
    /// The client's.
    pub client: HandshakeResult<ClientConnection>,
    /// The server's.
    pub server: HandshakeResult<ServerConnection>,
    /// The bytes on the wire, every record with its header.
    pub bytes: Bytes,
}

/// An end, and the error that ended its handshake early.
pub struct HandshakeResult<C> {
    /// The connection.
    pub connection: C,
    /// None if the handshake is complete.
    pub error: Option<Error>,
}

/// Bytes of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes {
    /// Those of the client.
    pub sent: usize,
    /// Those of the server.
    pub received: usize,
}

impl Bytes {
    /// Both.
    pub fn total(self) -> usize {
        self.sent + self.received
    }
}

impl Ends {
    /// These ends, if both completed the handshake.
    ///
    /// # Errors
    /// The error that ended it.
    pub fn complete(self) -> Result<Self> {
        match (self.client.error, self.server.error) {
            (None, None) => Ok(Self {
                client: HandshakeResult { error: None, ..self.client },
                server: HandshakeResult { error: None, ..self.server },
                bytes: self.bytes,
            }),
            (Some(error), _) | (None, Some(error)) => Err(error),
        }
    }
}

/// Makes a connection with each end in a thread, carries out the handshake, and closes.
///
/// # Errors
/// The error below TLS.
pub fn connect(client: Arc<ClientConfig>, server: Arc<ServerConfig>) -> Result<Ends> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let name = ServerName::try_from(SERVER_NAME).map_err(Error::other)?;
    let client = ClientConnection::new(client, name).map_err(Error::other)?;
    let server = ServerConnection::new(server).map_err(Error::other)?;
    std::thread::scope(|scope| {
        let server = scope.spawn(move || shake_hands(server, listener.accept()?.0));
        let (client, bytes) = shake_hands(client, TcpStream::connect(address)?)?;
        let server = server.join().map_err(|_| Error::other("the server's thread panicked"))?;
        Ok(Ends { client, server: server?.0, bytes })
    })
}

fn shake_hands<C, S>(mut connection: C, socket: TcpStream) -> Result<(HandshakeResult<C>, Bytes)>
where
    C: DerefMut<Target = ConnectionCommon<S>>,
    S: SideData,
{
    const PATIENCE: Duration = Duration::from_secs(20);
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_nodelay(true)?;
    let mut socket = CountingSocket { socket, bytes: Bytes { sent: 0, received: 0 } };
    let mut error = None;
    while error.is_none() && (connection.is_handshaking() || connection.wants_write()) {
        error = connection.complete_io(&mut socket).err();
    }
    while connection.wants_write() {
        connection.write_tls(&mut socket)?;
    }
    // Reads the other end's remaining output, such as an alert, also after an error: closing a socket with unread input
    // would reset it, and this end's own alert would be lost.
    socket.socket.shutdown(Shutdown::Write)?;
    while connection.read_tls(&mut socket).is_ok_and(|len| len > 0) {
        let end = connection.process_new_packets().err();
        error = error.or(end.map(Error::other));
    }
    Ok((HandshakeResult { connection, error }, socket.bytes))
}

/// A socket that counts.
struct CountingSocket {
    socket: TcpStream,
    bytes: Bytes,
}

impl Read for CountingSocket {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let len = self.socket.read(buffer)?;
        self.bytes.received += len;
        Ok(len)
    }
}

impl Write for CountingSocket {
    fn write(&mut self, buffer: &[u8]) -> Result<usize> {
        let len = self.socket.write(buffer)?;
        self.bytes.sent += len;
        Ok(len)
    }

    fn flush(&mut self) -> Result<()> {
        self.socket.flush()
    }
}
