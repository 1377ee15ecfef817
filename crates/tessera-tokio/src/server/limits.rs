//! How much of a server one client, and all clients together, may have.

use std::time::Duration;

/// The limits of a [`Server`](super::Server). The defaults are safe for servers on the internet; each
/// field can be changed.
///
/// An *address* is an IPv4 address, or an IPv6 network of 64 bits, since the holder of one of its addresses
/// has them all (RFC 4291 §2.5.4). A subscriber may have more of either: an attacker with eight can hold all
/// places until the time-outs, unless [`connections_per_address`](Self::connections_per_address) and
/// [`handshakes_per_address`](Self::handshakes_per_address) are less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum number of connections at a time. Others wait in the listener's queue. Default: 10,000.
    pub connections: usize,
    /// Maximum number of connections of one address. Further ones are closed at once. Default: an eighth of
    /// all.
    pub connections_per_address: usize,
    /// Maximum number of handshakes in progress. Others wait in the listener's queue. Default: as many as
    /// connections, but at most 4,096, since an incomplete handshake can hold 90 KB.
    pub handshakes: usize,
    /// Maximum number of handshakes of one address. Further ones are closed at once. Default: an eighth of
    /// all.
    pub handshakes_per_address: usize,
    /// How long a connection may move no byte in either direction while its owner waits for one. Then reading
    /// fails but writing doesn't, so the owner can still send a last message. `Duration::MAX` disables it: a
    /// client that sends nothing then keeps its place. Default: 5 minutes.
    pub idle: Duration,
    /// How long a peer that doesn't read may keep its connection's owner waiting to write. Then both
    /// directions fail, and data queued in the kernel is discarded when the socket is closed. `Duration::MAX`
    /// disables it. Default: 30 seconds.
    pub write: Duration,
    /// How long connections may take to end when the server ends. Default: 10 seconds.
    pub drain: Duration,
}

impl Limits {
    /// Returns the defaults of a server with this many connections, at least 1.
    #[must_use]
    pub fn for_connections(connections: usize) -> Self {
        let connections = connections.max(1);
        let handshakes = connections.min(MOST_HANDSHAKES);
        Self {
            connections,
            connections_per_address: share(connections),
            handshakes,
            handshakes_per_address: share(handshakes),
            idle: Duration::from_secs(300),
            write: Duration::from_secs(30),
            drain: Duration::from_secs(10),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::for_connections(10_000)
    }
}

/// Returns the share of one address: the others have seven times as much.
fn share(all: usize) -> usize {
    (all / 8).max(1)
}

const MOST_HANDSHAKES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_default_no_address_can_have_all_of_a_server() {
        for connections in [2, 8, 300, 10_000, 1_000_000] {
            let limits = Limits::for_connections(connections);
            assert!(limits.connections_per_address <= limits.connections / 2, "{limits:?}");
            assert!(limits.handshakes_per_address <= limits.handshakes / 2, "{limits:?}");
            assert!(limits.handshakes_per_address >= 1 && limits.handshakes <= limits.connections);
        }
        assert_eq!(Limits::for_connections(0).connections, 1);
        let limits = Limits::default();
        assert_eq!((limits.connections_per_address, limits.handshakes_per_address), (1250, 512));
    }
}
