//! The sources of the numbers, and what has none.

use std::collections::BTreeMap;

use tessera_reports::Machine;

use crate::numbers::NOTHING;
use crate::results::input::{Inputs, asked};
use crate::table::{Name, Table, cells};

/// The runs.
pub(super) fn runs(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "Times of roaming.json are made of its samples, and those of load.json of its histograms in buckets of 1 %; \
         all of traffic.json of its flows. What has no samples there is as the run wrote it. In roaming.json that is \
         the operations, the issuing of tickets, the bytes and the processor time of SEPPs for a registration \
         (medians), the SEPPs' memory, and the round trips in memory, which are counted. In load.json it is the \
         processor time (means over all connections), requests, seconds, memory, and the bytes of vaults.",
        "report | machine | revision | seed | cells | samples | failed",
    );
    let of = |machine: &Machine, revision: &Option<String>, seed: u64| {
        cells![machine.to_string(), revision.clone(), seed.to_string()]
    };
    if let Some(roaming) = &inputs.roaming {
        let samples: usize = roaming.cells.iter().map(|cell| cell.samples.len()).sum();
        let failed: u64 = roaming.cells.iter().map(|cell| u64::from(cell.failed)).sum();
        let setting = of(&roaming.machine, &roaming.revision, roaming.seed);
        let counts = cells![roaming.cells.len(), samples, failed];
        table.row(Name::file("roaming.json"), [setting, counts].concat());
    }
    if let Some(load) = &inputs.load {
        let asked: u64 = load.cells.iter().map(asked).sum();
        let failed: u64 = load.cells.iter().map(|cell| cell.failed).sum();
        let setting = of(&load.machine, &load.revision, load.seed);
        let counts = cells![load.cells.len(), asked, failed];
        table.row(Name::file("load.json"), [setting, counts].concat());
    }
    if let Some(traffic) = &inputs.traffic {
        let setting = of(&traffic.machine, &None, traffic.seed);
        let counts = cells![traffic.confusion.tables.len(), traffic.flows.len(), NOTHING];
        table.row(Name::file("traffic.json"), [setting, counts].concat());
    }
    table.unless_empty()
}

/// The cells without numbers, and the reconnections that failed, by reason.
pub(super) fn not_run(inputs: &Inputs) -> Option<Table> {
    if inputs.roaming.is_none() && inputs.load.is_none() {
        return None;
    }
    let mut cells: BTreeMap<&str, u64> = BTreeMap::new();
    let mut samples: BTreeMap<&str, u64> = BTreeMap::new();
    let roaming = inputs.roaming.iter().flat_map(|roaming| &roaming.not_run);
    let load = inputs.load.iter().flat_map(|load| &load.not_run);
    for reason in roaming.map(|it| &it.reason).chain(load.map(|it| &it.reason)) {
        *cells.entry(reason).or_default() += 1;
    }
    for (reason, count) in
        inputs.roaming.iter().flat_map(|it| &it.cells).flat_map(|cell| &cell.why_failed)
    {
        *samples.entry(reason).or_default() += u64::from(*count);
    }
    for (reason, count) in
        inputs.load.iter().flat_map(|it| &it.cells).flat_map(|cell| &cell.why_failed)
    {
        *samples.entry(reason).or_default() += count;
    }
    let mut table = Table::with_note(
        "Cells that were not run, and reconnections that failed, by reason. Nothing stands in for them.",
        "reason | cells not run | reconnections failed",
    );
    for (reason, count) in &cells {
        table.row(*reason, cells![*count]);
    }
    for (reason, count) in &samples {
        table.row(*reason, cells!["", *count]);
    }
    if table.rows.is_empty() {
        table.row("none", cells![""]);
    }
    Some(table)
}
