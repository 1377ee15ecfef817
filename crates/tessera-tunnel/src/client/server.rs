//! Dials the server and begins TLS.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tessera::Destination;
use tessera::resume::ExternalPsk;
use tessera_proxy::dial::Dialler;
use tessera_proxy::gate::Gate;
use tessera_proxy::socket::{Peer, Socket};
use tessera_tokio::{ClientStream, Connector, TimedSocket};
use tokio::time::Instant;

use super::carrier::{Carrier, Watch};
use super::spare::Source;
use super::verdict::ConnectionEnd;
use crate::metrics::{DialResult, HandshakeKind, TunnelMetrics};

/// Makes connections to one server.
pub(super) struct Server {
    pub(super) dialler: Dialler,
    pub(super) connector: Connector,
    /// The name in its certificates; sessions are stored under it.
    pub(super) name: String,
    /// From the current configuration.
    pub(super) psks: Mutex<Vec<ExternalPsk>>,
    /// Its time-outs apply to both sides.
    pub(super) gate: Gate,
    pub(super) metrics: Arc<TunnelMetrics>,
}

impl Server {
    /// Returns a connection whose first bytes travel as early data, if there is a ticket. No TLS bytes have been sent
    /// yet.
    pub(super) async fn first_flight(&self) -> Result<Carrier, ConnectionEnd> {
        let socket = self.dial().await?;
        let stream = self.connector.first_flight(self.destination(), socket).await;
        // The configuration can't be used with this server. Nothing was sent.
        let stream = stream.map_err(ConnectionEnd::Server)?;
        Ok(Carrier { stream, tracker: Watch::new(self.metrics.clone()) })
    }

    async fn dial(&self) -> Result<TimedSocket<Socket>, ConnectionEnd> {
        let began = Instant::now();
        match self.dialler.dial().await {
            Ok(socket) => {
                self.metrics.dialled(began.elapsed());
                Ok(self.gate.time(socket))
            }
            Err(error) => {
                self.metrics.dials.count(DialResult::of(error.kind()));
                Err(ConnectionEnd::Unreachable(io::Error::new(error.kind(), error)))
            }
        }
    }

    /// Records that TLS failed at this address: the next connection first tries another address of the name, if there
    /// is one. With Fast Open a closed port shows only here.
    pub(super) fn avoid(&self, peer: io::Result<Peer>) {
        if let Ok(Peer::Tcp(address)) = peer {
            self.dialler.avoid(address);
        }
    }

    fn destination(&self) -> Destination {
        let external_psks = self.psks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Destination {
            server_name: self.name.clone(),
            port: self.dialler.address().port(),
            external_psks,
            ..Destination::default()
        }
    }
}

/// Spare connections: handshaken, without early data.
impl Source for Arc<Server> {
    type Stream = ClientStream<TimedSocket<Socket>>;

    async fn connect(&self) -> io::Result<Self::Stream> {
        let socket = self.dial().await.map_err(ConnectionEnd::into_io)?;
        let (peer, began) = (socket.get_ref().peer(), Instant::now());
        let stream = self.connector.connect(self.destination(), socket).await;
        match &stream {
            Ok(stream) => self.metrics.handshake(stream.facts(), began.elapsed()),
            Err(_) => {
                self.metrics.handshakes.count(HandshakeKind::Failed);
                self.avoid(peer);
            }
        }
        stream
    }

    fn generation(&self) -> u64 {
        self.connector.generation()
    }
}
