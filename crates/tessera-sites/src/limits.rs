//! Limits of the channel and of its server.

use std::time::Duration;

use tessera_tokio::Limits;
use tokio::time::Instant;

/// The limits of a [`TlsSiteChannel`](crate::TlsSiteChannel).
///
/// Each field can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChannelLimits {
    /// How long a request waits for its answer, connecting included. It must be shorter than the client's handshake
    /// timeout (`ServerConfig::handshake_timeout`, 10 seconds by default). A connection with open requests on which no
    /// byte arrived for this long is given up. Default: 2 seconds.
    pub deadline: Duration,
    /// How many requests to one site may wait at a time; further ones fail at once. Each takes less than half a
    /// kilobyte, and one that carries a secret up to nine. Default: 16,384.
    pub in_flight: usize,
    /// How long TCP and TLS may take to connect. Default: 5 seconds.
    pub connect: Duration,
    /// After how much silence to ping a site, so that a dead connection is found before a client waits for it. Must be
    /// less than the idle timeout of the other site. Default: 15 seconds.
    pub ping: Duration,
    /// The longest pause before reconnecting. Pauses begin at 20 ms and double, each shortened by up to half at random.
    /// Default: 1 second.
    pub longest_pause: Duration,
}

impl Default for ChannelLimits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(2),
            in_flight: 16_384,
            connect: Duration::from_secs(5),
            ping: Duration::from_secs(15),
            longest_pause: Duration::from_secs(1),
        }
    }
}

/// The limits of a [`SiteServer`](crate::SiteServer).
///
/// Each field can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerLimits {
    /// Limits by address on connections and handshakes, and on idle time. Default: those of [`Limits::for_connections`]
    /// with 1,024.
    pub connections: Limits,
    /// How many connections one site may have: each of its servers has one. Further ones are closed. Default: 128.
    pub connections_per_site: usize,
    /// How many requests per second one site may make, over all of its connections; as many may arrive at once. Faster
    /// ones are read later. Default: 50,000.
    pub requests_per_second: u32,
    /// How many requests of one connection may wait for a vault that answers later. Further ones are read later.
    /// Default: 64.
    pub in_flight: usize,
    /// How long a vault that answers later may take; after that the answer is `unknown`. Default: 5 seconds.
    pub answer: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections: Limits::for_connections(1024),
            connections_per_site: 128,
            requests_per_second: 50_000,
            in_flight: 64,
            answer: Duration::from_secs(5),
        }
    }
}

/// Adds a time to a moment. A limit may be a time that never comes.
pub(crate) fn after(moment: Instant, time: Duration) -> Instant {
    moment.checked_add(time).unwrap_or(moment + A_YEAR)
}

const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
