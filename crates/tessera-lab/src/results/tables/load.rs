//! Many users, storms, growth, and the memory of a connection.

use crate::components::{Kind as Connection, Memory};
use crate::load::report::Cell;
use crate::load::{Histogram, Kind};
use crate::page::words;
use crate::results::input::{Inputs, asked, success_of_load};
use crate::results::table::Table;
use crate::results::{names, numbers, paper};

/// Users that reconnect repeatedly.
pub(super) fn users(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::new(
        "Each user comes back with one registration each time. Times in ms: p50 / p99 / p99.9 / the longest, in \
         buckets of 1 %; what needs more samples (p99 100, p99.9 1,000) is –. Processor time in µs for each \
         connection.",
        &[
            "option, users",
            "RTT, ms",
            "connections",
            "success",
            "requests a second",
            "first byte accepted",
            "registration",
            "server",
            "of it TLS",
            "client",
            "server's memory, bytes",
        ],
    );
    for cell in cells(inputs, Kind::Users) {
        table.row(
            format!("{}: {}", names::variant(&cell.variant), cell.users),
            [
                words::plain(cell.rtt_ms),
                asked(cell).to_string(),
                numbers::success(success_of_load(cell)),
                numbers::short(Some(cell.requests_per_second)),
                quantiles(&cell.first_accepted_us),
                quantiles(&cell.registration_us),
                numbers::short(Some(cell.server_cpu_us_per_connection)),
                numbers::short(Some(cell.server_tls_us_per_connection)),
                numbers::short(Some(cell.client_cpu_us_per_connection)),
                numbers::bytes(cell.server_memory_bytes.map(|it| it as f64)),
            ],
        );
    }
    table.unless_empty()
}

/// All connections at once, to a server that was replaced.
pub(super) fn storm(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::new(
        "All connections come back at once. Times in ms since the storm began: p50 / p99 / p99.9 / the longest; what \
         needs more samples is –. Processor time of the server in µs for each connection. The vault's bytes are \
         those of the tickets made beforehand.",
        &[
            "option, connections",
            "RTT, ms",
            "success",
            "first byte accepted",
            "response",
            "server",
            "of it TLS",
            "server's memory, bytes",
            "vault, bytes a ticket",
        ],
    );
    for cell in cells(inputs, Kind::Storm) {
        table.row(
            format!("{}: {}", names::variant(&cell.variant), cell.users),
            [
                words::plain(cell.rtt_ms),
                numbers::success(success_of_load(cell)),
                quantiles(&cell.first_accepted_us),
                quantiles(&cell.response_us),
                numbers::short(Some(cell.server_cpu_us_per_connection)),
                numbers::short(Some(cell.server_tls_us_per_connection)),
                numbers::bytes(cell.server_memory_bytes.map(|it| it as f64)),
                numbers::bytes(vault_bytes(cell)),
            ],
        );
    }
    table.unless_empty()
}

/// Whether the server's work grows faster than the number of users.
pub(super) fn growth(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::new(
        "The exponent k of the server's processor time = c · usersᵏ, by least squares of the logarithms; 1 is \
         linear.",
        &["option", "RTT, ms", "exponent", "95 % confidence interval"],
    );
    for growth in inputs.load.iter().flat_map(|load| &load.growth) {
        let interval = growth
            .interval
            .map_or_else(numbers::nothing, |(low, high)| format!("{low:.3} to {high:.3}"));
        table.row(
            names::variant(&growth.variant),
            [words::plain(growth.rtt_ms), format!("{:.3}", growth.exponent), interval],
        );
    }
    table.unless_empty()
}

/// Fig. 10: the memory of a connection, by component.
pub(super) fn memory(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::new(
        "Bytes that were allocated for one connection, given back or not, each under the component that did; all \
         is their sum. Beside it: the most that was held at once, and what the idle connection holds. What the \
         server's vault keeps stands apart. Where a report has a connection several times, \
         the first counts. The paper doesn't say whose memory its number is: it stands beside both sides.",
        &[
            "option, connection, side",
            "certificates",
            "key exchange",
            "signature",
            "tickets and replay state",
            "buffers",
            "rest",
            "all",
            "most at once",
            "idle",
            "vault",
            "paper, KB",
        ],
    );
    for memory in inputs.load.iter().flat_map(|load| &load.memory) {
        let made = &memory.components;
        let bytes = [
            made.certificates,
            made.key_exchange,
            made.signature,
            made.tickets_and_replay_state,
            made.buffers,
            made.rest,
            memory.total,
            memory.peak.total,
            memory.held.total,
            memory.vault_bytes,
        ];
        let name = names::variant(&memory.variant);
        table.row(
            format!("{name}: {}, {}", memory.connection.name(), memory.side.name()),
            bytes.map(|bytes| bytes.to_string()).into_iter().chain([papers(memory)]),
        );
    }
    table.unless_empty()
}

/// Returns the paper's numbers for the same kind of connection.
fn papers(memory: &Memory) -> String {
    let [new, resumed] = paper::memory(memory.variant.option);
    let number = match memory.connection {
        Connection::New => new,
        Connection::Resumed => resumed,
    };
    number.map_or_else(numbers::nothing, |kilobytes| format!("{kilobytes:.1}"))
}

fn cells(inputs: &Inputs, kind: Kind) -> impl Iterator<Item = &Cell> {
    let cells = inputs.load.iter().flat_map(|load| &load.cells);
    cells.filter(move |cell| cell.kind == kind)
}

/// Returns the memory of a ticket in the vault; `None` without tickets.
fn vault_bytes(cell: &Cell) -> Option<f64> {
    cell.vault_bytes.filter(|_| cell.tickets > 0).map(|it| it as f64 / cell.tickets as f64)
}

fn quantiles(times: &Histogram) -> String {
    let known = [0.5, 0.99, 0.999].map(|share| numbers::known_quantile(times, share));
    let shown = known.into_iter().chain([times.quantile(1.0)]);
    let shown: Vec<_> = shown.map(|us| numbers::short(us.map(|us| us / 1e3))).collect();
    shown.join(" / ")
}
