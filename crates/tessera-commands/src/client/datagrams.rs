//! One connection over UDP, with standard input and output.

use std::future::pending;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use tessera::EarlyDataStatus;
use tessera::resume::Verdict;
use tessera_kit::facts::{ConnectionFacts, SocketFacts};
use tessera_kit::report::Report;
use tessera_kit::{ProgramError, signals};
use tessera_tokio::{ClientDatagramConnection, DatagramConnector, EarlyDataOutcome};
use tokio::time::timeout;

use super::config::{ConfiguredClient, configure};
use super::once::{connector, early_data, maybe_executed, no_connection};
use super::standard::{Input, Output};
use super::{advice, look_up};
use crate::by_option::start_by_option;
use crate::options::ConnectOptions;
use crate::receive::Plaintext;

pub(super) async fn run(options: &ConnectOptions) -> Result<(), ProgramError> {
    options.check()?;
    let configured = configure(options)?;
    let common = &options.common;
    let report = Report::of_client(common.json_file(), common.quiet, io::stderr())?;
    let early_data = early_data(options)?;
    let connector = DatagramConnector::new(connector(options, &configured)?);
    let asked = signals::asked_to_end()?;
    let started = Instant::now();
    let addresses = match look_up(&options.host, options.port).await {
        Ok(addresses) => addresses,
        Err(error) => return Err(no_connection(&report, started, error)),
    };
    let mut session = Session {
        options,
        report: &report,
        connection: None,
        flight: Flight::default(),
        handshake: None,
    };
    let result = tokio::select! {
        result = session.work(&connector, &configured, &addresses, &early_data) => result,
        () = asked => Ok(()),
    };
    session.end(result, started).await
}

/// A connection, and what it is to do.
struct Session<'a> {
    options: &'a ConnectOptions,
    report: &'a Report,
    connection: Option<ClientDatagramConnection>,
    flight: Flight,
    handshake: Option<Duration>,
}

/// The early data, in the datagrams that carried it.
#[derive(Default)]
struct Flight {
    lens: Vec<usize>,
}

impl Session<'_> {
    async fn work(
        &mut self,
        connector: &DatagramConnector,
        configured: &ConfiguredClient,
        addresses: &[SocketAddr],
        early_data: &[u8],
    ) -> io::Result<()> {
        let left = self.connect(connector, configured, addresses, early_data).await?;
        let Some(connection) = &self.connection else { return Err(ErrorKind::NotFound.into()) };
        let address = connection.peer_addr();
        let socket = SocketFacts {
            address,
            is_udp: true,
            handshake: self.handshake,
            ..SocketFacts::default()
        };
        self.report.line(&ConnectionFacts::new(&connection.facts(), socket));
        carry(connection, self.options, left).await
    }

    /// Completes a handshake with one of the addresses; returns the early data that is still to be sent.
    async fn connect<'d>(
        &mut self,
        connector: &DatagramConnector,
        configured: &ConfiguredClient,
        addresses: &[SocketAddr],
        early_data: &'d [u8],
    ) -> io::Result<&'d [u8]> {
        for (index, address) in addresses.iter().enumerate() {
            let started = Instant::now();
            let connection = connector.start(*address, configured.destination()).await?;
            self.flight = Flight::write(&connection, early_data)?;
            let connection = self.connection.insert(connection);
            match connection.handshake().await {
                Ok(()) => {
                    self.handshake = Some(started.elapsed());
                    return self.flight.rest(connection, early_data, self.report);
                }
                // A name may have an address of each family, and the server only one.
                Err(error)
                    if error.kind() == ErrorKind::ConnectionRefused
                        && self.flight.lens.is_empty()
                        && index + 1 < addresses.len() => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::AddrNotAvailable.into())
    }

    /// Closes and reports the connection.
    async fn end(self, result: io::Result<()>, started: Instant) -> Result<(), ProgramError> {
        let Some(connection) = self.connection else {
            let Err(error) = result else { return self.report.finish() };
            let is_of_engine = error.get_ref().is_some_and(|it| it.is::<tessera::Error>());
            let error = match is_of_engine {
                true => start_by_option(&error),
                false => super::no_connection(self.options, &error),
            };
            return Err(no_connection(self.report, started, error));
        };
        let _ = timeout(LAST_WORDS, connection.close()).await;
        let executed = maybe_executed(self.flight.outcome(&connection));
        let result = match &executed {
            Some(_) if result.is_ok() && !connection.is_handshake_complete() => {
                Err(io::Error::other("ended before the server answered"))
            }
            _ => result,
        };
        let [received, sent] = connection.bytes();
        let socket = SocketFacts {
            address: connection.peer_addr(),
            is_udp: true,
            received,
            sent,
            handshake: self.handshake,
            total: started.elapsed(),
            error: result.as_ref().err().map(|error| match &executed {
                None => error.to_string(),
                Some(executed) => format!("{error}; {executed}"),
            }),
            ..SocketFacts::default()
        };
        self.report.object(&ConnectionFacts::new(&connection.facts(), socket));
        let told = self.report.finish();
        result.map_err(|error| advice::failed(self.options, &error, received == 0, executed))?;
        told
    }
}

