//! The measurements, as tables.

use super::input::{FILE, Inputs};
use crate::mobile::report::{Cell, Part, Recovery, Sample};
use crate::mobile::table::name;
use crate::numbers::fixed;
use crate::table::{Cell as Entry, Name, Row, Table, cells};

/// The report.
pub(super) fn setting(inputs: &Inputs) -> Option<Table> {
    let report = &inputs.report;
    let mut table = Table::with_note(
        "What was recorded. Every measurement on this page is made of its samples.",
        "report | machine | revision | cells | runs",
    );
    let runs = report.cells.iter().map(|cell| cell.samples.len()).sum::<usize>();
    table.row(
        Name::file(FILE),
        cells![report.machine.to_string(), report.revision.clone(), report.cells.len(), runs,],
    );
    Some(table)
}

fn rows(
    inputs: &Inputs,
    parts: &[Part],
    table: Table,
    row: impl Fn(&Cell) -> Vec<Entry>,
) -> Option<Table> {
    let cells = parts.iter().flat_map(|part| inputs.cells(*part));
    let named = |cell: &Cell| name(&cell.name).with("", cell.name.through.words());
    table.rows(cells.map(|cell| Row::new(named(cell), row(cell)))).unless_empty()
}

/// The paper's figure 4: the time for all acknowledgements.
pub(super) fn times(inputs: &Inputs) -> Option<Table> {
    let table = Table::with_note(
        "The time for all acknowledgements in the paper's run (its figure 4, whose values the text lacks), in seconds, with \
         how many hand-overs a run had, and datagrams lost.",
        "arm, scenario | acks, s | hand-overs | lost | datagrams | bytes",
    );
    let whole = |cell: &Cell, value| cell.median(value).map(|it| fixed(it.value, 0));
    rows(inputs, &[Part::Paper], table, |cell| {
        cells![
            cell.time_s(),
            whole(cell, |it| it.recoveries.len() as u64),
            whole(cell, |it| it.traffic.lost),
            whole(cell, |it| it.traffic.datagrams),
            whole(cell, |it| it.traffic.bytes),
        ]
    })
}

fn in_parts(cell: &Cell) -> Vec<Entry> {
    let failed = cell.failed();
    cells![
        Entry::from(failed).bad_if(failed > 0),
        cell.recovery_ms(|it| it.all_us),
        cell.recovery_ms(|it| it.detection_us),
        cell.recovery_ms(|it| it.keys_us),
        cell.recovery_ms(Recovery::drain_us),
        cell.recovery_ms(|it| it.from_record_us),
    ]
}

const IN_PARTS: &str = "arm, scenario | runs failed | all, ms | detection, ms | keys, ms | drain, ms | from the first record, ms";

/// From a usable path to the first acknowledgement, by detection.
pub(super) fn recoveries(inputs: &Inputs) -> Option<Table> {
    let table = Table::with_note(
        "From a usable path to the first acknowledgement of a message sent over it, in parts: medians of all hand-overs.",
        IN_PARTS,
    );
    rows(inputs, &[Part::Paper, Part::Detection], table, in_parts)
}

/// The same, by what happens.
pub(super) fn changes(inputs: &Inputs) -> Option<Table> {
    let table = Table::with_note("The same for other hand-overs, and other outages.", IN_PARTS);
    rows(inputs, &[Part::Change, Part::Outage], table, in_parts)
}

/// The same, by link.
pub(super) fn links(inputs: &Inputs) -> Option<Table> {
    let columns = IN_PARTS.replace("runs failed |", "runs failed | acks, s |");
    let table = Table::with_note(
        "The same for a longer delay, for links that lose datagrams, and behind NATs.",
        &columns,
    );
    rows(inputs, &[Part::Delay, Part::Loss, Part::Nat], table, |cell| {
        let mut cells = in_parts(cell);
        cells.insert(1, cell.time_s().into());
        cells
    })
}

/// The first handshake.
pub(super) fn setup(inputs: &Inputs) -> Option<Table> {
    let table = Table::with_note(
        "What an association costs before the first hand-over: the time of the handshake, in round trips; datagrams \
         without data, and their bytes with headers of UDP and IP.",
        "arm, scenario | handshake, RTT | datagrams | bytes",
    );
    let round_trips = |cell: &Cell| {
        let us = cell.median(|it| it.setup.handshake_us)?.value;
        Some(fixed(us / 1e3 / (2.0 * cell.name.scenario.delay_ms), 2))
    };
    let whole =
        |cell: &Cell, value: fn(&Sample) -> u64| cell.median(value).map(|it| fixed(it.value, 0));
    rows(inputs, &[Part::Paper], table, |cell| {
        cells![
            round_trips(cell),
            whole(cell, |it| it.setup.datagrams),
            whole(cell, |it| it.setup.bytes),
        ]
    })
}

/// Processor time.
pub(super) fn computation(inputs: &Inputs) -> Option<Table> {
    let table = Table::with_note(
        "Processor time of a run, in milliseconds (in virtual time that of calls, over sockets that of programs); how many \
         sockets the client opened, and the most that the server had at once.",
        "arm, scenario | client, ms | server, ms | client's sockets | server's sockets | server's ports",
    );
    rows(inputs, &[Part::Paper], table, |cell| {
        cells![
            cell.median(|it| it.client_cpu_us).map(|it| it.divided_by(1e3)),
            cell.median(|it| it.server_cpu_us).map(|it| it.divided_by(1e3)),
            cell.median(|it| it.client_sockets.into()).map(|it| fixed(it.value, 0)),
            cell.median(|it| it.server_sockets[0].into()).map(|it| fixed(it.value, 0)),
            cell.median(|it| it.server_sockets[1].into()).map(|it| fixed(it.value, 0)),
        ]
    })
}

/// The paper's figures 1 to 3, one after the other.
pub(super) fn sequences(inputs: &Inputs) -> Option<Table> {
    let mut all = Table::with_note(
        "The paper's figures 1 to 3 as recorded in virtual time, 30 ms one way: the first handshake and two messages, with \
         the ports of both ends, the client's as the sender knows it.",
        "arm, NAT, ms | from | to | what | bytes | arrives",
    );
    for sequence in &inputs.report.sequences {
        let table = sequence.table();
        for row in table.rows {
            all.row(format!("{}, {}", table.title, row.names[0].text), row.cells);
        }
    }
    all.unless_empty()
}

/// Runs that ended early.
pub(super) fn failed(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "Runs that ended before all messages were acknowledged, cells without runs, and why. No row: none.",
        "cell | runs | why",
    );
    for cell in inputs.report.cells.iter().filter(|cell| cell.failed() > 0) {
        let why = cell.samples.iter().find_map(|it| it.failure.clone());
        table.row(cell.name.key(), cells![cell.failed(), why]);
    }
    for skipped in &inputs.report.not_run {
        table.row(skipped.name.key(), cells!["none", skipped.reason.clone()]);
    }
    Some(table)
}
