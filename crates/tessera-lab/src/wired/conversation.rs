//! Exchanges over one connection, at both ends.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use tessera::handshake::Checked;
use tessera::resume::{ClientSession, KnownServerKey, Verdict};
use tessera::{
    ClientConfig, ClientConnection, Destination, Event, Facts, ReadEvent, ServerConfig,
    ServerConnection,
};

use crate::clock::{self, MachineClock};
use crate::control::ObservedFacts;
use crate::endpoint::{Result, Wire, observed};
use crate::pki::SERVER_NAME;

/// The content of the bodies, which no observer sees.
const CONTENT: u8 = b'.';

/// What TLS adds to data in a record: header, type and tag (RFC 8446 §5.2).
pub(crate) const RECORD_OVERHEAD: u64 = 5 + 1 + 16;

/// An exchange as sizes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) request: usize,
    pub(crate) response: usize,
}

/// One end's view of a connection.
pub(crate) struct EndReport {
    pub(crate) observed: ObservedFacts,
    /// The engine's facts at the end.
    pub(crate) facts: Facts,
    /// The cipher suite's number.
    pub(crate) suite: Option<u16>,
    /// The bytes that this end sent over TCP.
    pub(crate) sent: u64,
    /// Those that it sent before it received any, without early data: a client's ClientHello.
    pub(crate) hello: u64,
    /// Those of its handshake: without records with data, and without tickets.
    pub(crate) handshake_sent: u64,
    /// Processor time in calls of the engine.
    pub(crate) engine_cpu: Duration,
    /// Processor time of its thread, from accept() on; of a client none.
    pub(crate) thread_cpu: Duration,
    /// When it sent data though its handshake was not complete, when it was complete, and when it had the first response
    /// whole, on the machine's clock.
    pub(crate) implicit: Option<Duration>,
    pub(crate) complete: Duration,
    pub(crate) responded: Option<Duration>,
}

impl EndReport {
    fn new(facts: &Facts, handshake: Handshake) -> Self {
        let Handshake { sent: handshake_sent, complete } = handshake;
        Self {
            observed: observed(facts),
            facts: facts.clone(),
            suite: facts.suite.map(|suite| suite.0),
            sent: 0,
            hello: 0,
            handshake_sent,
            engine_cpu: Duration::ZERO,
            thread_cpu: Duration::ZERO,
            implicit: None,
            complete,
            responded: None,
        }
    }
}

/// A handshake that is complete.
#[derive(Clone, Copy)]
struct Handshake {
    sent: u64,
    complete: Duration,
}

impl Handshake {
    /// Records that the handshake is complete. Of the bytes `written` so far by this end, this much was data in
    /// records.
    fn complete(written: u64, data: impl Iterator<Item = usize>) -> Result<Self> {
        let data: u64 = data.map(|bytes| bytes as u64 + RECORD_OVERHEAD).sum();
        Ok(Self { sent: written.saturating_sub(data), complete: clock::monotonic()? })
    }
}

/// The client's end of a conversation.
pub(crate) struct Caller {
    pub(crate) config: Checked<ClientConfig>,
    pub(crate) session: Option<ClientSession>,
    pub(crate) known_key: Option<KnownServerKey>,
    /// How many sessions it waits for.
    pub(crate) sessions: usize,
}

