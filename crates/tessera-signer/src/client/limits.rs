//! Limits of the end that asks.

use std::time::Duration;

use tokio::time::Instant;

/// The limits of a [`RemoteSigner`](crate::RemoteSigner).
///
/// Each field can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignerLimits {
    /// How long a signature may take, all signers included. It must be shorter than the handshake timeout
    /// (`ServerConfig::handshake_timeout`, 10 seconds by default). Default: 2 seconds.
    pub deadline: Duration,
    /// How many connections to keep open to each signer, at least 1: the requests of one that ends go to the others.
    /// Default: 2.
    pub connections: usize,
    /// How many requests may wait to be sent on one connection; further ones go to the next signer. Each takes less than
    /// half a kilobyte. Default: 1,024.
    pub waiting: usize,
    /// How long TCP and TLS may take to connect. Default: 5 seconds.
    pub connect: Duration,
    /// After how much silence to ping a signer, so that a dead connection is found before a client waits for it. Must be
    /// less than the idle timeout of the signer. Default: 15 seconds.
    pub ping: Duration,
    /// The longest pause before reconnecting. Pauses begin at 20 ms and double, each shortened by up to half at random.
    /// Default: 1 second.
    pub longest_pause: Duration,
}

impl Default for SignerLimits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(2),
            connections: 2,
            waiting: 1024,
            connect: Duration::from_secs(5),
            ping: Duration::from_secs(15),
            longest_pause: Duration::from_secs(1),
        }
    }
}

/// Adds a time to a moment. A limit may be a time that never comes.
pub(super) fn after(moment: Instant, time: Duration) -> Instant {
    moment.checked_add(time).unwrap_or(moment + A_YEAR)
}

const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
