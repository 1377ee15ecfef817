//! The report of the experiment `dtls`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tessera_reports::Machine;

use super::arm::Arm;
pub(crate) use super::measure::{Recovery, Sample};
pub(crate) use super::scenario::Scenario;
pub(crate) use super::sequence::Sequence;
use crate::numbers::plain;

/// The experiment with its results.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) experiment: String,
    pub(crate) seed: u64,
    pub(crate) machine: Machine,
    pub(crate) revision: Option<String>,
    pub(crate) cells: Vec<Cell>,
    pub(crate) not_run: Vec<SkippedCell>,
    /// The paper's figures 1 to 3.
    pub(crate) sequences: Vec<Sequence>,
}

/// A cell without numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SkippedCell {
    #[serde(flatten)]
    pub(crate) name: CellName,
    pub(crate) reason: String,
}

/// An arm in a scenario, and its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cell {
    #[serde(flatten)]
    pub(crate) name: CellName,
    pub(crate) samples: Vec<Sample>,
}

/// The name of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CellName {
    pub(crate) part: Part,
    pub(crate) through: Through,
    pub(crate) arm: Arm,
    /// How many acknowledgements a run has.
    pub(crate) acks: u32,
    pub(crate) scenario: Scenario,
}

/// What carries the datagrams of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Through {
    /// One thread, in virtual time: ours alone.
    Virtual,
    /// Two programs over the kernel's UDP and an emulated link.
    Sockets,
}

impl Through {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Virtual, Self::Sockets];

    /// Its name in options and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Sockets => "sockets",
        }
    }
}

/// Which factor of the paper's run differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// None: the paper's run, with both readings of its time-out, and with two interfaces.
    Paper,
    /// How a client notices that its path has gone.
    Detection,
    /// What happens at a hand-over.
    Change,
    /// The delay.
    Delay,
    /// Lost datagrams.
    Loss,
    /// How long an interface is down.
    Outage,
    /// The NAT in front of the client.
    Nat,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Paper,
        Self::Detection,
        Self::Change,
        Self::Delay,
        Self::Loss,
        Self::Outage,
        Self::Nat,
    ];

    /// Its name in options and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Detection => "detection",
            Self::Change => "change",
            Self::Delay => "delay",
            Self::Loss => "loss",
            Self::Outage => "outage",
            Self::Nat => "nat",
        }
    }
}

impl CellName {
    /// Returns it as a key, for programs.
    pub(crate) fn key(&self) -> String {
        let Self { part, through, arm, acks, scenario } = self;
        let Scenario { delay_ms, loss, loss_burst, period_ms, outage_ms, .. } = scenario;
        let Scenario { interfaces, timeouts, .. } = scenario;
        let (part, through) = (part.name(), through.name());
        let (change, detection) = (scenario.change.name(), scenario.detection.name());
        let nat = scenario.nat.map_or_else(|| "none".to_owned(), |nat| nat.to_string());
        format!(
            "{part}/{through}/{arm}/{acks}/{}ms/{loss}/{loss_burst}/{change}/{period_ms}ms/{outage_ms}ms/{nat}/\
             {interfaces}/{detection}/{timeouts}",
            plain(*delay_ms)
        )
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|it| it.name() == text);
        known.ok_or_else(|| format!("parts are {}", Self::ALL.map(Self::name).join(", ")))
    }
}

impl fmt::Display for Through {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Through {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|it| it.name() == text);
        known.ok_or_else(|| format!("it is one of {}", Self::ALL.map(Self::name).join(", ")))
    }
}
