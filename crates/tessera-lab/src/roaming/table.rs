//! The results, for people.

use std::fmt::Write;

use super::report::{Cell, CellName, Sample, Setup};
use crate::experiment::{number, spread};
use crate::statistics::Median;
use crate::variants::{PaperOption, Variant};
use crate::ways::{Agreement, OneTimeKind};

/// Whether a cell needs another head than the one before it.
pub(super) fn is_under_another_head(last: &CellName, name: &CellName) -> bool {
    last.through != name.through || last.link != name.link
}

/// Formats the head of the rows of one link.
pub(super) fn head(name: &CellName) -> String {
    let through = match name.through {
        Setup::Engine => "in memory".to_owned(),
        Setup::Endpoints => format!("two processes, link {}", name.link),
        Setup::Sepp => format!("two SEPPs, link {}", name.link),
    };
    format!(
        "\n{through} ({unit}, medians ±95 %)\n{WAY_HEAD} {:>5} {:>3} {:>12} {:>12} {:>12} {:>12} {:>9} {:>12} {:>9} \
         {:>11}",
        "n",
        "bad",
        "send",
        "receive",
        "handshake",
        "whole",
        "RTTs",
        "engine cl/s",
        "first fl.",
        "bytes cl/s",
        unit = unit(name).0,
    )
}

const WAY_HEAD: &str = "option mode           kx     key    continues  store  suite ";

/// Returns microseconds without a link, otherwise milliseconds; and the unit in microseconds.
fn unit(name: &CellName) -> (&'static str, f64) {
    match name.through {
        Setup::Engine => ("µs", 1.0),
        Setup::Endpoints | Setup::Sepp => ("ms", 1e3),
    }
}

/// Formats the columns that identify a row.
fn way(variant: &Variant) -> String {
    format!(
        "{:<6} {:<14} {:<6} {:<6} {:<10} {:<6} {}",
        variant.option.letter(),
        variant.mode,
        variant.kx.map_or("none", Agreement::short),
        variant.ticket_key.map_or("-", OneTimeKind::short),
        variant.continuation.map_or("-", |continuation| continuation.name()),
        variant.store.name(),
        variant.suite.number(),
    )
}

/// Formats a row.
pub(super) fn row(cell: &Cell) -> String {
    let (_, unit) = unit(&cell.name);
    let median = |value: fn(&Sample) -> Option<f64>| {
        let median = Median::of(cell.samples.iter().filter_map(value).map(|us| us / unit));
        median.map_or_else(|| "-".to_owned(), |median| spread(&median))
    };
    let us = |value: fn(&Sample) -> Option<f64>| {
        let median = Median::of(cell.samples.iter().filter_map(value));
        median.map_or_else(|| "-".to_owned(), |median| format!("{:.0}", median.value))
    };
    let round_trips =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let count = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |it| it.to_string());
    format!(
        "{} {:>5} {:>3} {:>12} {:>12} {:>12} {:>12} {:>9} {:>12} {:>9} {:>11}",
        way(&cell.name.variant),
        cell.samples.len(),
        cell.failed,
        median(|it| it.send_us),
        median(|it| it.receive_us),
        median(|it| since_tls(it, it.handshake_us)),
        median(whole),
        [cell.round_trips.first_byte, cell.round_trips.response].map(round_trips).join("/"),
        format!("{}/{}", us(|it| it.client_engine_us), us(|it| it.server_engine_us)),
        count(cell.bytes.first_flight),
        [cell.bytes.client, cell.bytes.server].map(count).join("/"),
    )
}

/// Formats a row without numbers.
pub(super) fn not_run(name: &CellName, reason: &str) -> String {
    format!("{} not run: {reason}", way(&name.variant))
}

/// From the client's beginning of TLS to its response.
pub(super) fn whole(sample: &Sample) -> Option<f64> {
    since_tls(sample, sample.response_us)
}

/// Returns a time of a sample without that of TCP before TLS; through SEPPs it is unknown, and included.
fn since_tls(sample: &Sample, moment: Option<f64>) -> Option<f64> {
    Some(moment? - sample.tcp_us.unwrap_or(0.0))
}

