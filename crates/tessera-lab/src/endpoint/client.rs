//! The client's process: connects as it is told, and can be the adversary.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use tessera::handshake::EarlyDataStatus;
use tessera::resume::ClientSession;
use tessera::{ClientConfig, ClientConnection, Destination, Event};

use super::configuration::{self, PATIENCE};
use super::wire::{Happened, Wire};
use super::{Result, answer, orders, request};
use crate::adversary::Capture;
use crate::clock;
use crate::control::{ClientAnswer, ClientLoot, ClientOrder, Connected, Preparation};
use crate::pki::SERVER_NAME;

/// Does as it is told, until there is no one to tell it.
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
    /// What the adversary has, of the last connection.
    loot: ClientLoot,
}

/// The present row.
struct Row {
    preparation: Preparation,
    config: Arc<ClientConfig>,
}

impl Client {
    pub(super) fn obey(&mut self, order: ClientOrder) -> Result<ClientAnswer> {
        match order {
            ClientOrder::Prepare(preparation) => {
                let config = configuration::client(&preparation, 1)?;
                let row = Some(Row { preparation: *preparation, config });
                *self = Self { row, ..Self::default() };
                Ok(ClientAnswer::Ready)
            }
            ClientOrder::Collect { server, sessions } => {
                let config = configuration::client(&self.row()?.preparation, sessions)?;
                self.connect(server, config, None, sessions).map(ClientAnswer::Connected)
            }
            ClientOrder::Connect(server) => {
                let Row { preparation, config } = self.row()?;
                let (resumes, config) = (preparation.way.mode.resumes(), config.clone());
                // A session is used once. The new ones wait at the end.
                let session = if resumes { self.sessions.pop_front() } else { None };
                if resumes && session.is_none() {
                    return Err("no session is left to resume".into());
                }
                self.connect(server, config, session, 1).map(ClientAnswer::Connected)
            }
            ClientOrder::Replay(server) => {
                let Capture { sent, first_flight, .. } = &self.loot.capture;
                replay(server, &sent[..*first_flight])?;
                Ok(ClientAnswer::Ready)
            }
            ClientOrder::GiveAll => {
                let mut loot = std::mem::take(&mut self.loot);
                loot.sessions.extend(self.sessions.iter().map(|session| session.export().to_vec()));
                Ok(ClientAnswer::Robbed(loot))
            }
        }
    }

    fn row(&self) -> Result<&Row> {
        self.row.as_ref().ok_or_else(|| "not prepared for a row".into())
    }

    /// One connection: a request, its response, the tickets that were asked for, goodbye.
    fn connect(
        &mut self,
        server: SocketAddr,
        config: Arc<ClientConfig>,
        session: Option<ClientSession>,
        sessions: u8,
    ) -> Result<Connected> {
        let recorded = self.row()?.preparation.attacked;
        let used = session.as_ref().filter(|_| recorded);
        let sessions_used: Vec<_> = used.map(|used| used.export().to_vec()).into_iter().collect();
        let destination =
            Destination { server_name: SERVER_NAME.into(), session, external_psks: Vec::new() };
        let (id, request) = request::fresh()?;
        let process_cpu = clock::process_cpu()?;

        let started = clock::monotonic()?;
        let stream = TcpStream::connect_timeout(&server, PATIENCE)?;
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

        let mut handshake = None;
        let mut response: Option<Duration> = None;
        let mut responded = 0;
        let mut tickets = VecDeque::new();
        while handshake.is_none() || responded < request::LEN || tickets.len() < sessions.into() {
            match wire.next(&mut connection)? {
                Happened::Handshake(Event::HandshakeComplete) => {
                    handshake = Some(clock::monotonic()?);
                    if !early {
                        wire.engine(|now, output| connection.write(now, &request, output))?;
                    }
                }
                Happened::Handshake(Event::EarlyDataRejected(verdict)) => {
                    return Err(format!("the early data was rejected ({verdict:?})").into());
                }
                Happened::Handshake(Event::NewSession(session)) => tickets.push_back(*session),
                Happened::Handshake(Event::EarlyDataAccepted | Event::EarlyDataEnd) => (),
                Happened::Data(data) => {
                    if response.is_none() {
                        response = Some(clock::monotonic()?);
                    }
                    responded += data.len();
                }
                Happened::EarlyData(_) => return Err("early data from a server".into()),
                Happened::Ended => return Err("the server closed the connection early".into()),
            }
        }
        let facts = connection.facts();
        debug_assert_eq!(early, facts.early_data == EarlyDataStatus::Accepted);
        let observed = configuration::observed(facts);
        let (cost, capture) = wire.close(connection, process_cpu)?;
        let capture = capture.unwrap_or_default();
        self.loot = ClientLoot { capture, sessions: sessions_used };
        self.sessions.append(&mut tickets);
        let (Some(handshake), Some(response)) = (handshake, response) else {
            return Err("the connection ended without a response".into());
        };
        Ok(Connected { request: id, started, tcp, handshake, response, cost, observed })
    }
}

/// Sends recorded bytes again, and lets the server answer whatever it will.
fn replay(server: SocketAddr, recorded: &[u8]) -> Result<()> {
    let mut stream = TcpStream::connect_timeout(&server, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(recorded)?;
    stream.shutdown(Shutdown::Write)?;
    match stream.read_to_end(&mut Vec::new()) {
        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => Err(error.into()),
        _ => Ok(()),
    }
}
