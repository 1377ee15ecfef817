//! A listener, and connectors for it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tessera::AssociationOptions;
use tessera_tokio::{
    Acceptor, ClientDatagramConnection, Connector, DatagramConnector, DatagramListener,
    EndpointOptions, MemorySessionStore, ServerDatagramConnection,
};
use tessera_vault::RotatingRing;
use tokio::time::timeout;

use crate::common::{Ends, destination};

pub struct World {
    pub acceptor: Acceptor,
    pub listener: DatagramListener,
    pub address: SocketAddr,
    pub connector: DatagramConnector,
}

/// The first timeout of retransmissions, shorter than in the field.
const FIRST_TIMEOUT: Duration = Duration::from_millis(50);

impl World {
    pub async fn new(ends: &Ends) -> Self {
        Self::with(ends.acceptor(), ends.connector()).await
    }

    pub async fn with(acceptor: Acceptor, connector: Connector) -> Self {
        let cookies = Arc::new(RotatingRing::new(&tessera_aws_lc::provider()));
        let options =
            EndpointOptions { first_timeout: FIRST_TIMEOUT, ..EndpointOptions::default() };
        let local = "127.0.0.1:0".parse().unwrap();
        let listener = DatagramListener::bind(local, &acceptor, cookies, options).await.unwrap();
        let address = listener.local_addr().unwrap();
        let options =
            AssociationOptions { first_timeout: FIRST_TIMEOUT, ..AssociationOptions::default() };
        let connector = connector.with_sessions(Arc::new(MemorySessionStore::default()));
        let connector = DatagramConnector::new(connector).with_options(options);
        Self { acceptor, listener, address, connector }
    }

    /// Returns both ends after the handshake.
    pub async fn connect(&self) -> (ClientDatagramConnection, ServerDatagramConnection) {
        self.connect_to(self.address).await
    }

    /// Likewise, through another address.
    pub async fn connect_to(
        &self,
        address: SocketAddr,
    ) -> (ClientDatagramConnection, ServerDatagramConnection) {
        let accepting = async {
            let server = self.listener.accept().await?;
            server.handshake().await?;
            Ok(server)
        };
        let connecting = self.connector.connect(address, destination());
        tokio::try_join!(connecting, accepting).unwrap()
    }

    /// Connects once, so that there are sessions to resume.
    pub async fn prepare(&self) {
        let (client, server) = self.connect().await;
        exchange(&client, &server).await;
        server.close().await;
        assert!(client.recv().await.unwrap().is_none());
        client.close().await;
    }
}

/// Sends a datagram in each direction.
pub async fn exchange(client: &ClientDatagramConnection, server: &ServerDatagramConnection) {
    client.send(b"question").await.unwrap();
    assert_eq!(server.recv().await.unwrap().unwrap()[..], *b"question");
    server.send(b"answer").await.unwrap();
    assert_eq!(client.recv().await.unwrap().unwrap()[..], *b"answer");
}

/// Fails a test that waits for what doesn't come.
pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(5), future).await.expect("it takes too long")
}
