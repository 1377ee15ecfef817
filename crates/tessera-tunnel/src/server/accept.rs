//! The loop that accepts, and its end.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tessera_proxy::drain::{DrainSummary, drain};
use tessera_proxy::listen::Listener;
use tessera_proxy::socket::Peer;
use tessera_tokio::Origin;
use tokio::task::JoinSet;

use super::Shared;
use super::connection::Connection;

/// Accepts until `end` is ready. Then open connections have `limit` to end.
pub(super) async fn serve(
    shared: &Arc<Shared>,
    listener: Listener,
    end: impl Future<Output = ()>,
    limit: Duration,
) -> DrainSummary {
    let mut connections = JoinSet::new();
    let mut end = pin!(end);
    loop {
        let origin = |peer: Peer| {
            if shared.requires_header(peer) { Origin::TRUSTED } else { Origin::from(peer) }
        };
        tokio::select! {
            () = &mut end => break,
            admitted = shared.gate.accept_as(&listener, origin) => {
                let connection = Connection::new(shared.clone(), admitted);
                connections.spawn(connection.run());
            }
            Some(_) = connections.join_next() => {}
        }
    }
    // New connections are now refused, or wait for the next process with this socket.
    drop(listener);
    drain(&mut connections, limit).await
}
