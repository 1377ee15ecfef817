//! The client's process: connects on order, and can play the adversary.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use tessera::handshake::{Checked, EarlyDataStatus};
use tessera::resume::{ClientSession, Verdict};
use tessera::{ClientConfig, ClientConnection, Destination, Event, ReadEvent};

use super::configuration::{self, PATIENCE};
use super::dial::dial;
use super::pipes::{Result, answer, orders};
use super::request;
use super::wire::Wire;
use crate::clock::{self, MachineClock};
use crate::control::{
    ClientAnswer, ClientOrder, Connected, EarlyDataOutcome, Preparation, StolenClientState,
};
use crate::pki::SERVER_NAME;
use tessera_adversary::Capture;

/// Obeys orders until there are no more.
pub(super) fn run() -> io::Result<()> {
    let mut client = Client::default();
    for order in orders() {
        answer(&client.obey(order?).unwrap_or_else(|e| ClientAnswer::Failed(e.to_string())))?;
    }
    Ok(())
}

/// The client, between orders.
#[derive(Default)]
pub(super) struct Client {
    row: Option<Row>,
    sessions: VecDeque<ClientSession>,
    /// What the adversary has of the last connection.
    stolen: StolenClientState,
}

/// The present row.
struct Row {
    preparation: Preparation,
    config: Checked<ClientConfig>,
}

impl Client {
    pub(super) fn obey(&mut self, order: ClientOrder) -> Result<ClientAnswer> {
        match order {
            ClientOrder::Prepare(preparation) => {
                let config = configuration::client(&preparation, preparation.tickets)?;
                let row = Some(Row { preparation: *preparation, config });
                *self = Self { row, ..Self::default() };
                Ok(ClientAnswer::Ready)
            }
            ClientOrder::Collect { server, sessions } => {
                let config = configuration::client(&self.row()?.preparation, sessions)?;
                self.connect(server, config, None, sessions, None).map(ClientAnswer::Connected)
            }
            ClientOrder::Connect(server) => self.reconnect(server, None),
            ClientOrder::ConnectRaced { copy_to, server } => {
                let adversary = dial(copy_to, self.row()?.preparation.way.fast_open)?;
                self.reconnect(server, Some(adversary))
            }
            ClientOrder::Replay(server) => {
                let stream = dial(server, self.row()?.preparation.way.fast_open)?;
                let Capture { sent, first_flight, .. } = &self.stolen.capture;
                replay(stream, &sent[..*first_flight])?;
                Ok(ClientAnswer::Ready)
            }
            ClientOrder::GiveRecording => Ok(ClientAnswer::Recorded(self.stolen.capture.clone())),
            ClientOrder::GiveAll => {
                let mut stolen = std::mem::take(&mut self.stolen);
                stolen
                    .sessions
                    .extend(self.sessions.iter().map(|session| session.export().to_vec()));
                Ok(ClientAnswer::Stolen(stolen))
            }
        }
    }

    fn row(&self) -> Result<&Row> {
        self.row.as_ref().ok_or_else(|| "not prepared for a row".into())
    }

    /// Connects in the row's way.
    fn reconnect(
        &mut self,
        server: SocketAddr,
        adversary: Option<TcpStream>,
    ) -> Result<ClientAnswer> {
        let Row { preparation, config } = self.row()?;
        let (resumes, tickets) = (preparation.way.mode.resumes(), preparation.tickets);
        let config = config.clone();
        // A session is used once. New ones are appended.
        let session = if resumes { self.sessions.pop_front() } else { None };
        if resumes && session.is_none() {
            return Err("no session is left to resume".into());
        }
        self.connect(server, config, session, tickets, adversary).map(ClientAnswer::Connected)
    }

