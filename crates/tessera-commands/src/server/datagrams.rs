//! Clients over UDP.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera::EarlyDataStatus;
use tessera_kit::ProgramError;
use tessera_kit::facts::{ConnectionFacts, SocketFacts};
use tessera_kit::report::Report;
use tessera_tokio::{
    Acceptor, DatagramListener, EndpointOptions, Limits, ServerDatagramConnection, TimedOut,
};
use tessera_vault::{RotatingRing, Rotation};
use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Echoes the datagrams of a socket's clients until it is asked to end, and reports each connection.
pub(super) async fn serve(
    socket: UdpSocket,
    acceptor: &Acceptor,
    limits: Limits,
    asked: impl Future<Output = ()>,
    report: &Arc<Report>,
) -> Result<(), ProgramError> {
    let endpoint = EndpointOptions {
        max_associations: limits.connections,
        max_per_source: limits.connections_per_address,
        ..EndpointOptions::default()
    };
    // Cookies live for seconds, so their keys need not survive the process.
    let rotation = Rotation { open_for: endpoint.cookie_lifetime, ..Rotation::default() };
    let cookies = RotatingRing::with_rotation(&tessera_aws_lc::provider(), rotation);
    let listener = DatagramListener::new(socket, acceptor, Arc::new(cookies), endpoint);
    let (end, ending) = watch::channel(());
    let mut clients = JoinSet::new();
    let mut asked = pin!(asked);
    let served = loop {
        tokio::select! {
            () = &mut asked => break Ok(()),
            accepted = listener.accept() => match accepted {
                Ok(connection) => {
                    clients.spawn(serve_client(connection, limits.idle, ending.clone(), report.clone()));
                }
                Err(error) => break Err(ProgramError::failed("the socket", error)),
            },
            Some(_) = clients.join_next() => (),
        }
    };
    drop(end);
    // Handshakes in progress are given up after a moment.
    let _ = timeout(limits.drain, async { while clients.join_next().await.is_some() {} }).await;
    served
}

/// Serves a client to its end, and reports it.
async fn serve_client(
    connection: ServerDatagramConnection,
    idle: Duration,
    mut ending: watch::Receiver<()>,
    report: Arc<Report>,
) {
    let started = Instant::now();
    let mut handshake = None;
    let result = async {
        // Early data is answered at once.
        if connection.facts().early_data != EarlyDataStatus::Accepted {
            connection.handshake().await?;
        }
        loop {
            if handshake.is_none() && connection.is_handshake_complete() {
                handshake = Some(started.elapsed());
            }
            let echoed = tokio::select! {
                biased;
                echoed = timeout(idle, echo(&connection)) => echoed,
                // The sender is gone.
                _ = ending.changed() => Ok(Ok(false)),
            };
            match echoed {
                Ok(Ok(true)) => (),
                Ok(result) => {
                    connection.close().await;
                    return result.map(|_| ());
                }
                Err(_) => {
                    connection.close().await;
                    return Err(io::Error::new(io::ErrorKind::TimedOut, TimedOut::Idle));
                }
            }
        }
    }
    .await;
    let [received, sent] = connection.bytes();
    let socket = SocketFacts {
        address: connection.peer_addr(),
        is_udp: true,
        received,
        sent,
        handshake,
        total: started.elapsed(),
        error: result.err().map(|error: io::Error| error.to_string()),
        ..SocketFacts::default()
    };
    report.print(&ConnectionFacts::new(&connection.facts(), socket));
}

/// Sends a datagram back; returns whether there was one.
async fn echo(connection: &ServerDatagramConnection) -> io::Result<bool> {
    let Some(received) = connection.recv().await? else { return Ok(false) };
    connection.send(&received).await?;
    Ok(true)
}
