//! The client's end.

use std::io;
use std::net::SocketAddr;

use tessera::{AssociationOptions, ClientAssociation, Destination};
use tessera_endpoint::{ClientEndpoint, Path};
use tokio::net::UdpSocket;
use tokio::time::Instant;

use super::connection::{ClientDatagramConnection, DatagramConnection};
use super::driver::Driver;
use super::hub::Hub;
use super::lone_association::LoneAssociation;
use super::peer::Peer;
use super::socket::{Socket, any_address};
use super::sockets::Sockets;
use crate::clock::since;
use crate::connector::{Connector, Preparation};
use crate::error::wrap;

/// Connects to servers over UDP: DTLS 1.3. Cheap to clone.
///
/// ```no_run
/// use tessera::{ClientConfig, Destination};
/// use tessera_tokio::{Connector, DatagramConnector};
///
/// # async fn example(config: ClientConfig) -> Result<(), Box<dyn std::error::Error>> {
/// let connector = DatagramConnector::new(Connector::new(config.checked()?));
/// let destination = Destination { server_name: "server.example".into(), ..Default::default() };
/// let connection = connector.connect("192.0.2.1:5684".parse()?, destination).await?;
/// connection.send(b"question").await?;
/// if let Some(answer) = connection.recv().await? {
///     println!("{} bytes", answer.len());
/// }
/// connection.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DatagramConnector {
    connector: Connector,
    options: AssociationOptions,
}

impl DatagramConnector {
    /// Connects with the configuration, the answers and the session store of a connector for streams. A session resumes
    /// over what it came over: a store should be for datagrams alone, or it may return a stream's session, in vain.
    pub fn new(connector: Connector) -> Self {
        Self { connector, options: AssociationOptions::default() }
    }

    /// Uses these options. The connection ID is for a client that shares its socket, so leave it empty. With
    /// [`follows_to`](AssociationOptions::follows_to) the client follows a server to a socket of the connection's own, at
    /// the server's address and at those with the prefixes there. Its own socket is then not connected: a port at which
    /// nothing listens is noticed only by its silence.
    pub fn with_options(self, options: AssociationOptions) -> Self {
        Self { options, ..self }
    }

    /// Returns the connector, to replace its configuration.
    pub fn connector(&self) -> &Connector {
        &self.connector
    }

    /// Connects to a server; ready when the handshake is complete.
    pub async fn connect(
        &self,
        server: SocketAddr,
        destination: Destination,
    ) -> io::Result<ClientDatagramConnection> {
        let connection = self.start(server, destination).await?;
        connection.handshake().await?;
        Ok(connection)
    }

    /// Starts a connection, and returns it before anything is sent: for
    /// [`write_early`](ClientDatagramConnection::write_early), or to run the handshake where the connection is used.
    ///
    /// ```
    /// use std::io;
    /// use std::net::SocketAddr;
    /// use tessera::Destination;
    /// use tessera_tokio::{ClientDatagramConnection, DatagramConnector};
    ///
    /// /// Asks with the first flight, and again what the server did not take.
    /// async fn ask(
    ///     connector: &DatagramConnector,
    ///     server: SocketAddr,
    ///     destination: Destination,
    ///     question: &[u8],
    /// ) -> io::Result<ClientDatagramConnection> {
    ///     let connection = connector.start(server, destination).await?;
    ///     let was_written = connection.write_early(question)?;
    ///     connection.handshake().await?;
    ///     if !was_written || connection.facts().early_records_taken == Some(0) {
    ///         connection.send(question).await?;
    ///     }
    ///     Ok(connection)
    /// }
    /// ```
    pub async fn start(
        &self,
        server: SocketAddr,
        destination: Destination,
    ) -> io::Result<ClientDatagramConnection> {
        let mut options = self.options.clone();
        if let Some(prefixes) = &mut options.follows_to {
            prefixes.push(server.ip().into());
        }
        let follows_to = options.follows_to.clone();
        let socket = UdpSocket::bind(any_address(server)).await?;
        let socket = Socket::of_client(socket, server, follows_to.is_some()).await?;
        let local = Some(socket.local_addr()?);
        let destination = self.connector.with_session(destination).await;
        let Preparation { config, begun, current, answers, session_writer, destination } =
            self.connector.prepare(destination);
        let started = Instant::now();
        let random = config.provider.random;
        let association = ClientAssociation::start(config, destination, options, since(started));
        let path = Path { remote: server, local };
        let endpoint = ClientEndpoint::new(association.map_err(wrap)?, path, follows_to, random);
        let association = LoneAssociation::new(endpoint);
        let generation = begun.generation;
        let sockets = Sockets::new(socket, local);
        let hub = Hub::new(association, (current, generation), answers, sockets, started);
        let mut state = hub.lock();
        let mut peer = Peer::new(begun, session_writer, state.room.clone());
        peer.is_open = true;
        state.is_held = true;
        state.peers.insert((), Box::new(peer));
        let connection = DatagramConnection::new(&hub, &mut state, ());
        drop(state);
        tokio::spawn(Driver::new(hub.clone()));
        connection.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}
