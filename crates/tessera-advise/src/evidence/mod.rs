//! Measurements: medians, bytes and processor time of each way to connect, and what it protects.
//!
//! Evidence comes from the reports of the lab ([`Evidence::read`]). No number in it is estimated: what a report lacks
//! is `None`, and no cell is filled in from another.

mod files;
mod lab;
mod way;

use std::fmt;

use serde::{Deserialize, Serialize};

pub(crate) use files::how_to_measure;
pub use lab::EvidenceError;
pub use tessera_reports::roaming::{IssuingCost, Setup};
pub use tessera_reports::{
    Continuation, ForwardSecrecy, KeyExchange, Letter, Machine, OneTimeKey, Store, Summary,
};
pub use way::Way;

use crate::break_even::{Costs, Curve, ResponseCurve, Ticket};

/// The measurements of one or more experiments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The runs that it comes from.
    pub sources: Vec<Source>,
    /// What connecting costs, a cell for each way and link.
    pub cells: Vec<Cell>,
    /// What ways protect.
    pub protections: Vec<Protection>,
    /// The load of a server when many connections come back.
    pub loads: Vec<Load>,
}

/// A run of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Its name.
    pub experiment: String,
    /// The seed of its random choices.
    pub seed: u64,
    /// The machine.
    #[serde(flatten)]
    pub machine: Machine,
    /// The revision of Tessera, if the report names it.
    pub revision: Option<String>,
    /// Whether only protections were taken from it, out of the built-in evidence.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protections_only: bool,
}

/// The link between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The round-trip time, in milliseconds.
    pub rtt_ms: f64,
    /// The share of packets that are lost, 0 to 1.
    pub loss: f64,
    /// The mean number of packets lost in a row; 1 for independent losses.
    pub loss_burst: f64,
    /// The mean of the delay by congestion, as a share of the round-trip time.
    pub congestion: f64,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { experiment, seed, machine, revision, protections_only } = self;
        if *protections_only {
            f.write_str("what ways protect: the evidence that comes with the program, ")?;
        }
        write!(f, "lab {experiment}, seed {seed}; {machine}")?;
        revision.iter().try_for_each(|revision| write!(f, "; revision {revision}"))
    }
}

impl Link {
    /// Whether it only adds delay.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.loss == 0.0 && self.congestion == 0.0
    }
}

/// The cost of connecting in one way over one link.
///
/// Times are in microseconds, from before connect().
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The way.
    pub way: Way,
    /// The cipher suite (`0x1302`), if the report names it.
    pub suite: Option<String>,
    /// How the two ends were joined.
    pub through: Setup,
    /// The link.
    pub link: Link,
    /// How many connections failed. They are in no other number, except that they widen the intervals of the times:
    /// they took longer than all that succeeded.
    pub failed: usize,
    /// Until the server's application had the first byte of an accepted request.
    pub first_byte_us: Option<Summary>,
    /// Until the client's handshake was complete.
    pub handshake_us: Option<Summary>,
    /// Until the client had the first byte of the response.
    pub response_us: Option<Summary>,
    /// Processor time inside the engine, at the client.
    pub client_engine_us: Option<Summary>,
    /// At the server; `None` if the reports include the wait for a store in it.
    pub server_engine_us: Option<Summary>,
    /// Processor time of the whole end, including the kernel's work for it, at the client.
    pub client_cpu_us: Option<Summary>,
    /// At the server.
    pub server_cpu_us: Option<Summary>,
    /// Bytes of TCP payload sent by the client: the median.
    pub client_bytes: Option<f64>,
    /// Those sent by the server.
    pub server_bytes: Option<f64>,
    /// Those sent by the client before it received anything.
    pub first_flight: Option<f64>,
    /// The cost of one ticket; `None` also if the server waits for its store meanwhile, as for etcd: reports have no
    /// processor time of that.
    pub issuing: Option<IssuingCost<f64>>,
    /// Whether the processor times and bytes above include the issuing of one ticket.
    pub with_issuing: bool,
}

impl Cell {
    /// Returns the processor time of both ends in microseconds: of the whole ends if measured, otherwise of the
    /// engines.
    #[must_use]
    pub fn processor_us(&self) -> Option<f64> {
        let both = |one: Option<Summary>, other: Option<Summary>| Some(one?.median + other?.median);
        both(self.client_cpu_us, self.server_cpu_us)
            .or_else(|| both(self.client_engine_us, self.server_engine_us))
    }

    /// Returns its uncertainty: the sum of those of its parts.
    ///
    /// `None` with too few samples.
    #[must_use]
    pub fn processor_uncertainty_us(&self) -> Option<f64> {
        let both = |one: Option<Summary>, other: Option<Summary>| {
            Some(one?.uncertainty()? + other?.uncertainty()?)
        };
        both(self.client_cpu_us, self.server_cpu_us)
            .or_else(|| both(self.client_engine_us, self.server_engine_us))
    }

