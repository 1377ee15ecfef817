//! The report of the experiment `edge`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use tessera_observed::Operation;
use tessera_reports::{KeyExchange, Machine};

use super::way::EdgeWay;
use crate::certificates::Certificates;
use crate::wired::{self, LinkName, RECORD_OVERHEAD, Sizes};

/// The experiment with its results.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) experiment: String,
    pub(crate) seed: u64,
    pub(crate) machine: Machine,
    /// How many processes wanted to run when it began: the load of the last minute.
    pub(crate) load: Option<f64>,
    pub(crate) revision: Option<String>,
    /// How the links were made; `None` if no cell needed one.
    pub(crate) link: Option<String>,
    /// How many connections each sample is the mean of, over loopback and in memory.
    pub(crate) connections: usize,
    /// The proxy's certificates.
    pub(crate) chains: Vec<Chain>,
    /// Connections over links.
    pub(crate) cells: Vec<Cell>,
    /// What both ends compute, in memory.
    pub(crate) operations: Vec<Operations>,
    /// Connections at a fixed rate.
    pub(crate) rates: Vec<Rate>,
    /// Moves while the ring rotates.
    pub(crate) rotations: Vec<Rotation>,
}

/// How long the certificates are as DER, as they are sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Chain {
    pub(crate) certificates: Certificates,
    pub(crate) server: Vec<usize>,
}

/// A way over a link, and its measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cell {
    #[serde(flatten)]
    pub(crate) name: CellName,
    /// Whether the engine counts the key exchanges of the chain as safe against quantum computers (its ancestry).
    pub(crate) post_quantum: bool,
    pub(crate) samples: Vec<Sample>,
    /// Connections that failed and were repeated, by error.
    pub(crate) why_failed: BTreeMap<String, u32>,
}

/// The name of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CellName {
    pub(crate) way: EdgeWay,
    pub(crate) kx: KeyExchange,
    pub(crate) certificates: Certificates,
    /// `None`: loopback.
    pub(crate) link: Option<LinkName>,
}

/// A connection, or over loopback the mean of several; their bytes are those of the last.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    #[serde(flatten)]
    pub(crate) of: wired::Sample,
    /// The record with the ClientHello, or with the first of two.
    pub(crate) hello: u64,
}

/// The operations of both ends of a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Operations {
    #[serde(flatten)]
    pub(crate) name: RowName,
    pub(crate) client: EndOperations,
    pub(crate) server: EndOperations,
}

/// What is measured without a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RowName {
    pub(crate) way: EdgeWay,
    pub(crate) kx: KeyExchange,
    pub(crate) certificates: Certificates,
}

/// The operations of one end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct EndOperations {
    /// In calls of the engine, operations included: a connection of each repetition in the mean, in microseconds.
    pub(crate) engine_us: Vec<f64>,
    pub(crate) operations: Vec<OperationSamples>,
}

/// An operation: how often a connection has it, and how long all of a connection take, in the mean of each repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OperationSamples {
    pub(crate) operation: Operation,
    pub(crate) count: u64,
    pub(crate) us: Vec<f64>,
}

/// A proxy that gets connections at a fixed rate, over loopback.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rate {
    #[serde(flatten)]
    pub(crate) name: RowName,
    /// Connections a second: at most, and those that began.
    pub(crate) per_second: u32,
    pub(crate) held_per_second: f64,
    /// The processor time of the proxy's thread for a connection, the kernel's work in its calls included: the mean of each
    /// repetition, in microseconds.
    pub(crate) server_cpu_us: Vec<f64>,
    /// That in calls of the engine.
    pub(crate) server_engine_us: Vec<f64>,
    /// Connections that failed and were repeated, by error.
    pub(crate) why_failed: BTreeMap<String, u32>,
}

