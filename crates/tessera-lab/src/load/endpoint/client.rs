//! The client of the experiment: one process with all users.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tessera::Destination;
use tessera_tokio::{ClientStream, Connector, EarlyData, MemorySessionStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::super::control::{ClientAnswer, ClientOrder, ClientTotals, Preparation};
use super::super::message::{self, LONGEST};
use super::{PATIENCE, setup};
use crate::bench::{self, SESSIONS_AT_ONCE};
use crate::clock;
use crate::endpoint::{Result, observed};
use crate::pki::SERVER_NAME;
use crate::registration::LOCAL_BREAKOUT;
use crate::ways::Way;

/// How many connections are made at once while nothing is measured.
const AT_ONCE: usize = 32;

/// The client, between orders.
pub(super) struct Client {
    runtime: Runtime,
    cell: Option<Arc<Cell>>,
    /// Connections that are kept.
    kept: Vec<ClientStream<TcpStream>>,
}

/// The present cell.
struct Cell {
    preparation: Preparation,
    connector: Connector,
    sessions: Arc<MemorySessionStore>,
}

impl Client {
    pub(super) fn new(runtime: Runtime) -> Self {
        Self { runtime, cell: None, kept: Vec::new() }
    }

    pub(super) fn obey(&mut self, order: ClientOrder) -> Result<ClientAnswer> {
        match order {
            ClientOrder::Prepare(preparation) => {
                self.kept.clear();
                self.cell = Some(Arc::new(Cell::new(*preparation)?));
            }
            ClientOrder::Collect { sessions } => {
                let connections = sessions.div_ceil(SESSIONS_AT_ONCE.into());
                // They end here.
                self.full_handshakes(connections, SESSIONS_AT_ONCE)?;
            }
            ClientOrder::Associate { connections } => {
                self.kept = self.full_handshakes(connections, 1)?;
            }
            ClientOrder::Lose => {
                let lost = async {
                    for stream in &mut self.kept {
                        // However it ends.
                        let _ = stream.read_to_end(&mut Vec::new()).await;
                    }
                };
                let lost = async { timeout(PATIENCE, lost).await };
                self.runtime.block_on(lost).map_err(|_| "the server keeps its connections")?;
                self.kept.clear();
            }
            ClientOrder::Run { users, reconnections, registration } => {
                return self.run(users, reconnections, registration).map(ClientAnswer::Ran);
            }
            ClientOrder::Close => self.kept.clear(),
        }
        Ok(ClientAnswer::Ready)
    }

    fn cell(&self) -> Result<&Arc<Cell>> {
        self.cell.as_ref().ok_or_else(|| "not prepared for a cell".into())
    }

    /// Makes connections by full handshakes, each with this many sessions.
    fn full_handshakes(
        &self,
        connections: usize,
        sessions: u8,
    ) -> Result<Vec<ClientStream<TcpStream>>> {
        let cell = self.cell()?.clone();
        let config = setup::client(&cell.preparation, sessions)?;
        let connector = Connector::new(config).with_sessions(cell.sessions.clone());
        self.runtime.block_on(async move {
            let mut streams = Vec::with_capacity(connections);
            let mut under_way = JoinSet::new();
            for _ in 0..connections {
                if under_way.len() == AT_ONCE {
                    streams.extend(next(&mut under_way).await?);
                }
                let (cell, connector) = (cell.clone(), connector.clone());
                under_way.spawn(async move { first(&cell, &connector).await });
            }
            while let Some(stream) = next(&mut under_way).await? {
                streams.push(stream);
            }
            Ok(streams)
        })
    }

    fn run(
        &mut self,
        users: usize,
        reconnections: usize,
        registration: bool,
    ) -> Result<ClientTotals> {
        let cell = self.cell()?.clone();
        self.kept.clear();
        let process_cpu = clock::process_cpu()?;
        let started = clock::monotonic()?;
        let exchanges = if registration { LOCAL_BREAKOUT.len() } else { 1 };
        let (mut ran, kept) = self.runtime.block_on(async move {
            let mut under_way = JoinSet::new();
            for _ in 0..users {
                under_way.spawn(user(cell.clone(), started, reconnections, exchanges));
            }
            let (mut ran, mut kept) = (ClientTotals::default(), Vec::with_capacity(users));
            while let Some(user) = under_way.join_next().await {
                let (samples, stream) = user.map_err(|error| error.to_string())?;
                samples.into_iter().for_each(|sample| note(&mut ran, sample));
                kept.extend(stream);
            }
            Ok::<_, String>((ran, kept))
        })?;
        ran.elapsed = clock::monotonic()?.saturating_sub(started);
        ran.process_cpu = clock::process_cpu()?.saturating_sub(process_cpu);
        self.kept = kept;
        Ok(ran)
    }
}

impl Cell {
    fn new(preparation: Preparation) -> Result<Self> {
        let sessions = Arc::new(MemorySessionStore::new(preparation.tickets.max(1), 1));
        let connector = Connector::new(setup::client(&preparation, 0)?);
        let connector = if preparation.variant.mode.resumes() {
            connector.with_sessions(sessions.clone())
        } else {
            connector
        };
        Ok(Self { preparation, connector, sessions })
    }
}

/// Returns the next of the connections in progress.
async fn next(
    under_way: &mut JoinSet<io::Result<ClientStream<TcpStream>>>,
) -> Result<Option<ClientStream<TcpStream>>> {
    match under_way.join_next().await {
        Some(stream) => Ok(Some(stream??)),
        None => Ok(None),
    }
}

/// Makes a full handshake and one exchange, which brings the tickets.
async fn first(cell: &Cell, connector: &Connector) -> io::Result<ClientStream<TcpStream>> {
    let socket = TcpStream::connect(cell.preparation.server).await?;
    socket.set_nodelay(true)?;
    let mut stream = connector.start_afresh(destination(), socket)?;
    stream.handshake().await?;
    exchange(&mut stream, 0, Duration::ZERO).await?;
    Ok(stream)
}

fn destination() -> Destination {
    Destination { server_name: SERVER_NAME.into(), ..Destination::default() }
}

/// The outcome of one reconnection.
#[derive(Default)]
struct Sample {
    response: Option<Duration>,
    registration: Option<Duration>,
    requests: u64,
    error: Option<String>,
}

fn note(ran: &mut ClientTotals, sample: Sample) {
    ran.connections += 1;
    ran.requests += sample.requests;
    if let Some(error) = sample.error {
        ran.failed += 1;
        *ran.why_failed.entry(error).or_default() += 1;
        return;
    }
    sample.response.into_iter().for_each(|response| ran.response.add(response));
    sample.registration.into_iter().for_each(|registration| ran.registration.add(registration));
}

/// Runs one user, who reconnects repeatedly, and returns the last connection, still open.
async fn user(
    cell: Arc<Cell>,
    started: Duration,
    reconnections: usize,
    exchanges: usize,
) -> (Vec<Sample>, Option<ClientStream<TcpStream>>) {
    let (mut samples, mut kept) = (Vec::with_capacity(reconnections), None);
    let mut wanted = started;
    for _ in 0..reconnections {
        if let Some(mut stream) = kept.take() {
            // The server may have been quicker.
            let _ = ClientStream::shutdown(&mut stream).await;
        }
        if !samples.is_empty() {
            wanted = clock::monotonic().unwrap_or(wanted);
        }
        let mut sample = Sample::default();
        let connection = reconnect(&cell, wanted, exchanges, &mut sample);
        match timeout(PATIENCE, connection).await {
            Ok(Ok(stream)) => kept = Some(stream),
            Ok(Err(error)) => sample.error = Some(error),
            Err(_) => sample.error = Some("it took too long".to_owned()),
        }
        samples.push(sample);
    }
    (samples, kept)
}

/// Connects in the row's way, and performs this many exchanges.
async fn reconnect(
    cell: &Cell,
    wanted: Duration,
    exchanges: usize,
    sample: &mut Sample,
) -> std::result::Result<ClientStream<TcpStream>, String> {
    let words = |error: io::Error| error.to_string();
    let way = Way::of_variant(&cell.preparation.variant);
    let since = || clock::monotonic().map(|now| now.saturating_sub(wanted)).map_err(words);
    let socket = TcpStream::connect(cell.preparation.server).await.map_err(words)?;
    socket.set_nodelay(true).map_err(words)?;
    let request = message::request(0, wanted);
    let connector = &cell.connector;
    let mut stream = if way.mode.has_early_data() {
        match connector.connect_with_early_data(destination(), socket, &request).await {
            EarlyData::Accepted { stream, count, .. } if count == request.len() => stream,
            EarlyData::NotSent(Err(error)) | EarlyData::Failed { error, .. } => {
                return Err(words(error));
            }
            EarlyData::Rejected { verdict, .. } => {
                return Err(format!("its early data was rejected ({verdict:?})"));
            }
            _ => return Err("its ticket had no room for early data".to_owned()),
        }
    } else {
        let mut stream = connector.connect(destination(), socket).await.map_err(words)?;
        stream.write_all(&request).await.map_err(words)?;
        stream
    };
    response(&mut stream, 0).await.map_err(words)?;
    sample.response = Some(since()?);
    sample.requests = 1;
    for number in 1..exchanges as u8 {
        exchange(&mut stream, number, wanted).await.map_err(words)?;
        sample.requests += 1;
    }
    if exchanges > 1 {
        sample.registration = Some(since()?);
    }
    let seen = observed(stream.facts());
    bench::check(way, &seen, &seen).map_err(|error| error.to_string())?;
    Ok(stream)
}

/// Sends a request and reads the response.
async fn exchange(
    stream: &mut ClientStream<TcpStream>,
    number: u8,
    wanted: Duration,
) -> io::Result<()> {
    stream.write_all(&message::request(number, wanted)).await?;
    response(stream, number).await
}

async fn response(stream: &mut ClientStream<TcpStream>, number: u8) -> io::Result<()> {
    let len = message::response_len(number).ok_or(io::ErrorKind::InvalidInput)?;
    stream.read_exact(&mut [0; LONGEST][..len]).await?;
    Ok(())
}
