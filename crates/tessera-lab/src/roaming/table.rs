//! The results as tables, and the terms in them.

use tessera_reports::roaming::{Cell, CellName, Setup};
use tessera_reports::{Continuation, KeyExchange, Letter, OneTimeKey, Sample, Store, Variant};

use crate::numbers::{NOTHING, fixed};
use crate::statistics::Median;
use crate::table::{Cell as Entry, Name, Row, Table, cells};

/// The columns of a cell's name.
const NAME: &str = "option:18 | kx:6 | key:6 | continues:10 | store:6 | suite:6";

/// Whether a cell needs another head than the one before it.
pub(super) fn is_under_another_head(last: &CellName, name: &CellName) -> bool {
    last.through != name.through || last.link != name.link
}

/// Describes what carries a cell.
pub(super) fn carrier(name: &CellName) -> String {
    match name.through {
        Setup::Engine => "in memory".to_owned(),
        Setup::Endpoints => format!("two processes, link {}", name.link),
        Setup::Sepp => format!("two SEPPs, link {}", name.link),
    }
}

/// Returns microseconds without a link, otherwise milliseconds; and the unit in microseconds.
pub(super) fn unit(name: &CellName) -> (&'static str, f64) {
    match name.through {
        Setup::Engine => ("µs", 1.0),
        Setup::Endpoints | Setup::Sepp => ("ms", 1e3),
    }
}

/// Returns the table of the cells under one head, without rows.
pub(super) fn cells(first: &CellName) -> Table {
    let (unit, _) = unit(first);
    let columns = format!(
        "{NAME} || n:5 | failed:6 | TCP, {unit}:- | send, {unit}:11 | receive, {unit}:11 | first byte, {unit}:- | \
         handshake, {unit}:11 | response, {unit}:- | whole, {unit}:11 | client engine, µs:9 | server engine, µs:9 | \
         client process, µs:- | server process, µs:- | RTTs to first byte:6 | RTTs to response:8 | \
         first flight, bytes:6 | client, bytes:6 | server, bytes:6 | a ticket at the server, µs:-"
    );
    Table::new(format!("{}: medians, and their 95 % intervals", carrier(first)), &columns)
}

/// Returns its row of a cell.
pub(super) fn row(cell: &Cell) -> Row {
    let (_, unit) = unit(&cell.name);
    let us = |value: fn(&Sample) -> Option<f64>| Median::of(cell.samples.iter().filter_map(value));
    let time = |value: fn(&Sample) -> Option<f64>| {
        Median::of(cell.samples.iter().filter_map(value).map(|us| us / unit))
    };
    Row::new(
        name(&cell.name),
        cells![
            cell.samples.len(),
            Entry::from(cell.failed).bad_if(cell.failed > 0),
            time(|it| it.tcp_us),
            time(|it| it.send_us),
            time(|it| it.receive_us),
            time(|it| it.first_byte_us),
            time(|it| it.handshake_us),
            time(|it| it.response_us),
            time(whole),
            us(|it| it.client_engine_us),
            us(|it| it.server_engine_us),
            us(|it| it.client_cpu_us),
            us(|it| it.server_cpu_us),
            cell.round_trips.first_byte.map(|trips| fixed(trips, 2)),
            cell.round_trips.response.map(|trips| fixed(trips, 2)),
            cell.bytes.first_flight,
            cell.bytes.client,
            cell.bytes.server,
            cell.issuing.map(|issuing| issuing.server_us),
        ],
    )
}

/// Returns the name of a cell's variant, with the key of the cell.
pub(super) fn name(name: &CellName) -> Name {
    let Variant { option, mode, kx, ticket_key, continuation, store, suite } = name.variant;
    let store = if mode.has_one_time_key() { store.name() } else { NOTHING };
    Name::new(name.key(), format!("({}) {}", option.letter(), mode.name()))
        .with("key exchange", kx.map_or("none", KeyExchange::short))
        .with("one-time key", ticket_key.map_or(NOTHING, OneTimeKey::short))
        .with("", continuation.map_or(NOTHING, Continuation::name))
        .with("keys in", store)
        .with("", suite.number())
}

/// From the client's beginning of TLS to its response; through SEPPs TCP's time is unknown, and included.
pub(super) fn whole(sample: &Sample) -> Option<f64> {
    Some(sample.response_us? - sample.tcp_us.unwrap_or(0.0))
}

