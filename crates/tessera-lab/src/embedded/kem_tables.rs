//! The tables of KEMs alone: next to libcrux, and the one-time constructions next to ML-KEM.

use super::report::Report;
use super::suite_tables::ratio;
use super::suites::{FAST, KemOperation};
use super::thesis;
use crate::numbers::fixed;
use crate::table::{Name, Row, Table, cells};

pub(super) const OURS: &str = "tessera-kem";
pub(super) const LIBCRUX: &str = "libcrux";

/// ML-KEM as it is.
pub(super) const FULL: &str = "ML-KEM";

/// Its operations.
pub(super) const OPERATIONS: [&str; 3] = ["key pair", "encapsulate", "decapsulate"];

impl Report {
    /// Returns an operation of a KEM at a level of optimization.
    pub(super) fn kem(
        &self,
        implementation: &str,
        opt_level: &str,
        [set, construction, operation]: [&str; 3],
    ) -> Option<&KemOperation> {
        self.kems.iter().find(|it| {
            [&*it.implementation, &it.opt_level] == [implementation, opt_level]
                && [&*it.set, &it.construction, &it.operation] == [set, construction, operation]
        })
    }

    /// Returns how a construction of ours changes an operation, at opt-level 3: its instructions and its stack, as shares.
    pub(super) fn kem_change(
        &self,
        construction: &str,
        operation: &str,
        set: &str,
    ) -> Option<[f64; 2]> {
        let of = |construction| self.kem(OURS, FAST, [set, construction, operation]);
        let (is, full) = (of(construction)?, of(FULL)?);
        let share = |is: f64, of: f64| is / of - 1.0;
        Some([
            share(is.instructions as f64, full.instructions as f64),
            share(is.stack.into(), full.stack.into()),
        ])
    }
}

/// Formats a change in per cent.
pub(super) fn percent(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share)
}

/// ML-KEM of ours next to that of libcrux.
pub(super) fn kems(report: &Report) -> Table {
    let ours = report.kems.iter().filter(|it| it.implementation == OURS && it.construction == FULL);
    let rows = ours.map(|it| {
        let KemOperation { opt_level, set, operation, instructions, stack, .. } = it;
        let other = report.kem(LIBCRUX, opt_level, [set, FULL, operation]);
        let name = Name::new(format!("{set}/{operation}/{opt_level}"), set)
            .with("", operation)
            .with("opt-level", opt_level);
        let of_other = other.map(|other| ratio(*instructions as f64, other.instructions as f64));
        let cells = cells![
            *instructions,
            other.map(|it| it.instructions),
            of_other,
            *stack,
            other.map(|it| it.stack)
        ];
        Row::new(name, cells)
    });
    let columns = "instructions | of libcrux | ratio | stack | of libcrux, stack";
    Table::new("ML-KEM alone", &format!("KEM | operation | opt-level || {columns}"))
        .note(
            "tessera-kem next to libcrux's portable code, on the same emulated Cortex-M33; the stack in bytes. A key pair is \
             made of a seed.",
        )
        .rows(rows)
}

/// The one-time constructions next to ML-KEM in the same code, and next to the thesis.
pub(super) fn constructions(report: &Report) -> Table {
    let ours = report
        .kems
        .iter()
        .filter(|it| it.implementation == OURS && it.construction != FULL && it.opt_level == FAST);
    let rows = ours.map(|it| {
        let KemOperation { set, construction, operation, instructions, stack, .. } = it;
        let change = report.kem_change(construction, operation, set);
        let theirs = thesis::change(construction, operation, set);
        let name = Name::new(format!("{set}/{construction}/{operation}"), set)
            .with("", construction)
            .with("", operation);
        let cells = cells![
            *instructions,
            change.map(|it| percent(it[0])),
            theirs.map(|it| percent(it.0)),
            theirs.map(|it| it.1),
            *stack,
            change.map(|it| fixed(1.0 + it[1], 2)),
        ];
        Row::new(name, cells)
    });
    let columns =
        "instructions | of ML-KEM | thesis, of ML-KEM | of which | stack | of ML-KEM, stack";
    Table::new("one-time KEMs alone", &format!("KEM | construction | operation || {columns}"))
        .note(
            "Of tessera-kem at opt-level 3, next to the same operation of ML-KEM in the same code; the stack in bytes. The thesis' \
             changes are of medians of cycles, in its own code.",
        )
        .rows(rows)
}
