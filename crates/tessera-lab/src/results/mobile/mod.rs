//! The tables of the paper on mobile clients: its numbers next to ours.

mod gains;
mod input;
mod tables;
mod targets;

pub(super) use self::input::Inputs;
use crate::error::LabError;
use crate::mobile::page;
use crate::table::Table;

/// Makes the page of the experiment again.
pub(super) fn page(inputs: &Inputs) -> Result<String, LabError> {
    page::render(&inputs.report).map_err(|error| LabError::system("making the page")(error.into()))
}

/// Returns the answer, the sentence that matters first.
pub(super) fn answer(inputs: &Inputs) -> [String; 2] {
    page::summary(&inputs.report)
}

/// Makes a table; `None` if nothing for it is recorded.
type Make = fn(&Inputs) -> Option<Table>;

/// All of them, in the order of the page.
const TABLES: [(&str, Make); 11] = [
    ("setting", tables::setting),
    ("targets", targets::table),
    ("gains", gains::table),
    ("times", tables::times),
    ("recoveries", tables::recoveries),
    ("changes", tables::changes),
    ("links", tables::links),
    ("setup", tables::setup),
    ("computation", tables::computation),
    ("sequences", tables::sequences),
    ("failed", tables::failed),
];

/// Makes all tables, each with its name.
pub(super) fn all(inputs: &Inputs) -> Vec<(&'static str, Option<Table>)> {
    TABLES.into_iter().map(|(name, make)| (name, make(inputs))).collect()
}

#[cfg(test)]
mod tests;
