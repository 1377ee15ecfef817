//! Local programs' datagrams, carried to the server: a connection for each program.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera::Facts;
use tessera_kit::facts::{ConnectionFacts, SocketFacts};
use tessera_kit::report::Report;
use tessera_kit::{ProgramError, open_files, signals};
use tessera_proxy::datagrams::{
    Datagram, DatagramCounts, DatagramSide, Ending, Source, SourceLimits, Sources, pump,
};
use tessera_tokio::{DatagramConnector, MemorySessionStore};
use tokio::net::UdpSocket;
use tokio::time::{sleep, timeout};

use super::attempt::Attempt;
use super::datagram_connector;
use super::flight::Flight;
use crate::client::config::ConfiguredClient;
use crate::client::look_up;
use crate::client::once::connector;
use crate::datagram_facts::{socket_facts, tell_refused};
use crate::listening::{Listening, cannot_listen};
use crate::options::ConnectOptions;

/// Carries datagrams until it is asked to end.
pub(super) async fn run(
    options: &ConnectOptions,
    configured: ConfiguredClient,
    listen: SocketAddr,
) -> Result<(), ProgramError> {
    let common = &options.common;
    let report = Arc::new(Report::of_server(common.json_file(), common.quiet)?);
    let connector = match connector(options, &configured)? {
        connector if options.sessions.is_some() => connector,
        // Programs that come back resume all the same.
        connector => connector.with_sessions(Arc::new(MemorySessionStore::default())),
    };
    let asked = signals::asked_to_end()?;
    let socket = UdpSocket::bind(listen).await;
    let socket = socket.map_err(|error| cannot_listen(listen, &error))?;
    let address = socket.local_addr().map_err(|error| ProgramError::failed(listen, error))?;
    report.print(&Listening {
        address,
        is_udp: true,
        fingerprint: None,
        self_signed: false,
        is_kept: false,
        fast_open: None,
        fast_open_lacks: None,
    });
    report.settle()?;
    // Each has a socket of its own.
    let files = usize::try_from(open_files::raise()).unwrap_or(usize::MAX);
    let most = MAX_SOURCES.min(files.saturating_sub(64));
    let sources = Sources::new(socket, SourceLimits { sources: most, per_address: most });
    let carrier = Arc::new(Carrier {
        host: options.host.clone(),
        port: options.port,
        connector: datagram_connector(options, connector),
        configured,
        report: report.clone(),
    });
    let serve = |source, ending| carrier.clone().serve(source, ending);
    let served = tokio::select! {
        served = sources.run(asked, GOODBYES, serve) => served,
        never = tell_refused(&sources, &report) => never,
    };
    served.map_err(|error| ProgramError::failed("the socket", error)).and(report.finish())
}

/// Carries the datagrams of programs to the server.
struct Carrier {
    host: String,
    port: u16,
    connector: DatagramConnector,
    configured: ConfiguredClient,
    report: Arc<Report>,
}

impl Carrier {
    /// Serves a program to its end, and reports its connection.
    async fn serve(self: Arc<Self>, mut source: Source<UdpSocket>, mut ending: Ending) {
        let started = Instant::now();
        let counts = DatagramCounts::default();
        let mut attempt = Attempt::default();
        let result = tokio::select! {
            result = self.carry(&mut source, &mut attempt, &counts) => result,
            _ = ending.changed() => Ok(()),
        };
        let Attempt { connection, handshake, .. } = attempt;
        counts.add_dropped(source.dropped());
        let (facts, socket) = match &connection {
            Some(connection) => {
                counts.add_dropped(connection.dropped());
                let _ = timeout(GOODBYES, connection.close()).await;
                (connection.facts(), socket_facts(connection, started, handshake))
            }
            None => (Facts::default(), SocketFacts::default()),
        };
        let address = source.address();
        // A server that is down isn't tried with every datagram: the source keeps those that come now, and they are lost.
        let kept = result.is_err().then_some(source);
        let socket = SocketFacts {
            source: Some(address),
            datagrams_dropped: Some(counts.dropped()),
            total: started.elapsed(),
            error: result.err().map(|error| error.to_string()),
            ..socket
        };
        self.report.print(&ConnectionFacts::new(&facts, socket));
        if kept.is_some() {
            tokio::select! {
                () = sleep(PAUSE) => (),
                _ = ending.changed() => (),
            }
        }
    }

    async fn carry(
        &self,
        source: &mut Source<UdpSocket>,
        attempt: &mut Attempt,
        counts: &DatagramCounts,
    ) -> io::Result<()> {
        let found = look_up(&self.host, self.port).await;
        let addresses = found.map_err(|error| io::Error::other(error.to_string()))?;
        let mut first = Vec::new();
        while let Some(datagram) = source.try_recv() {
            first.push(datagram);
        }
        let early = |connection: &_| {
            let mut flight = Flight::default();
            for datagram in &first {
                if !flight.add(connection, datagram)? {
                    break;
                }
            }
            Ok(flight)
        };
        let destination = || self.configured.destination();
        attempt.connect(&self.connector, destination, &addresses, early).await?;
        let Attempt { connection: Some(connection), flight, .. } = &*attempt else { return Ok(()) };
        // What may have been executed isn't sent again: datagrams may be lost, not doubled.
        let taken = flight.taken(connection).unwrap_or(flight.lens.len());
        send_all(connection, first.split_off(taken), counts).await?;
        pump(&*source, connection, IDLE, counts).await.map(drop)
    }
}

async fn send_all(
    to: &impl DatagramSide,
    datagrams: Vec<Datagram>,
    counts: &DatagramCounts,
) -> io::Result<()> {
    for datagram in datagrams {
        if !to.send(&datagram).await? {
            counts.add_dropped(1);
        }
    }
    Ok(())
}

/// The most programs at a time.
const MAX_SOURCES: usize = 1000;

/// How long a program may be silent, and be sent nothing, before its connection ends.
const IDLE: Duration = Duration::from_secs(300);

/// How long to wait after a connection has failed before the next.
const PAUSE: Duration = Duration::from_secs(1);

/// How long the ends of connections may take.
const GOODBYES: Duration = Duration::from_secs(5);
