//! The paper's Table I next to ours: how much less time the acknowledgements take than with plain DTLS.

use super::input::{Inputs, OfPaper};
use crate::mobile::grid::DELAYS_MS;
use crate::mobile::report::{Cell as Measured, Part, Through};
use crate::mobile::{Arm, Detection};
use crate::numbers::fixed;
use crate::table::{Cell, Name, Table};

/// The paper's Table I: the delay one way, TCS, TCS with two interfaces.
pub(super) const PAPER: [(f64, f64, f64); 3] =
    [(5.0, 8.35, 16.61), (30.0, 13.63, 17.48), (100.0, 15.22, 23.42)];

/// The table.
pub(super) fn table(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "The gain of the time for all acknowledgements over plain DTLS, in percent, of medians. `2 time-outs`: plain DTLS \
         connects again after two in a row, the paper's reading; `1 time-out`: after one, as the others send again. Plain DTLS waits for its \
         time-out in every row, also in those with link events.",
        "arm | than | 5 ms, 2 time-outs | 5 ms, 1 time-out | 30 ms, 2 time-outs | 30 ms, 1 time-out | \
         100 ms, 2 time-outs | 100 ms, 1 time-out",
    );
    let paper = |gain: fn(&(f64, f64, f64)) -> f64| -> Vec<Cell> {
        let cells = PAPER.iter().flat_map(|it| [fixed(gain(it), 2).into(), Cell::from("")]);
        ["the paper's DTLS 1.2".into()].into_iter().chain(cells).collect()
    };
    table.row("the paper's TCS", paper(|it| it.1));
    table.row("the paper's TCS, two interfaces", paper(|it| it.2));
    for through in Through::ALL {
        for arm in arms(inputs, through) {
            for baseline in baselines(through) {
                rows(inputs, through, arm, *baseline, &mut table);
            }
        }
    }
    table.unless_empty()
}

/// Adds the rows of an arm.
fn rows(inputs: &Inputs, through: Through, arm: Arm, baseline: Arm, table: &mut Table) {
    let kinds = [
        (1, Detection::Timeout),
        (1, Detection::Event),
        (2, Detection::Timeout),
        (2, Detection::Event),
    ];
    for (interfaces, detection) in kinds {
        let gains = DELAYS_MS.iter().flat_map(|delay_ms| {
            let once = OfPaper::once(through, arm, *delay_ms);
            let of = OfPaper { interfaces, detection, ..once };
            [2, 1].map(|timeouts| gain(inputs, &of, baseline, timeouts))
        });
        let gains: Vec<_> = gains.collect();
        if gains.iter().any(Option::is_some) {
            let name = Name::new("", arm.name())
                .with("", through.words())
                .with("", words(interfaces, detection));
            let gains = gains.iter().map(|gain| gain.map(|gain| fixed(gain, 2)).into());
            table.row(name, [Cell::from(baseline.name())].into_iter().chain(gains));
        }
    }
}

/// Returns the arms that stand for plain DTLS.
pub(super) fn baselines(through: Through) -> &'static [Arm] {
    match through {
        Through::Virtual => &[Arm::Full],
        Through::Sockets => &[Arm::OpensslFull, Arm::Full],
    }
}

fn words(interfaces: u8, detection: Detection) -> &'static str {
    match (interfaces, detection) {
        (1, Detection::Event) => "one interface, link events",
        (1, _) => "one interface",
        (_, Detection::Event) => "two interfaces, link events",
        _ => "two interfaces",
    }
}

/// Returns the arms whose associations survive, in the order of the report.
pub(super) fn arms(inputs: &Inputs, through: Through) -> Vec<Arm> {
    let mut arms = Vec::new();
    let cells = inputs.cells(Part::Paper).filter(|cell| cell.name.through == through);
    for cell in cells.filter(|cell| cell.name.arm.survives()) {
        if !arms.contains(&cell.name.arm) {
            arms.push(cell.name.arm);
        }
    }
    arms
}

/// Returns how much less time an arm takes than another that connects again after this many time-outs, in percent.
pub(super) fn gain(inputs: &Inputs, of: &OfPaper, than: Arm, timeouts: u32) -> Option<f64> {
    let than = OfPaper { timeouts, ..OfPaper::once(of.through, than, of.delay_ms) };
    Some(100.0 * (1.0 - share(inputs, of, &than)?))
}

/// Returns the time of all acknowledgements of one, as a share of another's; `None` unless both have the same number of
/// acknowledgements, and as many hand-overs.
pub(super) fn share(inputs: &Inputs, of: &OfPaper, than: &OfPaper) -> Option<f64> {
    let [of, than] = [inputs.of_paper(of)?, inputs.of_paper(than)?];
    let run = |cell: &Measured| (cell.name.acks, cell.name.scenario.period_ms);
    (run(of) == run(than)).then_some(of.time_s()?.value / than.time_s()?.value)
}
