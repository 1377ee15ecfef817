//! Tables of reports whose numbers are known.

use super::input::Inputs;
use super::{TABLES, all};
use crate::mobile::report::{Cell, Part, Through};
use crate::mobile::samples::{by_event, cell, report};
use crate::mobile::{Arm, Change};
use crate::table::{Row, Table};

fn twice(mut cell: Cell) -> Cell {
    cell.name.scenario.timeouts = 2;
    cell
}

fn inputs() -> Inputs {
    let mut two = by_event(Arm::CidRrc, 5.0, 60);
    two.name.scenario.interfaces = 2;
    let cells = vec![
        twice(cell(Arm::Full, 5.0, 80)),
        cell(Arm::Full, 5.0, 72),
        cell(Arm::CidRrc, 5.0, 66),
        by_event(Arm::CidRrc, 5.0, 61),
        two,
    ];
    Inputs { report: report(cells) }
}

fn table(inputs: &Inputs, name: &str) -> Table {
    let all = all(inputs);
    all.into_iter().find(|(it, _)| *it == name).and_then(|(_, table)| table).expect("recorded")
}

#[test]
fn gains_are_those_of_medians_over_both_readings_of_the_baseline() {
    let gains = table(&inputs(), "gains").texts("cid-rrc, in virtual time, one interface");
    assert_eq!(gains[..3], ["full", "17.50", "8.33"]);
    assert!(gains[3..].iter().all(|it| it == crate::numbers::NOTHING));
    let two =
        table(&inputs(), "gains").texts("cid-rrc, in virtual time, two interfaces, link events");
    assert_eq!(two[1], "25.00");
    let paper = table(&inputs(), "gains").texts("the paper's TCS");
    assert_eq!([&paper[1], &paper[3], &paper[5]], ["8.35", "13.63", "15.22"]);
}

#[test]
fn runs_of_different_lengths_are_not_compared() {
    let changes: [fn(&mut Cell); 2] =
        [|it| it.name.acks = 60, |it| it.name.scenario.period_ms = 3_000];
    for change in changes {
        let mut inputs = inputs();
        let short = inputs.report.cells.last_mut().expect("a cell");
        change(short);
        let gains = table(&inputs, "gains");
        let is_of_events = |row: &Row| row.names[0].words().contains("two interfaces, link events");
        assert!(!gains.rows.iter().any(is_of_events));
    }
}

#[test]
fn targets_name_what_is_missed() {
    let targets = table(&inputs(), "targets");
    let of = |name: &str| targets.texts(name);
    let longest = of("cid-rrc, link events, 5 ms: the longest of them");
    assert_eq!(longest, ["29.000 B", "at most 64.000 B", "yes"]);
    // A second and a round trip.
    let path = of("cid-rrc, link events, 5 ms: from a usable path to the first acknowledgement");
    assert_eq!((&*path[0], &*path[2]), ("106.000 RTT", "no"));
}

#[test]
fn other_stacks_are_compared_by_what_they_need() {
    let mut lost = cell(Arm::OpensslFull, 30.0, 70);
    lost.name.part = Part::Change;
    lost.name.scenario.change = Change::Restart;
    let mut moved = by_event(Arm::QuinnRebind, 30.0, 70);
    for (cell, us) in [(&mut lost, 1_240_000), (&mut moved, 60_000)] {
        cell.name.through = Through::Sockets;
        for recovery in cell.samples.iter_mut().flat_map(|sample| &mut sample.recoveries) {
            (recovery.all_us, recovery.from_record_us) = (us, us);
        }
    }
    let targets = table(&Inputs { report: report(vec![lost, moved]) }, "targets");
    let openssl = targets.texts(
        "openssl-full, over sockets, a server that restarted, 30 ms: from the first record that misses it to the first \
         acknowledgement, median, but for its time-out",
    );
    assert_eq!(openssl, ["4.000 RTT", "at least 3.950 RTT", "yes"]);
    let quinn = targets.texts(
        "quinn-rebind, over sockets, link events, 30 ms: from a usable path to the first acknowledgement, median",
    );
    assert_eq!(quinn, ["1.000 RTT", "at least 1.950 RTT", "no"]);
}

#[test]
fn every_table_is_made_or_reads_that_nothing_is_recorded() {
    let inputs = inputs();
    assert_eq!(all(&inputs).len(), TABLES.len());
    for (name, table) in all(&inputs) {
        let recorded = !["changes", "links", "sequences"].contains(&name);
        assert_eq!(table.is_some(), recorded, "{name}");
    }
}
