//! One connection over UDP, with standard input and output; or one for each local program that sends datagrams.

mod attempt;
mod early_datagrams;
mod listen;
mod network;
mod newest;

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera::{AssociationOptions, EarlyDataStatus};
use tessera_kit::facts::{ConnectionFacts, SocketFacts};
use tessera_kit::report::Report;
use tessera_kit::{ProgramError, signals};
use tessera_proxy::datagrams::DatagramSide;
use tessera_tokio::{ClientDatagramConnection, Connector, DatagramConnector, MemorySessionStore};
use tokio::time::timeout;

use self::attempt::{Attempt, LastLoss};
use self::early_datagrams::EarlyDatagrams;
use self::network::Network;
use self::newest::{LOST, NewestKept};
use super::config::{ConfiguredClient, configure};
use super::once::{connector, early_data, maybe_executed, no_connection};
use super::standard::{Input, Output};
use super::{advice, look_up};
use crate::by_option::start_by_option;
use crate::datagram_facts::socket_facts;
use crate::options::ConnectOptions;
use crate::receive::Plaintext;

pub(super) async fn run(options: &ConnectOptions) -> Result<(), ProgramError> {
    options.check()?;
    let configured = configure(options)?;
    if let Some(address) = options.listen {
        return listen::run(options, configured, address).await;
    }
    let common = &options.common;
    let report = Report::of_client(common.json_file(), common.quiet, io::stderr())?;
    let early_data = early_data(options)?;
    let connector = datagram_connector(options, configured_connector(options, &configured)?);
    let asked = signals::asked_to_end()?;
    let started = Instant::now();
    let addresses = match look_up(&options.host, options.port).await {
        Ok(addresses) => addresses,
        Err(error) => return Err(no_connection(&report, started, error)),
    };
    let mut carrier = Carrier { options, report: &report, attempt: Attempt::default() };
    let result = tokio::select! {
        result = carrier.work(&connector, &configured, &addresses, &early_data) => result,
        () = asked => Ok(()),
    };
    carrier.end(result, started).await
}

/// Returns a connector that resumes, with sessions of its own if the options name none.
fn configured_connector(
    options: &ConnectOptions,
    configured: &ConfiguredClient,
) -> Result<Connector, ProgramError> {
    let connector = connector(options, configured)?;
    Ok(match options.sessions {
        Some(_) => connector,
        None => connector.with_sessions(Arc::new(MemorySessionStore::default())),
    })
}

fn datagram_connector(options: &ConnectOptions, connector: Connector) -> DatagramConnector {
    let mut association = AssociationOptions::default();
    if let Some(len) = options.common.max_datagram {
        association.max_datagram = len.into();
    }
    // To the address that the name has, and no other.
    association.follows_to = options.follow_server.then(Vec::new);
    DatagramConnector::new(connector).with_options(association)
}

/// Lets a connection follow the machine's network while it is used.
async fn following<T>(
    connection: &ClientDatagramConnection,
    network: Option<&Network>,
    work: impl Future<Output = T>,
) -> T {
    let following = async {
        if let Some(network) = network {
            // Without reports of the network the connection stays where it is.
            let _ = network.lead(connection).await;
        }
        pending().await
    };
    tokio::select! {
        result = work => result,
        never = following => never,
    }
}

/// Carries datagrams between standard input and output and the server.
struct Carrier<'a> {
    options: &'a ConnectOptions,
    report: &'a Report,
    attempt: Attempt,
}

