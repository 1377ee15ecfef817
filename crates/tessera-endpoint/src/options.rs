//! Limits of an endpoint.

use std::time::Duration;

use crate::resets::ResetKey;
use crate::sockets::OwnSockets;

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
    /// The key with which this instance, after a restart, informs clients that it has lost their associations
    /// (`docs/dtls-mobility.md`); for connection IDs of eight bytes or more. No two instances behind an address may have
    /// the same. Default: none, and clients wait until they give up.
    pub reset_key: Option<ResetKey>,
    /// Sockets of the associations' own. Default: none, and all share the endpoint's.
    pub own_sockets: Option<OwnSockets>,
    /// How the address to which a client moves is checked, if the client has connection IDs and answers challenges
    /// (RFC 9853). One that doesn't gets three times what comes from there. Default: basic.
    pub return_routability: ReturnRoutability,
    /// Whether an address that is checked gets nothing but challenges. Otherwise it gets three times what comes from
    /// there meanwhile, so that a client that moves need not wait. Default: no.
    pub waits_for_path_response: bool,
}

/// How an address is checked (RFC 9853 §5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReturnRoutability {
    /// It is challenged.
    #[default]
    Basic,
    /// First the address before it is: an attacker who forwards the client's records faster than the network does gains
    /// nothing while the client still answers there. Where the client has moved, that takes up to three round trips more.
    Enhanced,
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
            reset_key: None,
            own_sockets: None,
            return_routability: ReturnRoutability::default(),
            waits_for_path_response: false,
        }
    }
}

/// The longest connection ID, in bytes.
pub(crate) const MAX_CONNECTION_ID_LEN: usize = 20;
