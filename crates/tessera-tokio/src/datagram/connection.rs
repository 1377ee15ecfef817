//! The connection that an application sends and receives with.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use tessera::handshake::{ClientHandshake, ServerHandshake};
use tessera::{Association, Error, Facts, Time};
use tessera_endpoint::ClientEndpoint;
use tokio::net::UdpSocket;
use tokio::sync::Notify;

use super::associations::{Associations, DatagramHandshake};
use super::hub::{Hub, Id, State};
use super::inbox::ReceivedDatagram;
use super::peer::{Known, Peer};
use super::sending::SendStep;
use super::socket::Socket;
use super::waiting::wait_for;
use crate::error::wrap;

/// A client's connection over datagrams.
pub type ClientDatagramConnection = DatagramConnection<ClientHandshake>;

/// A server's connection over datagrams.
pub type ServerDatagramConnection = DatagramConnection<ServerHandshake>;

/// A connection over datagrams: DTLS 1.3 over UDP.
///
/// - Data may be lost, and may arrive in another order. What must arrive is the application's to repeat.
/// - A task of the runtime drives the handshake and answers key updates, whatever the application waits for.
/// - Dropping a future loses nothing: [`recv`](Self::recv) has taken its datagram or not, [`send`](Self::send) has sent
///   its data or not. Several may wait at once.
/// - What arrives waits for `recv`, up to 128 KiB, and less once 64 MiB wait at the connections of a listener; then
///   it is [dropped](Self::dropped), as in the buffer of a UDP socket.
/// - Dropping the connection sends close_notify and ends it.
///
/// ```
/// use std::io;
/// use tessera_tokio::ServerDatagramConnection;
///
/// async fn echo(connection: ServerDatagramConnection) -> io::Result<()> {
///     connection.handshake().await?;
///     while let Some(datagram) = connection.recv().await? {
///         connection.send(&datagram).await?;
///     }
///     connection.close().await;
///     Ok(())
/// }
/// ```
pub struct DatagramConnection<S: DatagramHandshake> {
    hub: Arc<Hub<S>>,
    id: Id<S>,
    changed: Arc<Notify>,
    started: Instant,
    generation: u64,
}

impl<S: DatagramHandshake> DatagramConnection<S> {
    /// Makes the connection of an association that has a peer.
    pub(super) fn new(hub: &Arc<Hub<S>>, state: &mut State<S>, id: Id<S>) -> Option<Self> {
        let peer = state.peers.get_mut(&id)?;
        peer.has_user = true;
        let (changed, started) = (peer.changed.clone(), peer.started);
        let generation = peer.begun.generation;
        state.users += 1;
        Some(Self { hub: hub.clone(), id, changed, started, generation })
    }

    /// Waits until the handshake is complete: the peer is authenticated, and no data read so far was a replay.
    pub async fn handshake(&self) -> io::Result<()> {
        self.until(|peer| peer.is_complete.then_some(())).await?;
        Ok(())
    }

    /// Receives the data of a datagram; `None` after the peer's close_notify.
    ///
    /// A server may read early data before its handshake is complete: see [`ReceivedDatagram::is_early`].
    pub async fn recv(&self) -> io::Result<Option<ReceivedDatagram>> {
        self.until(|peer| match peer.inbox.pop() {
            Some(received) => Some(Some(received)),
            None => (peer.has_closed && peer.failed.is_none()).then_some(None),
        })
        .await
    }

    /// Sends data as one datagram, of at most [`max_data`](Self::max_data) bytes.
    ///
    /// It waits for the end of the handshake, except at a server that has accepted early data, which it may answer at
    /// once. It waits too while the peer is at a new address that hasn't been proved: that gets at most three times
    /// what came from it.
    pub async fn send(&self, data: &[u8]) -> io::Result<()> {
        loop {
            let step = wait_for(&self.changed, || self.hub.lock().send(self.id, data).transpose());
            match step.await? {
                SendStep::Sent => return Ok(()),
                SendStep::Blocked(socket) => socket.writable().await?,
            }
        }
    }

    /// Waits until a look at the peer has a result, or the connection has failed.
    async fn until<T>(&self, mut look: impl FnMut(&mut Peer<S>) -> Option<T>) -> io::Result<T> {
        self.release();
        wait_for(&self.changed, || match self.hub.lock().peers.get_mut(&self.id) {
            None => Some(Err(wrap(Error::Closed))),
            Some(peer) => match (look(peer), &peer.failed) {
                (Some(result), _) => Some(Ok(result)),
                (None, failed) => failed.as_ref().map(|it| Err(it.failure.to_io())),
            },
        })
        .await
    }

