//! The targets, and the results.

use super::gains::{arms, gain, share};
use super::input::{Inputs, OfPaper};
use crate::mobile::grid::DELAYS_MS;
use crate::mobile::report::{Cell, Part, Recovery, Through};
use crate::mobile::{Arm, Change, Detection, TIMEOUT};
use crate::numbers::{fixed, plain};
use crate::table::{Cell as Entry, Table, cells};

/// A target: its name, the measurement, and what it is to reach.
struct Target {
    what: String,
    measured: Option<f64>,
    limit: Limit,
    unit: &'static str,
}

/// What a measurement is to reach.
#[derive(Clone, Copy)]
enum Limit {
    Most(f64),
    /// Of another stack: what it needs.
    Least(f64),
}

/// The table.
pub(super) fn table(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "Times are of the worst hand-over of all runs, or the median where the row reads so, in round trips of the link. \
         Without `over sockets` a row is of virtual time, where computation takes none. Rows of other stacks are what ours are \
         compared with.",
        "what | measured | to reach | reached",
    );
    for Target { what, measured, limit, unit } in targets(inputs) {
        let written = |value: f64| format!("{} {unit}", fixed(value, 3)).trim_end().to_owned();
        let reached =
            measured.map(|measured| if limit.is_reached(measured) { "yes" } else { "no" });
        let words = match limit {
            Limit::Most(most) => format!("at most {}", written(most)),
            Limit::Least(least) => format!("at least {}", written(least)),
        };
        let reached = Entry::from(reached).bad_if(reached == Some("no"));
        table.row(what, cells![measured.map(written), words, reached]);
    }
    table.unless_empty()
}

impl Limit {
    fn is_reached(self, measured: f64) -> bool {
        match self {
            Self::Most(most) => measured <= most,
            Self::Least(least) => measured >= least,
        }
    }
}

fn targets(inputs: &Inputs) -> Vec<Target> {
    let each = DELAYS_MS.into_iter().flat_map(|delay_ms| {
        let moves = after_a_move(inputs, delay_ms).into_iter();
        moves.chain(lost_state(inputs, delay_ms)).chain(of_the_paper(inputs, delay_ms))
    });
    each.collect()
}

/// How soon a client goes on that listens to its interface.
fn after_a_move(inputs: &Inputs, delay_ms: f64) -> Vec<Target> {
    let mut targets = Vec::new();
    let of = |through, arm| {
        let once = OfPaper::once(through, arm, delay_ms);
        inputs.of_paper(&OfPaper { detection: Detection::Event, ..once })
    };
    let at = format!("link events, {}", at(delay_ms));
    for arm in [Arm::Cid, Arm::CidRrc] {
        let cell = of(Through::Virtual, arm);
        targets.push(Target {
            what: format!("{arm}, {at}: from a usable path to the first acknowledgement"),
            measured: cell.and_then(|cell| most_trips(cell, |it| it.all_us)),
            limit: Limit::Most(1.05),
            unit: "RTT",
        });
        let most = |value: fn(&Recovery) -> u32| {
            cell.and_then(|cell| cell.recoveries().map(value).max()).map(f64::from)
        };
        targets.push(Target {
            what: format!("{arm}, {at}: datagrams without data meanwhile"),
            measured: most(|it| it.others),
            limit: Limit::Most(2.0),
            unit: "",
        });
        targets.push(Target {
            what: format!("{arm}, {at}: the longest of them"),
            measured: most(|it| it.longest_other),
            limit: Limit::Most(64.0),
            unit: "B",
        });
    }
    for arm in [Arm::Cid, Arm::CidRrc] {
        let cell = of(Through::Sockets, arm);
        targets.push(Target {
            what: format!(
                "{arm}, over sockets, {at}: from a usable path to the first acknowledgement"
            ),
            measured: cell.and_then(|cell| most_trips(cell, |it| it.all_us)),
            limit: Limit::Most(1.05),
            unit: "RTT",
        });
    }
    let over_sockets = |arm| {
        let cell = of(Through::Sockets, arm)?;
        Some(trips(cell, cell.recovery_ms(|it| it.all_us)?.value))
    };
    let [ours, quinn] = [Arm::CidRrc, Arm::QuinnRebind].map(over_sockets);
    let what = format!("over sockets, {at}: from a usable path to the first acknowledgement");
    targets.push(Target {
        what: format!("{}, {what}, median", Arm::QuinnRebind),
        measured: quinn,
        limit: Limit::Least(1.95),
        unit: "RTT",
    });
    targets.push(Target {
        what: format!("{}, {what}, of that of {}, medians", Arm::CidRrc, Arm::QuinnRebind),
        measured: ours.zip(quinn).map(|(ours, quinn)| ours / quinn),
        limit: Limit::Most(0.55),
        unit: "",
    });
    targets
}

