//! The targets of the evaluation, and whether it reached them.

use tessera_reports::load::Kind;
use tessera_reports::roaming::{Cell as RoamingCell, Setup};
use tessera_reports::{Continuation, KeyExchange, Letter, OneTimeKey, Variant};

use crate::load::report::{Cell as LoadCell, Growth};
use crate::load::storms::{Storms, storms, tls_work};
use crate::names;
use crate::numbers::{count, number};
use crate::results::input::{Inputs, success, success_of_load, success_of_storms};
use crate::results::numbers::{self, RESPONSE_MS};
use crate::results::tables::latency::is_baseline;
use crate::statistics::Median;
use crate::table::{Cell, Table, cells};

/// The storm that the targets are about.
const STORM: usize = 1_000;
const STORM_RTT_MS: f64 = 134.0;

/// The share of reconnections that must succeed: failed ones did no work, and waited for nothing.
const SUCCESS: f64 = 0.999;

/// One that a number decides.
struct Target {
    what: String,
    /// The kind of the number.
    kind: String,
    measured: f64,
    unit: &'static str,
    known: Certainty,
    /// The lowest share that succeeded.
    success: f64,
    /// The lower or upper limit; `None` if it is only shown for context.
    bound: Option<Bound>,
}

/// How well a number is known.
#[derive(Clone, Copy)]
enum Certainty {
    /// It is in between, with 95 % confidence or more.
    Between(f64, f64),
    /// Too few samples to decide.
    TooFew,
    /// It is of one run, which kept no samples of it.
    OneRun,
}

enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// Every target whose samples are there.
pub(super) fn table(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "In brackets is the 95 % confidence interval of each number, where it has one: a target is reached if all of it is \
         within the bound. It is undecided where the bound lies in the interval, where there are fewer than six samples, \
         and where less than 99.9 % of the reconnections succeeded. A ratio of means of one run has no interval, and is \
         judged by itself; where a storm ran several times, two options are compared in each round, and the interval is \
         that of the rounds' median.",
        "what | measured | which is | success | to reach | reached",
    );
    for target in storm(inputs).into_iter().chain(compared_with_d(inputs)).chain(growth(inputs)) {
        let Target { measured, unit, .. } = target;
        let wanted = target.bound.as_ref().map(|bound| match bound {
            Bound::AtMost(most) => format!("at most {most}{unit}"),
            Bound::AtLeast(least) => format!("at least {least}{unit}"),
        });
        let interval = match target.known {
            Certainty::Between(low, high) => format!(" ({} to {})", number(low), number(high)),
            Certainty::TooFew | Certainty::OneRun => String::new(),
        };
        let reached = target.reached();
        let cells = cells![
            format!("{}{unit}{interval}", number(measured)),
            target.kind,
            Cell::from(numbers::success(target.success)).bad_if(target.success < SUCCESS),
            wanted,
            Cell::from(reached).bad_if(reached == Some("no")),
        ];
        table.row(target.what, cells);
    }
    table.unless_empty()
}

impl Target {
    /// Whether it is reached, as far as that is known.
    fn reached(&self) -> Option<&'static str> {
        let bound = self.bound.as_ref()?;
        let (low, high) = match self.known {
            Certainty::Between(low, high) => (low, high),
            Certainty::OneRun => (self.measured, self.measured),
            Certainty::TooFew => (f64::NEG_INFINITY, f64::INFINITY),
        };
        let (is_within, is_beyond) = match *bound {
            Bound::AtMost(most) => (high <= most, low > most),
            Bound::AtLeast(least) => (low >= least, high < least),
        };
        Some(match (self.success >= SUCCESS, is_within, is_beyond) {
            (true, true, _) => "yes",
            (true, _, true) => "no",
            _ => "undecided",
        })
    }
}

/// What the targets of one kind came to.
pub(super) struct Summary {
    pub(super) question: String,
    /// The lowest and the highest number.
    pub(super) here: String,
    pub(super) target: &'static str,
    pub(super) reached: usize,
    pub(super) all: usize,
}

