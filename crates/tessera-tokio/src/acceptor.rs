//! The server's end.

use std::io;
use std::sync::Arc;

use tessera::handshake::Checked;
use tessera::{ServerConfig, ServerConnection};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::answers::{Answers, NoAnswers};
use crate::current::Current;
use crate::error::wrap;
use crate::machine::Machine;
use crate::sessions::SessionWriter;
use crate::stream::ServerStream;

/// Accepts TLS clients. Cheap to clone. [`Server`](crate::Server) is the accept loop around it for TCP, with
/// the limits that a custom loop needs too.
///
/// ```no_run
/// use tessera::ServerConfig;
/// use tessera_tokio::Acceptor;
/// use tokio::io::AsyncWriteExt;
/// use tokio::net::TcpListener;
///
/// # async fn example(config: ServerConfig) -> Result<(), Box<dyn std::error::Error>> {
/// let acceptor = Acceptor::new(config.checked()?);
/// let listener = TcpListener::bind("[::]:443").await?;
/// let (socket, _) = listener.accept().await?;
/// let mut stream = acceptor.accept(socket).await?;
/// stream.write_all(b"hello").await?;
/// stream.shutdown().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Acceptor {
    config: Current<ServerConfig>,
    answers: Arc<dyn Answers>,
}

impl Acceptor {
    /// Accepts with this configuration.
    pub fn new(config: Checked<ServerConfig>) -> Self {
        Self { config: Current::new(config), answers: Arc::new(NoAnswers) }
    }

    /// Replaces the configuration, for all clones: new connections use the new one, running ones keep theirs.
    ///
    /// A resumption doesn't ask the verifier again. If the new verifier has another policy, tickets of
    /// clients that the old one accepted are no longer resumed; neither are tickets that began with an
    /// external PSK that was removed or has another secret. For changes that no policy expresses, such as a
    /// deleted account or the loss of the server's own key, raise [`ServerConfig::policy_epoch`].
    ///
    /// A handshake in progress continues with its configuration, unless what it depends on was withdrawn
    /// ([`upholds`](Checked::<ServerConfig>::upholds)): the connection then ends with access_denied, and no
    /// more of its early data is read. To end connections that are complete, check
    /// [`is_withdrawn`](ServerStream::is_withdrawn).
    pub fn replace(&self, config: Checked<ServerConfig>) {
        self.config.replace(config);
    }

    /// Returns the configuration that new connections use.
    pub fn config(&self) -> Checked<ServerConfig> {
        self.config.get()
    }

    /// Returns how many configurations there have been, the first included.
    pub fn generation(&self) -> u64 {
        self.config.generation()
    }

    /// Answers the questions that the configuration leaves for later.
    pub fn with_answers(mut self, answers: Arc<dyn Answers>) -> Self {
        self.answers = answers;
        self
    }

    /// Returns the configuration, as it is replaced.
    pub(crate) fn current(&self) -> &Current<ServerConfig> {
        &self.config
    }

    /// Returns what answers questions.
    pub(crate) fn answers(&self) -> &Arc<dyn Answers> {
        &self.answers
    }

    /// Accepts a client; ready when the handshake is complete. Early data is the first thing read from the
    /// stream.
    pub async fn accept<IO: AsyncRead + AsyncWrite + Unpin>(
        &self,
        io: IO,
    ) -> io::Result<ServerStream<IO>> {
        let mut stream = self.start(io)?;
        stream.handshake().await?;
        Ok(stream)
    }

    /// Accepts a client; ready as soon as the server's flight is built. Early data can then be read and
    /// answered half a round trip before the handshake is complete (RFC 8446 §2.3).
    ///
    /// Data read before the end of the handshake may be early data: see [`is_early`](ServerStream::is_early)
    /// and [`handshake_watch`](ServerStream::handshake_watch). Data written before then may reach a peer
    /// whose certificate was not seen yet. Tickets are sent when the handshake is complete. Reading, writing
    /// and `shutdown` complete it, within the time that the configuration allows, slow answers to early data
    /// included.
    ///
    /// ```
    /// # use tessera_tokio::Acceptor;
    /// # use tokio::{io::{AsyncReadExt, AsyncWriteExt}, net::TcpStream};
    /// # async fn example(acceptor: &Acceptor, socket: TcpStream) -> std::io::Result<()> {
    /// let mut stream = acceptor.accept_early(socket).await?;
    /// let mut question = [0; 8];
    /// stream.read_exact(&mut question).await?;
    /// if stream.is_early() && stream.handshake_watch().is_replayable() {
    ///     // Maybe a copy: only the client itself completes the handshake.
    ///     stream.handshake().await?;
    /// }
    /// stream.write_all(b"answer").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn accept_early<IO: AsyncRead + AsyncWrite + Unpin>(
        &self,
        io: IO,
    ) -> io::Result<ServerStream<IO>> {
        let mut stream = self.start(io)?;
        stream.writable().await?;
        Ok(stream)
    }

    /// Returns a client's stream before anything is read from it.
    pub fn start<IO: AsyncRead + AsyncWrite + Unpin>(
        &self,
        io: IO,
    ) -> io::Result<ServerStream<IO>> {
        let (config, begun) = self.config.begin();
        let machine = Machine::new(
            begun,
            |now, _| Ok(ServerConnection::start(config, now)),
            self.answers.clone(),
            SessionWriter::default(),
        );
        Ok(ServerStream::new(io, machine.map_err(wrap)?))
    }
}
