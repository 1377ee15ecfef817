//! What suites and KEMs are to reach.

use super::kem_tables::{FULL, LIBCRUX, OPERATIONS, OURS, percent};
use super::link::{OF_THE_THESIS, times};
use super::report::Report;
use super::suite_tables::words;
use super::suites::{BASELINE, FAST, RAW_ED25519, known_key};
use super::thesis::{BEST, SETS};
use crate::numbers::{count, fixed};
use crate::table::{Cell, Table, cells};

/// A goal; without the most that is to be reached, it is shown alone.
struct Goal {
    what: String,
    measured: Option<f64>,
    most: Option<f64>,
    write: fn(f64) -> String,
}

/// All goals.
pub(super) fn table(report: &Report) -> Table {
    let columns = "what | measured | at most | reached";
    let mut table = Table::new("what suites and KEMs are to reach", columns).note(format!(
        "Instructions of a client in the whole handshake, and of a KEM's operation, at opt-level 3. The time is modelled ({}). A \
         row without a bound is shown as it is.",
        words(&OF_THE_THESIS)
    ));
    for Goal { what, measured, most, write } in goals(report) {
        let Some(measured) = measured else { continue };
        let is_reached = most.map(|most| measured <= most);
        let reached = is_reached.map(|reached| if reached { "yes" } else { "no" });
        let reached = Cell::from(reached).bad_if(is_reached == Some(false));
        table.row(what, cells![write(measured), most.map(write), reached]);
    }
    table
}

fn goals(report: &Report) -> Vec<Goal> {
    let mut goals = Vec::new();
    for (suite, of, most) in [
        (known_key("ML-KEM-768"), RAW_ED25519, Some(1.0)),
        (known_key("one-time ML-KEM-768"), RAW_ED25519, Some(0.80)),
        (known_key("X25519MLKEM768"), RAW_ED25519, None),
        (known_key("one-time X25519MLKEM768"), RAW_ED25519, None),
        (BEST, BASELINE, Some(0.55)),
    ] {
        let instructions = |name| Some(report.suite(name)?.explicit.instructions as f64);
        let measured = instructions(suite).zip(instructions(of)).map(|(is, of)| is / of);
        let what = format!("instructions, {}, of {}", suite.words(), of.words());
        goals.push(Goal { what, measured, most, write: |ratio| fixed(ratio, 3) });
    }
    let modelled = report.suite(BEST).zip(report.suite(BASELINE));
    let modelled = modelled.map(|pair| {
        let [is, of] = [pair.0, pair.1].map(|suite| times(suite, &OF_THE_THESIS));
        [is[0] / of[0] - 1.0, is[1] / of[1] - 1.0]
    });
    for (metric, most) in [("first data", Some(-0.30)), ("explicit authentication", None)] {
        let what = format!("time to {metric}, {}, of {}", BEST.words(), BASELINE.words());
        let measured = modelled.map(|it| it[usize::from(most.is_none())]);
        goals.push(Goal { what, measured, most, write: percent });
    }
    let stacks = report.kems.iter().filter(|it| {
        [&*it.implementation, &it.opt_level, &it.set, &it.construction]
            == [OURS, FAST, "ML-KEM-768", FULL]
    });
    let stack = stacks.map(|it| f64::from(it.stack)).reduce(f64::max);
    let bytes = |bytes: f64| count(bytes as u64);
    goals.push(Goal {
        what: "stack of ML-KEM-768, the most of its operations, in bytes".to_owned(),
        measured: stack,
        most: Some(12_000.0),
        write: bytes,
    });
    for set in SETS {
        let ratios = OPERATIONS.into_iter().filter_map(|operation| {
            let [is, of] = [OURS, LIBCRUX]
                .map(|it| report.kem(it, FAST, [set, FULL, operation]))
                .map(|it| it.map(|it| it.instructions as f64));
            Some(is? / of?)
        });
        let what = format!("{set}, the worst of its operations, of libcrux");
        let measured = ratios.reduce(f64::max);
        goals.push(Goal { what, measured, most: Some(1.1), write: |ratio| fixed(ratio, 3) });
    }
    for (set, most) in SETS.into_iter().zip([-0.64, -0.68, -0.71]) {
        let decapsulation = report.kem_change("T_H", "decapsulate", set);
        let encapsulation = report.kem_change("T_H", "encapsulate", set);
        let mut of_ml_kem = |what, measured, most| {
            let what = format!("{what}, one-time, of {set}");
            goals.push(Goal { what, measured, most: Some(most), write: percent });
        };
        of_ml_kem("decapsulation", decapsulation.map(|it| it[0]), most);
        of_ml_kem("stack of decapsulation", decapsulation.map(|it| it[1]), -0.5);
        of_ml_kem("encapsulation", encapsulation.map(|it| it[0]), 0.15);
    }
    goals
}
