//! The server's end.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tessera::handshake::ServerHandshake;
use tessera::resume::TicketKeys;
use tessera_endpoint::{Endpoint, EndpointCounts, EndpointOptions, FrozenAssociation, ThawError};
use tokio::net::UdpSocket;
use tokio::time::Instant;

use super::binder::{Binder, SocketAddresses};
use super::connection::{DatagramConnection, ServerDatagramConnection};
use super::driver::Driver;
use super::failures::FailedClient;
use super::foreign::ForeignDatagrams;
use super::frozen;
use super::hub::Hub;
use super::socket::Socket;
use super::sockets::Sockets;
use super::waiting::wait_for;
use crate::acceptor::Acceptor;

/// Accepts DTLS 1.3 clients at a UDP socket.
///
/// Strangers leave nothing here: a client gets a connection once it has proved its address with a cookie, or shown a
/// ticket with a binder that is right. See [`tessera_endpoint`] for what that costs, and for the limits. A client that
/// changes its address keeps its connection.
///
/// One task drives all connections. Dropping the listener ends those that still wait to be accepted; others go on.
///
/// ```no_run
/// use std::sync::Arc;
/// use tessera::ServerConfig;
/// use tessera::resume::TicketKeys;
/// use tessera_tokio::{Acceptor, DatagramListener, EndpointOptions};
///
/// # async fn example(
/// #     config: ServerConfig,
/// #     cookie_keys: Arc<dyn TicketKeys>,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// let acceptor = Acceptor::new(config.checked()?);
/// let address = "[::]:5684".parse()?;
/// let options = EndpointOptions::default();
/// let listener = DatagramListener::bind(address, &acceptor, cookie_keys, options).await?;
/// loop {
///     let connection = listener.accept().await?;
///     tokio::spawn(async move {
///         connection.handshake().await?;
///         while let Some(datagram) = connection.recv().await? {
///             connection.send(&datagram).await?;
///         }
///         std::io::Result::Ok(())
///     });
/// }
/// # }
/// ```
pub struct DatagramListener {
    hub: Arc<Hub<ServerHandshake>>,
}

impl DatagramListener {
    /// Binds a socket, and accepts its clients: see [`new`](Self::new).
    pub async fn bind(
        address: SocketAddr,
        acceptor: &Acceptor,
        cookies: Arc<dyn TicketKeys>,
        options: EndpointOptions,
    ) -> io::Result<Self> {
        Ok(Self::new(UdpSocket::bind(address).await?, acceptor, cookies, options))
    }