impl Flight {
    /// Writes early data, as much as the connection takes.
    fn write(connection: &ClientDatagramConnection, mut data: &[u8]) -> io::Result<Self> {
        let mut lens = Vec::new();
        while !data.is_empty() {
            let len = data.len().min(connection.early_data_room());
            if len == 0 || !connection.write_early(&data[..len])? {
                break;
            }
            lens.push(len);
            data = &data[len..];
        }
        Ok(Self { lens })
    }

    /// Returns the part of the early data that is still to be sent after the handshake.
    fn rest<'d>(
        &self,
        connection: &ClientDatagramConnection,
        data: &'d [u8],
        report: &Report,
    ) -> io::Result<&'d [u8]> {
        let facts = connection.facts();
        let taken = match facts.early_data {
            _ if self.lens.is_empty() => {
                if !data.is_empty() {
                    report.line(&"no ticket for early data yet: it is sent after the handshake");
                }
                0
            }
            EarlyDataStatus::Accepted => {
                // A server that doesn't count it may have taken all.
                let records =
                    facts.early_records_taken.and_then(|taken| usize::try_from(taken).ok());
                self.lens.iter().take(records.unwrap_or(self.lens.len())).sum()
            }
            EarlyDataStatus::Rejected(Verdict::Burned) => {
                report.line(&"the server discarded the early data: it is sent after the handshake");
                0
            }
            _ => return Err(io::Error::other("the server did not accept the early data here")),
        };
        Ok(data.get(taken..).unwrap_or_default())
    }

    /// Returns what is known of it.
    fn outcome(&self, connection: &ClientDatagramConnection) -> EarlyDataOutcome {
        let mut outcome = EarlyDataOutcome::default();
        outcome.sent = self.lens.iter().sum();
        if outcome.sent > 0 {
            let facts = connection.facts();
            let is_accepted = facts.early_data == EarlyDataStatus::Accepted;
            outcome.accepted = if is_accepted { outcome.sent } else { 0 };
            let verdict = facts.early_data.verdict().unwrap_or(Verdict::Unknown);
            outcome.verdict = (!is_accepted).then_some(verdict);
        }
        outcome
    }
}

/// Carries what is read from standard input at once, a line of a terminal, as one datagram or several; and what arrives
/// to standard output. Nothing is sent again.
async fn carry(
    connection: &ClientDatagramConnection,
    options: &ConnectOptions,
    first: &[u8],
) -> io::Result<()> {
    let silent = options.common.json.as_deref() == Some(Path::new("-"));
    let (mut input, mut output) = (Input::open()?, Output::open()?);
    send(connection, first).await?;
    let mut sending = true;
    loop {
        // A close_notify may be lost, in either direction.
        let patience = async {
            match sending || options.keep_open {
                true => pending().await,
                false => tokio::time::sleep(LAST_WORDS).await,
            }
        };
        tokio::select! {
            received = connection.recv() => match received? {
                Some(_) if silent => (),
                Some(received) => output.write(Plaintext::new(received.to_vec())).await?,
                None => return Ok(()),
            },
            read = input.read(), if sending => {
                let read = read?;
                send(connection, &read).await?;
                if read.is_empty() {
                    sending = false;
                    if !options.keep_open {
                        connection.close().await;
                    }
                }
            }
            () = patience => return Ok(()),
        }
    }
}

async fn send(connection: &ClientDatagramConnection, data: &[u8]) -> io::Result<()> {
    for part in data.chunks(connection.max_data().max(1)) {
        connection.send(part).await?;
    }
    Ok(())
}

/// How long to wait, after the end of standard input, for what the server sends next.
const LAST_WORDS: Duration = Duration::from_secs(5);