/// Clients that move to another proxy while the ring rotates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rotation {
    #[serde(flatten)]
    pub(crate) name: RowName,
    pub(crate) rotations: u64,
    /// Moves by what the second proxy made of the ticket.
    pub(crate) resumed: u64,
    pub(crate) full: u64,
    pub(crate) seconds: f64,
    /// Those that failed, by error.
    pub(crate) why_failed: BTreeMap<String, u32>,
}

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Handshakes over loopback and links: bytes and times.
    Handshakes,
    /// The operations of both ends.
    Operations,
    /// The processor time of a proxy that gets connections at a fixed rate.
    Rate,
    /// Moves while the ring rotates.
    Rotation,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Handshakes, Self::Operations, Self::Rate, Self::Rotation];

    /// Its name in options and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Handshakes => "handshakes",
            Self::Operations => "operations",
            Self::Rate => "rate",
            Self::Rotation => "rotation",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One message each way.
pub(super) const EXCHANGE: Sizes = Sizes { request: 16, response: 16 };

impl Report {
    /// Returns the cell of another way, and another key exchange if it has only one, in place of this.
    pub(crate) fn instead(&self, name: &CellName, way: EdgeWay, kx: KeyExchange) -> Option<&Cell> {
        let name = CellName { way, kx, ..name.clone() };
        self.cells.iter().find(|cell| cell.name == name)
    }
}

impl CellName {
    /// Returns it as a key, for programs.
    pub(crate) fn key(&self) -> String {
        let Self { way, kx, certificates, link } = self;
        let link = link.as_ref().map_or_else(
            || "loopback".to_owned(),
            |LinkName { rtt_ms, loss, .. }| format!("{rtt_ms}ms/{loss}"),
        );
        format!("{way}/{}/{certificates}/{link}", kx.short())
    }
}

impl RowName {
    /// Returns it as a key, for programs.
    pub(crate) fn key(&self, of: Part) -> String {
        let Self { way, kx, certificates } = self;
        format!("{}/{way}/{}/{certificates}", of.name(), kx.short())
    }
}

impl Operations {
    /// Returns its name as a key, for programs.
    pub(crate) fn key(&self) -> String {
        self.name.key(Part::Operations)
    }
}

impl Rate {
    /// Returns its name as a key, for programs.
    pub(crate) fn key(&self) -> String {
        format!("{}/{}", self.name.key(Part::Rate), self.per_second)
    }
}

impl Rotation {
    /// Returns its name as a key, for programs.
    pub(crate) fn key(&self) -> String {
        self.name.key(Part::Rotation)
    }

    /// All moves: connections to the second proxy.
    pub(crate) fn moves(&self) -> u64 {
        self.resumed + self.full + self.failed()
    }

    /// Those that failed.
    pub(crate) fn failed(&self) -> u64 {
        self.why_failed.values().copied().map(u64::from).sum()
    }
}

impl Sample {
    /// ClientHello and the server's flight: the paper's sum. Not for a retry, which has two ClientHellos.
    pub(crate) fn flights(&self) -> u64 {
        self.hello + self.of.server.handshake
    }

    /// The records with tickets.
    pub(crate) fn tickets(&self) -> u64 {
        // close_notify is two bytes.
        let others = EXCHANGE.response as u64 + RECORD_OVERHEAD + 2 + RECORD_OVERHEAD;
        self.of.server.tls.saturating_sub(self.of.server.handshake + others)
    }
}

impl EndOperations {
    /// Returns the samples of an operation.
    pub(crate) fn of(&self, operation: Operation) -> Option<&OperationSamples> {
        self.operations.iter().find(|it| it.operation == operation)
    }

    /// Returns the sums of some operations: one of each repetition.
    pub(crate) fn sums(&self, of: &[Operation]) -> Vec<f64> {
        let sum = |index: usize| {
            let operations = of.iter().filter_map(|operation| self.of(*operation));
            operations.filter_map(|it| it.us.get(index)).sum()
        };
        (0..self.engine_us.len()).map(sum).collect()
    }
}