    /// Returns the processor time of the server in microseconds: of the whole end if measured, otherwise of its engine.
    #[must_use]
    pub fn server_us(&self) -> Option<f64> {
        Some(self.server_cpu_us.or(self.server_engine_us)?.median)
    }
}

/// What a way protects, as found by an adversary who recorded it, replayed it, and stole all keys afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Protection {
    /// The way.
    pub way: Way,
    /// Of the first byte.
    pub first_byte: ForwardSecrecy,
    /// Of what follows the handshake.
    pub session: ForwardSecrecy,
    /// How often one request was executed; the client asked for 1.
    pub executions: u32,
    /// Whether quantum computers can't decrypt a recording of it.
    pub post_quantum: bool,
}

/// The load of a server when connections come back together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// The way.
    pub way: Way,
    /// The cipher suite (`0x1302`), if the report names it.
    pub suite: Option<String>,
    /// Whether all came back once, at the same time; otherwise each user came back repeatedly.
    pub storm: bool,
    /// The number of connections in a storm, or of users.
    pub users: usize,
    /// The round-trip time, in milliseconds.
    pub rtt_ms: f64,
    /// How many reconnections failed: their cost is included in the numbers, and their requests were not answered.
    pub failed: u64,
    /// The median time until the server's application had an accepted request, in microseconds.
    pub first_accepted_us: Option<f64>,
    /// The 99th percentile.
    pub first_accepted_p99_us: Option<f64>,
    /// Processor time of the server per reconnection, in microseconds.
    pub server_us: f64,
    /// The part of it that TLS takes.
    pub server_tls_us: f64,
    /// How many tickets were made beforehand: more than there are reconnections, since they come in packs.
    pub tickets: u64,
    /// The memory of the server's stores per ticket, in bytes.
    pub held_bytes: Option<f64>,
}

impl Load {
    /// Whether it is a valid measure of the cost of a reconnection: at most one in 1,000 failed.
    ///
    /// A failed one may have cost next to nothing. Only storms: otherwise the number of reconnections is unknown.
    #[must_use]
    pub fn is_storm_that_succeeded(&self) -> bool {
        self.storm && self.failed.saturating_mul(1_000) <= self.users as u64
    }
}

impl Evidence {
    /// Returns the measurements of a way over plain links, with ends joined like this.
    ///
    /// The suite is the first one in the evidence, if there are several.
    pub fn plain_cells(&self, way: Way, through: Setup) -> impl Iterator<Item = &Cell> {
        let of_way =
            move |cell: &&Cell| cell.way == way && cell.through == through && cell.link.is_plain();
        let suite = self.cells.iter().find(of_way).map(|cell| &cell.suite);
        self.cells.iter().filter(of_way).filter(move |cell| Some(&cell.suite) == suite)
    }

    /// Returns the part that advice reads: cells over plain links, of one suite for each way.
    #[must_use]
    pub fn for_advice(&self) -> Self {
        let is_read = |cell: &&Cell| {
            let mut read = self.plain_cells(cell.way, cell.through);
            read.any(|other| std::ptr::eq(other, *cell))
        };
        let cells = self.cells.iter().filter(is_read).cloned().collect();
        Self { cells, ..self.clone() }
    }

    /// Returns what an adversary found about a way; without an attack on its store, about the same way with keys in
    /// memory, as [`Protection::way`] then shows.
    #[must_use]
    pub fn protection(&self, way: Way) -> Option<&Protection> {
        let of = |way: Way| self.protections.iter().find(|protection| protection.way == way);
        of(way).or_else(|| of(way.with_store(Store::Memory)))
    }

    /// Returns the cost of one ticket of a way, if it was measured separately; `held_bytes` is the server's memory for
    /// it.
    #[must_use]
    pub fn ticket(&self, way: Way, held_bytes: f64) -> Option<Ticket> {
        let of_way = self.cells.iter().filter(|cell| cell.way == way);
        let IssuingCost { server_us, client_us, bytes } =
            of_way.filter_map(|cell| cell.issuing).next()?;
        Some(Ticket { processor_us: server_us + client_us, bytes, held_bytes })
    }

    /// Returns the cost of a way over plain links, for the break-even; `None` if times or processor time were not
    /// measured, or at one round-trip time only.
    ///
    /// If the evidence has no issuing, `ticket` is the cost of one, which has no default.
    #[must_use]
    pub fn costs(&self, way: Way, through: Setup, ticket: Ticket) -> Option<Costs> {
        let points = |value: fn(&Cell) -> Option<f64>| {
            let cells = self.plain_cells(way, through);
            cells.filter_map(|cell| Some((cell.link.rtt_ms, value(cell)?))).collect()
        };
        let first = self.plain_cells(way, through).next()?;
        let apart = if first.with_issuing { Ticket::default() } else { ticket };
        Some(Costs {
            waiting_us: ResponseCurve::new(points(|cell| Some(cell.response_us?.median)))?,
            processor_us: Curve::new(points(Cell::processor_us))?.plus(apart.processor_us),
            bytes: first.client_bytes? + first.server_bytes? + apart.bytes,
            ticket,
        })
    }
}