/// How soon a client goes on whose server has restarted without its associations.
fn lost_state(inputs: &Inputs, delay_ms: f64) -> Vec<Target> {
    let of = |through, arm| {
        inputs.cells(Part::Change).find(|Cell { name, .. }| {
            let scenario = &name.scenario;
            (name.through, name.arm, scenario.change) == (through, arm, Change::Restart)
                && scenario.delay_ms == delay_ms
        })
    };
    let what = format!(
        "a server that restarted, {}: from the first record that misses it to the first acknowledgement",
        at(delay_ms)
    );
    let openssl = of(Through::Sockets, Arm::OpensslFull).and_then(|cell| {
        let ms = cell.recovery_ms(|it| it.from_record_us)?.value;
        Some(trips(cell, ms - TIMEOUT.as_secs_f64() * 1e3))
    });
    let ours = Through::ALL.map(|through| {
        let cell = of(through, Arm::CidRrc);
        let over = if through == Through::Sockets { "over sockets, " } else { "" };
        Target {
            what: format!("{}, {over}{what}", Arm::CidRrc),
            measured: cell.and_then(|cell| most_trips(cell, |it| it.from_record_us)),
            limit: Limit::Most(2.05),
            unit: "RTT",
        }
    });
    let openssl = Target {
        what: format!("{}, over sockets, {what}, median, but for its time-out", Arm::OpensslFull),
        measured: openssl,
        limit: Limit::Least(3.95),
        unit: "RTT",
    };
    ours.into_iter().chain([openssl]).collect()
}

/// The paper's Table I.
fn of_the_paper(inputs: &Inputs, delay_ms: f64) -> Vec<Target> {
    let mut targets = Vec::new();
    let at = at(delay_ms);
    for arm in [Arm::Cid, Arm::CidRrc] {
        let [all, each] = Through::ALL.map(|through| {
            let tcs = OfPaper::once(through, Arm::Tcs, delay_ms);
            (OfPaper { arm, detection: Detection::Event, ..tcs }, tcs)
        });
        targets.push(Target {
            what: format!(
                "{arm}, link events, {at}: the time of all acknowledgements, of that of tcs with time-outs, medians"
            ),
            measured: share(inputs, &all.0, &all.1),
            limit: Limit::Most(0.999),
            unit: "",
        });
        // Over sockets the runs with link events are shorter.
        let ms = |of| Some(inputs.of_paper(of)?.recovery_ms(|it| it.all_us)?.value);
        targets.push(Target {
            what: format!(
                "{arm}, over sockets, link events, {at}: from a usable path to the first acknowledgement, of that of tcs \
                 with time-outs, medians"
            ),
            measured: ms(&each.0).zip(ms(&each.1)).map(|(cid, tcs)| cid / tcs),
            limit: Limit::Most(0.999),
            unit: "",
        });
    }
    for arm in arms(inputs, Through::Virtual) {
        let of = OfPaper::once(Through::Virtual, arm, delay_ms);
        let one = gain(inputs, &of, Arm::Full, 2);
        for (detection, with) in [(Detection::Timeout, ""), (Detection::Event, " with link events")]
        {
            let two = OfPaper { interfaces: 2, detection, ..of };
            let both = one.zip(gain(inputs, &two, Arm::Full, 2));
            targets.push(Target {
                what: format!(
                    "{arm}, {at}: the paper's order (two interfaces{with} before one before plain DTLS): steps against it"
                ),
                measured: both.map(|(one, two)| f64::from(u8::from(one <= 0.0) + u8::from(two <= one))),
                limit: Limit::Most(0.0),
                unit: "",
            });
        }
    }
    targets
}

fn at(delay_ms: f64) -> String {
    format!("{} ms", plain(delay_ms))
}

/// Returns a time of the worst hand-over, in round trips.
fn most_trips(cell: &Cell, value: fn(&Recovery) -> u64) -> Option<f64> {
    let most = cell.recoveries().map(value).max()?;
    Some(trips(cell, most as f64 / 1e3))
}

/// Returns a time in round trips of a cell's link.
fn trips(cell: &Cell, ms: f64) -> f64 {
    ms / (2.0 * cell.name.scenario.delay_ms)
}
