//! What the evaluation was to reach, and whether it did.

use crate::experiment;
use crate::load::Kind;
use crate::load::report::{Cell as LoadCell, Growth};
use crate::results::input::Inputs;
use crate::results::names;
use crate::results::numbers::{self, RESPONSE_MS};
use crate::results::table::Table;
use crate::results::tables::latency::is_baseline;
use crate::roaming::report::{Cell, Through};
use crate::variants::{PaperOption, Variant};
use crate::ways::{Agreement, Continuation, OneTimeKind};

/// The storm that the targets are about.
const STORM: usize = 1_000;
const STORM_RTT_MS: f64 = 134.0;

/// One that a number decides.
struct Target {
    what: String,
    /// What kind of number it is.
    kind: &'static str,
    measured: f64,
    unit: &'static str,
    /// The 95 % confidence interval, where it has one.
    interval: Option<(f64, f64)>,
    /// The least or the most that it may be; `None` if it is shown for what it says of the others.
    bound: Option<Bound>,
}

enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// Every target whose samples are there.
pub(super) fn table(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::new(
        "What each number is stands beside it. Reached or not is judged by the number itself; an exponent's 95 % \
         confidence interval is in brackets.",
        &["what", "measured", "which is", "to reach", "reached"],
    );
    for target in storm(inputs).into_iter().chain(beside_d(inputs)).chain(growth(inputs)) {
        let Target { what, kind, measured, unit, interval, bound } = target;
        let yes = |reached: bool| if reached { "yes" } else { "no" }.to_owned();
        let (wanted, reached) = match bound {
            Some(Bound::AtMost(most)) => (format!("at most {most}{unit}"), yes(measured <= most)),
            Some(Bound::AtLeast(least)) => {
                (format!("at least {least}{unit}"), yes(measured >= least))
            }
            None => (numbers::nothing(), numbers::nothing()),
        };
        let interval = interval.map_or_else(String::new, |(low, high)| {
            format!(" ({} to {})", experiment::number(low), experiment::number(high))
        });
        let measured = format!("{}{unit}{interval}", experiment::number(measured));
        table.row(what, [measured, kind.to_owned(), wanted, reached]);
    }
    table.unless_empty()
}

/// The storm: a round trip less, and less work.
fn storm(inputs: &Inputs) -> Vec<Target> {
    let cell = |of: &dyn Fn(&Variant) -> bool| {
        let mut cells = inputs.load.iter().flat_map(|load| &load.cells);
        cells.find(|cell| {
            cell.kind == Kind::Storm
                && (cell.users, cell.rtt_ms) == (STORM, STORM_RTT_MS)
                && of(&cell.variant)
        })
    };
    let (x, hybrid) = (Agreement::X25519, Agreement::X25519MlKem768);
    let with = |option, kx| cell(&move |it| it.option == option && it.kx == Some(kx));
    let fs = |key| {
        cell(&move |it| {
            it.ticket_key == Some(OneTimeKind::KeyPair(key))
                && it.continuation == Some(Continuation::PskKe)
        })
    };
    let mut targets = Vec::new();
    for (kx, name) in [(x, "X25519"), (hybrid, "X25519MLKEM768")] {
        let Some(fast) = fs(kx) else { continue };
        for option in [PaperOption::Full, PaperOption::PskDhe] {
            let Some(slow) = with(option, kx) else { continue };
            let letter = option.letter();
            if let Some(saved) = sooner(fast, slow) {
                // One round trip, but for what the machine's scheduling takes; work saved comes on top.
                targets.push(Target {
                    what: format!(
                        "storm of {STORM}: (e) psk_ke has its first byte accepted before ({letter}), {name}"
                    ),
                    kind: "a difference of medians",
                    measured: saved,
                    unit: " round trips",
                    interval: None,
                    bound: Some(Bound::AtLeast(0.95)),
                });
            }
            targets.push(Target {
                what: format!(
                    "storm: the server's TLS work, (e) psk_ke to ({letter}), both {name}"
                ),
                kind: "a ratio of means",
                measured: work(fast, slow),
                unit: "×",
                interval: None,
                bound: Some(Bound::AtMost(1.0)),
            });
        }
    }
    for (option, most) in [(PaperOption::Full, 0.6), (PaperOption::PskDhe, 0.9)] {
        if let (Some(fast), Some(slow)) = (fs(x), with(option, hybrid)) {
            targets.push(Target {
                what: format!(
                    "storm: the server's TLS work, (e) X25519 psk_ke to ({}) X25519MLKEM768",
                    option.letter()
                ),
                kind: "a ratio of means, of unlike groups, as was asked for",
                measured: work(fast, slow),
                unit: "×",
                interval: None,
                bound: Some(Bound::AtMost(most)),
            });
        }
    }
    targets
}

/// The server's TLS work of one as a share of another's: over all connections of the storm.
fn work(fast: &LoadCell, slow: &LoadCell) -> f64 {
    fast.server_tls_us_per_connection / slow.server_tls_us_per_connection
}

/// How many round trips sooner the median request was accepted.
fn sooner(fast: &LoadCell, slow: &LoadCell) -> Option<f64> {
    let median = |cell: &LoadCell| cell.first_accepted_us.quantile(0.5);
    Some((median(slow)? - median(fast)?) / 1e3 / STORM_RTT_MS)
}

/// (e) beside (d), on each link that has a distance.
fn beside_d(inputs: &Inputs) -> Vec<Target> {
    let cells: Vec<_> = inputs.plain(Through::Endpoints).collect();
    let median = |cell: &Cell| numbers::median(cell, RESPONSE_MS).map(|median| median.value);
    let mut targets = Vec::new();
    for baseline in cells.iter().filter(|cell| is_baseline(cell) && cell.name.link.rtt_ms > 0.0) {
        let fs = cells.iter().find(|cell| {
            let variant = &cell.name.variant;
            cell.name.link == baseline.name.link
                && variant.ticket_key == Some(OneTimeKind::KeyPair(Agreement::X25519))
                && variant.continuation == Some(Continuation::PskDheKe)
        });
        let Some((fs, baseline_ms)) = fs.and_then(|fs| median(fs)).zip(median(baseline)) else {
            continue;
        };
        let target = |what: &str, kind, measured, bound| Target {
            what: format!(
                "{}: the response of (e) beside (d), both X25519{what}",
                baseline.name.link
            ),
            kind,
            measured,
            unit: "×",
            interval: None,
            bound,
        };
        let most = Some(Bound::AtMost(1.05));
        targets.push(target("", "a ratio of medians", fs / baseline_ms, most));
        // Both wait for TCP, and for the response to their first flight.
        let link = 2.0 * baseline.name.link.rtt_ms;
        let (fs, baseline_ms) = (fs - link, baseline_ms - link);
        if fs > 0.0 && baseline_ms > 0.0 {
            let kind = "the same without two round trips";
            targets.push(target(", beyond the link", kind, fs / baseline_ms, None));
        }
    }
    targets
}

/// The exponents of growth.
fn growth(inputs: &Inputs) -> Vec<Target> {
    let growth = inputs.load.iter().flat_map(|load| &load.growth);
    let target = |growth: &Growth| Target {
        what: format!("growth: the exponent of {}", names::variant(&growth.variant)),
        kind: "an exponent, by least squares",
        measured: growth.exponent,
        unit: "",
        interval: growth.interval,
        bound: Some(Bound::AtMost(1.05)),
    };
    growth.map(target).collect()
}
