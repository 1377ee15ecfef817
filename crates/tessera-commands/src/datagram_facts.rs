//! What is reported of connections over UDP.

use std::io;
use std::time::{Duration, Instant};

use tessera_kit::facts::SocketFacts;
use tessera_kit::report::Report;
use tessera_proxy::datagrams::{SharedSocket, Sources};
use tessera_tokio::{DatagramConnection, DatagramHandshake};
use tokio::time::interval;

/// Returns what is known of a connection now.
pub(crate) fn socket_facts<S: DatagramHandshake>(
    connection: &DatagramConnection<S>,
    started: Instant,
    handshake: Option<Duration>,
) -> SocketFacts {
    let [received, sent] = connection.bytes();
    SocketFacts {
        address: connection.peer_addr(),
        is_udp: true,
        received,
        sent,
        handshake,
        total: started.elapsed(),
        ..SocketFacts::default()
    }
}

/// Reports, at intervals, what was refused because there were too many sources.
pub(crate) async fn report_refused<O: SharedSocket>(
    sources: &Sources<O>,
    report: &Report,
) -> io::Result<()> {
    let mut reported = 0;
    let mut interval = interval(PAUSE);
    loop {
        interval.tick().await;
        let refused = sources.refused();
        if refused != reported {
            report.line(&format_args!(
                "{refused} datagrams refused, since the start: too many sources"
            ));
            reported = refused;
        }
    }
}

/// The interval between two lines.
const PAUSE: Duration = Duration::from_secs(10);
