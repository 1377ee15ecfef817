//! The report of the experiment `roaming`: every sample, as JSON.

use serde::{Deserialize, Serialize};
use tessera_reports::Machine;
use tessera_reports::roaming::{Cell, CellName};

/// An experiment with its results.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) experiment: String,
    pub(crate) seed: u64,
    pub(crate) machine: Machine,
    /// The source revision of the program that measured.
    pub(crate) revision: Option<String>,
    /// How links were made: `tun` or `loopback`.
    pub(crate) link: String,
    pub(crate) cells: Vec<Cell>,
    /// Requested cells without numbers.
    pub(crate) not_run: Vec<SkippedCell>,
}

/// A cell that has no numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SkippedCell {
    #[serde(flatten)]
    pub(crate) name: CellName,
    pub(crate) reason: String,
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::roaming::grid;

    #[test]
    fn a_cell_without_numbers_has_a_reason() {
        let name = grid::cells().into_iter().find(|name| name.link.name == "seoul-tokyo").unwrap();
        let not_run = SkippedCell { name, reason: "no link".to_owned() };
        let json: Value = serde_json::to_value(&not_run).unwrap();
        assert_eq!(json["reason"], "no link");
        assert_eq!(json["option"], "a");
        assert_eq!(json["link"]["name"], "seoul-tokyo");
        assert_eq!(serde_json::from_value::<SkippedCell>(json).unwrap(), not_run);
    }
}
