//! A client and a server that talk through memory.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tessera::face::Epoch;
use tessera::handshake::{
    ClientHandshake, ClientQuestion, Handshake, ServerHandshake, ServerQuestion,
};
use tessera::{
    ClientConfig, Clock, Destination, Error, Output, Progress, ReadEvent, ServerConfig, Time,
};

use crate::face::{End, Face};
use crate::messages::{MESSAGE, first_item};
use crate::received::ReceivedData;

/// A moment: this many seconds after a fixed one, on both clocks.
pub type Moment = u64;

/// Returns the moment `seconds` after the tests' beginning of time.
pub fn at(seconds: Moment) -> Time {
    let since = Duration::from_secs(seconds);
    Time { monotonic: since, unix: Some(Duration::from_secs(1_800_000_000) + since) }
}

/// The client's clock, set by the test.
#[derive(Debug)]
pub struct TestClock(Mutex<Time>);

impl TestClock {
    /// Creates a clock with this time.
    pub fn new(now: Time) -> Arc<Self> {
        Arc::new(Self(Mutex::new(now)))
    }

    /// Sets the time.
    pub fn set(&self, now: Time) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }
}

impl Clock for TestClock {
    fn now(&self) -> Time {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Both ends, and the bytes between them.
pub struct Pair {
    /// The client.
    pub client: End<ClientHandshake>,
    /// The server.
    pub server: End<ServerHandshake>,
    /// What the client received.
    pub to_client: ReceivedData,
    /// What the server received.
    pub to_server: ReceivedData,
    /// The client's pending output.
    pub client_output: Output,
    /// The server's pending output.
    pub server_output: Output,
    /// The time of both ends; the client's clock, unless the destination has another, is set to it.
    pub now: Time,
    clock: Arc<TestClock>,
    /// Everything that the client sent.
    pub client_sent: Vec<u8>,
    /// Everything that the server sent.
    pub server_sent: Vec<u8>,
    /// Questions that the server deferred, until they are taken out.
    pub server_questions: Vec<ServerQuestion>,
    /// Questions that the client deferred, until they are taken out.
    pub client_questions: Vec<ClientQuestion>,
    client_input: Vec<u8>,
    server_input: Vec<u8>,
}

impl Pair {
    /// Starts both ends over records; the client's first flight waits in its output.
    pub fn start(
        client: &ClientConfig,
        server: &ServerConfig,
        destination: Destination,
        now: Time,
    ) -> Result<Self, Error> {
        Self::start_over(Face::Stream, client, server, destination, now)
    }

    /// Starts both ends with this face.
    pub fn start_over(
        face: Face,
        client: &ClientConfig,
        server: &ServerConfig,
        mut destination: Destination,
        now: Time,
    ) -> Result<Self, Error> {
        let clock = TestClock::new(now);
        destination.clock.get_or_insert(clock.clone());
        let mut client_output = Output::new();
        let (client, server) = (client.clone().checked()?, server.clone().checked()?);
        let client = End::client(face, client, destination, now, &mut client_output)?;
        Ok(Self {
            client,
            server: End::server(face, server, now),
            to_client: ReceivedData::default(),
            to_server: ReceivedData::default(),
            client_output,
            server_output: Output::new(),
            now,
            clock,
            client_sent: Vec::new(),
            server_sent: Vec::new(),
            server_questions: Vec::new(),
            client_questions: Vec::new(),
            client_input: Vec::new(),
            server_input: Vec::new(),
        })
    }

    /// Carries bytes both ways until nothing moves.
    pub fn run(&mut self) -> &mut Self {
        while self.client_to_server() | self.server_to_client() {}
        self
    }

    /// Carries the client's output; returns whether there was any.
    pub fn client_to_server(&mut self) -> bool {
        let bytes = self.intercept_client();
        note_sent(&self.client, &mut self.client_sent, &bytes);
        self.deliver_to_server(&bytes);
        !bytes.is_empty()
    }

    /// Carries the server's output; returns whether there was any.
    pub fn server_to_client(&mut self) -> bool {
        let bytes = self.intercept_server();
        note_sent(&self.server, &mut self.server_sent, &bytes);
        self.deliver_to_client(&bytes);
        !bytes.is_empty()
    }

    /// Takes the client's output, which never arrives.
    pub fn intercept_client(&mut self) -> Vec<u8> {
        take_output(&mut self.client, &mut self.client_output)
    }

    /// Takes the server's output, which never arrives.
    pub fn intercept_server(&mut self) -> Vec<u8> {
        take_output(&mut self.server, &mut self.server_output)
    }

    /// Delivers any bytes to the server.
    pub fn deliver_to_server(&mut self, bytes: &[u8]) {
        let (output, now, received) = (&mut self.server_output, self.now, &mut self.to_server);
        let questions = &mut self.server_questions;
        match &mut self.server {
            End::Stream(server) => {
                self.server_input.extend_from_slice(bytes);
                deliver(&mut self.server_input, received, questions, |input| {
                    server.read(now, input, output)
                });
            }
            End::Messages(server) => server.deliver(bytes, now, received, questions),
        }
    }

    /// Delivers any bytes to the client.
    pub fn deliver_to_client(&mut self, bytes: &[u8]) {
        self.clock.set(self.now);
        let (output, now, received) = (&mut self.client_output, self.now, &mut self.to_client);
        let questions = &mut self.client_questions;
        match &mut self.client {
            End::Stream(client) => {
                self.client_input.extend_from_slice(bytes);
                deliver(&mut self.client_input, received, questions, |input| {
                    client.read(now, input, output)
                });
            }
            End::Messages(client) => client.deliver(bytes, now, received, questions),
        }
    }

    /// Writes application data at the client's end.
    pub fn client_write(&mut self, data: &[u8]) {
        let written = self.client.write(data, &mut self.client_output);
        assert_eq!(written, Ok(data.len()), "the client writes it all");
    }

    /// Writes application data at the server's end.
    pub fn server_write(&mut self, data: &[u8]) {
        let written = self.server.write(data, &mut self.server_output);
        assert_eq!(written, Ok(data.len()), "the server writes it all");
    }
}

/// Takes an end's output.
fn take_output<H: Handshake>(end: &mut End<H>, output: &mut Output) -> Vec<u8> {
    match end {
        End::Stream(_) => {
            let bytes = output.as_slice().to_vec();
            output.consume(bytes.len());
            bytes
        }
        End::Messages(connection) => connection.take_output(),
    }
}

/// Records an end's output: records, or the plaintext messages by epoch.
fn note_sent<H: Handshake>(end: &End<H>, sent: &mut Vec<u8>, mut bytes: &[u8]) {
    if matches!(end, End::Stream(_)) {
        sent.extend_from_slice(bytes);
        return;
    }
    while let Some((kind, epoch, body, len)) = first_item(bytes) {
        if (kind, epoch) == (MESSAGE, Epoch::Initial) {
            sent.extend_from_slice(&[22, 3, 3]);
            sent.extend_from_slice(&(body.len() as u16).to_be_bytes());
            sent.extend_from_slice(body);
        }
        bytes = &bytes[len..];
    }
}

/// Reads until nothing more can be read.
fn deliver<Q>(
    input: &mut Vec<u8>,
    received: &mut ReceivedData,
    questions: &mut Vec<Q>,
    mut read: impl FnMut(&mut [u8]) -> Result<Progress<Q>, Error>,
) {
    let mut consumed = 0;
    while received.error.is_none() {
        match read(&mut input[consumed..]) {
            Err(error) => received.error = Some(error),
            Ok(progress) => {
                let read = &input[consumed..];
                consumed += progress.consumed;
                match progress.event {
                    ReadEvent::Data(data) => received.data.extend_from_slice(&read[data]),
                    ReadEvent::EarlyData(data) => {
                        received.early_data.extend_from_slice(&read[data]);
                    }
                    ReadEvent::Handshake(event) => received.event(event),
                    ReadEvent::Question(question) => questions.push(question),
                    ReadEvent::NeedInput | ReadEvent::OutputFull | ReadEvent::WaitingForAnswer => {
                        break;
                    }
                    ReadEvent::PeerClosed => {
                        received.closed = true;
                        break;
                    }
                    _ => (),
                }
            }
        }
    }
    input.drain(..consumed);
}