    /// Makes one connection: a request, its response, the requested tickets, close_notify. An adversary sends the first
    /// flight over a separate connection first.
    fn connect(
        &mut self,
        server: SocketAddr,
        config: Checked<ClientConfig>,
        session: Option<ClientSession>,
        sessions: u8,
        adversary: Option<TcpStream>,
    ) -> Result<Connected> {
        let &Preparation { way, attacked: recorded, ref site, .. } = &self.row()?.preparation;
        let may_be_rejected = adversary.is_some() || site.is_some();
        let used = session.as_ref().filter(|_| recorded).map(|used| used.export().to_vec());
        let destination = Destination {
            server_name: SERVER_NAME.into(),
            session: session.map(Box::new),
            clock: Some(Arc::new(MachineClock)),
            ..Destination::default()
        };
        let (id, request) = request::fresh()?;
        let process_cpu = clock::process_cpu()?;

        let started = clock::monotonic()?;
        let stream = dial(server, way.fast_open)?;
        let tcp = clock::monotonic()?;

        let mut wire = Wire::new(stream, recorded)?;
        let start = |now, output: &mut _| {
            let mut connection =
                Box::new(ClientConnection::start(config, destination, now, output)?);
            let early = connection.early_data_room() >= request.len();
            if early {
                connection.write_early_data(&request, output)?;
            }
            Ok((connection, early))
        };
        let (mut connection, early) = wire.engine(start)?;
        if let Some(stream) = adversary {
            replay(stream, wire.unsent())?;
        }

        let mut handshake = None;
        let mut response: Option<Duration> = None;
        let mut responded = 0;
        let mut rejected = None;
        let mut told = None;
        let mut tickets = VecDeque::new();
        // As clients do: a rejected request is sent again, unless the server reports that its key was used to execute
        // it. A verdict of `burned` relies on that.
        let given_up = |rejected: Option<Verdict>| match rejected {
            Some(Verdict::Used) => true,
            Some(Verdict::Burned) | None => false,
            Some(_) => way.mode.has_one_time_key(),
        };
        while handshake.is_none()
            || (responded < request::LEN && !given_up(rejected))
            || tickets.len() < sessions.into()
        {
            match wire.next(&mut connection)? {
                Some(ReadEvent::Handshake(Event::HandshakeComplete)) => {
                    handshake = Some(clock::monotonic()?);
                    if !early || (rejected.is_some() && !given_up(rejected)) {
                        wire.engine(|_, output| connection.write(&request, output))?;
                    }
                }
                Some(ReadEvent::Handshake(Event::EarlyDataRejected(verdict)))
                    if may_be_rejected =>
                {
                    rejected = Some(verdict);
                    told = Some((clock::monotonic()?, verdict.into()));
                }
                Some(ReadEvent::Handshake(Event::EarlyDataRejected(verdict))) => {
                    return Err(format!("the early data was rejected ({verdict:?})").into());
                }
                Some(ReadEvent::Handshake(Event::NewSession(session))) => {
                    tickets.push_back(*session)
                }
                Some(ReadEvent::Handshake(Event::EarlyDataAccepted)) => {
                    told = Some((clock::monotonic()?, EarlyDataOutcome::Accepted));
                }
                Some(ReadEvent::Data(data)) => {
                    if response.is_none() {
                        response = Some(clock::monotonic()?);
                    }
                    responded += data.len();
                }
                Some(ReadEvent::EarlyData(_)) => return Err("early data from a server".into()),
                Some(_) => (),
                None => return Err("the server closed the connection early".into()),
            }
        }
        let facts = connection.facts();
        debug_assert_eq!(
            early && rejected.is_none(),
            facts.early_data == EarlyDataStatus::Accepted
        );
        let observed = configuration::observed(facts);
        let (first_flight, syn_bytes, syn_taken) = wire.beginning();
        let (cost, capture) = wire.close(connection, process_cpu)?;
        let capture = capture.unwrap_or_default();
        self.stolen = StolenClientState { capture, used, ..StolenClientState::default() };
        self.sessions.append(&mut tickets);
        let handshake = handshake.ok_or("the connection ended during the handshake")?;
        Ok(Connected {
            request: id,
            started,
            tcp,
            handshake,
            response,
            first_flight,
            syn_bytes,
            syn_taken,
            told,
            cost,
            observed,
        })
    }
}

/// Replays recorded bytes, and ignores the server's answer.
fn replay(mut stream: TcpStream, recorded: &[u8]) -> Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(recorded)?;
    stream.shutdown(Shutdown::Write)?;
    match stream.read_to_end(&mut Vec::new()) {
        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => Err(error.into()),
        _ => Ok(()),
    }
}
