//! What is read of the report of `load`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::load::report::{self, Cell, Growth, NotRun};
use crate::machine::Machine;
use crate::variants::Variant;

/// The report.
#[derive(Deserialize)]
pub(crate) struct Load {
    pub(crate) seed: u64,
    pub(crate) machine: Machine,
    pub(crate) revision: Option<String>,
    pub(crate) cells: Vec<Cell>,
    #[serde(default)]
    pub(crate) memory: Vec<Memory>,
    #[serde(default)]
    pub(crate) not_run: Vec<NotRun>,
}

impl Load {
    /// How the server's processor time grows with the number of users: made from the cells.
    pub(crate) fn growth(&self) -> Vec<Growth> {
        report::growth(&self.cells)
    }
}

/// The memory of one end of a connection, in bytes.
#[derive(Deserialize)]
pub(crate) struct Memory {
    #[serde(flatten)]
    pub(crate) variant: Variant,
    /// `new` or `resumed`.
    pub(crate) connection: String,
    /// `client` or `server`.
    pub(crate) side: String,
    /// All that was allocated, given back or not, by the component that did.
    pub(crate) components: BTreeMap<String, f64>,
    pub(crate) total: f64,
    /// When most was held.
    pub(crate) peak: Held,
    /// When the connection was idle.
    pub(crate) held: Held,
    pub(crate) vault_bytes: Option<f64>,
}

/// What is held at a moment.
#[derive(Deserialize)]
pub(crate) struct Held {
    pub(crate) total: f64,
}

/// How many reconnections were asked for.
pub(crate) fn asked(cell: &Cell) -> u64 {
    (cell.users * cell.reconnections) as u64
}
