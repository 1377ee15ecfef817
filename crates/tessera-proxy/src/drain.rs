//! The end of a process: nothing new begins, what is under way may end within a limit, and the rest is cut.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// Where the connections of a process end. A clone is the same.
///
/// ```
/// use std::time::Duration;
///
/// use tessera_proxy::drain::Drain;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let drain = Drain::new();
/// let tunnel = drain.group("server postgres");
/// // For each connection:
/// let connection = tunnel.enter();
/// tokio::spawn(async move {
///     tokio::select! {
///         () = std::future::pending() => (), // its work
///         () = connection.cut() => (),
///     }
/// });
/// let drained = drain.end(Duration::from_millis(10)).await;
/// assert_eq!(drained.to_string(), "1 connection was cut (server postgres: 1)");
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Drain(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    phase: watch::Sender<Phase>,
    /// How many connections there are.
    inside: watch::Sender<usize>,
    groups: Mutex<BTreeMap<String, Arc<AtomicUsize>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Serving,
    Draining,
    /// Whoever drains should wait no longer.
    Hurrying,
    Cutting,
}

/// Connections that are named together when they are cut, such as those of a tunnel. A clone is the same.
#[derive(Debug, Clone)]
pub struct Group {
    drain: Drain,
    count: Arc<AtomicUsize>,
}

/// A connection, for whose end a [`Drain`] waits as long as this is there.
#[derive(Debug)]
pub struct Inside(Group);

