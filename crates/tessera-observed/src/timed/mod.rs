//! Times the operations of one end, by kind.
//!
//! ```text
//!   let (client, server) = (TimedEnd::new(), TimedEnd::new());
//!   let config = client.client(config).checked()?;      // and the server's likewise
//!   ...a connection...
//!   let of_this_connection = client.take();
//! ```
//!
//! Times are by the monotonic clock, since reading the thread's processor clock is a system call, longer than an HMAC.
//! The cost of two readings is measured when the first [`TimedEnd`] of a process is made, and subtracted from each
//! operation. An interrupted thread counts too much: take medians over many connections.
//!
//! Operations nest: random bytes for a key belong to [`Random`](Operation::Random) and not to the key. So the times of
//! a connection add up, and the rest is the engine's own work. A ticket is sealed and opened by the ring itself: all of
//! that counts as ticket.

mod tally;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use tessera::{ClientConfig, ServerConfig};
use tessera_webpki::Algorithms;

use crate::algorithms::algorithms;
use crate::config;
use crate::operation::Operation;
use tally::Tally;

/// How often an end did something, and how long it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationTime {
    /// What it did.
    pub operation: Operation,
    /// How often.
    pub count: u64,
    /// All of them together, in microseconds.
    pub us: f64,
}

/// One end, whose operations are timed.
pub struct TimedEnd {
    /// Providers live as long as the process, and so does their tally.
    tally: &'static Tally,
}

impl TimedEnd {
    /// Creates an end that has done nothing yet. It leaks some kilobytes with its first configuration: make one for
    /// each end of a process, and use it for all connections.
    pub fn new() -> Self {
        Self { tally: Box::leak(Box::new(Tally::new())) }
    }

    /// Returns the client's configuration, timed.
    pub fn client(&self, config: ClientConfig) -> ClientConfig {
        config::client(config, self.tally)
    }

    /// Returns the server's configuration, timed, with its stores.
    pub fn server(&self, config: ServerConfig) -> ServerConfig {
        config::server(config, self.tally)
    }

    /// Returns these algorithms for this end's verifier: with them, a peer's signature is timed apart from its chain.
    pub fn algorithms(&self, of: Algorithms) -> Algorithms {
        algorithms(of, self.tally)
    }

    /// Returns the operations since the last call, in the order of [`Operation::ALL`], without those that did not
    /// occur.
    pub fn take(&self) -> Vec<OperationTime> {
        let done = Operation::ALL.into_iter().map(|operation| {
            let (count, nanos) = self.tally.take(operation);
            OperationTime { operation, count, us: nanos as f64 / 1e3 }
        });
        done.filter(|it| it.count > 0).collect()
    }
}

impl Default for TimedEnd {
    fn default() -> Self {
        Self::new()
    }
}
