//! Both ends over UDP, with tokio.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tessera::{EarlyDataStatus, Error as EngineError};
use tessera_tokio::{
    Acceptor, Connector, DatagramConnector, DatagramListener, EndpointOptions,
    ServerDatagramConnection,
};
use tessera_vault::RotatingRing;
use tokio::net::UdpSocket;
use tokio::time::sleep;
use zeroize::Zeroizing;

use super::client::Client;
use crate::Error;
use crate::way::Way;

/// Makes a connection, to its end.
pub async fn connect(client: &Client, connector: &Connector, resumed: bool) -> Result<(), Error> {
    let connector = DatagramConnector::new(connector.clone());
    let connection = connector.start(client.server, client.destination()).await?;
    let mut awaited = 1;
    if resumed && client.way.has_early_data() {
        awaited += 1;
        if !connection.write_early(&client.request("early plaintext"))? {
            return Err("early data was not taken".into());
        }
    }
    connection.handshake().await?;
    let mut updates = if client.way == Way::DtlsKeyUpdate { 2 } else { 0 };
    loop {
        connection.send(&client.request("application plaintext")).await?;
        for _ in 0..awaited {
            connection.recv().await?.ok_or("the server has closed too early")?;
        }
        awaited = 1;
        if updates == 0 {
            break;
        }
        // Of both ends' keys. The second is possible once the first is acknowledged.
        match connection.update_keys(true) {
            Ok(()) => updates -= 1,
            Err(error) if is_too_early(&error) => sleep(Duration::from_millis(5)).await,
            Err(error) => return Err(error.into()),
        }
    }
    client.check(&connection.facts(), resumed)?;
    connection.close().await;
    while connection.recv().await?.is_some() {}
    Ok(())
}

fn is_too_early(error: &io::Error) -> bool {
    let engine = error.get_ref().and_then(|it| it.downcast_ref::<EngineError>());
    matches!(engine, Some(EngineError::TooEarly(_)))
}

/// Listens at a socket.
pub fn listen(socket: UdpSocket, acceptor: &Acceptor) -> DatagramListener {
    let cookies = Arc::new(RotatingRing::new(&tessera_aws_lc::provider()));
    DatagramListener::new(socket, acceptor, cookies, EndpointOptions::default())
}

/// Answers a client's datagrams to its end.
pub async fn answer(
    connection: ServerDatagramConnection,
    reply: impl Fn(&[u8]) -> Zeroizing<Vec<u8>>,
) -> io::Result<()> {
    if connection.facts().early_data != EarlyDataStatus::Accepted {
        connection.handshake().await?;
    }
    while let Some(received) = connection.recv().await? {
        connection.send(&reply(&received)).await?;
    }
    connection.close().await;
    Ok(())
}