/// Formats each row's whole time, and its ratio to that of 0-RTT with X25519 with the same suite, carrier and link:
/// like the factor of the paper's Table 5, but of the whole time instead of the sum of two latencies.
pub(super) fn factors(cells: &[Cell]) -> String {
    let median = |cell: &Cell| Median::of(cell.samples.iter().filter_map(whole));
    let baseline = |of: &Cell| {
        let is_it = |it: &&Cell| {
            it.name.variant.option == PaperOption::ZeroRtt
                && it.name.variant.kx == Some(Agreement::X25519)
                && it.name.variant.suite == of.name.variant.suite
                && it.name.through == of.name.through
                && it.name.link == of.name.link
        };
        cells.iter().find(is_it).and_then(median)
    };
    let mut table = String::new();
    for cell in cells {
        let (Some(base), Some(own)) = (baseline(cell), median(cell)) else { continue };
        let (unit, of_unit) = unit(&cell.name);
        // Writing to a string does not fail.
        let _ = writeln!(
            table,
            "{} {:<9} {:>10} {unit} {:>7.2}x  {}",
            way(&cell.name.variant),
            cell.name.through.name(),
            number(own.value / of_unit),
            own.value / base.value,
            cell.name.link,
        );
    }
    if table.is_empty() {
        return "\nNo factors: the 0-RTT next to a cell (option d, x25519) was never measured."
            .to_owned();
    }
    format!("\nwhole time, and how many times that of 0-RTT (option d, x25519)\n{table}")
}

/// The terms in the tables.
pub(super) const LEGEND: &str = "\
option       the paper's: a full handshake, b psk_ke, c psk_dhe_ke, d 0-RTT without a register, d' the
             same with tickets of a single use, e forward-secret 0-RTT
kx, key      how the handshake agrees a key, and the kind of the ticket's one-time key; hybrid is
             X25519MLKEM768, psk a one-time PSK
store        where the server's one-time keys lie
n, bad       how many reconnections count, and how many failed besides
send         from the client's beginning of TLS until the server's application holds the request
receive      from the arrival of the flight with the request until the client holds the response
handshake    from the client's beginning of TLS until its handshake is complete
whole        from the client's beginning of TLS to the response: send and receive, of which both have
             the server's work on the request's flight; through SEPPs from a network function's first
             request to its answer, TCP between the SEPPs included
RTTs         round trips until first byte/response, TCP's included where there is TCP
engine       time inside the TLS engine: of the clock in memory, of the processor elsewhere
first fl.    bytes that the client sends before anything comes; bytes: all of a connection";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roaming::{grid, samples};
    use crate::variants::Store;

    fn cell(name: &CellName, response_us: f64) -> Cell {
        let sample =
            Sample { tcp_us: Some(1_000.0), response_us: Some(response_us), ..Sample::default() };
        samples::cell(name.clone(), sample, 3)
    }

    /// A factor has TCP in neither of its sides.
    #[test]
    fn factors_compare_with_the_0rtt_of_the_same_link_and_suite() {
        let names = grid::cells();
        let find = |option, start: &str| {
            let it = |name: &&CellName| {
                name.variant.option == option
                    && name.variant.store == Store::Memory
                    && name.key().starts_with(start)
            };
            names.iter().find(it).unwrap()
        };
        let base = find(PaperOption::ZeroRtt, "endpoints/");
        let full = find(PaperOption::Full, "endpoints/");
        let elsewhere = find(PaperOption::Full, "engine/");
        let cells = [cell(full, 5_000.0), cell(base, 2_000.0), cell(elsewhere, 9_000.0)];
        let table = factors(&cells);
        let lines: Vec<_> = table.lines().skip(2).collect();
        assert_eq!(lines.len(), 2, "{table}");
        assert!(lines[0].starts_with("a ") && lines[0].contains(" 4.00x"), "{table}");
        assert!(lines[1].starts_with("d ") && lines[1].contains(" 1.00x"), "{table}");
        assert!(factors(&cells[2..]).contains("No factors"));
    }

    #[test]
    fn a_rows_columns_are_under_their_heads() {
        let name = &grid::cells()[0];
        let (head, row) = (head(name), row(&cell(name, 2_000.0)));
        let head = head.lines().last().unwrap();
        assert_eq!(head.chars().count(), row.chars().count(), "{head}\n{row}");
    }
}
