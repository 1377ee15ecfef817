//! The report of the experiment `bithac`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tessera_reports::Machine;

pub(crate) use super::datagram_samples::DatagramSamples;
use super::way::CertificateWay;
use crate::certificates::Certificates;
use crate::heap;
use crate::wired::{LinkName, Sample};

/// The experiment with its results.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) experiment: String,
    pub(crate) seed: u64,
    pub(crate) machine: Machine,
    pub(crate) revision: Option<String>,
    /// How the links were made; `None` if no cell needed one.
    pub(crate) link: Option<String>,
    /// How long the certificates are as DER, as they are sent.
    pub(crate) chains: Vec<Chains>,
    /// Connections over links.
    pub(crate) cells: Vec<Cell>,
    /// The computation for chains.
    pub(crate) work: Vec<Work>,
    /// The savings of caches that know only some peers.
    pub(crate) hits: Vec<Hits>,
    /// The memory of remembered peers.
    pub(crate) memory: Vec<Memory>,
    /// The peak memory of both ends.
    pub(crate) peaks: Vec<Peak>,
    /// The memory of very many clients at a server; empty in reports from before it was measured.
    #[serde(default)]
    pub(crate) many: Vec<LargeCache>,
    /// The revision that measured `datagrams`, which need neither a link nor a quiet machine, so that they may be later
    /// than the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) datagrams_revision: Option<String>,
    /// Handshakes over datagrams; empty in reports from before they were measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) datagrams: Vec<DatagramCell>,
}

/// The certificates of both ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Chains {
    pub(crate) certificates: Certificates,
    pub(crate) client: Vec<usize>,
    pub(crate) server: Vec<usize>,
}

/// A way over a link, and its measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cell {
    #[serde(flatten)]
    pub(crate) name: CellName,
    pub(crate) samples: Vec<Sample>,
    /// Connections that failed and were repeated, by error.
    pub(crate) why_failed: BTreeMap<String, u32>,
}

/// Handshakes over datagrams of a way, over a link in virtual time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DatagramCell {
    #[serde(flatten)]
    pub(crate) name: CellName,
    pub(crate) samples: DatagramSamples,
    /// Handshakes that failed and were repeated with other losses, by error.
    pub(crate) why_failed: BTreeMap<String, u32>,
}

/// The name of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CellName {
    pub(crate) part: Part,
    pub(crate) way: CertificateWay,
    pub(crate) certificates: Certificates,
    pub(crate) link: LinkName,
}

/// The question that cells answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The bytes of a connection: one of each way, over links of three MTUs without loss.
    Bytes,
    /// The same over links that lose packets, several of each way, with times.
    Losses,
    /// How long connections take, in cells that are named one by one.
    Times,
    /// Handshakes over datagrams, with and without losses, in virtual time.
    Datagrams,
    /// The computation of both ends, in memory, for chains of one to four certificates.
    Work,
    /// The same if only some of the connections find both caches filled.
    Hits,
    /// The heap memory of remembered peers, up to 64; and the peak of a connection.
    Memory,
}

/// The computation of a way with chains of a length: samples are connections in memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Work {
    pub(crate) way: CertificateWay,
    pub(crate) certificates: Certificates,
    /// The length of each end's chain, without the root.
    pub(crate) chain: usize,
    /// How many signatures each end checked in a connection.
    pub(crate) client_verifications: u64,
    pub(crate) server_verifications: u64,
    /// In calls of the engine.
    pub(crate) client_us: Vec<f64>,
    pub(crate) server_us: Vec<f64>,
    /// The instructions that each end retired; `None` in reports from before they were counted.
    #[serde(default)]
    pub(crate) instructions: Option<Instructions>,
}

/// Instructions of connections in memory, in calls of the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Instructions {
    /// The median of several connections.
    Retired { client: u64, server: u64 },
    /// Why they could not be counted.
    Uncounted(String),
}

/// Connections of which some find both caches filled: samples are connections in memory, with chains of three.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Hits {
    pub(crate) certificates: Certificates,
    /// How many of a hundred connections should find them filled; `None` for full handshakes, without caches.
    pub(crate) rate: Option<u32>,
    /// How many did.
    pub(crate) hits: u32,
    /// All of TLS, both directions, with a request and its response.
    pub(crate) bytes: Vec<u64>,
    /// In calls of the engine.
    pub(crate) client_us: Vec<f64>,
    pub(crate) server_us: Vec<f64>,
}

/// The heap memory of one end that remembers this many peers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Memory {
    pub(crate) way: CertificateWay,
    pub(crate) certificates: Certificates,
    pub(crate) end: End,
    /// How many certificates each peer has.
    pub(crate) chain: usize,
    pub(crate) held: Vec<CacheMemory>,
}

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum End {
    Client,
    Server,
}

/// The memory with this many peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CacheMemory {
    pub(crate) entries: usize,
    /// More than before the first of them.
    pub(crate) bytes: i64,
    /// The peak in a connection with one of them; `None` in reports from before it was measured.
    #[serde(default)]
    pub(crate) peak: Option<i64>,
}

