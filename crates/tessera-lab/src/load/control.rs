//! What the processes of this experiment say to each other, one JSON object a line.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::histogram::Histogram;
use crate::pki::Identity;
use crate::variants::Variant;

/// What an endpoint needs to know for a cell.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Preparation {
    pub(super) variant: Variant,
    pub(super) identity: Identity,
    /// The server's address: for the server without a port.
    pub(super) server: SocketAddr,
    /// How many tickets there will be at once.
    pub(super) tickets: usize,
    /// How many connections may wait to be accepted.
    pub(super) backlog: u32,
}

/// What the server is told to do.
#[derive(Serialize, Deserialize)]
pub(super) enum ServerOrder {
    /// Start over for a cell, with empty stores; answered by [`ServerAnswer::Listening`].
    Prepare(Box<Preparation>),
    /// Say what is on the heap when the last connection has ended; answered by [`ServerAnswer::Holds`].
    Weigh,
    /// Give way to another server, which has the same stores and no connection; answered by
    /// [`ServerAnswer::Listening`].
    Replace,
    /// Count from now on; answered by [`ServerAnswer::Ready`].
    Begin,
    /// Wait until as many handshakes as this are complete; answered by [`ServerAnswer::Counted`].
    Finish { handshakes: u64 },
}

/// What the server says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ServerAnswer {
    Listening {
        address: SocketAddr,
        /// How many files this process may have open.
        open_files: u64,
    },
    Ready,
    /// So many bytes, where the program counts them.
    Holds(Option<i64>),
    Counted(Counted),
    /// The order could not be carried out, for this reason.
    Failed(String),
}

/// What the server counted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Counted {
    pub(super) first_accepted: Histogram,
    pub(super) process_cpu: Duration,
    pub(super) tls_cpu: Duration,
    /// What is on the heap, open connections included; none where the program doesn't count.
    pub(super) memory: Option<i64>,
}

/// What the client is told to do.
#[derive(Serialize, Deserialize)]
pub(super) enum ClientOrder {
    /// Start over for a cell, without sessions; answered by [`ClientAnswer::Ready`].
    Prepare(Box<Preparation>),
    /// Get so many sessions by full handshakes; answered by [`ClientAnswer::Ready`].
    Collect { sessions: usize },
    /// Make so many connections by full handshakes, each with a session, and keep them; answered by
    /// [`ClientAnswer::Ready`].
    Associate { connections: usize },
    /// Wait until the server has ended all connections that are kept; answered by [`ClientAnswer::Ready`].
    Lose,
    /// Have so many users connect again so often, all at once, and keep the last connection of each;
    /// answered by [`ClientAnswer::Ran`].
    Run {
        users: usize,
        reconnections: usize,
        /// Whether each connection carries a whole registration, or one exchange.
        registration: bool,
    },
    /// Close the connections that are kept; answered by [`ClientAnswer::Ready`].
    Close,
}

/// What the client says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ClientAnswer {
    Ready,
    Ran(Ran),
    /// The order could not be carried out, for this reason.
    Failed(String),
}

/// What the client measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Ran {
    pub(super) response: Histogram,
    pub(super) registration: Histogram,
    pub(super) connections: u64,
    pub(super) requests: u64,
    pub(super) failed: u64,
    pub(super) why_failed: BTreeMap<String, u64>,
    pub(super) elapsed: Duration,
    pub(super) process_cpu: Duration,
}

/// An address for a server whose port the system chooses.
pub(super) fn any_port(address: IpAddr) -> SocketAddr {
    SocketAddr::new(address, 0)
}
