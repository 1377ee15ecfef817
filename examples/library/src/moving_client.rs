//! A client over UDP that changes its address.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tessera::{AssociationOptions, Destination};
use tessera_tokio::{Connector, DatagramConnector, NetworkChanges};
use tokio::time::sleep;

/// Sends a reading each minute, over one connection, from whichever network the machine has.
pub async fn send_readings(
    connector: Connector,
    server: SocketAddr,
    name: &str,
    reading: impl Fn() -> Vec<u8>,
) -> io::Result<()> {
    // A server without connection IDs may name another port of its address for this connection.
    let options =
        AssociationOptions { follows_to: Some(Vec::new()), ..AssociationOptions::default() };
    let connector = DatagramConnector::new(connector).with_options(options);
    let destination = Destination { server_name: name.into(), ..Destination::default() };
    let connection = connector.connect(server, destination).await?;
    let changes = NetworkChanges::watch()?;
    let sending = async {
        loop {
            connection.send(&reading()).await?;
            sleep(Duration::from_secs(60)).await;
        }
    };
    tokio::select! {
        ended = sending => ended,
        ended = connection.follow_network(&changes) => ended,
    }
}
