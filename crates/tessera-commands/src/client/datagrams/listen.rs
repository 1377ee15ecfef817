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
use tessera_tokio::DatagramConnector;
use tokio::net::UdpSocket;
use tokio::time::{sleep, timeout};

use super::attempt::{Attempt, LastLoss, PAUSE};
use super::early_datagrams::EarlyDatagrams;
use super::network::Network;
use super::newest::{LOST, NewestKept};
use super::{configured_connector, datagram_connector, following};
use crate::client::config::ConfiguredClient;
use crate::client::look_up;
use crate::datagram_facts::{report_refused, socket_facts};
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
    // Programs that come back resume.
    let connector = configured_connector(options, &configured)?;
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
        resets: None,
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
        network: Network::watch(),
    });
    let serve = |source, ending| carrier.clone().serve(source, ending);
    let served = tokio::select! {
        served = sources.run(asked, GOODBYES, serve) => served,
        never = report_refused(&sources, &report) => never,
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
    network: Option<Network>,
}

impl Carrier {
    /// Serves a program to its end.
    async fn serve(self: Arc<Self>, mut source: Source<UdpSocket>, mut ending: Ending) {
        let mut again = None;
        let mut last_loss = LastLoss::default();
        loop {
            let (end, facts) = self.connect(&mut source, &mut ending, again).await;
            if let CarryEnd::Closed = end {
                // Its next datagram begins another connection.
                drop(source);
                return self.report.print(&facts);
            }
            self.report.print(&facts);
            match end {
                CarryEnd::Lost(newest) if last_loss.note() => {
                    self.report.line(&format_args!("{}: {LOST}", source.address()));
                    again = newest;
                }
                _ => break,
            }
        }
        // A server that is down isn't tried with every datagram: the source keeps those that come now, and they are lost.
        tokio::select! {
            () = sleep(PAUSE) => (),
            _ = ending.changed() => (),
        }
    }

    /// Serves a program as long as a connection lasts. `again` is sent first.
    async fn connect(
        &self,
        source: &mut Source<UdpSocket>,
        ending: &mut Ending,
        again: Option<Datagram>,
    ) -> (CarryEnd, ConnectionFacts) {
        let started = Instant::now();
        let counts = DatagramCounts::default();
        let mut attempt = Attempt::default();
        let dropped_before = source.dropped();
        let mut end = CarryEnd::Closed;
        let result = tokio::select! {
            result = self.carry(source, &mut attempt, &counts, again, &mut end) => result,
            _ = ending.changed() => Ok(()),
        };
        let Attempt { connection, handshake, .. } = attempt;
        counts.add_dropped(source.dropped() - dropped_before);
        let (facts, socket) = match &connection {
            Some(connection) => {
                counts.add_dropped(connection.dropped());
                let _ = timeout(GOODBYES, connection.close()).await;
                (connection.facts(), socket_facts(connection, started, handshake))
            }
            None => (Facts::default(), SocketFacts::default()),
        };
        let socket = SocketFacts {
            source: Some(source.address()),
            datagrams_dropped: Some(counts.dropped()),
            total: started.elapsed(),
            error: result.as_ref().err().map(|error| error.to_string()),
            ..socket
        };
        if result.is_err() && matches!(end, CarryEnd::Closed) {
            end = CarryEnd::Failed;
        }
        (end, ConnectionFacts::new(&facts, socket))
    }

    async fn carry(
        &self,
        source: &mut Source<UdpSocket>,
        attempt: &mut Attempt,
        counts: &DatagramCounts,
        again: Option<Datagram>,
        end: &mut CarryEnd,
    ) -> io::Result<()> {
        let found = look_up(&self.host, self.port).await;
        let addresses = found.map_err(|error| io::Error::other(error.to_string()))?;
        let mut first = Vec::from_iter(again);
        while let Some(datagram) = source.try_recv() {
            first.push(datagram);
        }
        let early = |connection: &_| {
            let mut early = EarlyDatagrams::default();
            for datagram in &first {
                if !early.add(connection, datagram)? {
                    break;
                }
            }
            Ok(early)
        };
        let destination = || self.configured.destination();
        attempt.connect(&self.connector, destination, &addresses, early).await?;
        let Attempt { connection: Some(connection), early, .. } = &*attempt else { return Ok(()) };
        let settled = early.settled(connection);
        let kept = NewestKept::new(connection);
        let result = async {
            send_all(&kept, first.split_off(settled), counts).await?;
            let pumping = pump(&*source, &kept, IDLE, counts);
            following(connection, self.network.as_ref(), pumping).await.map(drop)
        };
        let result = result.await;
        if let Some(newest) = result.as_ref().err().and_then(|error| kept.after(error)) {
            *end = CarryEnd::Lost(newest);
        }
        result
    }
}

/// How a program's connection ended.
enum CarryEnd {
    Closed,
    Failed,
    /// The server has lost it; what is to be sent again.
    Lost(Option<Datagram>),
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

/// How long the ends of connections may take.
const GOODBYES: Duration = Duration::from_secs(5);
