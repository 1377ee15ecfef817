//! The client's end.

use std::io;
use std::sync::Arc;

use tessera::handshake::Checked;
use tessera::{ClientConfig, ClientConnection, Clock, Destination};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::answers::{Answers, NoAnswers};
use crate::clock::MachineClock;
use crate::current::{Current, InitialConfig};
use crate::early_data::EarlyData;
use crate::error::wrap;
use crate::first_flight::FirstFlight;
use crate::machine::Machine;
use crate::sessions::{SessionStore, SessionWriter};
use crate::stream::ClientStream;

/// Connects to servers. Cheap to clone.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use tessera::{ClientConfig, Destination};
/// use tessera_tokio::{Connector, MemorySessionStore};
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// use tokio::net::TcpStream;
///
/// # #[cfg(feature = "system-trust")]
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let verifier = Arc::new(tessera_tokio::system_verifier()?);
/// let config = ClientConfig::new(tessera_aws_lc::provider(), verifier);
/// let sessions = Arc::new(MemorySessionStore::default());
/// let connector = Connector::new(config.checked()?).with_sessions(sessions);
///
/// let socket = TcpStream::connect("server.example:443").await?;
/// let destination = Destination { server_name: "server.example".into(), ..Default::default() };
/// let mut stream = connector.connect(destination, socket).await?;
/// stream.write_all(b"hello").await?;
/// stream.shutdown().await?;
/// stream.read_to_end(&mut Vec::new()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Connector {
    config: Current<ClientConfig>,
    answers: Arc<dyn Answers>,
    sessions: Option<Arc<dyn SessionStore>>,
    clock: Arc<dyn Clock>,
}

impl Connector {
    /// Connects with this configuration.
    pub fn new(config: Checked<ClientConfig>) -> Self {
        Self {
            config: Current::new(config),
            answers: Arc::new(NoAnswers),
            sessions: None,
            clock: Arc::new(MachineClock::new()),
        }
    }

    /// Replaces the configuration, for all clones: new connections use the new one, running ones keep theirs.
    ///
    /// A resumption doesn't ask the verifier again. If the new verifier has another policy, sessions with
    /// servers that the old one accepted are no longer offered, and are removed from this connector's store.
    /// For changes that no policy expresses, raise [`ClientConfig::policy_epoch`]. A store that
    /// [blocks](SessionStore::blocks) removes them on another thread, if there is a runtime.
    ///
    /// A handshake in progress continues with its configuration, unless what it depends on was withdrawn
    /// ([`upholds`](Checked::<ClientConfig>::upholds)): it then fails, and early data that was sent may have
    /// been executed. To end connections that are complete, check
    /// [`is_withdrawn`](ClientStream::is_withdrawn).
    pub fn replace(&self, config: Checked<ClientConfig>) {
        let earlier = self.config.replace(config.clone());
        if let Some(store) = &self.sessions
            && !config.keeps_sessions_of(&earlier)
        {
            let store = store.clone();
            let blocks = store.blocks();
            let remove = move || store.retain(&|session| config.accepts_session(session));
            match Handle::try_current() {
                Ok(runtime) if blocks => drop(runtime.spawn_blocking(remove)),
                _ => remove(),
            }
        }
    }

