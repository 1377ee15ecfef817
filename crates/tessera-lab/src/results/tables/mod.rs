//! Every table of the page, by its name.

mod costs;
mod latency;
mod links;
mod load;
mod pays;
mod setting;
mod targets;
mod traffic;

use super::input::Inputs;
use crate::table::Table;

/// Makes a table; `None` if nothing for it is recorded.
type Make = fn(&Inputs) -> Option<Table>;

/// All of them, in the order of the page.
const TABLES: [(&str, Make); 25] = [
    ("setting", setting::runs),
    ("targets", targets::table),
    ("table-5", latency::table_5),
    ("engine", latency::moments),
    ("suites", latency::suites),
    ("stores", latency::stores),
    ("operations", costs::operations),
    ("bytes", costs::bytes),
    ("issuing", costs::issuing),
    ("seoul-tokyo", links::seoul_tokyo),
    ("tokyo-los-angeles", links::tokyo_los_angeles),
    ("seoul-los-angeles", links::seoul_los_angeles),
    ("distance", links::distance),
    ("loss", links::loss),
    ("congestion", links::congestion),
    ("sepp", links::sepp),
    ("memory", load::memory),
    ("load", load::users),
    ("growth", load::growth),
    ("storm", load::storm),
    ("break-even", pays::table),
    ("traffic", traffic::accuracy),
    ("confusion", traffic::confusion),
    ("padding", traffic::padding),
    ("not-run", setting::not_run),
];

/// Makes all tables.
pub(super) fn all(inputs: &Inputs) -> Vec<(&'static str, Option<Table>)> {
    TABLES.into_iter().map(|(name, make)| (name, make(inputs))).collect()
}
