//! `tessera tunnel demo`: both ends, an adversary on the path, and the result.

mod backend;
mod files;
mod trace;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera_kit::ProgramError;
use tessera_proxy::admin;
pub use tessera_proxy::demo::DemoOptions;
use tessera_proxy::demo::{self, Adversary, Files, Trace, failed as stage_failed};
use tessera_proxy::listen::InheritedSockets;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use self::backend::Backend;
use self::files::{CLIENT, SERVER};
use self::trace::{Actor, Outcome};
use crate::config::{
    Anchors, ClientSection, DialAddress, KeySource, ListenAddress, Peers, ServerSection, Tunnels,
};
use crate::metrics::{EarlyDataVerdict, Metrics, Role};
use crate::running::RunningTunnels;

/// Runs both ends of a tunnel on loopback, with an adversary between them that records first flights and replays them:
/// at once, late, and after a restart of the server end. Prints what happens to standard output, and ends by itself.
///
/// # Errors
/// If a request was executed twice or not at all, or if the demonstration can't be set up.
pub fn demo(options: &DemoOptions) -> Result<(), ProgramError> {
    demo::run(options, tell)
}

/// Runs the demonstration.
async fn tell(trace: &Arc<Trace>) -> Result<Outcome, ProgramError> {
    let mut stage = Stage::set(trace).await?;
    trace.explain(&format!(
        "Payments through a tunnel. An attacker on the path records what a client sends first, and sends it again.\n\n\
         \x20 program ── client end ══ ADVERSARY, {} ms each way ══ server end ── database\n",
        DELAY.as_millis()
    ));

    trace.step(Actor::Client, "PAY 1, in the first connection: a full handshake comes before it");
    let full = stage.pay("PAY 1").await?;
    // Discard the first recording: a ClientHello without data, whose replay can execute nothing.
    stage.recording().await?;

    trace.step(Actor::Client, "PAY 2, in a new connection: it goes in the first flight");
    let early = stage.pay("PAY 2").await?;
    let second = stage.recording().await?;
    stage.replay("PAY 2", &second).await?;

    trace.explain("");
    stage.adversary.keep_next_back();
    trace.step(Actor::Client, "PAY 3, in a new connection");
    let third = stage.pay_in_vain("PAY 3").await?;
    trace.step(Actor::Adversary, "lets the flight of PAY 3 through, late");
    stage.adversary.replay(&third, SILENCE).await.map_err(stage_failed)?;
    stage.backend.wait("PAY 3", 0, PATIENCE).await;
    trace.step(Actor::Client, "looks at the database and finds PAY 3: executed, once");
    stage.replay("PAY 3", &third).await?;

    trace.explain("");
    trace.step(Actor::Server, "stops, and restarts with its sealed state");
    stage.restart().await?;
    stage.replay("PAY 2", &second).await?;
    stage.replay("PAY 3", &third).await?;
    trace.step(Actor::Client, "PAY 4, in a new connection: the server has its key again");
    stage.pay("PAY 4").await?;
    let fourth = stage.recording().await?;
    stage.replay("PAY 4", &fourth).await?;

    stage.end(full, early).await
}

/// Everything that runs, and the history so far.
struct Stage {
    trace: Arc<Trace>,
    backend: Backend,
    adversary: Adversary,
    client: RunningTunnels,
    /// `None` between its two lives.
    server: Option<RunningTunnels>,
    server_section: ServerSection,
    /// Where the program connects to.
    entrance: SocketAddr,
    requests: usize,
    replays: usize,
    /// Of both lives.
    metrics: Metrics,
    /// Dropped last.
    _files: Files,
}

impl Stage {
    async fn set(trace: &Arc<Trace>) -> Result<Self, ProgramError> {
        let files = files::make()?;
        let told = trace.clone();
        let backend = Backend::start(move |request| {
            told.step(Actor::Backend, format!("executes {request}"));
        });
        let backend = backend.await.map_err(stage_failed)?;

        let mut server_section = ServerSection {
            certificate: Some(files.path("server.pem")),
            peers: peers(&files, CLIENT),
            state: Some(files.path("state")),
            state_key: Some(KeySource::File(files.path("state.key"))),
            state_witness: Some(files.path("witness")),
            ..ServerSection::new(FREE, DialAddress::Tcp(backend.address))
        };
        let metrics = Metrics::register(&admin::Metrics::new());
        let server = start(&server_of(&server_section), &metrics).await?;
        let server_address = address(&server, Role::Server)?;
        // The next life listens there too.
        server_section.listen = ListenAddress::Tcp(server_address);
        let adversary = Adversary::stand_before(server_address, DELAY).await;
        let adversary = adversary.map_err(stage_failed)?;

        let client_section = ClientSection {
            server_name: Some(SERVER.to_owned()),
            certificate: Some(files.path("client.pem")),
            peers: peers(&files, SERVER),
            ..ClientSection::new(FREE, DialAddress::Tcp(adversary.address))
        };
        let client = [(NAME.to_owned(), client_section)].into();
        let client = start(&Tunnels { client, ..Tunnels::default() }, &metrics).await?;
        let entrance = address(&client, Role::Client)?;
        let (trace, requests, replays) = (trace.clone(), 0, 0);
        Ok(Self {
            trace,
            backend,
            adversary,
            client,
            server: Some(server),
            server_section,
            entrance,
            requests,
            replays,
            metrics,
            _files: files,
        })
    }

