//! The report of the experiment `traffic`: every flow as the observer saw it, and what it gives away.

use serde::{Deserialize, Serialize};

use crate::experiment::LinkReport;
use crate::machine::Machine;
use crate::variants::{PaperOption, Variant};

/// The experiment with its results.
#[derive(Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) experiment: String,
    pub(crate) seed: u64,
    pub(crate) machine: Machine,
    pub(crate) link: LinkReport,
    /// In the order of their recording: options take turns, so that no change of the machine's load falls
    /// on one of them.
    pub(crate) flows: Vec<Flow>,
    /// Made from the flows and the seed alone.
    pub(crate) confusion: Confusion,
    /// Made from the flows alone.
    pub(crate) costs: Vec<PaddingCost>,
}

/// One connection with one registration, as an observer sees it who reads nothing but the headers of IP,
/// TCP and TLS records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Flow {
    #[serde(flatten)]
    pub(crate) variant: Variant,
    pub(crate) rtt_ms: f64,
    /// Records are padded to a multiple of so many bytes; `None`: they are not.
    pub(crate) padding: Option<u16>,
    /// The TLS records in the order in which their last byte passed: how long each is, in bytes with its
    /// header, negative from the server to the client; and when, in whole µs since the client's SYN.
    pub(crate) sizes_and_times: Vec<(i64, u64)>,
    /// How many of them go out in plaintext, hellos and ChangeCipherSpec, by their place in the list:
    /// padding can't reach these.
    pub(crate) plaintext: Vec<usize>,
}

impl Flow {
    /// What each side sent in TLS records, in bytes: the client, and the server.
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

/// What the observer looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Features {
    /// The sizes of all records.
    Sizes,
    /// The sizes of the protected records alone: what padding can change.
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

/// How well a classifier tells the options apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Confusion {
    /// In how many parts the flows of a cell were cut: each part is judged by a tree that was grown on the
    /// others.
    pub(crate) folds: usize,
    /// One for each round-trip time, padding, and choice of what the observer looks at.
    pub(crate) tables: Vec<ConfusionTable>,
}

/// How well it tells them apart in one setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ConfusionTable {
    pub(crate) rtt_ms: f64,
    pub(crate) padding: Option<u16>,
    pub(crate) features: Features,
    /// What the rows and columns are, in their order.
    pub(crate) options: Vec<PaperOption>,
    /// How many flows of the row's option were taken for the column's.
    pub(crate) matrix: Vec<Vec<usize>>,
    /// The share of the flows that were told right.
    pub(crate) accuracy: f64,
    /// Its 95 % confidence interval (Wilson).
    pub(crate) interval: (f64, f64),
    /// What taking all for the most frequent option gets right.
    pub(crate) chance: f64,
    /// The question that a tree grown on all flows asks first; `None` if no question helps.
    pub(crate) first_question: Option<String>,
}

/// What padding costs an option: medians over its flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PaddingCost {
    pub(crate) option: PaperOption,
    pub(crate) rtt_ms: f64,
    pub(crate) padding: Option<u16>,
    /// What the client sends in TLS records, in bytes.
    pub(crate) client_bytes: f64,
    /// What the server sends.
    pub(crate) server_bytes: f64,
    /// From the SYN to the last record.
    pub(crate) duration_us: f64,
}
