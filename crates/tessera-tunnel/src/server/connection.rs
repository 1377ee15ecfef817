//! A client's connection, from start to end.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, PoisonError};
use std::task::{Poll, ready};
use std::time::Instant;

use tessera::handshake::EarlyDataStatus;
use tessera_proxy::gate::AdmittedClient;
use tessera_proxy::proxy_protocol::{Addresses, Command, HeaderLimits, read_header};
use tessera_proxy::pump::{self, PumpSummary, Side, pump};
use tessera_proxy::socket::{Peer, Socket};
use tessera_tokio::{ClientSocket, HandshakePlace, Origin, ResetOnClose, TimedSocket};
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use tokio::sync::watch;
use zeroize::Zeroizing;

use super::answers::{BackendFirst, BackendSlot};
use super::backend::{self, ConnectionAddresses};
use super::carrier::{Carrier, Watch};
use super::ended::{ConnectionEnd, Story};
use super::{Settings, Shared};
use crate::metrics::{EarlyDataVerdict, GaugeGuard};

/// A client's connection. Dropping it early cuts it, so that the backend sees an irregular end.
pub(super) struct Connection {
    shared: Arc<Shared>,
    began: Instant,
    between: ConnectionAddresses,
    peer: Peer,
    /// Taken when TLS begins.
    admitted: Option<Box<(ClientSocket<Socket>, HandshakePlace)>>,
    client: Option<Carrier>,
    backend: Option<TimedSocket<Socket>>,
    has_ended: bool,
    _active: GaugeGuard,
}

impl Connection {
    /// Boxed: a future that takes it by value would reserve room for it twice.
    pub(super) fn new(shared: Arc<Shared>, admitted: AdmittedClient) -> Box<Self> {
        let AdmittedClient { socket, handshake, peer, .. } = admitted;
        let between = ConnectionAddresses {
            client: match peer {
                Peer::Tcp(address) => Some(address),
                Peer::Local => None,
            },
            server: socket.get_ref().local_addr().ok().flatten().map(canonical),
        };
        Box::new(Self {
            _active: shared.metrics.active(),
            shared,
            began: Instant::now(),
            between,
            peer,
            admitted: Some(Box::new((socket, handshake))),
            client: None,
            backend: None,
            has_ended: false,
        })
    }

    /// Carries the connection.
    pub(super) async fn run(mut self: Box<Self>) {
        // Box the setup: its memory is released before the long part begins.
        if let Err(ended) = Box::pin(self.open()).await {
            return self.end(ended);
        }
        let pumped = self.pump().await;
        let ended = pumped.map_or(ConnectionEnd::InOrder, |pumped| match pumped.end {
            pump::End::Closed { .. } => ConnectionEnd::InOrder,
            pump::End::EndedEarly { side: Side::A, error }
            | pump::End::Failed { side: Side::A, error, .. } => ConnectionEnd::Client(error),
            pump::End::EndedEarly { side: Side::B, error }
            | pump::End::Failed { side: Side::B, error, .. } => ConnectionEnd::Backend(error),
        });
        self.end(ended);
    }

    /// Authenticates the client, and connects to the backend.
    async fn open(&mut self) -> Result<(), ConnectionEnd> {
        let settings = self.shared.settings();
        let Some(admitted) = self.admitted.take() else { return Err(ConnectionEnd::InOrder) };
        let (mut socket, mut handshake) = *admitted;
        if self.shared.requires_header(self.peer) {
            self.read_header(&settings, &mut socket, &mut handshake).await?;
        }
        let dialled = BackendSlot::default();
        self.shake_hands(socket, handshake, &dialled).await?;
        let first = match settings.section.wait_for_client {
            true => self.first_bytes(&dialled).await?,
            false => Zeroizing::default(),
        };
        self.reach_backend(&dialled).await?;
        self.tell_backend(&settings, first).await
    }

    /// Reads a load balancer's header, and takes the client's address from it.
    async fn read_header(
        &mut self,
        settings: &Settings,
        socket: &mut ClientSocket<Socket>,
        place: &mut HandshakePlace,
    ) -> Result<(), ConnectionEnd> {
        let time = settings.section.limits.handshake;
        let limits = HeaderLimits { time, ..HeaderLimits::default() };
        let header = read_header(socket, limits).await.map_err(ConnectionEnd::NoHeader)?;
        let origin = match (header.command, header.addresses) {
            (Command::Proxy, Addresses::Ip { source, destination }) => {
                let source = canonical(source);
                self.between = ConnectionAddresses {
                    client: Some(source),
                    server: Some(canonical(destination)),
                };
                self.peer = Peer::Tcp(source);
                Origin::from(source.ip())
            }
            // A health check of the load balancer, or a header without addresses.
            _ => return Ok(()),
        };
        match self.shared.gate.admit_as(socket, place, origin) {
            true => Ok(()),
            false => Err(ConnectionEnd::Refused),
        }
    }