    /// Lets a client's first flight go.
    fn release(&self) {
        let mut state = self.hub.lock();
        if std::mem::take(&mut state.is_held) {
            state.flush();
        }
    }

    /// Returns the most data in one datagram, in bytes.
    pub fn max_data(&self) -> usize {
        self.look_at(|association| association.max_data()).unwrap_or(0)
    }

    /// Returns whether the handshake is complete.
    pub fn is_handshake_complete(&self) -> bool {
        self.peer(|peer| peer.is_complete)
    }

    /// Returns what is known of the connection: protocol, peer, suite, outcome of early data.
    pub fn facts(&self) -> Facts {
        let live = self.look_at(|association| association.facts().clone());
        live.or_else(|| self.known(|it| it.facts.clone())).unwrap_or_default()
    }

    /// Returns when it began: at a server, with the ClientHello that began an association.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Returns how long the handshake took; `None` until it is complete, and if an earlier process made it.
    pub fn handshake_time(&self) -> Option<Duration> {
        self.peer(|peer| peer.handshake_time)
    }

    /// Returns the generation of the configuration that it began with: see
    /// [`Acceptor::generation`](crate::Acceptor::generation) and
    /// [`Connector::generation`](crate::Connector::generation).
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns whether what the connection depends on was withdrawn: see
    /// [`TlsStream::is_withdrawn`](crate::TlsStream::is_withdrawn).
    pub fn is_withdrawn(&self) -> bool {
        let facts = self.facts();
        self.peer(|peer| peer.begun.is_withdrawn(&facts))
    }

    /// Returns where the peer is; a client may move. Once the connection has failed, where it was.
    pub fn peer_addr(&self) -> Option<SocketAddr> {
        let live = self.hub.lock().associations.path(self.id).map(|path| path.remote);
        live.or_else(|| self.peer(|peer| peer.address))
    }

    /// Returns the address of this side's socket.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let state = self.hub.lock();
        let local = state.associations.path(self.id).and_then(|path| path.local);
        state.sockets.named(local).local_addr()
    }

    /// Returns how many datagrams were dropped because no task received them in time.
    pub fn dropped(&self) -> u64 {
        self.peer(|peer| peer.inbox.dropped)
    }

    /// Returns how many bytes were received, and how many sent, handshake and records included.
    pub fn bytes(&self) -> [u64; 2] {
        let live = self.hub.lock().associations.bytes(self.id);
        live.or_else(|| self.known(|it| it.bytes)).unwrap_or_default()
    }

    /// Returns the epoch and sequence number of the newest record that opened: unlike bytes, only the peer can make it
    /// grow. `None` once the connection has ended.
    pub fn newest_record(&self) -> Option<(u64, u64)> {
        self.look_at(|association| association.newest_record())
    }

    /// Returns how many bytes of handshake messages were sent again.
    pub fn resent(&self) -> u64 {
        self.look_at(|association| association.resent()).unwrap_or(0)
    }

    /// Exports keying material (RFC 8446 §7.5) once the handshake is complete.
    pub fn export_keying_material(
        &self,
        label: &[u8],
        context: &[u8],
        out: &mut [u8],
    ) -> io::Result<()> {
        let exported = self.with(|it| it.export_keying_material(label, context, out));
        exported.unwrap_or(Err(Error::Closed)).map_err(wrap)
    }

    /// Changes this side's keys, and with `request` asks the peer to change its own (RFC 9147 §8). The new ones are
    /// used when the peer has acknowledged them.
    pub fn update_keys(&self, request: bool) -> io::Result<()> {
        let changed = self.with(|association| association.update_keys(request));
        self.hub.lock().flush();
        changed.unwrap_or(Err(Error::Closed)).map_err(wrap)
    }

    /// Sends close_notify: this side sends nothing more, and may go on receiving. Waits until a client's sessions are
    /// stored.
    ///
    /// No one acknowledges it: a peer that never gets it learns nothing.
    pub async fn close(&self) {
        self.with(Association::close);
        self.hub.lock().flush();
        poll_fn(|cx| match self.hub.lock().peers.get_mut(&self.id) {
            Some(peer) => peer.session_writer.poll_done(cx),
            None => Poll::Ready(()),
        })
        .await;
    }

    fn with<R>(&self, change: impl FnOnce(&mut Association<S>) -> R) -> Option<R> {
        self.hub.lock().associations.with(self.id, change)
    }

    fn look_at<R>(&self, look: impl FnOnce(&Association<S>) -> R) -> Option<R> {
        let mut state = self.hub.lock();
        let now = state.now();
        state.associations.look_at(self.id, now, look)
    }

    /// Looks at what was known when the connection failed.
    fn known<R>(&self, look: impl FnOnce(&Known) -> R) -> Option<R> {
        self.peer(|peer| peer.failed.as_ref().map(|failed| look(&failed.known)))
    }

    /// Looks at the peer, which is there as long as the connection is.
    pub(super) fn peer<R: Default>(&self, look: impl FnOnce(&Peer<S>) -> R) -> R {
        self.hub.lock().peers.get(&self.id).map(|peer| look(peer)).unwrap_or_default()
    }
}

