//! A program's connection, from start to end.

use std::future::Future;
use std::sync::Arc;

use tessera_proxy::gate::AdmittedClient;
use tessera_proxy::pump::{self, Side, pump};
use tessera_proxy::socket::{Peer, Socket};
use tessera_tokio::{ClientSocket, FirstFlight, ResetOnClose};
use tokio::io::AsyncWriteExt;

use super::Tunnel;
use super::carrier::{Carrier, Watch};
use super::verdict::{ConnectionEnd, Judgement, ServerState};
use crate::metrics::GaugeGuard;

/// A program's connection. Dropping it early cuts it, so that the program sees an irregular end.
pub(super) struct Connection {
    tunnel: Arc<Tunnel>,
    peer: Peer,
    local: ClientSocket<Socket>,
    server: Option<Carrier>,
    has_ended: bool,
    _active: GaugeGuard,
}

impl Connection {
    pub(super) fn new(
        tunnel: Arc<Tunnel>,
        AdmittedClient { socket, peer, .. }: AdmittedClient,
    ) -> Self {
        let _active = tunnel.metrics.active();
        Self { tunnel, peer, local: socket, server: None, has_ended: false, _active }
    }

    /// Carries the connection.
    #[allow(
        clippy::manual_async_fn,
        reason = "the future of an `async fn` has room for two of `self`"
    )]
    pub(super) fn run(mut self) -> impl Future<Output = ()> + Send {
        async move {
            // Box the setup: its memory is released before the long part begins.
            if let Err(ended) = Box::pin(self.open()).await {
                return self.end(ended);
            }
            let Some(server) = &mut self.server else { return };
            let pumped = pump(&mut self.local, server).await;
            self.end(match pumped.end {
                pump::End::Closed { .. } | pump::End::EndedEarly { .. } => ConnectionEnd::InOrder,
                pump::End::Failed { side: Side::A, error, .. } => ConnectionEnd::Local(error),
                pump::End::Failed { side: Side::B, error, .. } => ConnectionEnd::Server(error),
            });
        }
    }

    /// Takes a spare connection to the server, or makes one.
    async fn open(&mut self) -> Result<(), ConnectionEnd> {
        let Tunnel { server, metrics, .. } = &*self.tunnel;
        let Some(spare) = self.tunnel.spare() else {
            self.server = Some(server.first_flight().await?);
            return Ok(());
        };
        let stream = FirstFlight::from(spare.stream);
        self.server = Some(Carrier { stream, tracker: Watch::handshaken(metrics.clone()) });
        metrics.received_bytes.inc_by(spare.received.len() as u64);
        self.local.write_all(&spare.received).await.map_err(ConnectionEnd::Local)
    }

    fn end(&mut self, ended: ConnectionEnd) {
        self.has_ended = true;
        let server = self.server.as_mut().map(|it| it.tracker.end(&it.stream));
        if let (
            ConnectionEnd::Server(_),
            Some(carrier),
            Some(ServerState { handshake: None, .. }),
        ) = (&ended, &self.server, &server)
        {
            self.tunnel.server.avoid(carrier.stream.get_ref().get_ref().peer());
        }
        let judged = Judgement::of(ended, server.unwrap_or_default());
        if judged.resets_local() {
            self.local.reset_on_close();
        }
        self.tunnel.metrics.connections.count(judged.outcome);
        judged.log(&self.tunnel.name, &self.peer);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.has_ended {
            self.end(ConnectionEnd::Cut);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_output<F>(_: impl FnOnce(Connection) -> F) -> usize {
        size_of::<F>()
    }

    /// The size of an idle connection's task, apart from the heap: TLS, timers, and kernel memory.
    #[test]
    fn the_task_of_a_connection_is_small() {
        let size = size_of_output(Connection::run);
        assert!(size <= 704, "{size} bytes");
    }
}
