//! The targets, and the results.

use super::gains::{arms, gain};
use super::input::{Inputs, OfPaper};
use crate::mobile::grid::DELAYS_MS;
use crate::mobile::report::{Cell, Part, Recovery, Through};
use crate::mobile::{Arm, Change, Detection};
use crate::numbers::{fixed, plain};
use crate::table::{Cell as Entry, Table, cells};

/// A target: its name, the measurement, and its upper limit.
struct Target {
    what: String,
    measured: Option<f64>,
    most: f64,
    unit: &'static str,
}

/// The table.
pub(super) fn table(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "Times are of the worst hand-over of all runs, in round trips of the link.",
        "what | measured | to reach | reached",
    );
    for Target { what, measured, most, unit } in targets(inputs) {
        let written = |value: f64| format!("{} {unit}", fixed(value, 3)).trim_end().to_owned();
        let reached = measured.map(|measured| if measured <= most { "yes" } else { "no" });
        let cells = cells![
            measured.map(written),
            format!("at most {}", written(most)),
            Entry::from(reached).bad_if(reached == Some("no")),
        ];
        table.row(what, cells);
    }
    table.unless_empty()
}

fn targets(inputs: &Inputs) -> Vec<Target> {
    let mut targets = Vec::new();
    for delay_ms in DELAYS_MS {
        let at = format!("{} ms", plain(delay_ms));
        for arm in [Arm::Cid, Arm::CidRrc] {
            let of = OfPaper {
                detection: Detection::Event,
                ..OfPaper::once(Through::Virtual, arm, delay_ms)
            };
            let cell = inputs.of_paper(&of);
            targets.push(Target {
                what: format!(
                    "{arm}, link events, {at}: from a usable path to the first acknowledgement"
                ),
                measured: cell.and_then(|cell| most_trips(cell, |it| it.all_us)),
                most: 1.05,
                unit: "RTT",
            });
            let most = |value: fn(&Recovery) -> u32| {
                cell.and_then(|cell| cell.recoveries().map(value).max()).map(f64::from)
            };
            targets.push(Target {
                what: format!("{arm}, link events, {at}: datagrams without data meanwhile"),
                measured: most(|it| it.others),
                most: 2.0,
                unit: "",
            });
            targets.push(Target {
                what: format!("{arm}, link events, {at}: the longest of them"),
                measured: most(|it| it.longest_other),
                most: 64.0,
                unit: "B",
            });
        }
        let lost = inputs.cells(Part::Change).find(|cell| {
            let scenario = &cell.name.scenario;
            cell.name.arm == Arm::CidRrc
                && scenario.change == Change::Restart
                && scenario.delay_ms == delay_ms
        });
        targets.push(Target {
            what: format!("{}, a server that restarted, {at}: from the first record to the first acknowledgement", Arm::CidRrc),
            measured: lost.and_then(|cell| most_trips(cell, |it| it.from_record_us)),
            most: 2.05,
            unit: "RTT",
        });
        let tcs = OfPaper::once(Through::Virtual, Arm::Tcs, delay_ms);
        let cid = OfPaper { arm: Arm::CidRrc, detection: Detection::Event, ..tcs };
        let seconds = |of| Some(inputs.of_paper(of)?.time_s()?.value);
        targets.push(Target {
            what: format!(
                "{}, link events, {at}: the time of all acknowledgements, of that of tcs with time-outs",
                Arm::CidRrc
            ),
            measured: seconds(&cid).zip(seconds(&tcs)).map(|(cid, tcs)| cid / tcs),
            most: 0.999,
            unit: "",
        });
        for arm in arms(inputs, Through::Virtual) {
            let of = OfPaper::once(Through::Virtual, arm, delay_ms);
            let two = OfPaper { interfaces: 2, detection: Detection::Event, ..of };
            let one = gain(inputs, &of, Arm::Full, 2);
            let both = one.zip(gain(inputs, &two, Arm::Full, 2));
            targets.push(Target {
                what: format!("{arm}, {at}: the paper's order (two interfaces before one before plain DTLS): steps against it"),
                measured: both.map(|(one, two)| f64::from(u8::from(one <= 0.0) + u8::from(two <= one))),
                most: 0.0,
                unit: "",
            });
        }
    }
    targets
}

/// Returns a time of the worst hand-over, in round trips.
fn most_trips(cell: &Cell, value: fn(&Recovery) -> u64) -> Option<f64> {
    let most = cell.recoveries().map(value).max()?;
    Some(most as f64 / 1e3 / (2.0 * cell.name.scenario.delay_ms))
}
