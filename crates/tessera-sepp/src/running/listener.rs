//! Incoming connections.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Request;
use tessera::handshake::EarlyDataStatus;
use tessera_kit::clock::unix;
use tessera_proxy::drain::{DrainSummary, accept_until, drain};
use tessera_proxy::gate::{AdmittedClient, Gate};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::server::{AcceptedConnection, KeepAlive, ServerOptions, keep, serve};
use tessera_proxy::listen::Listener;
use tessera_proxy::logging::tracing;
use tessera_proxy::socket::{Peer, Socket};
use tessera_tokio::{Acceptor, ClientSocket, HandshakePlace, Origin, ServerStream};

use super::shared::SharedState;
use crate::config;
use crate::names::Fqdn;
use crate::reconnection::PeerConnection;

/// What a listener is for.
#[derive(Clone)]
pub(super) enum Service {
    /// Local network functions, with TLS or without.
    Functions(Option<Acceptor>),
    /// Peers.
    Peers(Acceptor),
}

/// One listener.
#[derive(Clone)]
pub(super) struct ListenerContext {
    /// `sbi`, `n32c`, `n32f` or `n32`.
    pub(super) name: &'static str,
    pub(super) service: Service,
    pub(super) gate: Gate,
    pub(super) shared: Arc<SharedState>,
}

impl ListenerContext {
    /// Accepts until shutdown. Open connections then have `limit` to finish.
    pub(super) async fn run(self, listener: Listener, limit: Duration) -> DrainSummary {
        let mut ending = self.shared.ending.subscribe();
        let end = async move { drop(ending.wait_for(|ending| *ending).await) };
        let handle = |admitted| self.clone().connection(admitted);
        let mut connections = accept_until(end, listener, &self.gate, Origin::from, handle).await;
        drain(&mut connections, limit).await
    }

    fn connection(self, admitted: AdmittedClient) -> impl Future<Output = ()> + Send {
        let AdmittedClient { socket, handshake, peer, .. } = admitted;
        // In a box, like whatever else the future of an idle connection would reserve room for.
        self.admitted(Box::new(socket), handshake, peer)
    }

    async fn admitted(
        self,
        socket: Box<ClientSocket<Socket>>,
        handshake: HandshakePlace,
        peer: Peer,
    ) {
        let address = match peer {
            Peer::Tcp(address) => address.to_string(),
            Peer::Local => "local".to_owned(),
        };
        let ended = match &self.service {
            Service::Functions(None) => {
                drop(handshake);
                Box::pin(self.functions(AcceptedConnection::plaintext(*socket))).await
            }
            Service::Functions(Some(acceptor)) => match Box::pin(acceptor.accept(*socket)).await {
                Ok(stream) => {
                    drop(handshake);
                    let accepted = AcceptedConnection::boxed_tls(Box::new(stream));
                    Box::pin(self.functions(accepted)).await
                }
                Err(error) => Err(ConnectionRefusal::Handshake(error)),
            },
            Service::Peers(acceptor) => match acceptor.start(*socket) {
                Ok(stream) => self.peers(Box::new(stream), handshake).await,
                Err(error) => Err(ConnectionRefusal::Handshake(error)),
            },
        };
        match ended {
            Ok(ended) => tracing::debug!(listener = self.name, address, "{ended}"),
            Err(ConnectionRefusal::Handshake(error)) => {
                if let Service::Peers(_) = &self.service {
                    self.shared.metrics.handshake_failed();
                }
                let why = format!("the handshake failed: {error}");
                self.shared.events.connection_refused(self.name, &address, &why);
            }
            Err(ConnectionRefusal::Peer(why)) => {
                self.shared.metrics.handshake_failed();
                self.shared.events.connection_refused(self.name, &address, &why);
            }
            Err(ConnectionRefusal::Limit(why)) => {
                self.shared.events.connection_refused(self.name, &address, &why);
            }
        }
    }

    async fn functions<IO>(
        &self,
        accepted: AcceptedConnection<IO>,
    ) -> Result<String, ConnectionRefusal>
    where
        IO: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    {
        let shared = &self.shared;
        let service = async |request: Request<Body>| match shared.admit(None, &request) {
            Ok(_under_way) => shared.sepp.sbi(request).await,
            Err(response) => response,
        };
        let options = shared.options();
        let ended = serve(accepted, options, service, shared.asked_to_end()).await;
        self.gate.count_end(&ended.cause);
        Ok(ended.cause.to_string())
    }