/// The memory of a server's cache with very many clients, and the time of a lookup. The clients are synthesised from a
/// chain of these certificates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LargeCache {
    pub(crate) kept: EntryContent,
    pub(crate) certificates: Certificates,
    pub(crate) clients: u64,
    /// How many bytes of each client are stored unchanged: its certificate, or the hash of its chain.
    pub(crate) own: u64,
    /// The size that the allocator reserves for that.
    pub(crate) own_allocated: u64,
    /// The memory of all clients, after two visits of each.
    pub(crate) held: i64,
    /// The most meanwhile.
    pub(crate) most: i64,
    /// Processor time to learn a client, in nanoseconds.
    pub(crate) learned_ns: f64,
    /// The same to use its ticket and to learn new ones.
    pub(crate) renewed_ns: f64,
    /// The same to look up the two tickets of a hello, one of which is known.
    pub(crate) known_ns: f64,
    /// The same for a hello of which neither is known.
    pub(crate) unknown_ns: f64,
}

/// What a server's cache keeps of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EntryContent {
    /// Its certificate; issuers are shared by all.
    Certificates,
    /// The hash of its chain, of which a verifier remembers the rest.
    Hashes,
}

/// The peak heap memory of both ends in a connection, in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Peak {
    pub(crate) way: CertificateWay,
    pub(crate) certificates: Certificates,
    /// How many certificates each end has.
    pub(crate) chain: usize,
    pub(crate) client: i64,
    pub(crate) server: i64,
}

impl Report {
    /// Returns the computation of a way with chains of a length.
    pub(crate) fn work(
        &self,
        way: CertificateWay,
        certificates: Certificates,
        chain: usize,
    ) -> Option<&Work> {
        let is_it = |it: &&Work| (it.way, it.certificates, it.chain) == (way, certificates, chain);
        self.work.iter().find(is_it)
    }

    /// Returns the peak of a way.
    pub(crate) fn peak(&self, way: CertificateWay, certificates: Certificates) -> Option<&Peak> {
        self.peaks.iter().find(|it| (it.way, it.certificates) == (way, certificates))
    }
}

impl Peak {
    /// Returns it as a key.
    pub(crate) fn key(&self) -> String {
        format!("peak/{}/{}", self.way, self.certificates)
    }
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Bytes,
        Self::Losses,
        Self::Times,
        Self::Datagrams,
        Self::Work,
        Self::Hits,
        Self::Memory,
    ];

    /// The default parts, separated by commas: memory only if the program measures its heap (feature `heap`).
    pub const DEFAULT: &'static str =
        if heap::IS_COUNTED { "bytes,work,hits,memory" } else { "bytes,work,hits" };

    /// Its name in options and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Losses => "losses",
            Self::Times => "times",
            Self::Datagrams => "datagrams",
            Self::Work => "work",
            Self::Hits => "hits",
            Self::Memory => "memory",
        }
    }

    /// Whether it needs a link.
    pub(super) fn needs_a_link(self) -> bool {
        matches!(self, Self::Bytes | Self::Losses | Self::Times)
    }
}

impl CellName {
    /// Returns it as a key, for programs.
    pub(crate) fn key(&self) -> String {
        let Self { part, way, certificates, link } = self;
        let LinkName { rtt_ms, rate_bps, mtu, loss } = link;
        let rate = rate_bps.map_or_else(|| "any".to_owned(), |rate| rate.to_string());
        format!("{}/{way}/{certificates}/{rate}/{rtt_ms}ms/{mtu}/{loss}", part.name())
    }
}

impl Work {
    /// Returns it as a key.
    pub(crate) fn key(&self) -> String {
        let Self { way, certificates, chain, .. } = self;
        format!("work/{way}/{certificates}/{chain}")
    }

    /// Returns the samples of an end.
    pub(crate) fn us(&self, end: End) -> &[f64] {
        match end {
            End::Client => &self.client_us,
            End::Server => &self.server_us,
        }
    }

    /// Returns how many signatures an end checked.
    pub(crate) fn checks(&self, end: End) -> u64 {
        match end {
            End::Client => self.client_verifications,
            End::Server => self.server_verifications,
        }
    }
}

impl Hits {
    /// Returns it as a key.
    pub(crate) fn key(&self) -> String {
        let rate = self.rate.map_or_else(|| "full".to_owned(), |rate| rate.to_string());
        format!("hits/{}/{rate}", self.certificates)
    }
}

impl Memory {
    /// Returns it as a key.
    pub(crate) fn key(&self) -> String {
        let Self { way, certificates, end, .. } = self;
        format!("memory/{way}/{certificates}/{}", end.name())
    }

    /// Returns how many bytes each peer takes, in the mean of as many as there are at most.
    pub(crate) fn per_entry(&self) -> Option<f64> {
        let last = self.held.last().filter(|last| last.entries > 0)?;
        Some(last.bytes as f64 / last.entries as f64)
    }
}

impl LargeCache {
    /// Returns it as a key.
    pub(crate) fn key(&self) -> String {
        format!("many/{}/{}/{}", self.kept.name(), self.certificates, self.clients)
    }

    /// Returns the bytes per client.
    pub(crate) fn per_client(&self) -> f64 {
        self.held as f64 / self.clients.max(1) as f64
    }

    /// Returns the overhead per client beyond the stored data.
    pub(crate) fn beside(&self) -> f64 {
        self.per_client() - self.own_allocated as f64
    }
}

impl EntryContent {
    /// Its name in tables and reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Certificates => "certificates",
            Self::Hashes => "hashes",
        }
    }
}

impl End {
    /// Its name in tables and reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}
