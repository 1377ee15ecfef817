//! Incoming connections.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use tessera::handshake::EarlyDataStatus;
use tessera_proxy::drain::{DrainSummary, accept_until, drain};
use tessera_proxy::gate::{AdmittedClient, Gate, GateSettings};
use tessera_proxy::http::body::{Body, BodyLimits};
use tessera_proxy::http::server::{AcceptedConnection, ServerOptions, UpgradeOptions, serve};
use tessera_proxy::listen::Listener;
use tessera_proxy::logging::tracing;
use tessera_proxy::socket::Peer;
use tessera_tokio::{Acceptor, Origin};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::config::Limits;
use crate::edge::{ClientConnection, Edge};
use crate::troubles::Troubles;

/// Whom a listener is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    Clients,
    /// The other proxies of the pool.
    Peers,
}

/// One listener.
#[derive(Clone)]
pub(super) struct ListenerContext {
    pub(super) audience: Audience,
    pub(super) acceptor: Acceptor,
    pub(super) gate: Gate,
    pub(super) edge: Arc<Edge>,
    pub(super) options: Arc<ServerOptions>,
    pub(super) ending: watch::Sender<bool>,
    /// Handshakes that failed.
    pub(super) troubles: Arc<Troubles<()>>,
}

impl ListenerContext {
    /// Accepts until shutdown. Open connections then have `limit` to finish.
    pub(super) async fn run(self, listener: Listener, limit: Duration) {
        let mut ending = self.ending.subscribe();
        let end = async move { drop(ending.wait_for(|ending| *ending).await) };
        let handle = |admitted| self.clone().connection(admitted);
        let mut connections = accept_until(end, listener, &self.gate, Origin::from, handle).await;
        let drained: DrainSummary = drain(&mut connections, limit).await;
        tracing::info!(listener = ?self.audience, "{drained}");
    }

    async fn connection(self, admitted: AdmittedClient) {
        let AdmittedClient { socket, handshake, peer, .. } = admitted;
        let address = match peer {
            Peer::Tcp(address) => Some(address.ip()),
            Peer::Local => None,
        };
        let shaken = async {
            let mut stream = self.acceptor.start(socket)?;
            stream.writable().await?;
            // Its client is known from its ticket.
            if stream.facts().early_data != EarlyDataStatus::Accepted {
                stream.handshake().await?;
            }
            std::io::Result::Ok(stream)
        };
        let stream = match Box::pin(shaken).await {
            Ok(stream) => stream,
            Err(error) => {
                self.report(address, &error);
                return;
            }
        };
        drop(handshake);
        let identity = stream.facts().peer.as_ref().map(|peer| peer.blob.clone());
        let accepted = AcceptedConnection::tls(stream);
        let mut ending = self.ending.subscribe();
        let ends = async move { drop(ending.wait_for(|ending| *ending).await) };
        let ended = match self.audience {
            Audience::Peers => {
                let service = async |request: Request<Body>| self.edge.answer_peer(request).await;
                Box::pin(serve(accepted, self.options.clone(), service, ends)).await
            }
            Audience::Clients => {
                let connection = ClientConnection::new(address, identity);
                let service = async |request: Request<Body>| {
                    Edge::answer(&self.edge, &connection, request).await
                };
                let ends = async {
                    tokio::select! {
                        () = ends => {}
                        () = connection.left() => {}
                    }
                };
                Box::pin(serve(accepted, self.options.clone(), service, ends)).await
            }
        };
        tracing::debug!(?address, "{}", ended.cause);
    }
}

impl ListenerContext {
    /// Logs a handshake that failed: those of clients fail for many reasons, those of other proxies for wrong certificates.
    fn report(&self, address: Option<IpAddr>, error: &std::io::Error) {
        match self.audience {
            Audience::Clients => tracing::debug!(?address, "the handshake failed: {error}"),
            Audience::Peers => {
                if let Some(left_out) = self.troubles.due(&(), Instant::now()) {
                    tracing::warn!(
                        ?address,
                        left_out,
                        "a connection to [peers] listen was refused: {error}; if it is another proxy, compare [peers] of both"
                    );
                }
            }
        }
    }
}

/// How long connections of other proxies may be quiet, and their ends not read: at least as long as those of their clients.
const PEERS_IDLE: Duration = Duration::from_secs(3600);
const PEERS_STALL: Duration = Duration::from_secs(300);

/// Returns the limits of the listener for other proxies, which may share an address. Those of `[limits]` are for clients: they
/// would have other proxies' connections closed.
pub(super) fn peers_gate(limits: &Limits) -> GateSettings {
    const CONNECTIONS: usize = 10_000;
    GateSettings {
        connections: CONNECTIONS,
        connections_per_address: Some(CONNECTIONS),
        handshakes: None,
        handshakes_per_address: None,
        new_per_second_per_address: None,
        idle: PEERS_IDLE.max(limits.answer),
        write: PEERS_STALL,
    }
}

/// Returns how other proxies' connections are served: what they forward is within the limits that hold where its client came.
pub(super) fn peers_options(limits: &Limits, drain: Duration) -> ServerOptions {
    ServerOptions {
        head_bytes: 1 << 20,
        head_fields: 1024,
        body: BodyLimits { max_len: u64::MAX, idle: PEERS_STALL },
        streams: 1000,
        head_time: Duration::from_secs(60),
        stall_time: PEERS_STALL,
        idle_time: PEERS_IDLE,
        ..options(limits, drain)
    }
}

/// Returns how clients' connections are served.
pub(super) fn options(limits: &Limits, drain: Duration) -> ServerOptions {
    ServerOptions {
        head_bytes: u32::try_from(limits.header_bytes).unwrap_or(u32::MAX),
        body: BodyLimits { max_len: limits.body, idle: limits.body_idle },
        streams: limits.streams,
        head_time: limits.head,
        // At its own limit the proxy has a more precise answer.
        request_time: limits.answer.saturating_add(Duration::from_secs(5)),
        stall_time: limits.write,
        idle_time: limits.idle,
        drain_time: drain,
        upgrades: Some(UpgradeOptions::default()),
        ..ServerOptions::default()
    }
}
