//! Both ends of a connection in one thread, each with its own accounts.

use std::error::Error;
use std::mem;
use std::sync::Arc;

use tessera::handshake::{Checked, ClientHandshake, Handshake, ServerHandshake};
use tessera::resume::ClientSession;
use tessera::{
    ClientConfig, ClientConnection, Connection, Destination, Event, Output, ReadEvent,
    ServerConfig, ServerConnection,
};

use super::books::{Account, Balance, Books};
use crate::clock::{self, MachineClock};
use crate::pki::SERVER_NAME;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The client's request, and the server's response.
const REQUEST: [u8; 100] = [b'.'; 100];

/// Both ends, between connections.
pub(super) struct Ends {
    pub(super) client: ConfiguredEnd<Checked<ClientConfig>>,
    pub(super) server: ConfiguredEnd<Checked<ServerConfig>>,
}

/// One end, between connections.
pub(super) struct ConfiguredEnd<C> {
    config: C,
    pub(super) books: &'static Books,
    /// The first connection grows it to its final size, and later ones reuse it, so that none of its memory is in their
    /// accounts; [`output_bytes`](Self::output_bytes) returns its size.
    output: Output,
}

impl<C> ConfiguredEnd<C> {
    pub(super) fn new(config: C, books: &'static Books) -> Self {
        Self { config, books, output: Output::new() }
    }

    /// Returns the size of the output buffer. The next connection begins without it.
    pub(super) fn output_bytes(&mut self) -> Result<i64> {
        self.books.begin(false)?;
        let output = mem::take(&mut self.output);
        self.books.within(Account::Buffers, || drop(output));
        Ok(-self.books.balance()?.held.total())
    }
}

/// A connection in the accounts, and what it left.
pub(super) struct Connected {
    /// Its balance when idle: request and response had arrived, and all tickets.
    pub(super) client: Balance,
    pub(super) server: Balance,
    /// The tickets that came, for storage.
    pub(super) sessions: Vec<Vec<u8>>,
    pub(super) resumed: bool,
    pub(super) early_data: bool,
}

impl Ends {
    /// One connection: a request and its response, and new tickets. Its peak is there if it is `watched`.
    pub(super) fn connect(&mut self, session: Option<&[u8]>, watched: bool) -> Result<Connected> {
        self.client.books.begin(watched)?;
        self.server.books.begin(watched)?;
        let (mut client, early) = connecting(&mut self.client, session)?;
        let mut server = accepting(&mut self.server)?;
        let (mut requested, mut responded) = (0, 0);
        let (mut asked, mut early_data) = (early, false);
        let mut sessions = Vec::new();
        loop {
            let sent = client.take_output();
            for happened in server.receive(&sent)? {
                if let EngineEvent::Data(count) = happened {
                    requested += count;
                    if requested == REQUEST.len() {
                        server.write()?;
                    }
                }
            }
            let answered = server.take_output();
            for happened in client.receive(&answered)? {
                match happened {
                    EngineEvent::Data(count) => responded += count,
                    EngineEvent::Event(Event::EarlyDataAccepted) => early_data = true,
                    EngineEvent::Event(Event::NewSession(session)) => {
                        sessions.push(client.keep(session)?);
                    }
                    EngineEvent::Event(_) => (),
                }
            }
            if !asked && client.connection.facts().handshake_complete {
                asked = true;
                client.write()?;
            } else if sent.is_empty() && answered.is_empty() {
                break;
            }
        }
        if !server.connection.facts().handshake_complete || responded != REQUEST.len() {
            return Err("no response came".into());
        }
        let connected = Connected {
            client: client.books.balance()?,
            server: server.books.balance()?,
            sessions: sessions.iter().map(|session| session.export().to_vec()).collect(),
            resumed: client.connection.facts().psk.is_some(),
            early_data,
        };
        client.books.within(Account::TicketsAndReplayState, || drop(sessions));
        client.close();
        server.close();
        Ok(connected)
    }
}

