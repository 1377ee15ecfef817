//! The report of the experiment `traffic`: every flow as the observer saw it, and what it reveals.

use serde::{Deserialize, Serialize};
use tessera_reports::{Letter, LinkReport, Machine, Variant};

/// The experiment with its results.
#[derive(Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) experiment: String,
    pub(crate) seed: u64,
    pub(crate) machine: Machine,
    pub(crate) link: LinkReport,
    /// In the order of recording: options take turns, so that changes of the machine's load affect all of them.
    pub(crate) flows: Vec<Flow>,
    /// Made from the flows and the seed alone.
    pub(crate) confusion: Confusion,
    /// Made from the flows alone.
    pub(crate) costs: Vec<PaddingCost>,
}

/// One connection with one registration, for an observer who only reads the headers of IP, TCP and TLS records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Flow {
    #[serde(flatten)]
    pub(crate) variant: Variant,
    pub(crate) rtt_ms: f64,
    /// Records are padded to a multiple of this many bytes; `None` for no padding.
    pub(crate) padding: Option<u16>,
    /// The TLS records in the order in which their last byte passed: how long each is, in bytes with its
    /// header, negative from the server to the client; and when, in whole µs since the client's SYN.
    pub(crate) sizes_and_times: Vec<(i64, u64)>,
    /// How many of them go out in plaintext, hellos and ChangeCipherSpec, by their place in the list:
    /// padding can't reach these.
    pub(crate) plaintext: Vec<usize>,
}

impl Flow {
    /// Returns the bytes that each side sent in TLS records: the client, and the server.
    pub(crate) fn bytes(&self) -> [u64; 2] {
        let sizes = || self.sizes_and_times.iter().map(|(size, _)| size);
        [
            sizes().filter(|size| **size > 0).map(|size| size.unsigned_abs()).sum(),
            sizes().filter(|size| **size < 0).map(|size| size.unsigned_abs()).sum(),
        ]
    }

    /// From the SYN to the last record, in µs.
    pub(crate) fn duration_us(&self) -> u64 {
        self.sizes_and_times.last().map_or(0, |(_, us)| *us)
    }
}

/// The features that the observer uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Features {
    /// The sizes of all records.
    Sizes,
    /// The sizes of the protected records only: what padding can change.
    ProtectedSizes,
    /// When records come, and from which side.
    Times,
    /// All sizes and times.
    Both,
}

impl Features {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Sizes, Self::ProtectedSizes, Self::Times, Self::Both];

    /// Its name in tables and reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sizes => "sizes",
            Self::ProtectedSizes => "protected-sizes",
            Self::Times => "times",
            Self::Both => "both",
        }
    }
}

/// How well a classifier distinguishes the options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Confusion {
    /// In how many parts the flows of a cell were divided: each part is classified by a tree trained on the others.
    pub(crate) folds: usize,
    /// One for each round-trip time, padding, and choice of features.
    pub(crate) tables: Vec<ConfusionTable>,
}

/// How well it distinguishes them in one setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ConfusionTable {
    pub(crate) rtt_ms: f64,
    pub(crate) padding: Option<u16>,
    pub(crate) features: Features,
    /// The rows and columns, in order.
    pub(crate) options: Vec<Letter>,
    /// How many flows of the row's option were taken for the column's.
    pub(crate) matrix: Vec<Vec<usize>>,
    /// The share of the flows that were classified correctly.
    pub(crate) accuracy: f64,
    /// Its 95 % confidence interval (Wilson).
    pub(crate) interval: (f64, f64),
    /// The accuracy of always answering the most frequent option.
    pub(crate) chance: f64,
    /// The question that a tree grown on all flows asks first; `None` if no question helps.
    pub(crate) first_question: Option<String>,
}

/// The cost of padding for an option: medians over its flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PaddingCost {
    pub(crate) option: Letter,
    pub(crate) rtt_ms: f64,
    pub(crate) padding: Option<u16>,
    /// The client's bytes in TLS records.
    pub(crate) client_bytes: f64,
    /// The server's bytes in TLS records.
    pub(crate) server_bytes: f64,
    /// From the SYN to the last record.
    pub(crate) duration_us: f64,
}
