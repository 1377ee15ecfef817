//! What was measured: medians, bytes and processor time of each way to connect, and what it protects.
//!
//! Evidence comes from the reports of the lab ([`Evidence::read`]). No number in it is estimated: what a report
//! doesn't have is `None`, and no cell is filled in from another.

mod files;
mod lab;
mod summary;
mod ways;

use std::fmt;

use serde::{Deserialize, Serialize};

pub(crate) use files::how_to_measure;
pub use lab::EvidenceError;
pub use summary::{Summary, median_rank};
pub use ways::{Continuation, KeyExchange, Letter, OneTimeKey, Store, Way};

use crate::break_even::{Costs, Curve, Ticket, Waiting};

/// What was measured, in one or more experiments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The runs that it comes from.
    pub sources: Vec<Source>,
    /// What connecting costs, a cell for each way and link.
    pub cells: Vec<Cell>,
    /// What ways protect.
    pub protections: Vec<Protection>,
    /// What a server does when many come back.
    pub loads: Vec<Load>,
}

/// A run of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Its name.
    pub experiment: String,
    /// What its random choices follow from.
    pub seed: u64,
    /// The processor, as it calls itself.
    pub cpu: String,
    /// How many processors the machine had.
    pub cores: usize,
    /// The kernel.
    pub kernel: String,
    /// The revision of Tessera, where the report names it.
    pub revision: Option<String>,
    /// Whether only what ways protect was taken from it, out of the evidence that comes with the program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protections_only: bool,
}

/// How the two ends were joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Through {
    /// Two engines in one process, without sockets.
    Engine,
    /// Two processes and the kernel's TCP.
    Endpoints,
    /// Two processes of `tessera sepp`.
    Sepp,
}

impl Through {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Endpoints => "endpoints",
            Self::Sepp => "sepp",
        }
    }
}

/// The link between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The round-trip time, in milliseconds.
    pub rtt_ms: f64,
    /// The share of packets that are lost, 0 to 1.
    pub loss: f64,
    /// How many packets in a row are lost on average; 1: each by itself.
    pub loss_burst: f64,
    /// The mean of the delay by congestion, as a share of the round-trip time.
    pub congestion: f64,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { experiment, seed, cpu, cores, kernel, revision, protections_only } = self;
        if *protections_only {
            f.write_str("what ways protect: the evidence that comes with the program, ")?;
        }
        write!(f, "lab {experiment}, seed {seed}; {cpu}, {cores} cores, {kernel}")?;
        revision.iter().try_for_each(|revision| write!(f, "; revision {revision}"))
    }
}

impl Link {
    /// Whether it only takes time.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.loss == 0.0 && self.congestion == 0.0
    }
}

/// What connecting costs in one way over one link. Times are in microseconds, and count from before connect().
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The way.
    pub way: Way,
    /// The cipher suite (`0x1302`), where the report names it.
    pub suite: Option<String>,
    /// How the ends were joined.
    pub through: Through,
    /// The link.
    pub link: Link,
    /// How many connections failed. They are in no other number, except that they widen the intervals of the times: they
    /// came later than all that succeeded.
    pub failed: usize,
    /// The server's application held the first byte of an accepted request.
    pub first_byte_us: Option<Summary>,
    /// The client's handshake was complete.
    pub handshake_us: Option<Summary>,
    /// The client held the first byte of the response.
    pub response_us: Option<Summary>,
    /// Processor time inside the engine, at the client.
    pub client_engine_us: Option<Summary>,
    /// At the server; `None` where reports have the wait for a store in it.
    pub server_engine_us: Option<Summary>,
    /// Processor time of the whole end, the kernel's work for it included, at the client.
    pub client_cpu_us: Option<Summary>,
    /// At the server.
    pub server_cpu_us: Option<Summary>,
    /// Bytes of TCP payload that the client sent: the median.
    pub client_bytes: Option<f64>,
    /// That the server sent.
    pub server_bytes: Option<f64>,
    /// That the client sent before anything came.
    pub first_flight: Option<f64>,
    /// What one ticket costs; `None` also where the server waits for its store meanwhile, as for etcd: reports have
    /// no processor time of that.
    pub issuing: Option<Issuing>,
    /// Whether the processor times and bytes above have the issuing of one ticket in them.
    pub with_issuing: bool,
}

impl Cell {
    /// Processor time of both ends in microseconds: of the whole ends where that was measured, else of the engines.
    #[must_use]
    pub fn processor_us(&self) -> Option<f64> {
        let both = |one: Option<Summary>, other: Option<Summary>| Some(one?.median + other?.median);
        both(self.client_cpu_us, self.server_cpu_us)
            .or_else(|| both(self.client_engine_us, self.server_engine_us))
    }

    /// How far that may be off: the uncertainties of its parts. `None` with too few samples to know it.
    #[must_use]
    pub fn processor_uncertainty_us(&self) -> Option<f64> {
        let both = |one: Option<Summary>, other: Option<Summary>| {
            Some(one?.uncertainty()? + other?.uncertainty()?)
        };
        both(self.client_cpu_us, self.server_cpu_us)
            .or_else(|| both(self.client_engine_us, self.server_engine_us))
    }

    /// Processor time of the server in microseconds: of all of it where that was measured, else of its engine.
    #[must_use]
    pub fn server_us(&self) -> Option<f64> {
        Some(self.server_cpu_us.or(self.server_engine_us)?.median)
    }
}

