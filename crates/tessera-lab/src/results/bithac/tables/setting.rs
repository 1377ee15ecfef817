//! What was recorded: the reports, the ways, the certificates, and the failures.

use super::WAYS;
use crate::bithac::CertificateWay;
use crate::results::bithac::input::Inputs;
use crate::table::{Name, Table, cells};

/// The reports.
pub(in crate::results::bithac) fn setting(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "What was recorded. Every number of bithac.json is made of its samples, but for the memory and the lengths of \
         chains, which have none.",
        "report | machine | revision | link | cells | samples",
    );
    if let Some(report) = &inputs.bithac {
        let datagrams: usize = report.datagrams.iter().map(|cell| cell.samples.len()).sum();
        let rows = report.cells.len() + report.work.len() + report.hits.len() + report.memory.len();
        table.row(
            Name::file("bithac.json"),
            cells![
                report.machine.to_string(),
                report.revision.clone(),
                report.link.clone(),
                rows,
                crate::bithac::table::connections(report) - datagrams,
            ],
        );
        if datagrams > 0 {
            table.row(
                "its datagrams",
                cells![
                    report.machine.to_string(),
                    report.datagrams_revision.clone(),
                    "virtual",
                    report.datagrams.len(),
                    datagrams,
                ],
            );
        }
    }
    if let Some(report) = &inputs.tls12 {
        table.row(
            Name::file("tls12.json"),
            cells![
                report.machine.to_string(),
                report.revision.clone(),
                "veth",
                report.cells.len(),
                report.cells.len() * report.runs,
            ],
        );
    }
    table.unless_empty()
}

/// The lengths of the certificates.
pub(in crate::results::bithac) fn chains(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "Certificates as DER, in bytes: an end's own, and its authority's. The root is not sent.",
        "keys | client | server",
    );
    for chains in inputs.bithac.iter().flat_map(|report| &report.chains) {
        let lengths =
            |chain: &[usize]| chain.iter().map(usize::to_string).collect::<Vec<_>>().join(" + ");
        table.row(chains.certificates.name(), [lengths(&chains.client), lengths(&chains.server)]);
    }
    table.unless_empty()
}

/// The forms of certificates.
pub(in crate::results::bithac) fn ways(inputs: &Inputs) -> Option<Table> {
    inputs.bithac.as_ref()?;
    let mut table = Table::with_note(
        "What certificates travel in, by way; where this is a carrier of cached chains, its name in the specification \
         comes first.",
        "way | certificates travel in",
    );
    for way in WAYS.into_iter().chain([CertificateWay::Known]) {
        table.row(way.name(), [way.form()]);
    }
    table.unless_empty()
}

/// Connections that failed and were repeated.
pub(in crate::results::bithac) fn failed(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "Connections that failed, by reason: they have no samples. No row: none failed.",
        "cell, reason | connections",
    );
    for cell in inputs.bithac.iter().flat_map(|report| &report.cells) {
        for (reason, count) in &cell.why_failed {
            table.row(format!("{}: {reason}", cell.name.key()), [*count]);
        }
    }
    for cell in inputs.datagrams() {
        for (reason, count) in &cell.why_failed {
            table.row(format!("{}: {reason}", cell.name.key()), [*count]);
        }
    }
    inputs.bithac.is_some().then_some(table)
}
