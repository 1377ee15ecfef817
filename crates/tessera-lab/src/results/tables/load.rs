//! Many users, storms, growth, and the memory of a connection.

use tessera_reports::load::Kind;

use crate::components::{Kind as Connection, Memory};
use crate::load::Histogram;
use crate::load::report::Cell as LoadCell;
use crate::load::table::{growth as growth_of, memory as memory_of};
use crate::names;
use crate::numbers::{count, fixed, plain};
use crate::results::input::{Inputs, asked, success_of_load};
use crate::results::{numbers, paper};
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
        "All connections come back at once. Times in ms since the storm began: p50 / p99 / p99.9 / the longest; what \
         needs more samples is –. Processor time of the server in µs for each connection. The vault's bytes are \
         those of the tickets made beforehand.",
        "option, connections | RTT, ms | success | first byte accepted | response | server | of it TLS | \
         server's memory, bytes | vault, bytes a ticket",
    );
    for cell in cells_of(inputs, Kind::Storm) {
        table.row(
            format!("{}: {}", names::variant(&cell.variant), count(cell.users)),
            cells![
                plain(cell.rtt_ms),
                success(cell),
                quantiles(&cell.first_accepted_us),
                quantiles(&cell.response_us),
                cell.server_cpu_us_per_connection,
                cell.server_tls_us_per_connection,
                cell.server_memory_bytes,
                vault_bytes(cell).map(|bytes| fixed(bytes, 0)),
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
    let known = [0.5, 0.99, 0.999].map(|share| numbers::known_quantile(times, share));
    let shown = known.into_iter().chain([times.quantile(1.0)]);
    let shown: Vec<_> = shown.map(|us| numbers::short(us.map(|us| us / 1e3))).collect();
    shown.join(" / ")
}
