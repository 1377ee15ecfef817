//! Keeps connections to one signer.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tessera::Destination;
use tessera::handshake::Sign;
use tessera_tokio::{ClientStream, Connector};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{debug, warn};

use super::address::SignerAddress;
use super::counts::{Counters, count};
use super::key::RemoteKey;
use super::limits::{SignerLimits, after};
use crate::PROTOCOL;
use crate::wire::{Answer, Refusal, Request};

/// The connections to one signer.
pub(super) struct Link {
    address: SignerAddress,
    state: watch::Sender<LinkState>,
}

/// Which of the connections carry requests.
struct LinkState {
    /// `None`: not connected, or the signer has not answered on it yet.
    connections: Vec<Option<mpsc::Sender<SigningRequest>>>,
    /// Since when there is none.
    away_since: Option<Instant>,
}

/// A request, and where its answer goes.
struct SigningRequest {
    request: Request,
    give: oneshot::Sender<Answer>,
}

/// Why a signer gave no signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkFailure {
    Refused(Refusal),
    /// Too many requests wait to be sent, or the request fits no frame.
    Full,
    /// The connection ended before the answer.
    Ended,
}

impl Link {
    pub(super) fn new(address: SignerAddress, connections: usize) -> Arc<Self> {
        let connections = (0..connections).map(|_| None).collect();
        let state = LinkState { connections, away_since: Some(Instant::now()) };
        Arc::new(Self { address, state: watch::Sender::new(state) })
    }

    pub(super) fn address(&self) -> &str {
        &self.address.address
    }

    pub(super) fn is_there(&self) -> bool {
        self.state.borrow().away_since.is_none()
    }

    /// Whether it has been unreachable for at least this long.
    pub(super) fn is_away_for(&self, time: Duration) -> bool {
        self.state.borrow().away_since.is_some_and(|since| since.elapsed() >= time)
    }

    /// Asks for a signature, as soon as the signer is there. A connection that ends fails no request while there is another.
    pub(super) async fn sign(
        &self,
        key: &RemoteKey,
        question: &Sign,
    ) -> Result<Vec<u8>, LinkFailure> {
        let mut tries = self.state.borrow().connections.len();
        loop {
            let mut state = self.state.subscribe();
            let to_signer = match state.wait_for(|state| state.away_since.is_none()).await {
                Ok(state) => state.shortest_queue(),
                Err(_) => None,
            };
            let to_signer = to_signer.ok_or(LinkFailure::Ended)?;
            let (give, answer) = oneshot::channel();
            let request = Request::Sign {
                // Set when it is sent.
                id: 0,
                scheme: question.scheme,
                name: key.name().as_bytes().to_vec(),
                message: question.message.clone(),
            };
            if !request.is_sendable() {
                return Err(LinkFailure::Full);
            }
            let sent = to_signer.try_send(SigningRequest { request, give });
            if matches!(sent, Err(mpsc::error::TrySendError::Full(_))) {
                return Err(LinkFailure::Full);
            }
            tries -= 1;
            match answer.await {
                Ok(Answer::Signed { signature, .. }) => return Ok(signature),
                Ok(Answer::Refused { refusal, .. }) => return Err(LinkFailure::Refused(refusal)),
                Ok(Answer::Pong { .. }) => return Err(LinkFailure::Ended),
                Err(_) if tries == 0 || !self.is_there() => return Err(LinkFailure::Ended),
                Err(_) => {}
            }
        }
    }