    async fn peers(
        &self,
        mut stream: Box<ServerStream<ClientSocket<Socket>>>,
        place: HandshakePlace,
    ) -> Result<String, ConnectionRefusal> {
        let began = Instant::now();
        let connected = Box::pin(self.shake_hands(&mut stream)).await?;
        let peer = connected.identity.peer.clone();
        let metrics = self.shared.metrics.peer(&peer);
        let live = self.shared.sepp.live();
        if live.guard.rates(&peer).is_some_and(|rates| rates.connection().is_err()) {
            metrics.rate_limited();
            return Err(ConnectionRefusal::Limit(format!(
                "{peer} exceeds its rate of new connections"
            )));
        }
        let Some(_share) = self.shared.connections.take(&peer) else {
            metrics.rate_limited();
            return Err(ConnectionRefusal::Limit(format!(
                "{peer} already has its share of the connections"
            )));
        };
        metrics.handshake(stream.facts(), began.elapsed());
        // The peer is authenticated.
        drop(place);
        let options = self.options_for(live.configured(&peer));
        drop(live);
        let shared = &self.shared;
        let (identity, connected) = (&*connected.identity, &connected);
        let service = async |request: Request<Body>| {
            let under_way = match shared.admit(Some(&identity.peer), &request) {
                Ok(under_way) => under_way,
                Err(response) => return response,
            };
            let mut answer = shared.sepp.n32(connected, request).await;
            // An answer that the peer doesn't read still counts as in progress.
            keep(&mut answer, under_way);
            answer
        };
        let ends = Box::pin(shared.until_gone(connected));
        let accepted = AcceptedConnection::boxed_tls(stream);
        let ended = Box::pin(serve(accepted, options, service, ends)).await;
        self.gate.count_end(&ended.cause);
        Ok(format!("{peer}: {}", ended.cause))
    }

    /// Authenticates the peer. If early data was accepted, it doesn't wait for the end of the handshake.
    async fn shake_hands(
        &self,
        stream: &mut ServerStream<ClientSocket<Socket>>,
    ) -> Result<PeerConnection, ConnectionRefusal> {
        stream.writable().await.map_err(ConnectionRefusal::Handshake)?;
        if stream.facts().early_data != EarlyDataStatus::Accepted {
            stream.handshake().await.map_err(ConnectionRefusal::Handshake)?;
        }
        let connected = self.shared.sepp.identify(stream.facts());
        connected.map_err(|why| {
            ConnectionRefusal::Peer(format!("the peer is no longer accepted: {why}"))
        })
    }

    /// Returns the options with the peer's keep-alive.
    fn options_for(&self, peer: Option<&config::Peer>) -> Arc<ServerOptions> {
        let options = self.shared.options();
        let Some(peer) = peer else { return options };
        let keep_alive = KeepAlive { interval: peer.keep_alive, timeout: PONG };
        Arc::new(ServerOptions { keep_alive: Some(keep_alive), ..(*options).clone() })
    }
}

/// How long the answer to a PING may take.
const PONG: Duration = Duration::from_secs(20);

/// Why a connection carried nothing.
enum ConnectionRefusal {
    Handshake(io::Error),
    /// It is no longer accepted.
    Peer(String),
    /// It has too many connections, or opens them too fast.
    Limit(String),
}

impl SharedState {
    /// Completes when the process ends.
    fn asked_to_end(&self) -> impl Future<Output = ()> + use<> {
        let mut ending = self.ending.subscribe();
        async move { drop(ending.wait_for(|ending| *ending).await) }
    }

    /// Completes when the process ends, or the peer is no longer accepted: its anchor, its certificate or the peer
    /// itself left the configuration, its certificate expired, or an operator drains it.
    async fn until_gone(&self, connected: &PeerConnection) {
        let identity = &connected.identity;
        let mut live = self.sepp.watch();
        let mut drained = self.drained.subscribe();
        let gone = async {
            loop {
                let now = live.borrow_and_update().clone();
                if now.tls.standing().stands(identity, unix()).is_err() {
                    return;
                }
                drop(now);
                let left = identity.certificate.expires_at.saturating_sub(unix().as_secs());
                tokio::select! {
                    changed = live.changed() => if changed.is_err() { return },
                    // A timer holds at most two years.
                    () = tokio::time::sleep(Duration::from_secs(left.clamp(1, 86_400))) => {}
                }
            }
        };
        let times = |drained: &HashMap<Fqdn, u64>| drained.get(&identity.peer).copied();
        let before = times(&drained.borrow());
        let drained = async { drop(drained.wait_for(|now| times(now) != before).await) };
        let ending = self.asked_to_end();
        tokio::select! {
            () = ending => {}
            () = gone => {}
            () = drained => {}
        }
    }
}