impl Drain {
    /// Without a connection.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Shared {
            phase: watch::Sender::new(Phase::Serving),
            inside: watch::Sender::new(0),
            groups: Mutex::default(),
        }))
    }

    /// The connections of this name.
    #[must_use]
    pub fn group(&self, name: &str) -> Group {
        let mut groups = self.0.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let count = groups.entry(name.to_owned()).or_default().clone();
        drop(groups);
        Group { drain: self.clone(), count }
    }

    /// Waits until the process begins to end. Then nothing more is to be accepted.
    pub async fn begun(&self) {
        self.phase(Phase::Draining).await;
    }

    /// Ends: waits until there are no connections, but no longer than this, and then cuts those that are left. Those
    /// have a second to close their sockets.
    pub async fn end(&self, limit: Duration) -> Drained {
        let before = *self.0.inside.borrow();
        self.reach(Phase::Draining);
        let over = timeout(limit, async {
            tokio::select! {
                () = self.empty() => true,
                () = self.phase(Phase::Hurrying) => false,
            }
        });
        let cut = if over.await == Ok(true) { BTreeMap::new() } else { self.counts() };
        self.reach(Phase::Cutting);
        let _ = timeout(LAST_MOMENT, self.empty()).await;
        let left = *self.0.inside.borrow();
        Drained { ended: before.saturating_sub(cut.values().sum()), cut, left }
    }

    /// Makes [`end`](Self::end) wait no longer: for a second signal. Before it, that one won't wait at all.
    pub fn hurry(&self) {
        self.reach(Phase::Hurrying);
    }

    fn counts(&self) -> BTreeMap<String, usize> {
        let groups = self.0.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let counts =
            groups.iter().map(|(name, count)| (name.clone(), count.load(Ordering::Relaxed)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    fn reach(&self, phase: Phase) {
        self.0.phase.send_if_modified(|now| {
            let is_later = *now < phase;
            *now = phase.max(*now);
            is_later
        });
    }

    async fn phase(&self, phase: Phase) {
        // The sender is in `self`.
        let _ = self.0.phase.subscribe().wait_for(|now| *now >= phase).await;
    }

    async fn empty(&self) {
        let _ = self.0.inside.subscribe().wait_for(|inside| *inside == 0).await;
    }
}

const LAST_MOMENT: Duration = Duration::from_secs(1);

impl Default for Drain {
    fn default() -> Self {
        Self::new()
    }
}

impl Group {
    /// Counts a connection.
    #[must_use = "it is counted as long as this is there"]
    pub fn enter(&self) -> Inside {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.drain.0.inside.send_modify(|inside| *inside += 1);
        Inside(self.clone())
    }

    /// How many connections there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Inside {
    /// Waits until this connection is to be cut.
    pub async fn cut(&self) {
        self.0.drain.phase(Phase::Cutting).await;
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::Relaxed);
        self.0.drain.0.inside.send_modify(|inside| *inside -= 1);
    }
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Connections that ended by themselves.
    pub ended: usize,
    /// Connections that were cut, by their group's name.
    pub cut: BTreeMap<String, usize>,
    /// Connections that are there even so: they didn't go within a second.
    pub left: usize,
}

/// A sentence for the log.
impl fmt::Display for Drained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cut.values().sum() {
            0_usize => return f.write_str("all connections had ended"),
            1 => f.write_str("1 connection was cut (")?,
            count => write!(f, "{count} connections were cut (")?,
        }
        for (position, (name, count)) in self.cut.iter().enumerate() {
            let comma = if position > 0 { ", " } else { "" };
            write!(f, "{comma}{name}: {count}")?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    /// A connection that ends after this time, or when it is cut.
    fn connect(group: &Group, time: Duration) {
        let inside = group.enter();
        tokio::spawn(async move {
            tokio::select! {
                () = sleep(time) => (),
                () = inside.cut() => (),
            }
        });
    }

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_process_ends_as_soon_as_its_connections_have() {
        let (drain, started) = (Drain::new(), Instant::now());
        let group = drain.group("a");
        (1..=5).for_each(|seconds| connect(&group, Duration::from_secs(seconds)));
        let drained = drain.end(LIMIT).await;
        assert_eq!(drained, Drained { ended: 5, cut: BTreeMap::new(), left: 0 });
        assert_eq!(started.elapsed(), Duration::from_secs(5));
        assert_eq!(drain.end(LIMIT).await.to_string(), "all connections had ended");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_left_after_the_limit_is_cut_and_told() {
        let (drain, started) = (Drain::new(), Instant::now());
        let (one, other) = (drain.group("a"), drain.group("b"));
        connect(&one, Duration::from_secs(1));
        connect(&one, Duration::MAX);
        connect(&one, Duration::MAX);
        connect(&drain.group("b"), Duration::MAX);
        assert_eq!((one.len(), other.len()), (3, 1));
        let drained = drain.end(LIMIT).await;
        assert_eq!((drained.ended, drained.left), (1, 0));
        assert_eq!(drained.to_string(), "3 connections were cut (a: 2, b: 1)");
        assert_eq!(started.elapsed(), LIMIT);
        assert!(one.is_empty() && other.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn accepting_stops_first_and_a_second_signal_cuts() {
        let (drain, started) = (Drain::new(), Instant::now());
        connect(&drain.group("a"), Duration::MAX);
        let accepting = tokio::spawn({
            let drain = drain.clone();
            async move { drain.begun().await }
        });
        tokio::task::yield_now().await;
        assert!(!accepting.is_finished());
        let signal = async {
            accepting.await.unwrap();
            sleep(Duration::from_secs(2)).await;
            drain.hurry();
        };
        let (drained, ()) = tokio::join!(drain.end(LIMIT), signal);
        assert_eq!(drained.cut["a"], 1);
        assert_eq!(started.elapsed(), Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_cannot_go_keeps_no_process() {
        let (drain, started) = (Drain::new(), Instant::now());
        let stuck = drain.group("a").enter();
        let drained = drain.end(LIMIT).await;
        assert_eq!((drained.cut["a"], drained.left), (1, 1));
        assert_eq!(started.elapsed(), LIMIT + LAST_MOMENT);
        // Whoever enters too late hears at once.
        drop(stuck);
        timeout(Duration::ZERO, drain.group("a").enter().cut()).await.unwrap();
    }
}
