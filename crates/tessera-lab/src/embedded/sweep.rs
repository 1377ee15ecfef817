//! The modelled time of some suites over many links.

use super::link::{Link, OF_THE_THESIS, times};
use super::report::Report;
use super::suite_tables::{MODEL, ratio};
use super::suites::{BASELINE, RAW_ED25519, Suite, SuiteName, known_key, with_chain};
use super::thesis::{BEST, BEST_CCA};
use crate::numbers::rate;
use crate::table::{Cell, Name, Row, Table};

/// The suites.
pub(super) const SUITES: [SuiteName<'_>; 9] = [
    BEST,
    BEST_CCA,
    with_chain("ML-KEM-512", "ML-DSA-44", "ML-KEM-512"),
    with_chain("ML-KEM-512", "ML-DSA-44", "ML-DSA-44"),
    with_chain("X25519MLKEM768", "P-256", "P-256"),
    RAW_ED25519,
    known_key("X25519"),
    known_key("ML-KEM-768"),
    known_key("one-time ML-KEM-768"),
];

const RTTS_MS: [f64; 5] = [1.0, 10.0, 50.0, 150.0, 600.0];
const RATES: [f64; 4] = [20e3, 250e3, 2e6, 20e6];

/// Returns all links with an MTU, each with its name.
pub(super) fn links(mtu: u32) -> impl Iterator<Item = (Name, Link)> {
    RATES.into_iter().flat_map(move |bits_a_second| {
        RTTS_MS.into_iter().map(move |rtt_ms| {
            let rate = rate(bits_a_second as u64);
            let name = Name::new(format!("{mtu}/{rate}/{rtt_ms}"), rate)
                .with("RTT", format!("{rtt_ms} ms"));
            (name, Link { rtt_ms, bits_a_second, mtu })
        })
    })
}

/// Returns the suites that were measured.
pub(super) fn measured(report: &Report) -> Vec<&Suite> {
    SUITES.into_iter().filter_map(|it| report.suite(it)).collect()
}

/// Both metrics over all links with an MTU, as ratios to the baseline over the same link.
pub(super) fn table(report: &Report, mtu: u32) -> Table {
    let Some(base) = report.suite(BASELINE) else { return Table::default() };
    let suites = measured(report);
    let rows = links(mtu).map(|(name, link)| {
        let of = times(base, &link);
        let cells = suites.iter().map(|suite| {
            let is = times(suite, &link);
            let [first, explicit] = [0, 1].map(|metric| ratio(is[metric], of[metric]));
            Cell::from(if first == explicit { first } else { format!("{first} / {explicit}") })
        });
        Row::new(name, cells)
    });
    let columns: Vec<_> = suites.iter().map(|it| it.name().words()).collect();
    let title = format!("over links with an MTU of {mtu} bytes");
    Table::new(title, &format!("rate | RTT || {}", columns.join(" | ")))
        .note(format!(
            "Modelled time to first data / to explicit authentication, where they differ, of X25519 / Ed25519 / Ed25519 over \
             the same link; packets of up to {mtu} bytes. What is longer than {} bytes, the first window (RFC 6928), takes a \
             further round trip. {MODEL}",
            Link { mtu, ..OF_THE_THESIS }.initial_window()
        ))
        .rows(rows)
}