/// Summarises the targets by kind.
pub(super) fn summaries(inputs: &Inputs) -> Vec<Summary> {
    let (sooner, work) = storm(inputs).into_iter().partition(|it: &Target| it.unit != "×");
    let storm = format!("a storm of {} at {STORM_RTT_MS} ms", count(STORM));
    let kinds: [(String, &'static str, Vec<Target>); 4] = [
        (
            format!("{storm}: round trips by which (e) psk_ke is accepted before (a) and (c)"),
            "at least 0.95",
            sooner,
        ),
        (
            format!(
                "{storm}: the server's TLS work for (e) psk_ke, as a share of that for (a) or (c)"
            ),
            "at most 0.6, 0.9 or 1",
            work,
        ),
        (
            "every distance: the response of (e), as a share of that of (d)".to_owned(),
            "at most 1.05",
            compared_with_d(inputs),
        ),
        (
            "load: the exponent by which the server's work grows with the number of users"
                .to_owned(),
            "at most 1.05",
            growth(inputs),
        ),
    ];
    let summary = |(question, target, targets): (String, &'static str, Vec<Target>)| {
        let targets: Vec<_> = targets.into_iter().filter(|it| it.bound.is_some()).collect();
        let measured = || targets.iter().map(|it| it.measured);
        let least = measured().reduce(f64::min)?;
        let most = measured().reduce(f64::max)?;
        let reached = targets.iter().filter(|it| it.reached() == Some("yes")).count();
        let here = format!("{} to {}", number(least), number(most));
        Some(Summary { question, here, target, reached, all: targets.len() })
    };
    kinds.into_iter().filter_map(summary).collect()
}

/// Returns the storm: a round trip less, and less work.
fn storm(inputs: &Inputs) -> Vec<Target> {
    let cells = inputs.load.as_ref().map_or_else(Default::default, |load| load.cells.as_slice());
    let mut all = storms(cells);
    all.retain(|storms| {
        storms.all.first().is_some_and(|it| (it.users, it.rtt_ms) == (STORM, STORM_RTT_MS))
    });
    let of = |is_row: &dyn Fn(&Variant) -> bool| {
        all.iter().find(|storms| storms.all.first().is_some_and(|cell| is_row(&cell.variant)))
    };
    let (x, hybrid) = (KeyExchange::X25519, KeyExchange::X25519MlKem768);
    let with = |option, kx| of(&move |it| it.option == option && it.kx == Some(kx));
    let fs = |key| {
        of(&move |it| {
            it.ticket_key == Some(OneTimeKey::from(key))
                && it.continuation == Some(Continuation::PskKe)
        })
    };
    let mut targets = Vec::new();
    for (kx, name) in [(x, "X25519"), (hybrid, "X25519MLKEM768")] {
        let Some(fast) = fs(kx) else { continue };
        for option in [Letter::A, Letter::C] {
            let Some(slow) = with(option, kx) else { continue };
            let letter = option.letter();
            let what = format!(
                "storm of {}: (e) psk_ke has its first byte accepted before ({letter}), {name}",
                count(STORM)
            );
            targets.extend(sooner(what, fast, slow));
            let what =
                format!("storm: the server's TLS work, (e) psk_ke to ({letter}), both {name}");
            targets.extend(work(what, "", [fast, slow], 1.0));
        }
    }
    for (option, most) in [(Letter::A, 0.6), (Letter::C, 0.9)] {
        if let (Some(fast), Some(slow)) = (fs(x), with(option, hybrid)) {
            let letter = option.letter();
            let what = format!(
                "storm: the server's TLS work, (e) X25519 psk_ke to ({letter}) X25519MLKEM768"
            );
            let unlike = ", of unlike groups, as was asked for";
            targets.extend(work(what, unlike, [fast, slow], most));
        }
    }
    targets
}

/// Returns the server's TLS work of one as a share of another's: over all connections of a storm, and the median of the
/// rounds.
fn work(what: String, of: &str, [fast, slow]: [&Storms<'_>; 2], most: f64) -> Option<Target> {
    let share = fast.compared(slow, tls_work)?;
    let (kind, known) = match is_one_run(fast, slow) {
        true => ("a ratio of means of one run", Certainty::OneRun),
        false => ("the median of its rounds' ratios", Certainty::of(share.interval)),
    };
    Some(Target {
        what,
        kind: format!("{kind}{of}"),
        measured: share.median,
        unit: "×",
        known,
        success: success_of_storms(fast).min(success_of_storms(slow)),
        bound: Some(Bound::AtMost(most)),
    })
}

/// Whether both ran once: there is nothing to tell how far a ratio repeats.
fn is_one_run(fast: &Storms<'_>, slow: &Storms<'_>) -> bool {
    fast.all.len() == 1 && slow.all.len() == 1
}

/// Returns how many round trips sooner the median request was accepted: one, minus the effects of the machine's
/// scheduling, plus the work saved.
fn sooner(what: String, fast: &Storms<'_>, slow: &Storms<'_>) -> Option<Target> {
    let success = success_of_storms(fast).min(success_of_storms(slow));
    let trips = |us: f64| us / 1e3 / STORM_RTT_MS;
    let (kind, measured, known) = if let ([fast], [slow]) = (&fast.all[..], &slow.all[..]) {
        let [fast, slow] = [fast, slow].map(|cell| numbers::median_of(&cell.first_accepted_us));
        let (fast, slow) = (fast?, slow?);
        let known =
            fast.interval.zip(slow.interval).map(|((fast_from, fast_to), (slow_from, slow_to))| {
                (trips(slow_from - fast_to), trips(slow_to - fast_from))
            });
        ("a difference of medians", trips(slow.value - fast.value), known)
    } else {
        let sooner = fast.compared(slow, |fast, slow| {
            let [fast, slow] = [fast, slow].map(|cell| cell.first_accepted_us.quantile(0.5));
            Some(trips(slow? - fast?))
        })?;
        ("the median of its rounds' differences of medians", sooner.median, sooner.interval)
    };
    Some(Target {
        what,
        kind: kind.to_owned(),
        measured,
        unit: " round trips",
        known: Certainty::of(known),
        success,
        bound: Some(Bound::AtLeast(0.95)),
    })
}

/// Compares (e) with (d), on each link with a distance.
fn compared_with_d(inputs: &Inputs) -> Vec<Target> {
    let cells: Vec<_> = inputs.plain(Setup::Endpoints).collect();
    let median = |cell: &RoamingCell| numbers::median(cell, RESPONSE_MS);
    let mut targets = Vec::new();
    for baseline in cells.iter().filter(|cell| is_baseline(cell) && cell.name.link.rtt_ms > 0.0) {
        let fs = cells.iter().find(|cell| {
            let variant = &cell.name.variant;
            cell.name.link == baseline.name.link
                && variant.ticket_key == Some(OneTimeKey::X25519)
                && variant.continuation == Some(Continuation::PskDheKe)
        });
        let Some(fs) = fs else { continue };
        let Some((fs_ms, baseline_ms)) = median(fs).zip(median(baseline)) else { continue };
        // Subtracts what both wait for.
        let target = |what: &str, kind: &str, waited_ms: f64, bound| Target {
            what: format!(
                "{}: the response of (e) compared with (d), both X25519{what}",
                baseline.name.link
            ),
            kind: kind.to_owned(),
            measured: (fs_ms.value - waited_ms) / (baseline_ms.value - waited_ms),
            unit: "×",
            known: ratio(&fs_ms, &baseline_ms, waited_ms),
            success: success(fs).min(success(baseline)),
            bound,
        };
        let most = Some(Bound::AtMost(1.05));
        targets.push(target("", "a ratio of medians", 0.0, most));
        // For TCP, and for the response to their first flight.
        let link = 2.0 * baseline.name.link.rtt_ms;
        if fs_ms.value > link && baseline_ms.value > link {
            let kind = "the same without two round trips";
            targets.push(target(", beyond the link", kind, link, None));
        }
    }
    targets
}

/// Returns the bounds of the ratio of two medians, without what both waited for; unknown if nothing may be left of one.
fn ratio(one: &Median, other: &Median, waited: f64) -> Certainty {
    let both = one.interval.zip(other.interval);
    Certainty::of(both.filter(|((one, _), (other, _))| one.min(*other) > waited).map(
        |((one_from, one_to), (other_from, other_to))| {
            ((one_from - waited) / (other_to - waited), (one_to - waited) / (other_from - waited))
        },
    ))
}

/// Returns the exponents of growth.
fn growth(inputs: &Inputs) -> Vec<Target> {
    let Some(load) = &inputs.load else { return Vec::new() };
    let target = |growth: &Growth| {
        let cells = || {
            let of_row = |cell: &&LoadCell| {
                cell.kind == Kind::Users
                    && (cell.variant, cell.rtt_ms) == (growth.variant, growth.rtt_ms)
            };
            load.cells.iter().filter(of_row)
        };
        let users = cells().map(|cell| cell.users).max().unwrap_or(0);
        Target {
            what: format!(
                "growth up to {} users: the exponent of {}",
                count(users),
                names::variant(&growth.variant)
            ),
            kind: "an exponent, by least squares".to_owned(),
            measured: growth.exponent,
            unit: "",
            known: Certainty::of(growth.interval),
            success: cells().map(success_of_load).fold(1.0, f64::min),
            bound: Some(Bound::AtMost(1.05)),
        }
    };
    load.growth.iter().map(target).collect()
}

impl Certainty {
    fn of(interval: Option<(f64, f64)>) -> Self {
        interval.map_or(Self::TooFew, |(low, high)| Self::Between(low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(known: Certainty, success: f64, bound: Bound) -> &'static str {
        let (what, kind, unit) = (String::new(), String::new(), "");
        Target { what, kind, measured: 1.0, unit, known, success, bound: Some(bound) }
            .reached()
            .unwrap()
    }

    #[test]
    fn a_target_is_reached_if_all_that_it_may_be_is_within() {
        let (at_most, at_least) = (|| Bound::AtMost(1.05), || Bound::AtLeast(0.95));
        for (known, most, least) in [
            (Certainty::Between(0.99, 1.05), "yes", "yes"),
            (Certainty::Between(0.99, 1.06), "undecided", "yes"),
            (Certainty::Between(1.06, 1.07), "no", "yes"),
            (Certainty::Between(0.94, 1.01), "yes", "undecided"),
            (Certainty::Between(0.93, 0.94), "yes", "no"),
            (Certainty::TooFew, "undecided", "undecided"),
            (Certainty::OneRun, "yes", "yes"),
        ] {
            assert_eq!(
                [reached(known, 1.0, at_most()), reached(known, 1.0, at_least())],
                [most, least]
            );
            let failing = reached(known, 0.998, at_most());
            assert_eq!(failing, "undecided", "a connection that fails does no work");
        }
        assert_eq!(reached(Certainty::OneRun, 0.999, Bound::AtMost(0.9)), "no");
    }

    #[test]
    fn a_ratio_is_as_well_known_as_both_medians() {
        let median = |from, value, to| Median { value, interval: Some((from, to)) };
        let (one, other) = (median(9.0, 10.0, 11.0), median(4.0, 5.0, 6.0));
        let Certainty::Between(low, high) = ratio(&one, &other, 1.0) else { panic!("it is known") };
        assert_eq!((low, high), (8.0 / 5.0, 10.0 / 3.0));
        assert!(matches!(ratio(&one, &other, 4.0), Certainty::TooFew));
        let few = Median { interval: None, ..one };
        assert!(matches!(ratio(&few, &other, 0.0), Certainty::TooFew));
    }
}
