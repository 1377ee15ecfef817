//! Results for tests.

use tessera_reports::Machine;

use super::arm::Arm;
use super::client::Detection;
use super::measure::{Recovery, Sample, Setup, Traffic};
use super::report::{Cell, CellName, Part, Report, Through};
use super::scenario::Scenario;

/// A cell of the paper's run whose runs take this long, in seconds.
pub(crate) fn cell(arm: Arm, delay_ms: f64, seconds: u64) -> Cell {
    let recovery = Recovery {
        all_us: 1_060_000,
        detection_us: 1_000_000,
        keys_us: 0,
        from_record_us: 60_000,
        others: 2,
        longest_other: 29,
    };
    let sample = Sample {
        acks: 600,
        time_us: seconds * 1_000_000,
        setup: Setup { handshake_us: 120_000, datagrams: 8, bytes: 2_000 },
        recoveries: vec![recovery; 3],
        traffic: Traffic { datagrams: 1_300, bytes: 150_000, lost: 6 },
        client_cpu_us: 5_000,
        server_cpu_us: 5_000,
        client_sockets: 7,
        server_sockets: [1, 1],
        failure: None,
    };
    let (part, through) = (Part::Paper, Through::Virtual);
    let name = CellName { part, through, arm, acks: 600, scenario: Scenario::of_paper(delay_ms) };
    Cell { name, samples: vec![sample; 3] }
}

/// The same of another part, whose clients listen to their interfaces.
pub(crate) fn by_event(arm: Arm, delay_ms: f64, seconds: u64) -> Cell {
    let mut cell = cell(arm, delay_ms, seconds);
    cell.name.part = Part::Detection;
    cell.name.scenario.detection = Detection::Event;
    cell
}

pub(crate) fn report(cells: Vec<Cell>) -> Report {
    Report {
        experiment: "dtls".to_owned(),
        seed: 7,
        machine: Machine { cpu: "<b>".to_owned(), cores: 2, kernel: "Linux".to_owned() },
        revision: None,
        cells,
        not_run: Vec::new(),
        sequences: Vec::new(),
    }
}
