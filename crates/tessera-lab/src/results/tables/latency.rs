//! The engine alone, without distance: the paper's Table 5 and Figs. 8 and 9, with parts that it adds up.

use tessera_reports::roaming::{Cell, Setup};
use tessera_reports::{KeyExchange, Letter, Sample, Store, Suite};

use crate::names;
use crate::numbers::fixed;
use crate::results::input::Inputs;
use crate::results::{numbers, paper};
use crate::table::{Table, cells};

/// Returns the paper's total: the sum of both latencies of a sample.
pub(super) fn total(sample: &Sample) -> Option<f64> {
    Some(sample.send_us? + sample.receive_us?)
}

/// Table 5, the paper's next to ours.
pub(super) fn table_5(inputs: &Inputs) -> Option<Table> {
    let cells: Vec<_> = inputs.plain(Setup::Engine).collect();
    let mut table = Table::with_note(
        "Medians in µs with their 95 % confidence intervals, both ends in one process, no link; sending and \
         receiving as the paper's Fig. 8 has them. The factor is that of the totals, to (d) with X25519. (e) with \
         psk_ke generates and sends a key share that is not used: with one-time PSKs one of X25519MLKEM768.",
        "option | n | send | receive | total | factor | paper: send | paper: receive | paper: total | \
         paper: factor",
    );
    let value = |cell: &Cell| numbers::median(cell, total).map(|median| median.value);
    let baseline = cells.iter().find(|cell| is_baseline(cell)).and_then(|cell| value(cell));
    for cell in cells {
        let variant = &cell.name.variant;
        let factor = baseline.and_then(|baseline| Some(value(cell)? / baseline));
        let mut cells = cells![
            cell.samples.len(),
            numbers::median(cell, |sample| sample.send_us),
            numbers::median(cell, |sample| sample.receive_us),
            numbers::median(cell, total),
            numbers::factor(factor),
        ];
        let papers = paper::latency(variant.option);
        for place in 0..3 {
            cells.push(papers.map(|papers| fixed(papers[place], 0)).into());
        }
        cells.push(numbers::factor(papers.map(|papers| papers[3])).into());
        table.row(names::variant(variant), cells);
    }
    table.unless_empty()
}

/// The paper's baseline: (d), with its key exchange.
pub(super) fn is_baseline(cell: &Cell) -> bool {
    let variant = &cell.name.variant;
    variant.option == Letter::D && variant.kx == Some(KeyExchange::X25519)
}

/// The parts of the paper's totals: the times of the first byte, the handshake and the response, and the engines' work.
pub(super) fn moments(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "Medians in µs since the client began, with their 95 % confidence intervals; the engine's work at each \
         end, and of both together. Round trips are those of TLS: there is no TCP here. (e) with psk_ke \
         generates and sends a key share that is not used: with one-time PSKs one of X25519MLKEM768.",
        "option | first byte accepted | handshake complete | response | client's engine | server's engine | \
         both engines | round trips to the first byte | to the response",
    );
    for cell in inputs.plain(Setup::Engine) {
        let engines = |sample: &Sample| Some(sample.client_engine_us? + sample.server_engine_us?);
        let trips = |trips: Option<f64>| trips.map(|trips| fixed(trips, 1));
        table.row(
            names::variant(&cell.name.variant),
            cells![
                numbers::median(cell, |sample| sample.first_byte_us),
                numbers::median(cell, |sample| sample.handshake_us),
                numbers::median(cell, |sample| sample.response_us),
                numbers::median(cell, |sample| sample.client_engine_us),
                numbers::median(cell, |sample| sample.server_engine_us),
                numbers::median(cell, engines),
                trips(cell.round_trips.first_byte),
                trips(cell.round_trips.response),
            ],
        );
    }
    table.unless_empty()
}

/// What the paper's suite can mean, next to the one that every implementation has.
pub(super) fn suites(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "TLS_AES_256_GCM_SHA384 (0x1302) is what the paper's suite, which doesn't exist, can mean; \
         TLS_AES_128_GCM_SHA256 (0x1301) is mandatory. Medians in µs until the response, in one process.",
        "option | 0x1302 | 0x1301 | ratio",
    );
    let response = |sample: &Sample| sample.response_us;
    for cell in inputs.plain(Setup::Engine) {
        let other = other(inputs, cell, Suite::Aes128GcmSha256, Store::Memory);
        beside(&mut table, cell, other, response);
    }
    table.unless_empty()
}

/// One-time keys in the server's memory, and in an etcd close to it.
pub(super) fn stores(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "Where one-time keys lie: the server's memory, or etcd on the same machine. Medians in µs until the \
         response, in one process.",
        "option | memory | etcd | ratio",
    );
    let response = |sample: &Sample| sample.response_us;
    for cell in inputs.plain(Setup::Engine) {
        if cell.name.variant.mode.has_one_time_key() {
            let other = other(inputs, cell, Suite::Aes256GcmSha384, Store::Etcd);
            beside(&mut table, cell, other, response);
        }
    }
    table.unless_empty()
}

/// Returns the cell of the same way with another suite or store.
fn other<'a>(inputs: &'a Inputs, cell: &Cell, suite: Suite, store: Store) -> Option<&'a Cell> {
    inputs.cells(Setup::Engine).find(|other| {
        let variant = &other.name.variant;
        names::same_way(variant, &cell.name.variant)
            && (variant.suite, variant.store) == (suite, store)
            && other.name.link == cell.name.link
    })
}

/// A row of two cells, if both are there.
fn beside(table: &mut Table, one: &Cell, other: Option<&Cell>, field: numbers::Field) {
    let median = |cell| numbers::median(cell, field);
    let (Some(first), Some(second)) = (median(one), other.and_then(median)) else { return };
    let ratio = numbers::factor(Some(second.value / first.value));
    table.row(names::variant(&one.name.variant), cells![first, second, ratio]);
}
