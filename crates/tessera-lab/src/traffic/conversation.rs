//! A registration over one connection, at both ends.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::sync::Arc;

use tessera::handshake::Checked;
use tessera::resume::ClientSession;
use tessera::{
    ClientConfig, ClientConnection, Destination, Event, Facts, ReadEvent, ServerConfig,
    ServerConnection,
};

use super::registration::Sizes;
use crate::clock::{self, MachineClock};
use crate::control::Observed;
use crate::endpoint::{Result, Wire, observed};
use crate::pki::SERVER_NAME;

/// What the bodies are filled with; nobody on the path sees it.
const CONTENT: u8 = b'.';

/// What one end says of a connection.
pub(super) struct Told {
    pub(super) observed: Observed,
    /// The cipher suite's number.
    pub(super) suite: Option<u16>,
    /// What this end sent over TCP, in bytes.
    pub(super) sent: u64,
}

impl Told {
    fn new(facts: &Facts) -> Self {
        Self { observed: observed(facts), suite: facts.suite.map(|suite| suite.0), sent: 0 }
    }
}

/// The client's end of a conversation.
pub(super) struct Caller {
    pub(super) config: Checked<ClientConfig>,
    pub(super) session: Option<ClientSession>,
    /// How many sessions it waits for.
    pub(super) sessions: usize,
}

impl Caller {
    /// Connects, has one exchange after the other, the first as early data where that is possible, and
    /// closes. `between` is called after each event, when what there is to send is sent. The stream is not connected yet.
    pub(super) fn call(
        self,
        stream: TcpStream,
        exchanges: &[Sizes],
        mut between: impl FnMut() -> Result<()>,
    ) -> Result<(Told, Vec<ClientSession>)> {
        let Self { config, session, sessions } = self;
        let destination = Destination {
            server_name: SERVER_NAME.into(),
            session,
            clock: Some(Arc::new(MachineClock)),
            ..Destination::default()
        };
        let mut after = stream.try_clone()?;
        let process_cpu = clock::process_cpu()?;
        let mut wire = Wire::new(stream, false)?;
        let mut waiting = exchanges.iter();
        let request = |exchange: &Sizes| vec![CONTENT; exchange.request];
        let first = waiting.clone().next().map(request).unwrap_or_default();
        let (mut connection, early) = wire.engine(|now, output| {
            let mut connection =
                Box::new(ClientConnection::start(config, destination, now, output)?);
            let early = connection.early_data_room() >= first.len() && !first.is_empty();
            let written = if early { connection.write_early_data(&first, output)? } else { 0 };
            Ok((connection, written))
        })?;
        if early > 0 {
            whole(early, first.len())?;
            waiting.next();
        }
        let mut complete = false;
        let mut answered = 0;
        let mut received = 0;
        let mut new_sessions = Vec::new();
        while !complete || answered < exchanges.len() || new_sessions.len() < sessions {
            let mut sends = false;
            match wire.next(&mut connection)? {
                Some(ReadEvent::Handshake(Event::HandshakeComplete)) => {
                    complete = true;
                    sends = early == 0;
                }
                Some(ReadEvent::Handshake(Event::NewSession(session))) => {
                    new_sessions.push(*session)
                }
                Some(ReadEvent::Handshake(Event::EarlyDataRejected(verdict))) => {
                    return Err(format!("the early data was rejected ({verdict:?})").into());
                }
                Some(ReadEvent::Data(data)) => {
                    received += data.len();
                    let wanted = exchanges.get(answered).ok_or("a response to nothing")?.response;
                    if received >= wanted {
                        received -= wanted;
                        answered += 1;
                        sends = true;
                    }
                }
                Some(_) => (),
                None => return Err("the server closed the connection early".into()),
            }
            if sends && let Some(exchange) = waiting.next() {
                let request = request(exchange);
                let written = wire.engine(|now, output| connection.write(now, &request, output))?;
                whole(written, request.len())?;
                wire.send()?;
            }
            between()?;
        }
        let mut told = Told::new(connection.facts());
        let (cost, _) = wire.close(connection, process_cpu)?;
        told.sent = cost.sent;
        // The server's goodbye belongs to the connection.
        match after.read_to_end(&mut Vec::new()) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => Err(error.into()),
            _ => Ok((told, new_sessions)),
        }
    }
}

/// Answers one exchange after the other, until the client closes.
pub(super) fn answer(
    stream: TcpStream,
    config: Checked<ServerConfig>,
    exchanges: &[Sizes],
) -> Result<Told> {
    let process_cpu = clock::process_cpu()?;
    let mut wire = Wire::new(stream, false)?;
    let mut connection =
        wire.engine(|now, _| Ok(Box::new(ServerConnection::start(config, now))))?;
    let mut waiting = exchanges.iter();
    let mut received = 0;
    while let Some(event) = wire.next(&mut connection)? {
        let (ReadEvent::EarlyData(data) | ReadEvent::Data(data)) = event else { continue };
        received += data.len();
        let wanted = waiting.clone().next().ok_or("a request too many")?;
        if received >= wanted.request {
            received -= wanted.request;
            waiting.next();
            let response = vec![CONTENT; wanted.response];
            let written = wire.engine(|now, output| connection.write(now, &response, output))?;
            whole(written, response.len())?;
        }
    }
    if !connection.facts().handshake_complete {
        return Err("the client left during the handshake".into());
    }
    let mut told = Told::new(connection.facts());
    let (cost, _) = wire.close(connection, process_cpu)?;
    told.sent = cost.sent;
    Ok(told)
}

fn whole(written: usize, length: usize) -> Result<()> {
    if written == length { Ok(()) } else { Err("a message did not fit the output".into()) }
}