    /// Acts as the program: connects, sends a request, reads the answer, and closes. Returns how long it took.
    async fn pay(&mut self, request: &str) -> Result<Duration, ProgramError> {
        self.requests += 1;
        let began = Instant::now();
        let answer = ask(self.entrance, request).await.map_err(|error| {
            ProgramError::Failed(format!("{request}: no answer came through the tunnel: {error}"))
        })?;
        let took = began.elapsed();
        self.trace.step(Actor::Client, format!("{answer}, after {} ms", took.as_millis()));
        Ok(took)
    }

    /// The same, but the adversary holds the flight back; returns its recording.
    async fn pay_in_vain(&mut self, request: &str) -> Result<Vec<u8>, ProgramError> {
        self.requests += 1;
        let asked = ask(self.entrance, request);
        let (asked, flight) = tokio::join!(asked, self.adversary.recording());
        let flight = flight.ok_or_else(nothing_recorded)?;
        self.trace.step(
            Actor::Adversary,
            format!("holds back the first flight, {} bytes, and cuts the connection", flight.len()),
        );
        match asked {
            Ok(answer) => Err(ProgramError::Failed(format!(
                "{request}: {answer}, though its flight was held back"
            ))),
            Err(error) => {
                let what = format!(
                    "gets an error ({}): it can't know whether {request} was executed",
                    error.kind()
                );
                self.trace.step(Actor::Client, what);
                Ok(flight)
            }
        }
    }

    async fn recording(&mut self) -> Result<Vec<u8>, ProgramError> {
        self.adversary.recording().await.ok_or_else(nothing_recorded)
    }

    /// Replays a recording as the adversary, and checks the result.
    async fn replay(&mut self, request: &str, flight: &[u8]) -> Result<(), ProgramError> {
        self.replays += 1;
        let before = self.backend.counts().get(request).copied().unwrap_or_default();
        let what = format!("sends the first flight of {request} again, {} bytes", flight.len());
        self.trace.step(Actor::Adversary, what);
        self.adversary.replay(flight, SILENCE).await.map_err(stage_failed)?;
        let what = match self.backend.wait(request, before, Duration::ZERO).await - before {
            0 => "its key is gone: nothing is accepted, nothing is executed".to_owned(),
            _ => format!("ACCEPTS IT: {request} is executed again"),
        };
        self.trace.step(Actor::Server, what);
        Ok(())
    }

    async fn restart(&mut self) -> Result<(), ProgramError> {
        if let Some(server) = self.server.take() {
            server.end().await?;
        }
        self.server = Some(start(&server_of(&self.server_section), &self.metrics).await?);
        Ok(())
    }

    async fn end(self, full: Duration, early: Duration) -> Result<Outcome, ProgramError> {
        let metrics = self.metrics.tunnel(NAME, Role::Server);
        let accepted = metrics.early_data.get(EarlyDataVerdict::Accepted);
        self.client.end().await?;
        if let Some(server) = &self.server {
            server.end().await?;
        }
        let counts = self.backend.counts();
        let in_millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Ok(Outcome {
            requests: self.requests,
            executed: counts.len(),
            executed_twice: counts.values().filter(|count| **count > 1).count(),
            accepted_in_first_flight: accepted,
            replays: self.replays,
            full_millis: in_millis(full),
            early_millis: in_millis(early),
        })
    }
}

async fn start(tunnels: &Tunnels, metrics: &Metrics) -> Result<RunningTunnels, ProgramError> {
    RunningTunnels::start(tunnels, &mut InheritedSockets::default(), metrics.clone()).await
}

fn server_of(section: &ServerSection) -> Tunnels {
    Tunnels { server: [(NAME.to_owned(), section.clone())].into(), ..Tunnels::default() }
}

fn peers(files: &Files, name: &str) -> Peers {
    let ca = Some(Anchors::File(files.path("ca.pem")));
    Peers { ca, names: vec![name.to_owned()], ..Peers::default() }
}

fn address(tunnels: &RunningTunnels, role: Role) -> Result<SocketAddr, ProgramError> {
    tunnels.address(role, NAME).ok_or_else(|| stage_failed("an end without an address"))
}

/// Sends a request as a program that knows nothing of tunnels.
async fn ask(address: SocketAddr, request: &str) -> io::Result<String> {
    let talk = async {
        let mut socket = TcpStream::connect(address).await?;
        socket.write_all(format!("{request}\n").as_bytes()).await?;
        let mut answer = String::new();
        BufReader::new(&mut socket).read_line(&mut answer).await?;
        socket.shutdown().await?;
        match answer.strip_suffix('\n') {
            Some(answer) => Ok(answer.to_owned()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    };
    timeout(PATIENCE, talk).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

fn nothing_recorded() -> ProgramError {
    stage_failed("the adversary recorded nothing")
}

/// A free port of loopback.
const FREE: ListenAddress =
    ListenAddress::Tcp(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)));

/// The one tunnel.
const NAME: &str = "payments";

/// The one-way delay: about that from one country to the next.
const DELAY: Duration = Duration::from_millis(20);

/// How long the adversary waits for an answer to a replay.
const SILENCE: Duration = Duration::from_millis(250);

/// How long to wait for anything that should happen at once.
const PATIENCE: Duration = Duration::from_secs(5);
