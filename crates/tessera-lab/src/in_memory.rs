//! One connection in memory: both ends in one thread, and bytes that go from one to the other.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tessera::handshake::{Checked, Handshake};
use tessera::resume::{ClientSession, KnownServerKey};
use tessera::{
    ClientConfig, ClientConnection, Connection, Destination, Error, Event, Facts, Output,
    ReadEvent, ServerConfig, ServerConnection, Time,
};

use crate::clock::{self, MachineClock};
use crate::control::ObservedFacts;
use crate::endpoint::{self, Application, REQUEST_LEN, Result};
use crate::instructions;
use crate::pki::SERVER_NAME;

/// A connection that is over. Moments are since the client began.
pub(crate) struct FinishedConnection {
    /// The flight with the request was passed to the server.
    pub(crate) arrived: Duration,
    /// The server's application held the request.
    pub(crate) request: Duration,
    pub(crate) handshake: Duration,
    /// The client's application held the response.
    pub(crate) response: Duration,
    /// How many flights the client had sent when the request arrived.
    pub(crate) flights: u32,
    /// How many the server had sent when the response arrived.
    pub(crate) answers: u32,
    pub(crate) client: Side,
    pub(crate) server: Side,
    /// The client's bytes before it received anything.
    pub(crate) first_flight: u64,
    pub(crate) sessions: VecDeque<ClientSession>,
}

/// One end of it.
pub(crate) struct Side {
    /// In calls of the engine, by the clock: nothing waits meanwhile but for the store.
    pub(crate) engine: Duration,
    /// The instructions retired in them, under [counting](instructions::CountingGuard).
    pub(crate) instructions: u64,
    pub(crate) sent: u64,
    pub(crate) observed: ObservedFacts,
    /// The facts of its engine.
    pub(crate) facts: Facts,
}

/// Connects, with or without a session: a request, its response, this many tickets, close_notify.
pub(crate) fn connect(
    client: Checked<ClientConfig>,
    server: Checked<ServerConfig>,
    session: Option<ClientSession>,
    tickets: u8,
) -> Result<FinishedConnection> {
    connect_to(SERVER_NAME, client, server, session, tickets)
}

/// The same with a key of the server's that the client knows, if any, and without tickets.
pub(crate) fn connect_with_key(
    client: Checked<ClientConfig>,
    server: Checked<ServerConfig>,
    known_key: Option<KnownServerKey>,
) -> Result<FinishedConnection> {
    let known_server_key = known_key.map(Box::new);
    connect_as(Destination { known_server_key, ..to(SERVER_NAME) }, client, server, 0)
}

/// The same to a server of this name.
pub(crate) fn connect_to(
    name: &str,
    client: Checked<ClientConfig>,
    server: Checked<ServerConfig>,
    session: Option<ClientSession>,
    tickets: u8,
) -> Result<FinishedConnection> {
    let destination = Destination { session: session.map(Box::new), ..to(name) };
    connect_as(destination, client, server, tickets)
}

fn to(name: &str) -> Destination {
    let clock = Some(Arc::new(MachineClock) as _);
    Destination { server_name: name.into(), clock, ..Destination::default() }
}

fn connect_as(
    destination: Destination,
    client: Checked<ClientConfig>,
    server: Checked<ServerConfig>,
    tickets: u8,
) -> Result<FinishedConnection> {
    let (_, request) = endpoint::fresh_request()?;
    let mut output = Output::new();

    let retired = instructions::retired();
    let now = clock::engine_time()?;
    let begun = now.monotonic;
    let mut connection = Box::new(ClientConnection::start(client, destination, now, &mut output)?);
    let early = connection.early_data_room() >= request.len();
    if early {
        connection.write_early_data(&request, &mut output)?;
    }
    let mut client = End::new(connection, output, since(begun)?);
    client.instructions = instructions::retired() - retired;
    let first_flight = client.output.as_slice().len() as u64;

    let retired = instructions::retired();
    let now = clock::engine_time()?;
    let connection = Box::new(ServerConnection::start(server, now));
    let mut server = End::new(connection, Output::new(), since(now.monotonic)?);
    server.instructions = instructions::retired() - retired;

    let mut application = Application::default();
    let mut moments = Timeline::default();
    let mut received = Vec::new();
    let mut responded = 0;
    let mut sessions = VecDeque::new();
    let (mut flights, mut answers) = (0, 0);
    loop {
        let forth = server.take(&mut client);
        flights += u32::from(forth);
        let arrived = since(begun)?;
        while let Some(event) = server.next()? {
            if let ReadEvent::EarlyData(data) | ReadEvent::Data(data) = event {
                received.extend_from_slice(server.bytes(data));
                if let Some(response) = application.execute(&received) {
                    received.drain(..REQUEST_LEN);
                    moments.request = Some((arrived, since(begun)?, flights));
                    server.call(|connection, _, output| connection.write(&response, output))?;
                }
            }
        }
        let back = client.take(&mut server);
        answers += u32::from(back);
        while let Some(event) = client.next()? {
            match event {
                ReadEvent::Handshake(Event::HandshakeComplete) => {
                    moments.handshake = Some(since(begun)?);
                    if !early {
                        client.call(|connection, _, output| connection.write(&request, output))?;
                    }
                }
                ReadEvent::Handshake(Event::EarlyDataRejected(verdict)) => {
                    return Err(format!("the early data was rejected ({verdict:?})").into());
                }
                ReadEvent::Handshake(Event::NewSession(session)) => sessions.push_back(*session),
                ReadEvent::Data(data) => {
                    responded += data.len();
                    if responded == REQUEST_LEN {
                        moments.response = Some((since(begun)?, answers));
                    }
                }
                _ => (),
            }
        }
        // What follows the response, such as the end of the early data, is work as well.
        if !forth && !back {
            break;
        }
    }
    if sessions.len() < tickets.into() {
        return Err("the server sent fewer tickets than it was asked for".into());
    }
    let (arrived, request, flights) =
        moments.request.ok_or("the request didn't reach the server")?;
    let (response, answers) = moments.response.ok_or("the response didn't reach the client")?;
    let handshake = moments.handshake.ok_or("no handshake came to its end")?;
    let (client, server) = (client.close(), server.close());
    Ok(FinishedConnection {
        arrived,
        request,
        handshake,
        response,
        flights,
        answers,
        client,
        server,
        first_flight,
        sessions,
    })
}

