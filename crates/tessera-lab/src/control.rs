//! What the processes of an experiment say to each other: one JSON object a line, orders on an
//! endpoint's standard input, answers on its standard output.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tessera::resume::Verdict;

use crate::adversary::{Capture, Opened};
use crate::pki::Identity;
use crate::variants::Suite;
use crate::ways::{Agreement, Continuation, OneTimeKind, Way};

/// What the server is told to do.
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
    /// Say how often a request was executed; answered by [`ServerAnswer::Executions`].
    CountExecutions(RequestId),
    /// Let the adversary read the memory of this process, and try all of it on what it recorded of the last
    /// connection; answered by [`ServerAnswer::OpenedWithMemory`].
    OpenWithMemory(Capture),
    /// Give what the adversary can steal; answered by [`ServerAnswer::Stolen`]. What is left in the vault
    /// is gone then.
    GiveAll,
}

/// Which server of a fleet: all have the same ticket keys and serve one application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Server {
    /// The one that clients connect to.
    First,
    /// Another one, with stores of its own for what is used once.
    Other,
    /// The first, restarted: it has the ticket keys, and nothing else that it had.
    Restarted,
}

impl Server {
    /// All of them, as the adversary tries them.
    pub(crate) const ALL: [Self; 3] = [Self::First, Self::Other, Self::Restarted];
}

/// What the server says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ServerAnswer {
    Listening(SocketAddr),
    Ready,
    Served(Served),
    Executions(u32),
    OpenedWithMemory(Opened),
    Stolen(StolenFromServer),
    /// The order could not be carried out, for this reason.
    Failed(String),
}

/// What the client is told to do.
#[derive(Serialize, Deserialize)]
pub(crate) enum ClientOrder {
    /// Start over for a row, without sessions; answered by [`ClientAnswer::Ready`].
    Prepare(Box<Preparation>),
    /// Make a full handshake and keep the sessions that it brings; answered by
    /// [`ClientAnswer::Connected`].
    Collect { server: SocketAddr, sessions: u8 },
    /// Connect in the row's way; answered by [`ClientAnswer::Connected`].
    Connect(SocketAddr),
    /// The same, but the adversary holds the first flight back and sends a copy of it over a
    /// connection of its own first, to the same server or another. What the server then says of the early
    /// data decides whether the client sends its request again. Answered by [`ClientAnswer::Connected`].
    ConnectRaced { copy_to: SocketAddr, server: SocketAddr },
    /// Be the adversary: send the first flight of the last connection again, byte by byte the
    /// same, and read to the end; answered by [`ClientAnswer::Ready`].
    Replay(SocketAddr),
    /// Give what the adversary recorded of the last connection; answered by [`ClientAnswer::Recorded`].
    GiveRecording,
    /// Give that, and what the adversary can steal; answered by [`ClientAnswer::Stolen`].
    GiveAll,
}

/// What the client says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ClientAnswer {
    Ready,
    Connected(Connected),
    Recorded(Capture),
    Stolen(StolenFromClient),
    /// The order could not be carried out, for this reason.
    Failed(String),
}

/// What an endpoint needs to know for a row.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Preparation {
    pub(crate) way: Way,
    pub(crate) identity: Identity,
    /// Whether connections are recorded and stores watched, for the adversary. It costs time, so
    /// that what is attacked is not measured.
    pub(crate) attacked: bool,
    /// This process's part, if there are two sites.
    pub(crate) site: Option<Site>,
    /// The one suite of both ends; `None` for what they have by default.
    pub(crate) suite: Option<Suite>,
    /// Where etcd is that holds the one-time keys; `None` if they lie in the server's memory.
    pub(crate) etcd: Option<SocketAddr>,
    /// How many new tickets a connection brings, if it isn't one that is there to collect them.
    pub(crate) tickets: u8,
}

impl Preparation {
    /// For rows without adversary and sites: default suites, one-time keys in memory, a new ticket for each
    /// one that was used.
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
    /// The site that is asked to accept them.
    Away {
        ticket_key: Vec<u8>,
        /// For the channel, which is open at this address of the home.
        identity: Identity,
        home: SocketAddr,
        /// How long it waits for an acknowledgement.
        patience: Duration,
        acknowledges: Acknowledges,
    },
}

/// How a request from the other site is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Acknowledges {
    /// By the home site, when the key is burned.
    Home,
    /// By the other site itself, at once, whatever is true at home. It is wrong, and here to be attacked.
    Guess,
}

/// What a client learned of its early data.
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

/// What the adversary has from the client.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct StolenFromClient {
    pub(crate) capture: Capture,
    /// The sessions that the client has.
    pub(crate) sessions: Vec<Vec<u8>>,
    /// The session that the last connection used, if it used one: deleted, but a backup or a flash
    /// cell may still have it.
    pub(crate) used: Option<Vec<u8>>,
}

/// What the adversary has from the server.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct StolenFromServer {
    pub(crate) ticket_key: Vec<u8>,
    /// Every one-time secret that the vault ever held: what an earlier dump would have shown.
    pub(crate) vault_before: Vec<Vec<u8>>,
    /// What can be had from the vault now.
    pub(crate) vault_after: Vec<Vec<u8>>,
}

/// Stands for one request; random, so that each is counted on its own.
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
    /// The first byte of the response was there; `None` if the client gave its request up.
    pub(crate) response: Option<Duration>,
    /// How many bytes left before anything came.
    pub(crate) first_flight: u64,
    /// How many of them the SYN carried, and whether the server took them.
    pub(crate) syn_bytes: u64,
    pub(crate) syn_taken: bool,
    /// When it was known what became of early data, and what.
    pub(crate) told: Option<(Duration, EarlyDataOutcome)>,
    pub(crate) cost: Cost,
    pub(crate) observed: Observed,
}

/// A connection as the server saw it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Served {
    /// When the application held the first byte of a request; `None` if it never did.
    pub(crate) first_byte: Option<Duration>,
    /// When the flight that brought it had arrived.
    pub(crate) arrived: Option<Duration>,
    pub(crate) cost: Cost,
    pub(crate) observed: Observed,
    /// Why the connection ended early, if it did.
    pub(crate) error: Option<String>,
}

/// What a connection cost one end.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cost {
    /// Processor time in calls of the engine.
    pub(crate) engine_cpu: Duration,
    /// Processor time of the process, the kernel's work for it included.
    pub(crate) process_cpu: Duration,
    /// How many bytes this end sent over TCP.
    pub(crate) sent: u64,
    /// How many bytes on the heap the idle connection held: what dropping it gave back; none where the
    /// program doesn't count.
    pub(crate) heap: Option<i64>,
}

/// The facts of a connection that verdicts depend on, as one end's engine told them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Observed {
    pub(crate) psk: Psk,
    pub(crate) group: Option<Agreement>,
    pub(crate) one_time_key: Option<OneTimeKind>,
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
