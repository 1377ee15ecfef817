//! A client over UDP, from its first datagram to its end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tessera::EarlyDataStatus;
use tessera_kit::facts::{ConnectionFacts, SocketFacts};
use tessera_kit::report::Report;
use tessera_proxy::datagrams::{DatagramCounts, DatagramEnd, Ending, carry_answers, pump};
use tessera_tokio::{ServerDatagramConnection, TimedOut};
use tokio::net::UdpSocket;
use tokio::time::timeout;

use super::target::socket_to;
use crate::datagram_facts::socket_facts;

/// Serves a client to its end, and reports it.
pub(super) async fn serve(
    connection: ServerDatagramConnection,
    forward: Option<SocketAddr>,
    idle: Duration,
    mut ending: Ending,
    report: Arc<Report>,
) {
    let started = connection.started();
    let counts = DatagramCounts::default();
    let work = async {
        // Early data is answered at once.
        if connection.facts().early_data != EarlyDataStatus::Accepted {
            connection.handshake().await?;
        }
        let carried = async {
            match forward {
                Some(target) => {
                    let socket = socket_to(target).await?;
                    // Boxed: an echo needs no memory for it.
                    Box::pin(carry(&connection, &socket, idle, &counts)).await
                }
                None => echo(&connection, idle).await,
            }
        };
        tokio::select! {
            biased;
            carried = carried => carried,
            _ = ending.changed() => Ok(DatagramEnd::Closed),
        }
    };
    let result = work.await;
    connection.close().await;
    let result = match result {
        Err(_) if connection.has_moved_out() => Ok(DatagramEnd::Closed),
        Ok(DatagramEnd::Idle) => Err(io::Error::new(io::ErrorKind::TimedOut, TimedOut::Idle)),
        result => result,
    };
    counts.add_dropped(connection.dropped());
    let socket = SocketFacts {
        datagrams_dropped: forward.map(|_| counts.dropped()),
        error: result.err().map(|error| error.to_string()),
        ..socket_facts(&connection, started, connection.handshake_time())
    };
    report.print(&ConnectionFacts::new(&connection.facts(), socket));
}

/// Carries datagrams between a client and the target; a client that sends one and closes gets its answer.
async fn carry(
    connection: &ServerDatagramConnection,
    target: &UdpSocket,
    idle: Duration,
    counts: &DatagramCounts,
) -> io::Result<DatagramEnd> {
    let ended = pump(connection, target, idle, counts).await?;
    if ended == DatagramEnd::Closed {
        carry_answers(connection, target, counts).await?;
    }
    Ok(ended)
}

/// Sends datagrams back.
async fn echo(connection: &ServerDatagramConnection, idle: Duration) -> io::Result<DatagramEnd> {
    loop {
        match timeout(idle, connection.recv()).await {
            Err(_) => return Ok(DatagramEnd::Idle),
            Ok(received) => match received? {
                Some(received) => connection.send(&received).await?,
                None => return Ok(DatagramEnd::Closed),
            },
        }
    }
}
