//! The tables of the paper on service continuity at the edge: its numbers next to ours.

mod checks;
mod companions;
mod gap;
mod gaps;
mod input;
mod operations;
mod paper;
mod peers;
mod tables;

pub(super) use self::input::Inputs;
use crate::edge::page;
use crate::error::LabError;
use crate::table::Table;

/// Makes the page of the experiment again.
pub(super) fn page(inputs: &Inputs) -> Result<String, LabError> {
    let report = inputs.edge.as_ref().ok_or_else(|| {
        LabError::Options("--page: it is made of edge.json, which is missing".to_owned())
    })?;
    let gaps = [gaps::gaps(inputs), gaps::targets(inputs)];
    page::render_with(report, &gaps)
        .map_err(|error| LabError::system("making the page")(error.into()))
}

/// Returns the answer, the sentence that matters first.
pub(super) fn answer(inputs: &Inputs) -> [String; 2] {
    let gap = || gaps::sentence(inputs).unwrap_or_else(|| "Nothing is recorded yet.".to_owned());
    inputs.edge.as_ref().map_or_else(|| [gap(), String::new()], page::saved)
}

/// Makes a table; `None` if nothing for it is recorded.
type Make = fn(&Inputs) -> Option<Table>;

/// All of them, in the order of the page.
const TABLES: [(&str, Make); 19] = [
    ("answers", paper::answers),
    ("gaps", gaps::gaps),
    ("gap-targets", gaps::targets),
    ("targets", peers::targets),
    ("links", tables::links),
    ("companions", companions::companions),
    ("rate", tables::rate),
    ("rotation", tables::rotation),
    ("setting", tables::setting),
    ("chains", tables::chains),
    ("bytes", tables::bytes),
    ("envoy", peers::envoy),
    ("times", tables::times),
    ("processor", tables::processor),
    ("rates", tables::rates),
    ("operations", operations::operations),
    ("sums", operations::sums),
    ("boring", operations::boring),
    ("failed", tables::failed),
];

/// Makes all tables, each with its name.
pub(super) fn all(inputs: &Inputs) -> Vec<(&'static str, Option<Table>)> {
    TABLES.into_iter().map(|(name, make)| (name, make(inputs))).collect()
}

#[cfg(test)]
mod tests;
