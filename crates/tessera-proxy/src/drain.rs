//! Draining: connections may end within a limit, and the rest are cut.

use std::fmt;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

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
    async fn what_is_left_after_the_limit_is_cut_and_told() {
        let (mut connections, started) = (connections([1, 31, 1000]), Instant::now());
        let drained = drain(&mut connections, LIMIT).await;
        assert_eq!(drained, DrainSummary { ended: 1, cut: 2 });
        assert_eq!(started.elapsed(), LIMIT);
        assert!(connections.is_empty());
        assert_eq!(drained.to_string(), "2 connections were cut, 1 ended in time");
    }
}
