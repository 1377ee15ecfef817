//! Limits of an endpoint.

use std::time::Duration;

/// Limits of an endpoint.
#[derive(Debug, Clone)]
pub struct EndpointOptions {
    /// The length of the connection IDs that clients put into records to this server, in bytes; more than 20 count
    /// as 20. Without one, a client that changes its address is lost. Default: 8.
    pub connection_id_len: usize,
    /// The most associations. Default: 100,000.
    pub max_associations: usize,
    /// The most associations of one IPv4 address or IPv6 /64. Default: 1,000.
    pub max_per_source: usize,
    /// The most associations whose address is unproved; above it every ClientHello needs a cookie. Default: 1,000.
    pub max_unproved: usize,
    /// The most memory for ClientHellos of which a part is missing, in bytes. Default: 4 MiB.
    pub hello_pool: usize,
    /// How long a cookie is accepted, and parts of a ClientHello are kept. A client on a path with losses needs more than
    /// one transmission for all parts of a long ClientHello, and waits twice as long for each. Default: 30 s.
    pub cookie_lifetime: Duration,
    /// How long to wait for the answer to a flight before it is sent again. Default: 1 s.
    pub first_timeout: Duration,
    /// The longest datagram to send, in bytes, without the headers of UDP and IP, but for requests for a cookie: they are
    /// some 230 bytes, and sent whole, since there is no state that could send a lost part again. Default: 1200.
    pub max_datagram: usize,
}

impl Default for EndpointOptions {
    fn default() -> Self {
        Self {
            connection_id_len: 8,
            max_associations: 100_000,
            max_per_source: 1_000,
            max_unproved: 1_000,
            hello_pool: 4 * 1024 * 1024,
            cookie_lifetime: Duration::from_secs(30),
            first_timeout: Duration::from_secs(1),
            max_datagram: 1200,
        }
    }
}

/// The longest connection ID, in bytes.
pub(crate) const MAX_CONNECTION_ID_LEN: usize = 20;