/// One end of a connection.
struct End<'a, H: Handshake> {
    books: &'static Books,
    connection: Box<Connection<H>>,
    output: &'a mut Output,
    /// Received but unread: it grows with the input, and is freed when all of it is read.
    input: Vec<u8>,
}

/// An event of the engine.
enum EngineEvent {
    /// This many bytes of data, early or not.
    Data(usize),
    Event(Event),
}

/// Returns a client that begins, and whether its request goes out as early data.
fn connecting<'a>(
    end: &'a mut ConfiguredEnd<Checked<ClientConfig>>,
    session: Option<&[u8]>,
) -> Result<(End<'a, ClientHandshake>, bool)> {
    let (books, output) = (end.books, &mut end.output);
    let import = || session.map(ClientSession::import).transpose();
    let session = books.within(Account::TicketsAndReplayState, import)?;
    let now = clock::engine_time()?;
    let start = || {
        let destination = Destination {
            server_name: SERVER_NAME.into(),
            session: session.map(Box::new),
            clock: Some(Arc::new(MachineClock)),
            ..Destination::default()
        };
        let config = end.config.clone();
        let mut connection = Box::new(ClientConnection::start(config, destination, now, output)?);
        let early = connection.early_data_room() >= REQUEST.len();
        if early {
            connection.write_early_data(&REQUEST, output)?;
        }
        Ok::<_, tessera::Error>((connection, early))
    };
    let (connection, early) = books.within(Account::Rest, start)?;
    Ok((End { books, connection, output, input: Vec::new() }, early))
}

/// Returns a server that waits.
fn accepting(end: &mut ConfiguredEnd<Checked<ServerConfig>>) -> Result<End<'_, ServerHandshake>> {
    let (books, output) = (end.books, &mut end.output);
    let now = clock::engine_time()?;
    let start = || Box::new(ServerConnection::start(end.config.clone(), now));
    let connection = books.within(Account::Rest, start);
    Ok(End { books, connection, output, input: Vec::new() })
}

impl<H: Handshake> End<'_, H> {
    /// Takes the output. The carrier of it gets a copy.
    fn take_output(&mut self) -> Vec<u8> {
        let sent = self.output.as_slice().to_vec();
        self.output.consume(sent.len());
        sent
    }

    /// Adds bytes, and reads as far as possible.
    fn receive(&mut self, bytes: &[u8]) -> Result<Vec<EngineEvent>> {
        let Self { books, connection, output, input } = self;
        books.within(Account::Buffers, || input.extend_from_slice(bytes));
        let mut happened = Vec::new();
        loop {
            let now = clock::engine_time()?;
            let read = || connection.read(now, input, output);
            let progress = books.within(Account::Rest, read)?;
            match progress.event {
                ReadEvent::Data(data) | ReadEvent::EarlyData(data) => {
                    happened.push(EngineEvent::Data(data.len()));
                }
                ReadEvent::Handshake(event) => happened.push(EngineEvent::Event(event)),
                ReadEvent::NeedInput => {
                    input.drain(..progress.consumed);
                    break;
                }
                _ => {
                    return Err(
                        "unexpected event of the engine in memory (a bug of the lab)".into()
                    );
                }
            }
            input.drain(..progress.consumed);
        }
        if input.is_empty() {
            books.within(Account::Buffers, || *input = Vec::new());
        }
        Ok(happened)
    }

    fn write(&mut self) -> Result<()> {
        let Self { books, connection, output, .. } = self;
        let written = books.within(Account::Rest, || connection.write(&REQUEST, output))?;
        if written == REQUEST.len() { Ok(()) } else { Err("a request is more than fits".into()) }
    }

    /// Puts a session into the client's store.
    fn keep(&self, session: Box<ClientSession>) -> Result<ClientSession> {
        let exported = session.export();
        self.books.within(Account::Rest, || drop(session));
        let import = || ClientSession::import(&exported);
        Ok(self.books.within(Account::TicketsAndReplayState, import)?)
    }

    fn close(self) {
        let Self { books, connection, .. } = self;
        books.within(Account::Rest, || drop(connection));
    }
}