impl ClientDatagramConnection {
    /// Writes early data, all of it or nothing, as one datagram; returns whether it was taken. That is `false` if there
    /// was no ticket for early data, if its limit is reached or if the server has answered.
    ///
    /// On a connection that was just [started](crate::DatagramConnector::start) it is sent with the ClientHello, on the
    /// first use of the connection; once, never again. When the handshake is complete,
    /// [`Facts::early_data`] reports whether it was accepted, and [`Facts::early_records_taken`] how many of the first
    /// calls have arrived; those after them were not executed and never will be. Without that count each may have been
    /// executed.
    pub fn write_early(&self, data: &[u8]) -> io::Result<bool> {
        let written = self.with(|association| association.write_early_data(data));
        self.hub.lock().flush();
        written.unwrap_or(Err(Error::Closed)).map_err(wrap)
    }

    /// Returns how many bytes of early data may be written now, in one call.
    pub fn early_data_room(&self) -> usize {
        self.with(|association| association.early_data_room()).unwrap_or(0)
    }

    /// Returns how many connection IDs the server has given for moves to come: without one, an observer of the earlier
    /// address and the next can link them.
    pub fn spare_connection_ids(&self) -> usize {
        self.look_at(|association| association.spare_connection_ids()).unwrap_or(0)
    }

    /// Continues over another socket: after the network has changed, or to leave it. A server with connection IDs, or with
    /// a socket for this connection alone, follows with the next record that it gets. The association goes on under another
    /// connection ID, if the server has given one.
    ///
    /// # Errors
    /// The connection has failed, or the socket can't reach the server: it is of the other address family, say. The present
    /// socket is then still used.
    pub async fn rebind(&self, socket: UdpSocket) -> io::Result<()> {
        self.change_socket(socket, |endpoint, local, now| endpoint.use_local(local, now)).await
    }

    /// As [`rebind`](Self::rebind), but leaves the present socket only when the server has answered on the other one: no
    /// datagram is lost to a network that doesn't work yet. It stays if there is no answer for two minutes. A server that
    /// checks no paths can't answer before: the other socket is used at once.
    ///
    /// # Errors
    /// As [`rebind`](Self::rebind).
    pub async fn move_to(&self, socket: UdpSocket) -> io::Result<()> {
        self.change_socket(socket, |endpoint, local, now| endpoint.replace_local(local, now)).await
    }

    /// Keeps another socket, such as that of another interface, for when three round trips bring no answer to what was
    /// sent, or the system refuses to send. It is used once the server has answered there; the earlier one is then kept.
    pub async fn add_spare(&self, socket: UdpSocket) -> io::Result<()> {
        self.change_socket(socket, |endpoint, local, _| endpoint.add_spare(local)).await
    }

    async fn change_socket(
        &self,
        io: UdpSocket,
        change: impl FnOnce(&mut ClientEndpoint, Option<SocketAddr>, Time),
    ) -> io::Result<()> {
        if let Some(error) = self.peer(|peer| peer.failed.as_ref().map(|it| it.failure.to_io())) {
            return Err(error);
        }
        let Some(remote) = self.peer_addr() else { return Err(wrap(Error::Closed)) };
        let follows = self.hub.lock().associations.follows();
        let socket = Socket::of_client(io, remote, follows).await?;
        let mut state = self.hub.lock();
        let now = state.now();
        let local = state.add_socket(socket)?;
        state.associations.change_socket(local, |endpoint| change(endpoint, Some(local), now));
        state.errors = 0;
        state.exchange_sockets();
        state.flush();
        state.wake_driver();
        Ok(())
    }
}

impl<S: DatagramHandshake> Drop for DatagramConnection<S> {
    fn drop(&mut self) {
        self.hub.lock().drop_peer(self.id);
    }
}