impl Caller {
    /// Connects, performs one exchange after the other, the first as early data if possible, or as soon as its policy
    /// allows data, and closes; early data that was burned is sent again. Calls `between` after each event, when pending output has been sent. The stream must not
    /// be connected yet.
    pub(crate) fn call(
        self,
        stream: TcpStream,
        exchanges: &[Sizes],
        mut between: impl FnMut() -> Result<()>,
    ) -> Result<(EndReport, Vec<ClientSession>)> {
        let Self { config, session, known_key, sessions } = self;
        let destination = Destination {
            server_name: SERVER_NAME.into(),
            session: session.map(Box::new),
            known_server_key: known_key.map(Box::new),
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
        let mut burned = false;
        let mut implicit = None;
        let mut complete = None;
        let mut responded = None;
        let mut answered = 0;
        let mut received = 0;
        let mut new_sessions = Vec::new();
        while complete.is_none() || answered < exchanges.len() || new_sessions.len() < sessions {
            let mut sends = false;
            let event = wire.next_after(&mut connection, |connection, output| {
                let may_send = complete.is_none() && implicit.is_none() && early == 0;
                if may_send && !first.is_empty() && connection.can_write() {
                    whole(connection.write(&first, output)?, first.len())?;
                    waiting.next();
                    implicit = Some(clock::monotonic()?);
                }
                Ok(())
            })?;
            match event {
                Some(ReadEvent::Handshake(Event::HandshakeComplete)) => {
                    let data = if implicit.is_some() { first.len() } else { early };
                    let data = Some(data).filter(|data| *data > 0);
                    complete = Some(Handshake::complete(wire.written(), data.into_iter())?);
                    sends = data.is_none() || burned;
                }
                Some(ReadEvent::Handshake(Event::NewSession(session))) => {
                    new_sessions.push(*session)
                }
                Some(ReadEvent::Handshake(Event::EarlyDataRejected(Verdict::Burned))) => {
                    burned = true;
                    waiting = exchanges.iter();
                    sends = complete.is_some();
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
                        responded.get_or_insert(clock::monotonic()?);
                        sends = true;
                    }
                }
                Some(_) => (),
                None => return Err("the server closed the connection early".into()),
            }
            if sends && let Some(exchange) = waiting.next() {
                let request = request(exchange);
                let written = wire.engine(|_, output| connection.write(&request, output))?;
                whole(written, request.len())?;
                wire.send()?;
            }
            between()?;
        }
        let complete = complete.ok_or("the connection ended during the handshake")?;
        let mut told = EndReport::new(connection.facts(), complete);
        let data = if early > 0 { early as u64 + RECORD_OVERHEAD } else { 0 };
        told.implicit = implicit;
        told.hello = wire.beginning().0.saturating_sub(data);
        let (cost, _) = wire.close(connection, process_cpu)?;
        (told.sent, told.engine_cpu, told.responded) = (cost.sent, cost.engine_cpu, responded);
        // The server's close_notify belongs to the connection.
        match after.read_to_end(&mut Vec::new()) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => Err(error.into()),
            _ => Ok((told, new_sessions)),
        }
    }
}

/// Answers one exchange after the other, until the client closes.
pub(crate) fn answer(
    stream: TcpStream,
    config: Checked<ServerConfig>,
    exchanges: &[Sizes],
) -> Result<EndReport> {
    let process_cpu = clock::process_cpu()?;
    let mut wire = Wire::new(stream, false)?;
    let mut connection =
        wire.engine(|now, _| Ok(Box::new(ServerConnection::start(config, now))))?;
    let mut waiting = exchanges.iter();
    let mut received = 0;
    let mut early = Vec::new();
    let mut complete = None;
    while let Some(event) = wire.next(&mut connection)? {
        let data = match event {
            ReadEvent::EarlyData(data) | ReadEvent::Data(data) => data,
            ReadEvent::Handshake(Event::HandshakeComplete) => {
                // Tickets are written now, and not sent yet.
                complete = Some(Handshake::complete(wire.sent(), early.iter().copied())?);
                continue;
            }
            _ => continue,
        };
        received += data.len();
        let wanted = waiting.clone().next().ok_or("a request too many")?;
        if received >= wanted.request {
            received -= wanted.request;
            waiting.next();
            let response = vec![CONTENT; wanted.response];
            let written = wire.engine(|_, output| connection.write(&response, output))?;
            whole(written, response.len())?;
            if complete.is_none() {
                early.push(written);
            }
        }
    }
    let complete = complete.ok_or("the client left during the handshake")?;
    let mut told = EndReport::new(connection.facts(), complete);
    let (cost, _) = wire.close(connection, process_cpu)?;
    (told.sent, told.engine_cpu) = (cost.sent, cost.engine_cpu);
    Ok(told)
}

fn whole(written: usize, length: usize) -> Result<()> {
    if written == length { Ok(()) } else { Err("a message did not fit the output".into()) }
}
