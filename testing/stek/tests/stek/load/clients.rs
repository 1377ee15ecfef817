//! Clients that come back to the other server of a pair.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tessera_stek::canary::Canary;
use tokio::task::JoinHandle;
use tokio::time::{interval, sleep};

/// Handshakes a second, all pairs together: each client makes a full one, and comes back to the other server.
const HANDSHAKES: u32 = 200;

/// Two servers of a kind, and what became of their clients.
pub(super) struct Pair {
    pub(super) kind: &'static str,
    addresses: [SocketAddr; 2],
    canary: Canary,
    resumed: AtomicU64,
    full: AtomicU64,
    failed: AtomicU64,
}

impl Pair {
    pub(super) fn new(kind: &'static str, addresses: [SocketAddr; 2], canary: Canary) -> Arc<Self> {
        let [resumed, full, failed] = [const { AtomicU64::new(0) }; 3];
        Arc::new(Self { kind, addresses, canary, resumed, full, failed })
    }

    /// Connects to one server, and half a second later, at most, to the other.
    async fn cross(&self, number: usize) {
        let (from, to) = (self.addresses[number % 2], self.addresses[(number + 1) % 2]);
        // Evenly up to half a second.
        let pause = Duration::from_millis(number as u64 * 37 % 500);
        let count = match self.canary.ticket(from).await {
            Err(_) => &self.failed,
            Ok(ticket) => {
                sleep(pause).await;
                match self.canary.resumes(to, ticket).await {
                    Ok(true) => &self.resumed,
                    Ok(false) => &self.full,
                    Err(_) => &self.failed,
                }
            }
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Prints what became of the clients, and forgets it. Returns the share that resumed.
    pub(super) fn report(&self, of: &str) -> f64 {
        let take = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
        let [resumed, full, failed] = [&self.resumed, &self.full, &self.failed].map(take);
        let returned = resumed + full + failed;
        let share = resumed as f64 / returned.max(1) as f64;
        println!(
            "{of:<34} {returned:>6} clients came back: {:>6.2} % resumed, {full} made full handshakes, {failed} failed",
            share * 100.0
        );
        assert!(returned >= 100, "the load ran");
        assert_eq!(failed, 0, "{of}");
        share
    }
}

/// Begins to connect to all pairs in turn.
pub(super) fn load(pairs: &[Arc<Pair>]) -> JoinHandle<()> {
    let pairs = pairs.to_vec();
    tokio::spawn(async move {
        let mut ticks = interval(Duration::from_secs(2) / HANDSHAKES);
        for number in 0.. {
            ticks.tick().await;
            let (turn, at) = (number / pairs.len(), number % pairs.len());
            let pair = pairs[at].clone();
            tokio::spawn(async move { pair.cross(turn).await });
        }
    })
}
