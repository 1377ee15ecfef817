//! Carries datagrams between two sides, both ways: one for one, in no promised order, and none is sent again.
//!
//! ```text
//!   programs ──► UDP socket ──► Sources ──► Source ◄──► pump ◄──► DTLS connection, or connected UDP socket
//! ```
//!
//! A side is a DTLS connection, a connected UDP socket, or a [`Source`]: one of the programs that share a socket.
//! Whatever doesn't get through is dropped and counted: too long for the path, refused by the network, no room.

mod side;
mod sources;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};

pub use side::{Datagram, DatagramSide};
pub use sources::{Arrival, Ending, SharedSocket, Source, SourceLimits, Sources};

/// What a [`pump`] has carried so far.
#[derive(Debug, Default)]
pub struct DatagramCounts {
    a_to_b: AtomicU64,
    b_to_a: AtomicU64,
    dropped: AtomicU64,
}

impl DatagramCounts {
    /// Returns how many datagrams of `a` were sent to `b`.
    pub fn a_to_b(&self) -> u64 {
        self.a_to_b.load(Ordering::Relaxed)
    }

    /// Returns how many datagrams of `b` were sent to `a`.
    pub fn b_to_a(&self) -> u64 {
        self.b_to_a.load(Ordering::Relaxed)
    }

    /// Returns how many datagrams were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Counts datagrams that were dropped elsewhere.
    pub fn add_dropped(&self, count: u64) {
        self.dropped.fetch_add(count, Ordering::Relaxed);
    }
}

/// How a [`pump`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatagramEnd {
    /// A side has closed.
    Closed,
    /// Nothing came from either side for the time.
    Idle,
}

/// Carries datagrams between `a` and `b`, both ways, until a side closes, nothing comes from either for `idle`, or one
/// fails.
///
/// A datagram that a side doesn't take, because it is too long for the path or the network refuses it, or because it is
/// empty and DTLS has no such data, is dropped and counted. So nothing is fragmented, and a target that is down ends
/// nothing. Dropping the future loses at most one datagram of each direction.
///
/// # Errors
/// A side fails, or a DTLS peer has gone without a word.
pub async fn pump(
    a: &impl DatagramSide,
    b: &impl DatagramSide,
    idle: Duration,
    counts: &DatagramCounts,
) -> io::Result<DatagramEnd> {
    let last = Activity(Mutex::new(Instant::now()));
    tokio::select! {
        ended = carry(a, b, &counts.a_to_b, counts, &last) => ended,
        ended = carry(b, a, &counts.b_to_a, counts, &last) => ended,
        () = last.idle_for(idle) => Ok(DatagramEnd::Idle),
        error = a.lost() => Err(error),
        error = b.lost() => Err(error),
    }
}

/// Carries to `a`, whose peer has closed and may still read, what `b` still answers: until `b` has sent as many datagrams as it
/// got in the [`pump`], at most for a second.
///
/// # Errors
/// A side fails.
pub async fn carry_answers(
    a: &impl DatagramSide,
    b: &impl DatagramSide,
    counts: &DatagramCounts,
) -> io::Result<()> {
    let answers = async {
        while counts.b_to_a() < counts.a_to_b()
            && let Some(datagram) = b.recv().await?
        {
            let is_sent = a.send(&datagram).await?;
            let count = if is_sent { &counts.b_to_a } else { &counts.dropped };
            count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    timeout(LAST_ANSWERS, answers).await.unwrap_or(Ok(()))
}

async fn carry(
    from: &impl DatagramSide,
    to: &impl DatagramSide,
    carried: &AtomicU64,
    counts: &DatagramCounts,
    last: &Activity,
) -> io::Result<DatagramEnd> {
    while let Some(datagram) = from.recv().await? {
        last.note();
        let is_sent = to.send(&datagram).await?;
        let count = if is_sent { carried } else { &counts.dropped };
        count.fetch_add(1, Ordering::Relaxed);
    }
    Ok(DatagramEnd::Closed)
}

/// When the last datagram came.
struct Activity(Mutex<Instant>);

impl Activity {
    fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    async fn idle_for(&self, idle: Duration) {
        loop {
            let end = *self.0.lock().unwrap_or_else(PoisonError::into_inner) + idle;
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }
}

/// How long answers are waited for whose client has closed.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
