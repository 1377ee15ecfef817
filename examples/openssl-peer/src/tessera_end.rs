//! One end of a connection by Tessera.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tessera::handshake::{ClientHandshake, Handshake, ServerHandshake};
use tessera::resume::{ClientSession, Verdict};
use tessera::{
    ClientConfig, ClientConnection, Clock, Connection, Destination, Error, Event, Facts, Output,
    ReadEvent, ServerConfig, ServerConnection, Time,
};

use crate::openssl_end::OpensslEnd;
use crate::site::SERVER_NAME;

/// A connection of Tessera's.
pub struct TesseraEnd<H: Handshake> {
    connection: Connection<H>,
    input: Vec<u8>,
    output: Output,
    /// The early data received (a server).
    pub early_data: Vec<u8>,
    /// The application data received.
    pub data: Vec<u8>,
    /// Whether the handshake is complete.
    pub complete: bool,
    /// The fate of the early data (a client).
    pub verdict: Option<Result<(), Verdict>>,
    /// The sessions received (a client).
    pub sessions: Vec<ClientSession>,
    /// The error that ended the connection.
    pub error: Option<Error>,
}

/// A client's end.
pub type TesseraClient = TesseraEnd<ClientHandshake>;

/// A server's end.
pub type TesseraServer = TesseraEnd<ServerHandshake>;

impl TesseraServer {
    /// Waits for a client.
    pub fn accept(config: &ServerConfig) -> Result<Self, Error> {
        let connection = ServerConnection::start(config.clone().checked()?, now());
        Ok(Self::new(connection, Output::new()))
    }
}

impl TesseraClient {
    /// Connects, with a session or none; early data goes out if there is a ticket for it.
    pub fn connect(
        config: &ClientConfig,
        session: Option<ClientSession>,
        early_data: &[u8],
    ) -> Result<Self, Error> {
        let destination = Destination {
            server_name: SERVER_NAME.into(),
            session: session.map(Box::new),
            clock: Some(Arc::new(MachineClock)),
            ..Destination::default()
        };
        let mut output = Output::new();
        let config = config.clone().checked()?;
        let mut connection = ClientConnection::start(config, destination, now(), &mut output)?;
        if connection.early_data_room() >= early_data.len() {
            connection.write_early_data(early_data, &mut output)?;
        }
        Ok(Self::new(connection, output))
    }
}

impl<H: Handshake> TesseraEnd<H> {
    fn new(connection: Connection<H>, output: Output) -> Self {
        Self {
            connection,
            input: Vec::new(),
            output,
            early_data: Vec::new(),
            data: Vec::new(),
            complete: false,
            verdict: None,
            sessions: Vec::new(),
            error: None,
        }
    }

    /// Returns the facts of the connection.
    pub fn facts(&self) -> &Facts {
        self.connection.facts()
    }

    /// Sends application data; returns how many bytes there was room for.
    pub fn write(&mut self, data: &[u8]) -> Result<usize, Error> {
        self.connection.write(data, &mut self.output)
    }

    /// Takes the output.
    pub fn collect(&mut self) -> Vec<u8> {
        let bytes = self.output.as_slice().to_vec();
        self.output.consume(bytes.len());
        bytes
    }

    /// Bytes arrive.
    pub fn deliver(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        let mut consumed = 0;
        while self.error.is_none() {
            match self.connection.read(now(), &mut self.input[consumed..], &mut self.output) {
                Err(error) => self.error = Some(error),
                Ok(progress) => {
                    let read = &self.input[consumed..];
                    consumed += progress.consumed;
                    match progress.event {
                        ReadEvent::Data(data) => self.data.extend_from_slice(&read[data]),
                        ReadEvent::EarlyData(data) => {
                            self.early_data.extend_from_slice(&read[data]);
                        }
                        ReadEvent::Handshake(event) => match event {
                            Event::HandshakeComplete => self.complete = true,
                            Event::EarlyDataAccepted => self.verdict = Some(Ok(())),
                            Event::EarlyDataRejected(verdict) => self.verdict = Some(Err(verdict)),
                            Event::NewSession(session) => self.sessions.push(*session),
                            _ => (),
                        },
                        // All questions here are answered at once, so none stays open.
                        _ => break,
                    }
                }
            }
        }
        self.input.drain(..consumed);
    }
}

/// Carries bytes both ways until nothing moves.
pub fn carry<H: Handshake>(openssl: &mut OpensslEnd, tessera: &mut TesseraEnd<H>) {
    loop {
        let to_tessera = openssl.collect();
        tessera.deliver(&to_tessera);
        let to_openssl = tessera.collect();
        openssl.deliver(&to_openssl);
        if to_tessera.is_empty() && to_openssl.is_empty() {
            break;
        }
    }
}

/// The clock of the engine.
#[derive(Debug)]
struct MachineClock;

impl Clock for MachineClock {
    fn now(&self) -> Time {
        now()
    }
}

fn now() -> Time {
    static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    Time { monotonic: BEGINNING.elapsed() + Duration::from_secs(1), unix }
}
