//! The tables of the paper on caching handshakes: its numbers next to ours.

mod input;
mod paper;
mod tables;
mod targets;

use std::path::Path;

use self::input::Inputs;
use super::table::Table;
use crate::error::LabError;

/// Makes all tables of the reports that a directory has, each with its name.
pub(super) fn read(directory: &Path) -> Result<Vec<(&'static str, Option<Table>)>, LabError> {
    let inputs = Inputs::read(directory)?;
    for missing in inputs.missing() {
        eprintln!("{missing} is missing: its tables say that it is not recorded yet.");
    }
    Ok(all(&inputs))
}

/// Makes a table; `None` if nothing for it is recorded.
type Make = fn(&Inputs) -> Option<Table>;

/// All of them, in the order of the page.
const TABLES: [(&str, Make); 20] = [
    ("setting", tables::setting),
    ("targets", targets::table),
    ("paper", paper::table),
    ("ways", tables::ways),
    ("chains", tables::chains),
    ("tls", tables::tls),
    ("ip", tables::ip),
    ("directions", tables::directions),
    ("times", tables::times),
    ("losses", tables::losses),
    ("work", tables::work),
    ("ends", tables::ends),
    ("uncounted", tables::uncounted),
    ("hits", tables::hits),
    ("memory", tables::memory),
    ("fullest", tables::fullest),
    ("many", tables::many),
    ("peaks", tables::peaks),
    ("energy", tables::energy),
    ("failed", tables::failed),
];

fn all(inputs: &Inputs) -> Vec<(&'static str, Option<Table>)> {
    TABLES.into_iter().map(|(name, make)| (name, make(inputs))).collect()
}

#[cfg(test)]
mod tests;