    /// Returns the configuration that new connections use.
    pub fn config(&self) -> Checked<ClientConfig> {
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

    /// Takes sessions from this store, and puts new ones into it.
    pub fn with_sessions(mut self, sessions: Arc<dyn SessionStore>) -> Self {
        self.sessions = Some(sessions);
        self
    }

    /// Connects over a stream; ready when the handshake is complete.
    pub async fn connect<IO: AsyncRead + AsyncWrite + Unpin>(
        &self,
        destination: Destination,
        io: IO,
    ) -> io::Result<ClientStream<IO>> {
        let mut stream = self.start(destination, io).await?;
        stream.handshake().await?;
        Ok(stream)
    }

    /// Connects with early data, which is sent together with the ClientHello if there is a ticket for it.
    /// Ready when the handshake is complete or has failed; returns what became of the early data.
    ///
    /// Under a forward-secret ticket early data is *accepted* at most once, whatever the network replays, to
    /// whichever server. It is *executed* at most once if the client obeys the verdict; without an answer the
    /// verdict is `unknown`. Under other tickets, which the policy must allow by name, it may be replayed:
    /// send only what may be executed twice.
    ///
    /// Early data must be self-delimiting: an attacker on the path can hold part of it back and end the
    /// connection, and the server may execute the prefix that arrived.
    ///
    /// If this future is dropped, for example by a timeout, the caller only knows that the flight may have
    /// been executed. To learn more, [`start`](Self::start) the stream, call
    /// [`handshake_with_early_data`](ClientStream::handshake_with_early_data), and query the stream
    /// afterwards.
    ///
    /// ```
    /// use std::io;
    /// use tessera::Destination;
    /// use tessera::resume::{FlightHandle, Verdict};
    /// use tessera_tokio::{ClientStream, Connector, EarlyData};
    /// use tokio::net::TcpStream;
    ///
    /// enum Failed {
    ///     /// It may be tried again.
    ///     NotExecuted(io::Error),
    ///     /// Only who asked can decide. The name is for the receipt: `Destination::ask_receipts`.
    ///     MayBeExecuted(Option<FlightHandle>),
    /// }
    ///
    /// /// The stream, and what of the question is still to be written.
    /// async fn ask<'q>(
    ///     connector: &Connector,
    ///     destination: Destination,
    ///     socket: TcpStream,
    ///     question: &'q [u8],
    /// ) -> Result<(ClientStream<TcpStream>, &'q [u8]), Failed> {
    ///     match connector.connect_with_early_data(destination, socket, question).await {
    ///         EarlyData::Accepted { stream, count, .. } => Ok((stream, &question[count..])),
    ///         EarlyData::Rejected { stream, verdict: Verdict::Burned, .. } => Ok((stream, question)),
    ///         EarlyData::NotSent(Ok(stream)) => Ok((stream, question)),
    ///         EarlyData::NotSent(Err(error)) => Err(Failed::NotExecuted(error)),
    ///         EarlyData::Rejected { flight, .. } => Err(Failed::MayBeExecuted(flight)),
    ///         EarlyData::Failed { error, outcome, .. } if outcome.may_be_sent_again() => {
    ///             Err(Failed::NotExecuted(error))
    ///         }
    ///         EarlyData::Failed { outcome, .. } => Err(Failed::MayBeExecuted(outcome.flight)),
    ///         _ => Err(Failed::MayBeExecuted(None)),
    ///     }
    /// }
    /// ```
    pub async fn connect_with_early_data<IO: AsyncRead + AsyncWrite + Unpin>(
        &self,
        destination: Destination,
        io: IO,
        data: &[u8],
    ) -> EarlyData<ClientStream<IO>> {
        match self.start(destination, io).await {
            Ok(mut stream) => stream.handshake_with_early_data(data).await.with(stream),
            Err(error) => EarlyData::NotSent(Err(error)),
        }
    }

    /// Starts a connection and returns its stream before anything is sent: for
    /// [`write_early`](ClientStream::write_early), or to run the handshake where the stream is used.
    ///
    /// Only the session store is waited for. A session that was taken for a connection is used up with it.
    pub async fn start<IO: AsyncRead + AsyncWrite + Unpin>(
        &self,
        destination: Destination,
        io: IO,
    ) -> io::Result<ClientStream<IO>> {
        let destination = self.with_session(destination).await;
        self.start_afresh(destination, io)
    }

    /// Starts a connection whose first writes travel as early data, for programs that know nothing of it:
    /// HTTP clients, copy loops. See [`FirstFlight`] for what becomes of them.
    ///
    /// Like [`start`](Self::start) it only waits for the session store: nothing is sent before the stream is
    /// used.
    ///
    /// # Errors
    /// Returns an error if the configuration doesn't fit the destination.
    pub async fn first_flight<IO: AsyncRead + AsyncWrite + Unpin>(
        &self,
        destination: Destination,
        io: IO,
    ) -> io::Result<FirstFlight<IO>> {
        let destination = self.with_session(destination).await;
        let session = destination.session.as_ref();
        let protocol = session.and_then(|session| session.state.protocol.clone());
        Ok(FirstFlight::new(self.start_afresh(destination, io)?, protocol))
    }

    /// Adds a session from the store to the destination, unless it already has one.
    pub(crate) async fn with_session(&self, mut destination: Destination) -> Destination {
        if let (Some(store), None) = (&self.sessions, &destination.session) {
            let server_name = destination.server_name.clone();
            let known = destination.known_server_key.clone();
            destination.session = if store.blocks() {
                let store = store.clone();
                // A panic in the store counts as no session.
                let config = self.config.get();
                let popped = spawn_blocking(move || {
                    config.take_session(&*store, &server_name, known.as_deref())
                })
                .await;
                popped.ok().flatten()
            } else {
                self.config.get().take_session(&**store, &server_name, known.as_deref())
            };
        }
        destination
    }

    /// Starts a connection with the session of the destination, if it has one; the store is not used.
    pub fn start_afresh<IO: AsyncRead + AsyncWrite + Unpin>(
        &self,
        destination: Destination,
        io: IO,
    ) -> io::Result<ClientStream<IO>> {
        let Preparation { config, begun, answers, session_writer, destination, .. } =
            self.prepare(destination);
        let machine = Machine::new(
            begun,
            |now, output| ClientConnection::start(config, destination, now, output),
            answers,
            session_writer,
        );
        Ok(ClientStream::new(io, machine.map_err(wrap)?))
    }

    /// Returns what a connection starts with.
    pub(crate) fn prepare(&self, mut destination: Destination) -> Preparation {
        destination.clock.get_or_insert_with(|| self.clock.clone());
        let session_writer = SessionWriter::new(self.sessions.clone(), &destination.server_name);
        let (config, begun) = self.config.begin();
        let (current, answers) = (self.config.clone(), self.answers.clone());
        Preparation { config, begun, current, answers, session_writer, destination }
    }
}

/// What a client's connection starts with.
pub(crate) struct Preparation {
    pub(crate) config: Checked<ClientConfig>,
    pub(crate) begun: InitialConfig<ClientConfig>,
    pub(crate) current: Current<ClientConfig>,
    pub(crate) answers: Arc<dyn Answers>,
    pub(crate) session_writer: SessionWriter,
    pub(crate) destination: Destination,
}