/// What one ticket costs: medians.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Issuing {
    /// Processor time of the server, in microseconds.
    pub server_us: f64,
    /// Of the client.
    pub client_us: f64,
    /// On the way.
    pub bytes: f64,
}

/// From when on stolen keys open no recording. The worse is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForwardSecrecy {
    /// From the end of the handshake on.
    Handshake,
    /// From when the server took the one-time key, or it expired.
    FromTakeOrExpiry,
    /// From the end of the epoch under whose key the one-time key was stored.
    FromEpochEnd,
    /// From when both ends, their backups included, have deleted a PSK.
    FromDeletionByBoth,
    /// Never.
    None,
}

/// What a way protects, as an adversary found who recorded it, replayed it, and stole everything afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Protection {
    /// The way.
    pub way: Way,
    /// Of the first byte.
    pub first_byte: ForwardSecrecy,
    /// Of what follows the handshake.
    pub session: ForwardSecrecy,
    /// How often one request was executed: 1 is what the client asked for.
    pub executions: u32,
    /// Whether a quantum computer opens no recording of it.
    pub post_quantum: bool,
}

/// What a server does when connections come back together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// The way.
    pub way: Way,
    /// The cipher suite (`0x1302`), where the report names it.
    pub suite: Option<String>,
    /// Whether all came back at once, and once; else each user came back again and again.
    pub storm: bool,
    /// How many connections in a storm, or how many users.
    pub users: usize,
    /// The round-trip time, in milliseconds.
    pub rtt_ms: f64,
    /// How many reconnections failed: what these cost is in the numbers, and no request of theirs was answered.
    pub failed: u64,
    /// How long it took until the server's application had an accepted request: the median, in microseconds.
    pub first_accepted_us: Option<f64>,
    /// The 99th percentile.
    pub first_accepted_p99_us: Option<f64>,
    /// Processor time of the server for each reconnection, in microseconds.
    pub server_us: f64,
    /// That part of it that is TLS.
    pub server_tls_us: f64,
    /// How many tickets were made beforehand: more than there are reconnections, since they come in packs.
    pub tickets: u64,
    /// What the server's stores held for each of these tickets, in bytes.
    pub held_bytes: Option<f64>,
}

impl Load {
    /// Whether it says what a reconnection costs: of 1,000 at most one failed. One that failed may have cost next to
    /// nothing. Storms alone: of others it isn't known how many reconnections there were.
    #[must_use]
    pub fn is_storm_that_succeeded(&self) -> bool {
        self.storm && self.failed.saturating_mul(1_000) <= self.users as u64
    }
}

impl Evidence {
    /// What was measured for a way over plain links, ends joined like this. The suite is the first one in the
    /// evidence, if there are several.
    pub fn plain_cells(&self, way: Way, through: Through) -> impl Iterator<Item = &Cell> {
        let of_way =
            move |cell: &&Cell| cell.way == way && cell.through == through && cell.link.is_plain();
        let suite = self.cells.iter().find(of_way).map(|cell| &cell.suite);
        self.cells.iter().filter(of_way).filter(move |cell| Some(&cell.suite) == suite)
    }

    /// What of it advice reads: cells over plain links, of one suite for each way.
    #[must_use]
    pub fn for_advice(&self) -> Self {
        let is_read = |cell: &&Cell| {
            let mut read = self.plain_cells(cell.way, cell.through);
            read.any(|other| std::ptr::eq(other, *cell))
        };
        let cells = self.cells.iter().filter(is_read).cloned().collect();
        Self { cells, ..self.clone() }
    }

    /// What an adversary found about a way; where nobody attacked it with its store, about the same way with keys in
    /// memory, which [`Protection::way`] says.
    #[must_use]
    pub fn protection(&self, way: Way) -> Option<&Protection> {
        let of = |way: Way| self.protections.iter().find(|protection| protection.way == way);
        of(way).or_else(|| of(way.with_store(Store::Memory)))
    }

    /// What one ticket of a way costs, where it was measured apart; `held_bytes` is what a server holds for it.
    #[must_use]
    pub fn ticket(&self, way: Way, held_bytes: f64) -> Option<Ticket> {
        let of_way = self.cells.iter().filter(|cell| cell.way == way);
        let Issuing { server_us, client_us, bytes } =
            of_way.filter_map(|cell| cell.issuing).next()?;
        Some(Ticket { processor_us: server_us + client_us, bytes, held_bytes })
    }

    /// What a way costs over plain links, for the break-even; `None` where times or processor time weren't measured, or
    /// at one round-trip time alone. Without issuing in the evidence a ticket costs what the caller says, which has no
    /// default.
    #[must_use]
    pub fn costs(&self, way: Way, through: Through, ticket: Ticket) -> Option<Costs> {
        let points = |value: fn(&Cell) -> Option<f64>| {
            let cells = self.plain_cells(way, through);
            cells.filter_map(|cell| Some((cell.link.rtt_ms, value(cell)?))).collect()
        };
        let first = self.plain_cells(way, through).next()?;
        let apart = if first.with_issuing { Ticket::default() } else { ticket };
        Some(Costs {
            waiting_us: Waiting::new(points(|cell| Some(cell.response_us?.median)))?,
            processor_us: Curve::new(points(Cell::processor_us))?.plus(apart.processor_us),
            bytes: first.client_bytes? + first.server_bytes? + apart.bytes,
            ticket,
        })
    }
}
