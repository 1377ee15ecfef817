//! The protocol between the processes of this experiment, one JSON object per line.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tessera_reports::Variant;

use super::histogram::Histogram;
use crate::pki::Identity;

/// The parameters of a cell for an endpoint.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Preparation {
    pub(super) variant: Variant,
    pub(super) identity: Identity,
    /// The server's address; for the server itself without a port.
    pub(super) server: SocketAddr,
    /// How many tickets there will be at once.
    pub(super) tickets: usize,
    /// How many connections may wait to be accepted.
    pub(super) backlog: u32,
}

/// An order to the server.
#[derive(Serialize, Deserialize)]
pub(super) enum ServerOrder {
    /// Start over for a cell, with empty stores; answered by [`ServerAnswer::Listening`].
    Prepare(Box<Preparation>),
    /// Report the heap memory after the last connection has ended; answered by [`ServerAnswer::Holds`].
    Weigh,
    /// Be replaced by another server, with the same stores and no connection; answered by [`ServerAnswer::Listening`].
    Replace,
    /// Count from now on; answered by [`ServerAnswer::Ready`].
    Begin,
    /// Wait until as many handshakes as this are complete; answered by [`ServerAnswer::Counted`].
    Finish { handshakes: u64 },
}

/// An answer of the server.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ServerAnswer {
    Listening {
        address: SocketAddr,
        /// How many files this process may have open.
        open_files: u64,
    },
    Ready,
    /// The memory in bytes, if the program measures it.
    Holds(Option<i64>),
    Counted(ServerTotals),
    /// The order could not be carried out, for this reason.
    Failed(String),
}

/// The server's counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ServerTotals {
    pub(super) first_accepted: Histogram,
    pub(super) process_cpu: Duration,
    pub(super) tls_cpu: Duration,
    /// The heap memory, including open connections; `None` if the program doesn't measure it.
    pub(super) memory: Option<i64>,
}

/// An order to the client.
#[derive(Serialize, Deserialize)]
pub(super) enum ClientOrder {
    /// Start over for a cell, without sessions; answered by [`ClientAnswer::Ready`].
    Prepare(Box<Preparation>),
    /// Get this many sessions by full handshakes; answered by [`ClientAnswer::Ready`].
    Collect { sessions: usize },
    /// Make this many connections by full handshakes, each with a session, and keep them; answered by
    /// [`ClientAnswer::Ready`].
    Associate { connections: usize },
    /// Wait until the server has ended all connections that are kept; answered by [`ClientAnswer::Ready`].
    Lose,
    /// Have this many users reconnect this often, all at once, and keep the last connection of each; answered by
    /// [`ClientAnswer::Ran`].
    Run {
        users: usize,
        reconnections: usize,
        /// Whether each connection carries a whole registration, or one exchange.
        registration: bool,
    },
    /// Close the connections that are kept; answered by [`ClientAnswer::Ready`].
    Close,
}

/// An answer of the client.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ClientAnswer {
    Ready,
    Ran(ClientTotals),
    /// The order could not be carried out, for this reason.
    Failed(String),
}

/// The client's measurements.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ClientTotals {
    pub(super) response: Histogram,
    pub(super) registration: Histogram,
    pub(super) connections: u64,
    pub(super) requests: u64,
    pub(super) failed: u64,
    pub(super) why_failed: BTreeMap<String, u64>,
    pub(super) elapsed: Duration,
    pub(super) process_cpu: Duration,
}

/// Returns an address for a server whose port the system chooses.
pub(super) fn any_port(address: IpAddr) -> SocketAddr {
    SocketAddr::new(address, 0)
}
