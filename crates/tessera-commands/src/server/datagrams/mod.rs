//! Clients over UDP.

mod client;
mod dtls12;
mod failures;
mod restart;
mod target;

use std::future::pending;
use std::io;
use std::pin::pin;
use std::sync::Arc;

use tessera_kit::ProgramError;
use tessera_kit::report::Report;
use tessera_tokio::{
    Acceptor, DatagramListener, EndpointOptions, Limits, OwnSockets, SocketAddresses,
};
use tessera_vault::{RotatingRing, Rotation};
use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::files::files_of_each;
use super::stores::Stores;
use crate::options::ServeOptions;

/// Echoes or forwards the datagrams of a socket's clients until it is asked to end, and reports each connection.
pub(super) async fn serve(
    socket: UdpSocket,
    acceptor: &Acceptor,
    options: &ServeOptions,
    limits: Limits,
    stores: &Stores,
    asked: impl Future<Output = ()>,
    report: &Arc<Report>,
) -> Result<(), ProgramError> {
    let mut endpoint = EndpointOptions {
        max_associations: limits.connections,
        max_per_source: limits.connections_per_address,
        reset_key: stores.reset_key(),
        ..EndpointOptions::default()
    };
    endpoint.own_sockets = options.sockets.map(|policy| OwnSockets {
        max: limits.connections.min(files_of_each(options)),
        max_per_source: limits.connections_per_address,
        idle_timeout: options.idle_timeout,
        ..OwnSockets::new(policy)
    });
    if let Some(len) = options.common.max_datagram {
        endpoint.max_datagram = len.into();
    }
    // Cookies live for seconds, so their keys need not survive the process.
    let rotation = Rotation { open_for: endpoint.cookie_lifetime, ..Rotation::default() };
    let cookies = RotatingRing::with_rotation(&tessera_aws_lc::provider(), rotation);
    let cookies = Arc::new(cookies);
    let frozen = stores.take_associations().unwrap_or_else(|error| {
        report.line(&format_args!(
            "{error}: ignored; the clients of the server before connect again"
        ));
        Vec::new()
    });
    let found = frozen.len();
    let ports = options.socket_ports.clone().zip(socket.local_addr().ok());
    let addresses = ports.map(|(ports, own)| SocketAddresses::Ports(own.ip(), ports));
    let (listener, foreign, refused) =
        DatagramListener::with_associations(socket, acceptor, cookies, endpoint, addresses, frozen);
    restart::report_thawed(found, &refused, report);
    let foreign = options.forward_dtls12.map(|target| (foreign, target));
    let has_relay = foreign.is_some();
    let (end, ending) = watch::channel(());
    let mut relay_ending = ending.clone();
    let until_end = async {
        let _ = relay_ending.changed().await;
    };
    let relay = async {
        match foreign {
            Some((foreign, target)) => {
                dtls12::relay(foreign, target, limits, until_end, report).await
            }
            None => pending().await,
        }
    };
    let mut relay = pin!(relay);
    let mut failing = pin!(failures::report_all(&listener, report));
    let mut clients = JoinSet::new();
    let mut asked = pin!(asked);
    let served = loop {
        tokio::select! {
            () = &mut asked => break Ok(()),
            accepted = listener.accept() => match accepted {
                Ok(connection) => {
                    let forward = options.forward;
                    let (ending, report) = (ending.clone(), report.clone());
                    clients.spawn(client::serve(connection, forward, limits.idle, ending, report));
                }
                Err(error) => break Err(error),
            },
            relayed = &mut relay => break relayed,
            Err(error) = &mut failing => break Err(error),
            Some(_) = clients.join_next() => (),
        }
    };
    if stores.keeps_associations() && served.is_ok() {
        stores.keep_associations(restart::freeze(&listener, &clients).await);
    }
    drop((end, ending));
    // Handshakes in progress are given up after a moment.
    let _ = timeout(limits.drain, async {
        while clients.join_next().await.is_some() {}
        if served.is_ok() && has_relay {
            let _: io::Result<()> = relay.await;
        }
    })
    .await;
    served.map_err(|error| ProgramError::failed("the socket", error))
}