/// When things happened, and how many flights there had been.
#[derive(Default)]
struct Timeline {
    /// Its flight arrived, and the application held it.
    request: Option<(Duration, Duration, u32)>,
    handshake: Option<Duration>,
    response: Option<(Duration, u32)>,
}

fn since(begun: Duration) -> Result<Duration> {
    Ok(clock::monotonic()?.saturating_sub(begun))
}

/// One end of the connection, with its input and its pending output.
struct End<H: Handshake> {
    connection: Box<Connection<H>>,
    output: Output,
    input: Vec<u8>,
    /// How much of the input was read, and where the last read began.
    read: usize,
    read_from: usize,
    engine: Duration,
    instructions: u64,
    sent: u64,
}

impl<H: Handshake> End<H> {
    fn new(connection: Box<Connection<H>>, output: Output, engine: Duration) -> Self {
        let (input, instructions) = (Vec::new(), 0);
        Self { connection, output, input, read: 0, read_from: 0, engine, instructions, sent: 0 }
    }

    /// Takes all output of the other end; returns whether there was any.
    fn take<O: Handshake>(&mut self, from: &mut End<O>) -> bool {
        let bytes = from.output.as_slice();
        let count = bytes.len();
        self.input.drain(..self.read);
        self.read = 0;
        self.input.extend_from_slice(bytes);
        from.output.consume(count);
        from.sent += count as u64;
        count > 0
    }

    /// Reads up to the next event; `None` until there is more to read or room to write.
    fn next(&mut self) -> Result<Option<ReadEvent<H::Question>>> {
        let from = self.read;
        let retired = instructions::retired();
        let now = clock::engine_time()?;
        let result = self.connection.read(now, &mut self.input[from..], &mut self.output);
        self.engine += since(now.monotonic)?;
        self.instructions += instructions::retired() - retired;
        let progress = result?;
        self.read += progress.consumed;
        self.read_from = from;
        match progress.event {
            ReadEvent::NeedInput | ReadEvent::OutputFull | ReadEvent::PeerClosed => Ok(None),
            ReadEvent::Question(_) | ReadEvent::WaitingForAnswer => {
                Err("the engine asks what its configuration should answer".into())
            }
            event => Ok(Some(event)),
        }
    }

    /// Returns the bytes of a range that the last event named.
    fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.input[self.read_from + range.start..self.read_from + range.end]
    }

    fn call<T>(
        &mut self,
        call: impl FnOnce(&mut Connection<H>, Time, &mut Output) -> std::result::Result<T, Error>,
    ) -> Result<T> {
        let retired = instructions::retired();
        let now = clock::engine_time()?;
        let result = call(&mut self.connection, now, &mut self.output);
        self.engine += since(now.monotonic)?;
        self.instructions += instructions::retired() - retired;
        Ok(result?)
    }

    /// Sends close_notify, of which only the bytes count.
    fn close(mut self) -> Side {
        self.connection.close(&mut self.output);
        let sent = self.sent + self.output.as_slice().len() as u64;
        let facts = self.connection.facts().clone();
        let Self { engine, instructions, .. } = self;
        Side { engine, instructions, sent, observed: endpoint::observed(&facts), facts }
    }
}