    /// Connects, and reconnects, until it is aborted. `silence`: how long requests may wait without any answer.
    pub(super) async fn keep_connected(
        &self,
        at: usize,
        connector: Connector,
        limits: SignerLimits,
        silence: Duration,
        counters: Arc<Counters>,
    ) {
        let random = RandomState::new();
        let mut pause = SHORTEST_PAUSE;
        let mut attempts = 0;
        loop {
            let mut heard = false;
            let connected = timeout(limits.connect, self.connect(&connector)).await;
            let error = match connected.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into())) {
                Ok(stream) => {
                    count(&counters.connections);
                    let mut traffic = Traffic::new(self, at);
                    let error = traffic.carry(stream, limits, silence).await;
                    heard = traffic.heard();
                    error
                }
                Err(error) => error,
            };
            self.set(at, None);
            // A signer that stays away is logged once.
            if heard || attempts == 0 {
                warn!("no connection to the signer at {}: {error}", self.address());
            } else {
                debug!("no connection to the signer at {}: {error}", self.address());
            }
            count(&counters.failures);
            (pause, attempts) = if heard { (SHORTEST_PAUSE, 0) } else { (pause, attempts + 1) };
            sleep(cut(pause, &random, attempts)).await;
            pause = pause.saturating_mul(2).min(limits.longest_pause);
        }
    }

    async fn connect(&self, connector: &Connector) -> io::Result<ClientStream<TcpStream>> {
        let socket = TcpStream::connect(&self.address.address).await?;
        socket.set_nodelay(true)?;
        let server_name = self.address.server_name.clone();
        let port = socket.peer_addr().ok().map(|address| address.port());
        let destination = Destination { server_name, port, ..Destination::default() };
        let stream = connector.connect(destination, socket).await?;
        if stream.protocol() == Some(PROTOCOL) {
            Ok(stream)
        } else {
            Err(malformed("the server speaks another protocol"))
        }
    }

    fn set(&self, at: usize, connection: Option<mpsc::Sender<SigningRequest>>) {
        self.state.send_modify(|state| {
            if let Some(place) = state.connections.get_mut(at) {
                *place = connection;
            }
            if state.connections.iter().any(Option::is_some) {
                state.away_since = None;
            } else {
                state.away_since.get_or_insert_with(Instant::now);
            }
        });
    }
}

impl LinkState {
    /// Returns the connection with the fewest requests that wait to be sent.
    fn shortest_queue(&self) -> Option<mpsc::Sender<SigningRequest>> {
        let connections = self.connections.iter().flatten();
        connections.max_by_key(|connection| connection.capacity()).cloned()
    }
}

/// Shortens a pause by up to half at random, so that servers don't reconnect to a restarted signer together.
fn cut(pause: Duration, random: &RandomState, attempt: u64) -> Duration {
    let mut hasher = random.build_hasher();
    hasher.write_u64(attempt);
    let share = (hasher.finish() & 0xffff) as u32;
    pause - pause / 2 * share / 0x1_0000
}

const SHORTEST_PAUSE: Duration = Duration::from_millis(20);

/// The traffic of one connection.
struct Traffic<'a> {
    link: &'a Link,
    at: usize,
    table: Mutex<Table>,
}

struct Table {
    /// By id; a ping has no taker.
    waiting: HashMap<u64, Option<oneshot::Sender<Answer>>>,
    next_id: u64,
    /// Since when requests have been unanswered and nothing was received.
    silent_since: Option<Instant>,
    /// The last time that bytes moved.
    moved: Instant,
    /// The signer has answered: its handshake is complete, and it accepts this side's certificate.
    heard: bool,
}

impl<'a> Traffic<'a> {
    fn new(link: &'a Link, at: usize) -> Self {
        let table = Table {
            waiting: HashMap::new(),
            next_id: 0,
            silent_since: None,
            moved: Instant::now(),
            heard: false,
        };
        Self { link, at, table: Mutex::new(table) }
    }

    fn heard(&self) -> bool {
        self.table().heard
    }

