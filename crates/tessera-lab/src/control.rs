//! The protocol between the processes of an experiment: one JSON object per line, orders on an endpoint's standard
//! input, answers on its standard output.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tessera::resume::Verdict;
use tessera_reports::{Continuation, KeyExchange, OneTimeKey, Suite};

use crate::pki::Identity;
use crate::ways::Way;
use tessera_adversary::{Capture, DecryptedParts};

/// An order to the server.
#[derive(Serialize, Deserialize)]
pub(crate) enum ServerOrder {
    /// Listen at this address; answered by [`ServerAnswer::Listening`].
    Listen(IpAddr),
    /// Start over for a row, with empty stores; answered by [`ServerAnswer::Ready`], and by a home site
    /// by [`ServerAnswer::Listening`] for the other one.
    Prepare(Box<Preparation>),
    /// Be this server of the fleet from now on; answered by [`ServerAnswer::Ready`].
    Become(Server),
    /// Ask the home site until it answers; answered by [`ServerAnswer::Ready`].
    ReachHome,
    /// Serve one connection to its end; answered by [`ServerAnswer::Ready`] just before it is
    /// accepted, and [`ServerAnswer::Served`].
    Accept,
    /// Report how often a request was executed; answered by [`ServerAnswer::Executions`].
    CountExecutions(RequestId),
    /// Let the adversary read the memory of this process, and try all of it on the recording of the last connection;
    /// answered by [`ServerAnswer::OpenedWithMemory`].
    OpenWithMemory(Capture),
    /// Return what the adversary can steal; answered by [`ServerAnswer::Stolen`]. This empties the vault.
    GiveAll,
}

/// Which server of a fleet: all have the same ticket keys and serve one application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Server {
    /// The one that clients connect to.
    First,
    /// Another one, with separate stores for what is used once.
    Other,
    /// The first, restarted: it has the ticket keys, and has lost all other state.
    Restarted,
}

impl Server {
    /// All of them, as the adversary tries them.
    pub(crate) const ALL: [Self; 3] = [Self::First, Self::Other, Self::Restarted];
}

/// An answer of the server.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ServerAnswer {
    Listening(SocketAddr),
    Ready,
    Served(ServedConnection),
    Executions(u32),
    OpenedWithMemory(DecryptedParts),
    Stolen(StolenServerState),
    /// The order could not be carried out, for this reason.
    Failed(String),
}

/// An order to the client.
#[derive(Serialize, Deserialize)]
pub(crate) enum ClientOrder {
    /// Start over for a row, without sessions; answered by [`ClientAnswer::Ready`].
    Prepare(Box<Preparation>),
    /// Make a full handshake and keep the sessions that it brings; answered by
    /// [`ClientAnswer::Connected`].
    Collect { server: SocketAddr, sessions: u8 },
    /// Connect in the row's way; answered by [`ClientAnswer::Connected`].
    Connect(SocketAddr),
    /// The same, but the adversary delays the first flight and first sends a copy of it over a separate connection, to
    /// the same server or another. The server's verdict on the early data then decides whether the client sends its
    /// request again. Answered by [`ClientAnswer::Connected`].
    ConnectRaced { copy_to: SocketAddr, server: SocketAddr },
    /// Be the adversary: send the exact bytes of the last connection's first flight again, and read to the end;
    /// answered by [`ClientAnswer::Ready`].
    Replay(SocketAddr),
    /// Return what the adversary recorded of the last connection; answered by [`ClientAnswer::Recorded`].
    GiveRecording,
    /// Return that, and what the adversary can steal; answered by [`ClientAnswer::Stolen`].
    GiveAll,
}

/// An answer of the client.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ClientAnswer {
    Ready,
    Connected(Connected),
    Recorded(Capture),
    Stolen(StolenClientState),
    /// The order could not be carried out, for this reason.
    Failed(String),
}

/// The parameters of a row for an endpoint.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Preparation {
    pub(crate) way: Way,
    pub(crate) identity: Identity,
    /// Whether connections are recorded and stores watched, for the adversary. It takes time, so attacked connections
    /// are not measured.
    pub(crate) attacked: bool,
    /// This process's part, if there are two sites.
    pub(crate) site: Option<Site>,
    /// The one suite of both ends; `None` for the default suites.
    pub(crate) suite: Option<Suite>,
    /// The address of the etcd with the one-time keys; `None` if they are in the server's memory.
    pub(crate) etcd: Option<SocketAddr>,
    /// How many new tickets a connection brings, unless it is for collecting them.
    pub(crate) tickets: u8,
}

