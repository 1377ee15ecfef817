//! A canary: a client that gets a ticket at one server, and offers it to another.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tessera::handshake::Checked;
use tessera::resume::ClientSession;
use tessera::wire::NamedGroup;
use tessera::{ClientConfig, Destination};
use tessera_tokio::{ClientStream, Connector, SessionStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use zeroize::Zeroizing;

/// Connects to the servers of a pool by address, under the name that they all serve.
pub struct Canary {
    config: Checked<ClientConfig>,
    server_name: String,
    /// Sent once connected.
    request: Vec<u8>,
}

/// A ticket of one server.
#[derive(Debug)]
pub struct CanaryTicket {
    session: ClientSession,
    /// The group that the server chose of all that this client offers.
    group: Option<NamedGroup>,
}

/// How long a connection may take, its ticket included.
const DEADLINE: Duration = Duration::from_secs(5);

/// How long to wait for each read while the ticket is on its way.
const TURN: Duration = Duration::from_millis(20);

impl Canary {
    /// Creates a canary.
    #[must_use]
    pub fn new(config: Checked<ClientConfig>, server_name: impl Into<String>) -> Self {
        Self { config, server_name: server_name.into(), request: Vec::new() }
    }

    /// Asks for `/` by HTTP/1.1. Servers with BoringSSL, such as Envoy, send a ticket with their first data alone.
    #[must_use]
    pub fn with_http_request(mut self) -> Self {
        let request = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", self.server_name);
        self.request = request.into_bytes();
        self
    }

    /// Makes a full handshake, and returns the server's ticket.
    ///
    /// # Errors
    /// If the handshake fails, or no ticket comes within five seconds.
    pub async fn ticket(&self, server: SocketAddr) -> io::Result<CanaryTicket> {
        let sessions = Arc::new(OneSession::default());
        let deadline = Instant::now() + DEADLINE;
        let mut stream = self.connect(server, sessions.clone(), deadline).await?;
        stream.write_all(&self.request).await?;
        stream.flush().await?;
        let mut byte = [0];
        loop {
            let read = timeout(TURN, stream.read(&mut byte)).await;
            if let Some(session) = sessions.lock().take() {
                let group = stream.facts().group;
                return Ok(CanaryTicket { session, group });
            }
            match read {
                Ok(Ok(0)) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(Err(error)) => return Err(error),
                Ok(Ok(_)) | Err(_) if Instant::now() < deadline => (),
                Ok(Ok(_)) | Err(_) => {
                    return Err(io::Error::new(ErrorKind::TimedOut, "the server sent no ticket"));
                }
            }
        }
    }

    /// Offers the ticket, and returns whether the server resumed the session.
    ///
    /// # Errors
    /// If the handshake fails.
    pub async fn resumes(&self, server: SocketAddr, ticket: CanaryTicket) -> io::Result<bool> {
        let sessions = Arc::new(OneSession(Mutex::new(Some(ticket.session))));
        let stream = self.connect(server, sessions, Instant::now() + DEADLINE).await?;
        Ok(stream.facts().psk.is_some())
    }

    async fn connect(
        &self,
        server: SocketAddr,
        sessions: Arc<OneSession>,
        deadline: Instant,
    ) -> io::Result<ClientStream<TcpStream>> {
        let connector = Connector::new(self.config.clone()).with_sessions(sessions);
        let destination =
            Destination { server_name: self.server_name.clone(), ..Destination::default() };
        let connected = timeout_at(deadline, async {
            let socket = TcpStream::connect(server).await?;
            socket.set_nodelay(true)?;
            connector.connect(destination, socket).await
        });
        connected.await.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
    }
}

impl CanaryTicket {
    /// Encodes the ticket with its secret, which is worth a session of this canary alone.
    #[must_use]
    pub fn export(&self) -> Zeroizing<Vec<u8>> {
        let group = self.group.map_or(0, |group| group.0).to_be_bytes();
        let session = self.session.export();
        // Never grows: a reallocation would leave the secret behind.
        let mut exported = Zeroizing::new(Vec::with_capacity(group.len() + session.len()));
        exported.extend_from_slice(&group);
        exported.extend_from_slice(&session);
        exported
    }

    /// Decodes what [`export`](Self::export) returned; `None` for anything else.
    #[must_use]
    pub fn import(bytes: &[u8]) -> Option<Self> {
        let (group, session) = bytes.split_first_chunk()?;
        let group = u16::from_be_bytes(*group);
        let group = (group != 0).then_some(NamedGroup(group));
        Some(Self { session: ClientSession::import(session).ok()?, group })
    }

    /// Returns the group that the server chose. If that of another server differs, clients get a weaker key exchange at one
    /// of them.
    #[must_use]
    pub fn group(&self) -> Option<NamedGroup> {
        self.group
    }

    /// Returns the first 16 bytes: the name of the key that sealed it, at most servers.
    #[must_use]
    pub fn key_name(&self) -> Option<&[u8; 16]> {
        self.session.ticket.first_chunk()
    }
}

/// Holds one session.
#[derive(Default)]
struct OneSession(Mutex<Option<ClientSession>>);

impl OneSession {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<ClientSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionStore for OneSession {
    fn put(&self, _: &str, session: ClientSession) {
        *self.lock() = Some(session);
    }

    fn pop(&self, _: &str) -> Option<ClientSession> {
        self.lock().take()
    }

    fn blocks(&self) -> bool {
        false
    }
}
