//! Every table of the page, by its name.

mod answers;
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

/// All of them with their titles, in the order of the page. A title begins with the word by which the text names the table.
const TABLES: [(&str, &str, Make); 26] = [
    ("answers", "Answers: our figures next to the paper's", answers::table),
    ("setting", "Setting: the runs", setting::runs),
    ("targets", "Targets", targets::table),
    ("table-5", "Table 5: sending and receiving", latency::table_5),
    ("engine", "Engine: when what was there, and the work of both ends", latency::moments),
    ("suites", "Suites: 0x1302 and 0x1301", latency::suites),
    ("stores", "Stores: one-time keys in memory and in etcd", latency::stores),
    ("operations", "Operations, by kind and side", costs::operations),
    ("bytes", "Bytes on the way", costs::bytes),
    ("issuing", "Issuing: what a ticket costs", costs::issuing),
    ("seoul-tokyo", "Seoul and Tokyo", links::seoul_tokyo),
    ("tokyo-los-angeles", "Tokyo and Los Angeles", links::tokyo_los_angeles),
    ("seoul-los-angeles", "Seoul and Los Angeles", links::seoul_los_angeles),
    ("distance", "Distance: first byte and response, by round-trip time", links::distance),
    ("loss", "Loss between the cities", links::loss),
    ("congestion", "Congestion between the cities", links::congestion),
    ("sepp", "SEPPs: first response and registration", links::sepp),
    ("memory", "Memory of a connection, by component (Fig. 10)", load::memory),
    ("load", "Load: users who come back again and again", load::users),
    ("growth", "Growth of the server's work with the number of users", load::growth),
    ("storm", "Storms: all connections come back at once", load::storm),
    ("break-even", "Break-even: from where on an option pays", pays::table),
    ("traffic", "Traffic: how many flows are classified correctly", traffic::accuracy),
    ("confusion", "Confusion: what flows were taken for", traffic::confusion),
    ("padding", "Padding: what it costs", traffic::padding),
    ("not-run", "Not run, and failed", setting::not_run),
];

/// Makes all tables.
pub(super) fn all(inputs: &Inputs) -> Vec<(&'static str, Option<Table>)> {
    let titled = |table, title: &str| Table { title: title.to_owned(), ..table };
    let made = TABLES.into_iter();
    made.map(|(name, title, make)| (name, make(inputs).map(|table| titled(table, title)))).collect()
}

/// Returns the title of a table.
pub(super) fn title(name: &str) -> &'static str {
    TABLES.iter().find(|(known, ..)| *known == name).map_or("", |(_, title, _)| title)
}
