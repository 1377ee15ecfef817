//! The tables of the paper on caching handshakes: its numbers next to ours.

mod input;
mod paper;
mod tables;
mod targets;

pub(super) use self::input::Inputs;
use crate::bithac::page;
use crate::error::LabError;
use crate::table::Table;

/// Makes the page of the experiment again.
pub(super) fn page(inputs: &Inputs) -> Result<String, LabError> {
    let report = inputs.bithac.as_ref().ok_or_else(|| {
        LabError::Options("--page: it is made of bithac.json, which is missing".to_owned())
    })?;
    page::render(report).map_err(|error| LabError::system("making the page")(error.into()))
}

/// Returns the answer, the sentence that matters first.
pub(super) fn answer(inputs: &Inputs) -> [String; 2] {
    let nothing = || ["Nothing is recorded yet.".to_owned(), String::new()];
    inputs.bithac.as_ref().map_or_else(nothing, page::saved)
}

/// Makes a table; `None` if nothing for it is recorded.
type Make = fn(&Inputs) -> Option<Table>;

/// All of them, in the order of the page.
const TABLES: [(&str, Make); 26] = [
    ("answers", paper::answers),
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
    ("datagrams", tables::datagrams),
    ("datagram-packets", tables::datagram_packets),
    ("datagram-directions", tables::datagram_directions),
    ("datagram-times", tables::datagram_times),
    ("datagrams-resent", tables::datagrams_resent),
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

/// Makes all tables, each with its name.
pub(super) fn all(inputs: &Inputs) -> Vec<(&'static str, Option<Table>)> {
    TABLES.into_iter().map(|(name, make)| (name, make(inputs))).collect()
}

#[cfg(test)]
mod tests;