    /// Sends requests and receives answers until the connection ends; returns the reason.
    async fn carry<IO: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        stream: ClientStream<IO>,
        limits: SignerLimits,
        silence: Duration,
    ) -> io::Error {
        let (reader, writer) = stream.split();
        let (to_signer, requests) = mpsc::channel(limits.waiting.max(1));
        let ended = tokio::select! {
            ended = self.hear(reader, &to_signer) => ended,
            ended = self.ask(writer, requests, limits.ping) => ended,
            () = self.silence(silence) => Err(io::Error::new(ErrorKind::TimedOut, "it does not answer")),
        };
        ended.err().unwrap_or_else(|| ErrorKind::UnexpectedEof.into())
    }

    async fn ask(
        &self,
        mut writer: impl AsyncWrite + Unpin,
        mut requests: mpsc::Receiver<SigningRequest>,
        ping: Duration,
    ) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut ready = Vec::new();
        // The first request checks whether the signer accepts this end.
        self.table().send(Request::Ping { id: 0 }, None, &mut bytes);
        loop {
            writer.write_all(&bytes).await?;
            writer.flush().await?;
            bytes.clear();
            let ping_at = after(self.table().moved, ping);
            tokio::select! {
                count = requests.recv_many(&mut ready, AT_ONCE) => {
                    if count == 0 {
                        return Ok(());
                    }
                    let mut table = self.table();
                    for SigningRequest { request, give } in ready.drain(..) {
                        // Its handshake may have ended meanwhile.
                        if !give.is_closed() {
                            table.send(request, Some(give), &mut bytes);
                        }
                    }
                }
                () = sleep_until(ping_at) => {
                    let mut table = self.table();
                    if table.moved.elapsed() >= ping {
                        table.send(Request::Ping { id: 0 }, None, &mut bytes);
                    }
                }
            }
        }
    }

    async fn hear(
        &self,
        mut reader: impl AsyncRead + Unpin,
        to_signer: &mpsc::Sender<SigningRequest>,
    ) -> io::Result<()> {
        let mut buffer = vec![0; 2 * Answer::MAX_LEN];
        let mut filled = 0;
        loop {
            let count = reader.read(buffer.get_mut(filled..).unwrap_or_default()).await?;
            if count == 0 {
                return Ok(());
            }
            filled += count;
            let mut unread = buffer.get(..filled).unwrap_or_default();
            let wrong = |_| malformed("its answer is malformed");
            while let Some(answer) = Answer::read(&mut unread).map_err(wrong)? {
                let is_first = !self.heard();
                self.table().answer(answer)?;
                if is_first {
                    self.link.set(self.at, Some(to_signer.clone()));
                }
            }
            let left = unread.len();
            buffer.copy_within(filled - left..filled, 0);
            filled = left;
        }
    }

    /// Completes when requests are open and nothing arrived for this long.
    async fn silence(&self, time: Duration) {
        loop {
            let now = Instant::now();
            let until = after(self.table().silent_since.unwrap_or(now), time);
            if until <= now {
                return;
            }
            sleep_until(until).await;
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Appends a request with the next id.
    fn send(
        &mut self,
        mut request: Request,
        give: Option<oneshot::Sender<Answer>>,
        to: &mut Vec<u8>,
    ) {
        let now = Instant::now();
        match &mut request {
            Request::Sign { id, .. } | Request::Ping { id } => *id = self.next_id,
        }
        self.next_id += 1;
        self.waiting.insert(request.id(), give);
        self.silent_since.get_or_insert(now);
        self.moved = now;
        request.write(to);
    }

    /// Passes an answer to its request.
    fn answer(&mut self, answer: Answer) -> io::Result<()> {
        let waiting = self.waiting.remove(&answer.id());
        let waiting = waiting.ok_or_else(|| malformed("it answers what was not asked"))?;
        match (waiting, matches!(answer, Answer::Pong { .. })) {
            (None, true) => {}
            // Its handshake may have ended.
            (Some(give), false) => drop(give.send(answer)),
            _ => return Err(malformed("its answer is of another kind than the request")),
        }
        let now = Instant::now();
        self.silent_since = (!self.waiting.is_empty()).then_some(now);
        self.moved = now;
        self.heard = true;
        Ok(())
    }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

/// How many requests go into one write.
const AT_ONCE: usize = 32;
