//! A listener's life: it accepts until the end. Then open connections may end within a limit, and the rest are cut.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use tessera_tokio::Origin;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::gate::{AdmittedClient, Gate};
use crate::listen::Listener;
use crate::socket::Peer;

/// The maximum number of connections accepted at the end.
const LATE: usize = 1_024;

/// Accepts clients until `end` is ready, and handles each in its own task. `origin` decides how a client is counted
/// ([`Gate::accept_as`]).
///
/// Then it accepts the connections that are already in the listener's queue, drops the listener, and returns the tasks
/// of open connections, for [`drain`]. New connections are refused, or wait for the process that inherits the socket.
pub async fn accept_until<F>(
    end: impl Future<Output = ()>,
    listener: Listener,
    gate: &Gate,
    origin: impl Fn(Peer) -> Origin,
    handle: impl Fn(AdmittedClient) -> F,
) -> JoinSet<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let mut end = pin!(end);
    loop {
        tokio::select! {
            () = &mut end => break,
            admitted = gate.accept_as(&listener, &origin) => {
                connections.spawn(handle(admitted));
            }
            // A finished task holds its memory until it is joined.
            Some(_) = connections.join_next() => {}
        }
    }
    // Connections already in the accept queue may carry early data; serve them before closing.
    for _ in 0..LATE {
        let next = gate.accept_as(&listener, &origin);
        let Ok(admitted) = timeout(Duration::ZERO, next).await else { break };
        connections.spawn(handle(admitted));
    }
    connections
}

/// Waits until the tasks of all connections have ended, but no longer than `limit`, and then drops the rest. Stop
/// accepting before. Dropping the future cuts no connection.
///
/// ```
/// use std::time::Duration;
///
/// use tessera_proxy::drain::drain;
/// use tokio::task::JoinSet;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut connections = JoinSet::new();
/// connections.spawn(std::future::pending());
/// let drained = drain(&mut connections, Duration::from_millis(10)).await;
/// assert_eq!(drained.to_string(), "1 connection was cut, 0 ended in time");
/// # }
/// ```
pub async fn drain(connections: &mut JoinSet<()>, limit: Duration) -> DrainSummary {
    while connections.try_join_next().is_some() {}
    let before = connections.len();
    let all = async { while connections.join_next().await.is_some() {} };
    // The rest are counted below.
    let _ = timeout(limit, all).await;
    let cut = connections.len();
    connections.shutdown().await;
    DrainSummary { ended: before - cut, cut }
}

/// The fate of the connections that were open when draining began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrainSummary {
    /// Connections that ended by themselves.
    pub ended: usize,
    /// Connections that were cut.
    pub cut: usize,
}

/// A sentence for the log.
impl fmt::Display for DrainSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cut {
            0 => f.write_str("all connections ended in time"),
            1 => write!(f, "1 connection was cut, {} ended in time", self.ended),
            cut => write!(f, "{cut} connections were cut, {} ended in time", self.ended),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    fn connections(seconds: impl IntoIterator<Item = u64>) -> JoinSet<()> {
        seconds.into_iter().map(|seconds| sleep(Duration::from_secs(seconds))).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_over_as_soon_as_all_connections_have_ended() {
        let (mut connections, started) = (connections(1..=5), Instant::now());
        let drained = drain(&mut connections, LIMIT).await;
        assert_eq!(drained, DrainSummary { ended: 5, cut: 0 });
        assert_eq!(started.elapsed(), Duration::from_secs(5));
        assert_eq!(drained.to_string(), "all connections ended in time");
    }

    #[tokio::test(start_paused = true)]
    async fn connections_left_after_the_limit_are_cut_and_reported() {
        let (mut connections, started) = (connections([1, 31, 1000]), Instant::now());
        let drained = drain(&mut connections, LIMIT).await;
        assert_eq!(drained, DrainSummary { ended: 1, cut: 2 });
        assert_eq!(started.elapsed(), LIMIT);
        assert!(connections.is_empty());
        assert_eq!(drained.to_string(), "2 connections were cut, 1 ended in time");
    }
}