impl Preparation {
    /// For rows without adversary and sites: default suites, one-time keys in memory, a new ticket for each used one.
    pub(crate) fn new(way: Way, identity: Identity) -> Self {
        Self { way, identity, attacked: false, site: None, suite: None, etcd: None, tickets: 1 }
    }
}

/// The part of a process in a row with two sites, which have one ring and two vaults.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Site {
    /// The client.
    Visitor,
    /// The site that issues the tickets, and burns for the other.
    Home {
        ticket_key: Vec<u8>,
        /// For the channel, which it opens at this address.
        identity: Identity,
        address: IpAddr,
    },
    /// The site that must accept them.
    Away {
        ticket_key: Vec<u8>,
        /// For the channel, which is open at this address of the home.
        identity: Identity,
        home: SocketAddr,
        /// How long it waits for an acknowledgement.
        patience: Duration,
        acknowledges: AcknowledgementMode,
    },
}

/// How a request from the other site is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum AcknowledgementMode {
    /// By the home site, when the key is burned.
    Home,
    /// By the other site itself, at once, without regard to the home site. It is wrong, and exists to be attacked.
    Guess,
}

/// What a client learned about its early data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EarlyDataOutcome {
    Accepted,
    Burned,
    Used,
    Unknown,
}

impl EarlyDataOutcome {
    /// Its name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Burned => "burned",
            Self::Used => "used",
            Self::Unknown => "unknown",
        }
    }
}

impl From<Verdict> for EarlyDataOutcome {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Burned => Self::Burned,
            Verdict::Used => Self::Used,
            _ => Self::Unknown,
        }
    }
}

/// What the adversary stole from the client.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct StolenClientState {
    pub(crate) capture: Capture,
    /// The sessions that the client has.
    pub(crate) sessions: Vec<Vec<u8>>,
    /// The session that the last connection used, if it used one: deleted, but a backup or a flash
    /// cell may still have it.
    pub(crate) used: Option<Vec<u8>>,
}

/// What the adversary stole from the server.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct StolenServerState {
    pub(crate) ticket_key: Vec<u8>,
    /// Every one-time secret that the vault ever held, as an earlier dump would have shown it.
    pub(crate) vault_before: Vec<Vec<u8>>,
    /// What the vault still holds.
    pub(crate) vault_after: Vec<Vec<u8>>,
}

/// Identifies one request; random, so that each is counted separately.
pub(crate) type RequestId = u64;

/// A connection as the client saw it. Moments are on the monotonic clock.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Connected {
    pub(crate) request: RequestId,
    /// Before connect().
    pub(crate) started: Duration,
    /// connect() returned.
    pub(crate) tcp: Duration,
    /// The handshake was complete.
    pub(crate) handshake: Duration,
    /// The first byte of the response arrived; `None` if the client gave up on its request.
    pub(crate) response: Option<Duration>,
    /// How many bytes left before anything came.
    pub(crate) first_flight: u64,
    /// How many of them the SYN carried, and whether the server took them.
    pub(crate) syn_bytes: u64,
    pub(crate) syn_taken: bool,
    /// When the outcome of early data was known, and the outcome.
    pub(crate) told: Option<(Duration, EarlyDataOutcome)>,
    pub(crate) cost: Cost,
    pub(crate) observed: ObservedFacts,
}

/// A connection as the server saw it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ServedConnection {
    /// When the application held the first byte of a request; `None` if it never did.
    pub(crate) first_byte: Option<Duration>,
    /// When the flight that brought it had arrived.
    pub(crate) arrived: Option<Duration>,
    pub(crate) cost: Cost,
    pub(crate) observed: ObservedFacts,
    /// Why the connection ended early, if it did.
    pub(crate) error: Option<String>,
}

/// The cost of a connection for one end.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cost {
    /// Processor time in calls of the engine.
    pub(crate) engine_cpu: Duration,
    /// Processor time of the process, the kernel's work for it included.
    pub(crate) process_cpu: Duration,
    /// How many bytes this end sent over TCP.
    pub(crate) sent: u64,
    /// The heap memory of the idle connection: what dropping it freed; `None` if the program doesn't measure it.
    pub(crate) heap: Option<i64>,
}

/// The facts of a connection that verdicts depend on, according to one end's engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ObservedFacts {
    pub(crate) psk: Psk,
    pub(crate) group: Option<KeyExchange>,
    pub(crate) one_time_key: Option<OneTimeKey>,
    pub(crate) continuation: Option<Continuation>,
    pub(crate) early_data_accepted: bool,
    /// Whether every key exchange since the last full handshake is safe against quantum computers.
    pub(crate) post_quantum: bool,
}

/// The PSK of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Psk {
    #[default]
    None,
    Resumption,
    ForwardSecret,
}