/// Returns each row's whole time, and its ratio to that of 0-RTT with X25519 with the same suite, carrier and link: like
/// the factor of the paper's Table 5, but of the whole time instead of the sum of two latencies. `None` where no cell has
/// that 0-RTT next to it.
pub(super) fn factors(cells: &[Cell]) -> Option<Table> {
    let rows = cells.iter().filter_map(|cell| {
        let (unit, of_unit) = unit(&cell.name);
        let (own, factor) = (median(cell)?.value, factor(cell, cells)?);
        let mut name = name(&cell.name);
        name.details.push(("", cell.name.through.name().to_owned()));
        name.details.push(("", cell.name.link.to_string()));
        Some(Row::new(name, cells![own / of_unit, unit, format!("{factor:.2}x")]))
    });
    let columns = format!("{NAME} | through | link || whole | | factor");
    let title = "whole time, and how many times that of 0-RTT (option d, x25519)";
    Table::new(title, &columns).rows(rows).unless_empty()
}

/// In place of factors.
pub(super) const NO_FACTORS: &str =
    "No factors: the 0-RTT next to a cell (option d, x25519) was never measured.";

fn median(cell: &Cell) -> Option<Median> {
    Median::of(cell.samples.iter().filter_map(whole))
}

/// Returns how many times the whole time of 0-RTT with X25519 a cell takes.
pub(super) fn factor(of: &Cell, cells: &[Cell]) -> Option<f64> {
    let is_it = |it: &&Cell| {
        it.name.variant.option == Letter::D
            && it.name.variant.kx == Some(KeyExchange::X25519)
            && it.name.variant.suite == of.name.variant.suite
            && it.name.through == of.name.through
            && it.name.link == of.name.link
    };
    Some(median(of)?.value / median(cells.iter().find(is_it)?)?.value)
}

/// Whether a cell has forward-secret early data as close to that 0-RTT as can be: one-time keys of the same kind, in
/// memory, and no other key exchange.
pub(super) fn is_nearest(cell: &Cell) -> bool {
    let Variant { ticket_key, continuation, store, .. } = cell.name.variant;
    ticket_key == Some(OneTimeKey::X25519)
        && (continuation, store) == (Some(Continuation::PskKe), Store::Memory)
}

/// The terms in the tables.
pub(super) const LEGEND: &str = "
option           the paper's: (a) full handshake, (b) psk_ke, (c) psk_dhe_ke, (d) 0-RTT without a
                 register, (d') the same with tickets of a single use, (e) forward-secret 0-RTT. Tickets
                 were made beforehand
kx, key          how the handshake agrees a key, and the kind of the ticket's one-time key; hybrid is
                 X25519MLKEM768, psk a one-time PSK
store            where the server's one-time keys lie
n, failed        how many reconnections count, and how many failed besides
send             from the client's beginning of TLS until the server's application holds the request
receive          from the arrival of the flight with the request until the client holds the response
TCP, first byte  handshake, response: since the client began, TCP included; the handshake is complete at
                 the client
whole            from the client's beginning of TLS to the response: send and receive, of which both
                 have the server's work on the request's flight; through SEPPs from a network function's
                 first request to its answer, TCP between the SEPPs included
RTTs             round trips until first byte/response, TCP's included where there is TCP
engine           time inside the TLS engine: of the clock in memory, of the processor elsewhere
first flight     bytes that the client sends before anything comes; client, server: all of a connection";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roaming::{grid, samples};
    use crate::table::terminal;

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
        let base = find(Letter::D, "endpoints/");
        let full = find(Letter::A, "endpoints/");
        let elsewhere = find(Letter::A, "engine/");
        let cells = [cell(full, 5_000.0), cell(base, 2_000.0), cell(elsewhere, 9_000.0)];
        let table = terminal::table(&factors(&cells).unwrap());
        let lines: Vec<_> = table.lines().skip(3).collect();
        assert_eq!(lines.len(), 2, "{table}");
        assert!(lines[0].starts_with("(a) ") && lines[0].contains(" 4.00x"), "{table}");
        assert!(lines[1].starts_with("(d) ") && lines[1].contains(" 1.00x"), "{table}");
        assert_eq!(factors(&cells[2..]), None);
    }

    #[test]
    fn a_rows_columns_are_under_their_heads() {
        let name = &grid::cells()[0];
        let table = cells(name);
        let (head, row) =
            (terminal::head(&table), terminal::row(&table, &row(&cell(name, 2_000.0))));
        let head = head.lines().last().unwrap();
        assert_eq!(head.chars().count(), row.chars().count(), "{head}\n{row}");
    }
}