    /// Accepts the clients of a socket. `cookies` seals cookies: keys that a fleet behind one address shares, and that
    /// it should replace more often than those of tickets, such as a `tessera_vault::RotatingRing` of their own.
    /// [`Acceptor::replace`] applies here too.
    ///
    /// Bind the socket to one address of a machine that has several: answers leave from the address that the system
    /// chooses.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub fn new(
        socket: UdpSocket,
        acceptor: &Acceptor,
        cookies: Arc<dyn TicketKeys>,
        options: EndpointOptions,
    ) -> Self {
        let hub = Self::new_hub(socket, acceptor, cookies, options, None);
        tokio::spawn(Driver::new(hub.clone()));
        Self { hub }
    }

    /// Accepts the clients of a socket, and binds those that associations have of their own at these addresses, if the
    /// [options](EndpointOptions::own_sockets) ask for any: see [`new`](Self::new), which binds them at any ports of the
    /// socket's address. Where ports or descriptors run out, associations share the socket.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub fn with_own_sockets(
        socket: UdpSocket,
        acceptor: &Acceptor,
        cookies: Arc<dyn TicketKeys>,
        options: EndpointOptions,
        addresses: SocketAddresses,
    ) -> Self {
        let hub = Self::new_hub(socket, acceptor, cookies, options, Some(addresses));
        tokio::spawn(Driver::new(hub.clone()));
        Self { hub }
    }

    /// Accepts the clients of a socket, and returns the datagrams that aren't DTLS 1.3, which are dropped otherwise:
    /// see [`new`](Self::new).
    ///
    /// # Panics
    /// Outside of a runtime.
    pub fn with_foreign(
        socket: UdpSocket,
        acceptor: &Acceptor,
        cookies: Arc<dyn TicketKeys>,
        options: EndpointOptions,
    ) -> (Self, ForeignDatagrams) {
        let hub = Self::new_hub(socket, acceptor, cookies, options, None);
        let foreign = ForeignDatagrams::new(&hub);
        tokio::spawn(Driver::new(hub.clone()));
        (Self { hub }, foreign)
    }

    /// Accepts the clients of a socket as [`with_foreign`](Self::with_foreign) and
    /// [`with_own_sockets`](Self::with_own_sockets) do, and continues the connections that an earlier listener
    /// [moved out](Self::freeze): they are accepted first. Returns too why others aren't continued: their clients get a
    /// reset with their next datagram, if the options have the earlier listener's key.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub fn with_associations(
        socket: UdpSocket,
        acceptor: &Acceptor,
        cookies: Arc<dyn TicketKeys>,
        options: EndpointOptions,
        addresses: Option<SocketAddresses>,
        frozen: Vec<FrozenAssociation>,
    ) -> (Self, ForeignDatagrams, Vec<ThawError>) {
        let hub = Self::new_hub(socket, acceptor, cookies, options, addresses);
        // Before anything is received: a reset would end what is still to be thawed.
        let refused = frozen::thaw(&hub, frozen);
        let foreign = ForeignDatagrams::new(&hub);
        tokio::spawn(Driver::new(hub.clone()));
        (Self { hub }, foreign, refused)
    }

    /// Moves connections out, for the listener of the next process, which continues them
    /// ([`with_associations`](Self::with_associations)): all that can, and whose peer the configuration still accepts. Their
    /// users see them fail ([`has_moved_out`](ServerDatagramConnection::has_moved_out)); what they have received and not
    /// read is lost. Handshakes in progress, and connections with messages under way, stay: call it again a moment later, or
    /// close them.
    ///
    /// From the first call on no client is accepted, and none gets a reset.
    pub fn freeze(&self) -> Vec<FrozenAssociation> {
        self.hub.lock().freeze()
    }

    fn new_hub(
        socket: UdpSocket,
        acceptor: &Acceptor,
        cookies: Arc<dyn TicketKeys>,
        options: EndpointOptions,
        addresses: Option<SocketAddresses>,
    ) -> Arc<Hub<ServerHandshake>> {
        let (config, begun) = acceptor.current().begin();
        let random = config.provider.random;
        let any = |own: SocketAddr| SocketAddresses::Ports(own.ip(), 0..=0);
        let addresses = addresses.or_else(|| socket.local_addr().ok().map(any));
        let endpoint = Endpoint::new(config, cookies, options);
        let hub = Hub::new(
            endpoint,
            (acceptor.current().clone(), begun.generation),
            acceptor.answers().clone(),
            Sockets::new(Socket::unconnected(socket), None),
            Instant::now(),
        );
        let mut state = hub.lock();
        state.arrivals = Some(VecDeque::new());
        state.users = 1;
        state.binder = addresses.map(|addresses| Binder::new(addresses, random));
        state.exchange_sockets();
        drop(state);
        hub
    }

    /// Accepts a client whose ClientHello is answered. Its handshake goes on by itself:
    /// [`handshake`](DatagramConnection::handshake) waits for the end, and early data can be received and answered at
    /// once. Dropping the future loses no client.
    ///
    /// # Errors
    /// The socket doesn't work any more.
    pub async fn accept(&self) -> io::Result<ServerDatagramConnection> {
        wait_for(&self.hub.arrived, || self.take_arrival().transpose()).await
    }

    fn take_arrival(&self) -> io::Result<Option<ServerDatagramConnection>> {
        let mut state = self.hub.lock();
        while let Some(id) = state.arrivals.as_mut().and_then(VecDeque::pop_front) {
            if let Some(connection) = DatagramConnection::new(&self.hub, &mut state, id) {
                return Ok(Some(connection));
            }
        }
        if state.is_over { Err(io::ErrorKind::NotConnected.into()) } else { Ok(None) }
    }

    /// Returns a client that came to nothing before it was accepted. Up to 64 wait to be read; of those that come then only
    /// the [number](Self::missed_failures) is known. Dropping the future loses none.
    ///
    /// # Errors
    /// The socket doesn't work any more.
    pub async fn failed(&self) -> io::Result<FailedClient> {
        wait_for(&self.hub.arrived, || {
            let mut state = self.hub.lock();
            match state.failures.pop() {
                None if state.is_over => Some(Err(io::ErrorKind::NotConnected.into())),
                failed => failed.map(Ok),
            }
        })
        .await
    }

    /// Returns how many clients [came to nothing](Self::failed) and were not reported.
    pub fn missed_failures(&self) -> u64 {
        self.hub.lock().failures.missed
    }

    /// Returns the address of the socket.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.hub.lock().sockets.first.local_addr()
    }

    /// Returns what became of datagrams without a connection.
    pub fn counts(&self) -> EndpointCounts {
        self.hub.lock().associations.counts()
    }
}

impl Drop for DatagramListener {
    fn drop(&mut self) {
        let mut state = self.hub.lock();
        for id in state.arrivals.take().unwrap_or_default() {
            state.associations.remove(id);
            state.peers.remove(&id);
        }
        state.leave();
    }
}
