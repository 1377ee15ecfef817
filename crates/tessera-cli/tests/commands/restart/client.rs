//! Returning clients, each with its own sessions, and recordings of their first flights.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tessera::resume::{Continuation, Verdict};
use tessera::{ClientConfig, Destination};
use tessera_kit::{SettingFile, trust};
use tessera_tokio::{Connector, EarlyData, MemorySessionStore, StreamUse, TrackedStream, Tracker};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) struct Client {
    connector: Connector,
    service: Service,
    number: u32,
    asked: u32,
}

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    /// An echo.
    Echo,
    /// A page, after which the server closes.
    Http,
}

/// What became of the first flight of a successful connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flight {
    /// The client had no ticket for it.
    NotSent,
    Accepted,
    Rejected(Verdict),
}

/// The bytes of a first flight.
pub(crate) type Recording = Vec<u8>;

impl Client {
    pub(crate) fn new(root: &str, service: Service, number: u32) -> Self {
        let file = SettingFile { setting: "a test's", path: Path::new(root) };
        let verifier = trust::roots(file).unwrap();
        let mut config = ClientConfig::new(tessera_aws_lc::provider(), Arc::new(verifier));
        config.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
        let connector = Connector::new(config.checked().unwrap());
        let sessions = Arc::new(MemorySessionStore::default());
        Self { connector: connector.with_sessions(sessions), service, number, asked: 0 }
    }

    /// Connects with one question, in the first flight if possible, and returns the answer.
    pub(crate) async fn ask(&mut self, address: SocketAddr) -> io::Result<(Flight, Recording)> {
        self.asked += 1;
        let question = match self.service {
            Service::Echo => [self.number.to_be_bytes(), self.asked.to_be_bytes()].concat(),
            Service::Http => {
                b"GET /facts.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".into()
            }
        };
        let recording = Arc::new(Mutex::new(Vec::new()));
        let io = TcpStream::connect(address).await.map_err(|error| at("connecting", error))?;
        io.set_nodelay(true)?;
        let io = TrackedStream { stream: io, tracker: FirstFlight(Some(recording.clone())) };
        let destination = Destination { server_name: "localhost".into(), ..Default::default() };
        let early = self.connector.connect_with_early_data(destination, io, &question).await;
        let (mut stream, flight) = match early {
            EarlyData::NotSent(stream) => {
                (stream.map_err(|error| at("the handshake", error))?, Flight::NotSent)
            }
            EarlyData::Accepted { stream, count, .. } if count == question.len() => {
                (stream, Flight::Accepted)
            }
            EarlyData::Rejected { stream, verdict, .. } => (stream, Flight::Rejected(verdict)),
            EarlyData::Failed { error, .. } => return Err(at("the first flight", error)),
            other => return Err(io::Error::other(format!("{other:?}"))),
        };
        if flight != Flight::Accepted {
            stream.write_all(&question).await.map_err(|error| at("asking", error))?;
        }
        let mut answer = vec![0; question.len()];
        stream.read_exact(&mut answer).await.map_err(|error| at("the answer", error))?;
        let is_right = match self.service {
            Service::Echo => answer == question,
            Service::Http => answer.starts_with(b"HTTP/1.1 200 OK\r\n"),
        };
        if !is_right {
            return Err(io::Error::other("the answer to another question"));
        }
        if self.service == Service::Echo {
            stream.shutdown().await.map_err(|error| at("the goodbye", error))?;
        }
        // Receives the tickets that arrive before the end.
        stream.read_to_end(&mut Vec::new()).await.map_err(|error| at("the end", error))?;
        let recording = std::mem::take(&mut *recording.lock().unwrap());
        Ok((flight, recording))
    }
}

/// Adds the place to an error.
fn at(place: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{place}: {error}"))
}

/// Replays a recorded flight, and waits until the server has ended the connection.
pub(crate) fn replay(address: SocketAddr, recording: &[u8]) {
    let mut socket = std::net::TcpStream::connect(address).unwrap();
    socket.write_all(recording).unwrap();
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    // A reset is an end as well.
    let _ = socket.read_to_end(&mut answer);
    assert!(!answer.is_empty(), "the server answers with its hello or an alert");
}

/// Records what is written before the first read.
struct FirstFlight(Option<Arc<Mutex<Vec<u8>>>>);

impl<S> Tracker<S> for FirstFlight {
    fn record(&mut self, what: StreamUse, bytes: &[u8]) {
        match &self.0 {
            Some(recording) if what == StreamUse::Write => {
                recording.lock().unwrap().extend_from_slice(bytes);
            }
            Some(_) => self.0 = None,
            None => {}
        }
    }
}