impl Carrier<'_> {
    async fn work(
        &mut self,
        connector: &DatagramConnector,
        configured: &ConfiguredClient,
        addresses: &[SocketAddr],
        early_data: &[u8],
    ) -> io::Result<()> {
        let destination = || configured.destination();
        let early = |connection: &_| EarlyDatagrams::write(connection, early_data);
        self.attempt.connect(connector, destination, addresses, early).await?;
        let mut left = self.rest(early_data)?.to_vec();
        let mut standard = (Input::open()?, Output::open()?);
        let network = Network::watch();
        let mut last_loss = LastLoss::default();
        loop {
            let Attempt { connection: Some(connection), handshake, .. } = &self.attempt else {
                return Ok(());
            };
            let socket = socket_facts(connection, Instant::now(), *handshake);
            self.report.line(&ConnectionFacts::new(&connection.facts(), socket));
            let kept = NewestKept::new(connection);
            let first = Plaintext::new(left);
            let carrying = carry(&kept, self.options, &first, &mut standard);
            let carried = following(connection, network.as_ref(), carrying).await;
            let Err(error) = carried else { return Ok(()) };
            let again = kept.after(&error).filter(|_| last_loss.note());
            let Some(again) = again else { return Err(error) };
            let socket = SocketFacts {
                error: Some(error.to_string()),
                ..socket_facts(connection, connection.started(), *handshake)
            };
            self.report.object(&ConnectionFacts::new(&connection.facts(), socket));
            self.report.line(&LOST);
            let again = again.as_deref().unwrap_or_default();
            let early = |connection: &_| EarlyDatagrams::write(connection, again);
            self.attempt = Attempt::default();
            self.attempt.connect(connector, destination, addresses, early).await?;
            let Attempt { connection: Some(connection), early, .. } = &self.attempt else {
                return Ok(());
            };
            let settled = early.lens.iter().take(early.settled(connection)).sum::<usize>();
            left = again.get(settled..).unwrap_or_default().to_vec();
        }
    }

    /// Returns the early data that is still to be sent after the handshake.
    fn rest<'d>(&self, data: &'d [u8]) -> io::Result<&'d [u8]> {
        let Attempt { connection: Some(connection), early, .. } = &self.attempt else {
            return Ok(data);
        };
        let lens = &early.lens;
        let Some(taken) = early.taken(connection) else {
            return Err(io::Error::other("the server did not accept the early data here"));
        };
        if lens.is_empty() && !data.is_empty() {
            self.report.line(&"no ticket for early data yet: it is sent after the handshake");
        } else if matches!(connection.facts().early_data, EarlyDataStatus::Rejected(_)) {
            let discarded = "the server discarded the early data: it is sent after the handshake";
            self.report.line(&discarded);
        }
        Ok(data.get(lens.iter().take(taken).sum()..).unwrap_or_default())
    }

    /// Closes and reports the connection.
    async fn end(self, result: io::Result<()>, started: Instant) -> Result<(), ProgramError> {
        let Attempt { connection, early, handshake } = self.attempt;
        let Some(connection) = connection else {
            let Err(error) = result else { return self.report.finish() };
            let is_of_engine = error.get_ref().is_some_and(|it| it.is::<tessera::Error>());
            let error = match is_of_engine {
                true => start_by_option(&error),
                false => super::no_connection(self.options, &error),
            };
            return Err(no_connection(self.report, started, error));
        };
        let _ = timeout(LAST_WORDS, connection.close()).await;
        let executed = maybe_executed(early.outcome(&connection));
        let result = match &executed {
            Some(_) if result.is_ok() && !connection.is_handshake_complete() => {
                Err(io::Error::other("ended before the server answered"))
            }
            _ => result,
        };
        let socket = SocketFacts {
            error: result.as_ref().err().map(|error| match &executed {
                None => error.to_string(),
                Some(executed) => format!("{error}; {executed}"),
            }),
            ..socket_facts(&connection, started, handshake)
        };
        let is_silent = socket.received == 0;
        self.report.object(&ConnectionFacts::new(&connection.facts(), socket));
        let reported = self.report.finish();
        result.map_err(|error| advice::failed(self.options, &error, is_silent, executed))?;
        reported
    }
}

/// Carries what is read from standard input at once, a line of a terminal, as one datagram or several; and what arrives
/// to standard output. Nothing is sent again.
async fn carry(
    connection: &NewestKept<'_>,
    options: &ConnectOptions,
    first: &[u8],
    (input, output): &mut (Input, Output),
) -> io::Result<()> {
    let silent = options.common.json.as_deref() == Some(Path::new("-"));
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
                        connection.connection().close().await;
                    }
                }
            }
            () = patience => return Ok(()),
        }
    }
}

async fn send(connection: &NewestKept<'_>, data: &[u8]) -> io::Result<()> {
    for part in data.chunks(connection.connection().max_data().max(1)) {
        connection.send(part).await?;
    }
    Ok(())
}

/// How long to wait, after the end of standard input, for what the server sends next.
const LAST_WORDS: Duration = Duration::from_secs(5);
