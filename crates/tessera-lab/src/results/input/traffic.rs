//! What is read of the report of `traffic`: not the flows, which only its own experiment needs.

use serde::Deserialize;

use crate::machine::Machine;

/// The report.
#[derive(Deserialize)]
pub(crate) struct Traffic {
    pub(crate) seed: u64,
    pub(crate) machine: Machine,
    #[serde(default)]
    pub(crate) revision: Option<String>,
    pub(crate) confusion: Confusion,
    #[serde(default)]
    pub(crate) costs: Vec<PaddingCost>,
}

/// How well a classifier tells the options apart.
#[derive(Deserialize)]
pub(crate) struct Confusion {
    pub(crate) tables: Vec<ConfusionTable>,
}

/// The same in one setting.
#[derive(Deserialize)]
pub(crate) struct ConfusionTable {
    pub(crate) rtt_ms: f64,
    /// To a multiple of so many bytes; `None`: records are not padded.
    pub(crate) padding: Option<u64>,
    /// What the observer looks at.
    pub(crate) features: String,
    /// The letters of the rows and columns.
    pub(crate) options: Vec<String>,
    /// How many flows of the row's option were taken for the column's.
    pub(crate) matrix: Vec<Vec<u64>>,
    pub(crate) accuracy: f64,
    pub(crate) interval: (f64, f64),
    pub(crate) chance: f64,
    pub(crate) first_question: Option<String>,
}

/// What padding costs an option: medians over its flows.
#[derive(Deserialize)]
pub(crate) struct PaddingCost {
    pub(crate) option: String,
    pub(crate) rtt_ms: f64,
    pub(crate) padding: Option<u64>,
    pub(crate) client_bytes: f64,
    pub(crate) server_bytes: f64,
    pub(crate) duration_us: f64,
}