    /// Authenticates the client. With accepted early data it doesn't wait for the end of the handshake.
    async fn shake_hands(
        &mut self,
        socket: ClientSocket<Socket>,
        place: HandshakePlace,
        dialled: &BackendSlot,
    ) -> Result<(), ConnectionEnd> {
        let answers = BackendFirst { shared: self.shared.clone(), dialled: dialled.clone() };
        let acceptor = self.shared.acceptor.clone().with_answers(Arc::new(answers));
        let stream = acceptor.start(socket).map_err(ConnectionEnd::Handshake)?;
        let tracker = Watch::new(self.shared.metrics.clone(), self.began);
        let Carrier { stream, tracker } = self.client.insert(Carrier { stream, tracker });
        let flight = stream.writable().await;
        tracker.notice(stream);
        let early_data = stream.facts().early_data;
        if let Some(verdict) = EarlyDataVerdict::answered(stream.facts()) {
            self.shared.metrics.early_data.count(verdict);
        }
        flight.map_err(ConnectionEnd::Handshake)?;
        if early_data != EarlyDataStatus::Accepted {
            // Release the backend connection: otherwise a replayed flight would hold it until the handshake times out.
            drop(lock(dialled).take());
            let done = stream.handshake().await;
            tracker.notice(stream);
            done.map_err(ConnectionEnd::Handshake)?;
        }
        // The client is authenticated, or its early data accepted.
        drop(place);
        Ok(())
    }

    /// Waits for the client's first bytes, without a time limit. Meanwhile it holds no backend connection and no
    /// buffer, even if the first flight could have carried data and didn't, as with a spare connection.
    async fn first_bytes(
        &mut self,
        dialled: &BackendSlot,
    ) -> Result<Zeroizing<Vec<u8>>, ConnectionEnd> {
        let Some(client) = &mut self.client else { return Ok(Zeroizing::default()) };
        let mut reloads = self.shared.reloads.subscribe();
        let mut read = poll_fn(|cx| {
            let mut scratch = Zeroizing::new([0; FIRST]);
            let mut buffer = ReadBuf::new(&mut *scratch);
            let read = Pin::new(&mut *client).poll_read(cx, &mut buffer);
            // Early data comes before the client's Finished (RFC 8446 §4.5): the flight carried none.
            if read.is_pending() && client.stream.is_handshake_complete() {
                drop(lock(dialled).take());
            }
            ready!(read)?;
            Poll::Ready(Ok(Zeroizing::new(buffer.filled().to_vec())))
        });
        let first: io::Result<Zeroizing<Vec<u8>>> =
            until_ready(Pin::new(&mut read), &mut reloads).await;
        match first {
            // The client closed without sending anything.
            Ok(first) if first.is_empty() => {
                let _ = client.shutdown().await;
                Err(ConnectionEnd::InOrder)
            }
            other => other.map_err(ConnectionEnd::Client),
        }
    }

    /// Uses the connection dialled during the handshake, or dials another one.
    async fn reach_backend(&mut self, dialled: &BackendSlot) -> Result<(), ConnectionEnd> {
        let there = lock(dialled).take();
        let socket = match there {
            Some(socket) => socket,
            None => backend::dial(&self.shared).await.map_err(ConnectionEnd::Unreachable)?,
        };
        self.backend = Some(self.shared.gate.time(socket));
        Ok(())
    }

    /// Sends the backend the PROXY header and the client's first bytes.
    async fn tell_backend(
        &mut self,
        settings: &Settings,
        first: Zeroizing<Vec<u8>>,
    ) -> Result<(), ConnectionEnd> {
        let (Some(client), Some(backend)) = (&self.client, &mut self.backend) else {
            return Ok(());
        };
        let header = backend::header(&settings.section, self.between, client.stream.facts());
        let header = header.map_err(|error| ConnectionEnd::Backend(io::Error::other(error)))?;
        let mut bytes = Zeroizing::new(header.unwrap_or_default());
        bytes.extend_from_slice(&first);
        drop(first);
        backend.write_all(&bytes).await.map_err(ConnectionEnd::Backend)
    }

    async fn pump(&mut self) -> Option<PumpSummary> {
        let mut reloads = self.shared.reloads.subscribe();
        let (client, backend) = (self.client.as_mut()?, self.backend.as_mut()?);
        Some(until_ready(pin!(pump(client, backend)), &mut reloads).await)
    }

    fn end(&mut self, ended: ConnectionEnd) {
        self.has_ended = true;
        let metrics = &self.shared.metrics;
        if let ConnectionEnd::NoHeader(_) = &ended {
            metrics.refused_proxy_headers.inc();
        }
        let story = Story::of(&ended, self.peer, self.began, self.client.as_mut());
        if let (Some(backend), true) = (&self.backend, story.resets_backend()) {
            backend.reset_on_close();
        }
        if let Some(outcome) = story.outcome {
            metrics.connections.count(outcome);
        }
        story.log(&self.shared.name, &ended);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.has_ended {
            self.end(ConnectionEnd::Cut);
        }
    }
}

/// Also polls the future after every reload: a stream may have lost what it relies on.
async fn until_ready<F: Future>(
    mut future: Pin<&mut F>,
    reloads: &mut watch::Receiver<()>,
) -> F::Output {
    loop {
        tokio::select! {
            biased;
            done = &mut future => return done,
            changed = reloads.changed() => if changed.is_err() { return future.await },
        }
    }
}

fn lock(dialled: &BackendSlot) -> std::sync::MutexGuard<'_, Option<Socket>> {
    dialled.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Converts IPv4-mapped addresses, as an IPv6 listener reports them, to IPv4.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// How many of the client's first bytes are read at once: a record.
const FIRST: usize = 16 * 1024;
