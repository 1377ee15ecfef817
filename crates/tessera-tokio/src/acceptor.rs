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

/// Accepts clients. It is cheap to clone. A [`Server`](crate::Server) is the loop around it for TCP, with
/// limits that a loop of one's own needs too.
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

    /// Replaces the configuration, for all clones: connections that start from now on use the new one,
    /// and those that run keep theirs.
    ///
    /// A resumption doesn't ask the verifier again. With a verifier of another policy the tickets of
    /// clients that the old one accepted are not resumed any more, and neither are those that began with an
    /// external PSK that is gone or has another secret; for what no policy says, such as the loss of an
    /// account or of the server's own key, raise [`ServerConfig::policy_epoch`].
    ///
    /// A handshake that is under way goes on with its configuration, unless what it rests on was
    /// withdrawn ([`upholds`](Checked::<ServerConfig>::upholds)): the connection then ends with
    /// access_denied, and of its early data nothing more is read. To end connections that are complete,
    /// ask [`is_withdrawn`](ServerStream::is_withdrawn).
    pub fn replace(&self, config: Checked<ServerConfig>) {
        self.config.replace(config);
    }

    /// The configuration of connections that start now.
    pub fn config(&self) -> Checked<ServerConfig> {
        self.config.get()
    }

    /// How many configurations there have been, the first included.
    pub fn generation(&self) -> u64 {
        self.config.generation()
    }

    /// Answers the questions that the configuration leaves for later.
    pub fn with_answers(mut self, answers: Arc<dyn Answers>) -> Self {
        self.answers = answers;
        self
    }

    /// Accepts a client; ready when the handshake is complete. Early data that came with it is read
    /// from the stream first.
    pub async fn accept<IO: AsyncRead + AsyncWrite + Unpin>(
        &self,
        io: IO,
    ) -> io::Result<ServerStream<IO>> {
        let mut stream = self.start(io)?;
        stream.handshake().await?;
        Ok(stream)
    }

    /// Accepts a client; ready as soon as the server's flight is made. Early data can be read then,
    /// and answered half a round trip before the handshake is complete (RFC 8446 §2.3).
    ///
    /// What is read before the end of the handshake may be early data: see
    /// [`is_early`](ServerStream::is_early) and
    /// [`handshake_watch`](ServerStream::handshake_watch). What is written before may go to someone
    /// whose certificate was not seen yet. Tickets go out when the handshake is complete. Reading, writing
    /// and `shutdown` complete it; it may take no longer than the configuration says, slow answers to early
    /// data included.
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

    /// Gives the stream of a client of whom nothing was read.
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
