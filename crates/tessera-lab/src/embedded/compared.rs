//! The suites of the thesis next to ours.

use super::link::{OF_THE_THESIS, times};
use super::report::Report;
use super::suite_tables::{MODEL, ratio, words};
use super::suites::BASELINE;
use super::thesis::{HANDSHAKES, is_left_out, ratios};
use crate::numbers::fixed;
use crate::table::{Cell, Row, Table, cells};

/// Each of its suites, by both metrics: its milliseconds, and its and our ratios to X25519 / Ed25519 / Ed25519.
pub(super) fn table(report: &Report) -> Table {
    let Some(base) = report.suite(BASELINE) else { return Table::default() };
    let base_times = times(base, &OF_THE_THESIS);
    let rows = HANDSHAKES.iter().map(|handshake| {
        let suite = report.suite(handshake.suite);
        let times = suite.map(|it| times(it, &OF_THE_THESIS));
        let theirs = ratios(handshake);
        let cells = (0..2).flat_map(|metric| {
            let time = times.map(|it| ratio(it[metric], base_times[metric]));
            let work = suite.map(|it| {
                let [is, of] = [it, base].map(|it| it.work()[metric].instructions as f64);
                ratio(is, of)
            });
            let ours = if is_left_out(handshake.suite) {
                cells!["left out", "left out"]
            } else {
                cells![time, work]
            };
            [Cell::from(fixed(handshake.ms[metric], 2)), fixed(theirs[metric], 3).into()]
                .into_iter()
                .chain(ours)
        });
        Row::new(handshake.suite.row(), cells)
    });
    let columns = "thesis, first data, ms | its ratio | our ratio, modelled time | our ratio, instructions | thesis, explicit, ms \
                   | its ratio, explicit | ours, modelled time, explicit | ours, instructions, explicit";
    Table::new("the thesis next to ours", &format!("key exchange | CA | leaf | mode || {columns}"))
        .note(format!(
            "Ratios are to X25519 / Ed25519 / Ed25519, by the same metric. The milliseconds are the thesis', of its board and \
             Wi-Fi: medians of the fastest 1,000 handshakes of each suite. {MODEL} {}. In the thesis explicit authentication \
             comes 50.7 to 54.1 ms after first data with a leaf of ML-KEM, whatever the other algorithms, with a round trip below \
             10 ms and a decapsulation below 0.1 ms at the server: most likely that is a delayed acknowledgement with Nagle's \
             algorithm, which neither of its programs turns off, and not cryptography. In the model it is a round trip and the \
             work. Left out of ours: X448, P-384 and P-521, Ed448, HQC, SPHINCS+, and its MACs but \
             Poly1305.",
            words(&OF_THE_THESIS)
        ))
        .rows(rows)
}
