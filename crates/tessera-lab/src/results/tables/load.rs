//! Many users, storms, growth, and the memory of a connection.

use tessera_reports::Summary;
use tessera_reports::load::Kind;

use crate::components::{Kind as Connection, Memory};
use crate::load::Histogram;
use crate::load::report::Cell as LoadCell;
use crate::load::storms::{Storms, storms};
use crate::load::table::{growth as growth_of, memory as memory_of};
use crate::names;
use crate::numbers::{count, fixed, plain};
use crate::results::input::{Inputs, asked, success_of_load, success_of_storms};
use crate::results::{numbers, paper};
use crate::statistics::Median;
use crate::table::{Cell, Table, cells};

/// Users that reconnect repeatedly.
pub(super) fn users(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "Each user comes back with one registration each time. Times in ms: p50 / p99 / p99.9 / the longest, in \
         buckets of 1 %; what needs more samples (p99 100, p99.9 1,000) is –. Processor time in µs for each \
         connection.",
        "option, users | RTT, ms | connections | success | requests a second | first byte accepted | \
         registration | server | of it TLS | client | server's memory, bytes",
    );
    for cell in cells_of(inputs, Kind::Users) {
        table.row(
            format!("{}: {}", names::variant(&cell.variant), count(cell.users)),
            cells![
                plain(cell.rtt_ms),
                asked(cell),
                success(cell),
                cell.requests_per_second,
                quantiles(&cell.first_accepted_us),
                quantiles(&cell.registration_us),
                cell.server_cpu_us_per_connection,
                cell.server_tls_us_per_connection,
                cell.client_cpu_us_per_connection,
                cell.server_memory_bytes,
            ],
        );
    }
    table.unless_empty()
}

/// All connections at once, to a server that was replaced.
pub(super) fn storm(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "All connections come back at once. Times in ms since the storm began: the median connection's, and of all \
         connections p99 / p99.9 / the longest; what needs more samples is –. Processor time of the server in µs for each \
         connection; its TLS work is also shown as a share of that for (a) in the same round, with the same key exchange or \
         else X25519. Where storms ran several times, each number is the median of the rounds, ± the longer way to an end of \
         its 95 % confidence interval. The vault's bytes are those of the tickets made beforehand.",
        "option, connections | RTT, ms | rounds | success | first byte accepted | of all | response | of all | server | \
         of it TLS | TLS, of (a)'s | server's memory, bytes | vault, bytes a ticket",
    );
    let load = inputs.load.as_ref()?;
    let ms = |us: Summary| Median::from(us).divided_by(1e3);
    let tail = |times: fn(&LoadCell) -> &Histogram, storms: &Storms<'_>| {
        let [_, tail @ ..] = quantiles_of(&Histogram::merge(storms.measures().map(times)));
        tail.join(" / ")
    };
    for (storms, summary) in storms(&load.cells).iter().zip(&load.storms) {
        let share = success_of_storms(storms);
        let is_bad = storms.all.iter().any(|cell| !cell.succeeded());
        let bytes = storms.over_rounds(|cell| cell.server_memory_bytes.map(|it| it as f64));
        table.row(
            format!("{}: {}", names::variant(&summary.variant), count(summary.users)),
            cells![
                plain(summary.rtt_ms),
                summary.rounds,
                Cell::from(numbers::success(share)).bad_if(is_bad),
                summary.first_accepted_us.map(ms),
                tail(|cell| &cell.first_accepted_us, storms),
                summary.response_us.map(ms),
                tail(|cell| &cell.response_us, storms),
                summary.server_cpu_us_per_connection.map(Median::from),
                summary.server_tls_us_per_connection.map(Median::from),
                summary.tls_work_of_full.map(Median::from),
                bytes.map(|bytes| bytes.median.round() as i64),
                storms.over_rounds(vault_bytes).map(|bytes| fixed(bytes.median, 0)),
            ],
        );
    }
    table.unless_empty()
}

/// Whether the server's work grows faster than the number of users.
pub(super) fn growth(inputs: &Inputs) -> Option<Table> {
    let table = growth_of(&inputs.load.as_ref()?.growth).note(
        "The exponent k of the server's processor time = c · usersᵏ, by least squares of the logarithms; 1 is \
         linear.",
    );
    table.unless_empty()
}

/// Fig. 10: the memory of a connection, by component.
pub(super) fn memory(inputs: &Inputs) -> Option<Table> {
    let memory = &inputs.load.as_ref()?.memory;
    let mut table = memory_of(memory).and(["paper, KB"]).note(
        "Bytes that were allocated for one connection, given back or not, each under the component that did; all \
         is their sum. Next to it: the most that was held at once, and what the idle connection holds. What the \
         server's vault keeps stands apart. Where a report has a connection several times, \
         the first counts. The paper doesn't state whose memory its number is: it is next to both sides'.",
    );
    for (row, memory) in table.rows.iter_mut().zip(memory) {
        row.cells.push(papers(memory).into());
    }
    table.unless_empty()
}

/// Returns the paper's numbers for the same kind of connection.
fn papers(memory: &Memory) -> Option<String> {
    let [new, resumed] = paper::memory(memory.variant.option);
    let number = match memory.connection {
        Connection::New => new,
        Connection::Resumed => resumed,
    };
    number.map(|kilobytes| fixed(kilobytes, 1))
}

/// Returns how many reconnections succeeded; too few are bad.
fn success(cell: &LoadCell) -> Cell {
    Cell::from(numbers::success(success_of_load(cell))).bad_if(!cell.succeeded())
}

fn cells_of(inputs: &Inputs, kind: Kind) -> impl Iterator<Item = &LoadCell> {
    let cells = inputs.load.iter().flat_map(|load| &load.cells);
    cells.filter(move |cell| cell.kind == kind)
}

/// Returns the memory of a ticket in the vault; `None` without tickets.
fn vault_bytes(cell: &LoadCell) -> Option<f64> {
    cell.vault_bytes.filter(|_| cell.tickets > 0).map(|it| it as f64 / cell.tickets as f64)
}

fn quantiles(times: &Histogram) -> String {
    quantiles_of(times).join(" / ")
}

/// Returns the median, p99, p99.9 and the longest, in ms.
fn quantiles_of(times: &Histogram) -> [String; 4] {
    let [median, p99, p999] = [0.5, 0.99, 0.999].map(|it| numbers::known_quantile(times, it));
    [median, p99, p999, times.quantile(1.0)].map(|us| numbers::short(us.map(|us| us / 1e3)))
}
