//! The results, for people.

use super::histogram::Histogram;
use super::report::{Cell, Growth, SkippedCell};
use crate::components::{Components, Memory};
use crate::experiment::number;
use crate::variants::Variant;

/// Formats the head of the table of cells at one round-trip time.
pub(super) fn head(rtt_ms: f64) -> String {
    let rtt = format!("round-trip time {rtt_ms} ms");
    format!(
        "\n{rtt:<66} {:>8} first accepted, ms       response, ms             registration CPU µs a connection     server's heap\n\
         {:<52} {:<6} {:>6} {:>8} {:>7} {:>8} {:>8} {:>7} {:>8} {:>8} {:>8} {:>7} {:>7} {:>7} {:>10} {:>10}",
        "requests",
        "row",
        "load",
        "users",
        "a second",
        "p50",
        "p99",
        "p99.9",
        "p50",
        "p99",
        "p99.9",
        "p50 ms",
        "server",
        "TLS",
        "client",
        "open",
        "tickets",
    )
}

/// Formats a row without what all rows share.
fn row(variant: &Variant) -> String {
    let key = variant.key();
    let common = format!("/{}/{}", variant.store.name(), variant.suite.number());
    key.strip_suffix(&common).unwrap_or(&key).to_owned()
}

/// Formats a row of that table, with its failures.
pub(super) fn cell(cell: &Cell) -> String {
    let ms = |histogram: &Histogram, share| {
        histogram.quantile(share).map_or_else(|| "-".to_owned(), |us| number(us / 1e3))
    };
    let bytes = |bytes: Option<i64>| bytes.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let (first, response) = (&cell.first_accepted_us, &cell.response_us);
    let mut line = format!(
        "{:<52} {:<6} {:>6} {:>8} {:>7} {:>8} {:>8} {:>7} {:>8} {:>8} {:>8} {:>7.0} {:>7.0} {:>7.0} {:>10} {:>10}",
        row(&cell.variant),
        cell.kind.name(),
        cell.users,
        number(cell.requests_per_second),
        ms(first, 0.5),
        ms(first, 0.99),
        ms(first, 0.999),
        ms(response, 0.5),
        ms(response, 0.99),
        ms(response, 0.999),
        ms(&cell.registration_us, 0.5),
        cell.server_cpu_us_per_connection,
        cell.server_tls_us_per_connection,
        cell.client_cpu_us_per_connection,
        bytes(cell.server_memory_bytes),
        bytes(cell.vault_bytes),
    );
    if cell.failed > 0 {
        let all = cell.users * cell.reconnections;
        line.push_str(&format!("\n  {} of {all} reconnections failed:", cell.failed));
        for (why, count) in &cell.why_failed {
            line.push_str(&format!("\n    {count}: {why}"));
        }
    }
    line
}

/// Formats the table of growth; empty if there is none.
pub(super) fn growth(growth: &[Growth]) -> String {
    if growth.is_empty() {
        return String::new();
    }
    let mut table =
        "\ngrowth of the server's processor time: exponent of the number of users".to_owned();
    for growth in growth {
        let interval = growth
            .interval
            .map_or_else(String::new, |(low, high)| format!(" (95 %: {low:.3} to {high:.3})"));
        let (row, rtt_ms, exponent) = (row(&growth.variant), growth.rtt_ms, growth.exponent);
        table.push_str(&format!("\n{row:<52} at {rtt_ms} ms: {exponent:.3}{interval}"));
    }
    table
}

/// Formats the table of the memory of one connection.
pub(super) fn memory(memory: &[Memory]) -> String {
    if memory.is_empty() {
        return String::new();
    }
    let mut table = format!(
        "\n{:<52} {:<7} {:<6} {:>12} {:>12} {:>9} {:>7} {:>8} {:>7} {:>9} {:>7} {:>7} {:>7}",
        "memory of one connection, bytes",
        "",
        "",
        "certificates",
        "key exchange",
        "signature",
        "tickets",
        "buffers",
        "rest",
        "allocated",
        "peak",
        "held",
        "vault",
    );
    for memory in memory {
        let Components { certificates, key_exchange, signature, .. } = memory.components;
        let Components { tickets_and_replay_state: tickets, buffers, rest, .. } = memory.components;
        let (connection, side) = (memory.connection.name(), memory.side.name());
        let (row, allocated, vault) = (memory.variant.key(), memory.total, memory.vault_bytes);
        let (peak, held) = (memory.peak.total, memory.held.total);
        table.push_str(&format!(
            "\n{row:<52} {connection:<7} {side:<6} {certificates:>12} {key_exchange:>12} {signature:>9} \
             {tickets:>7} {buffers:>8} {rest:>7} {allocated:>9} {peak:>7} {held:>7} {vault:>7}"
        ));
    }
    table
}

/// Formats a cell that was not run.
pub(super) fn not_run(cell: &SkippedCell) -> String {
    let (row, kind, users) = (row(&cell.variant), cell.kind.name(), cell.users);
    format!("{row:<52} {kind:<6} {users:>6} not run: {}", cell.reason)
}

/// The terms in the tables.
pub(super) const LEGEND: &str = "\
row             the paper's letter, the mode, the key agreement of the handshake, the kind of the one-time
                key, and how the handshake goes on; d' are single-use tickets. All have the suite 0x1302
                and one-time keys in the server's memory
users           reconnect repeatedly, each with a registration of 13 exchanges; storm: all had a
                connection, the server was replaced by another with the same stores, all reconnect at once
first accepted  the server's application has an accepted request, since the user or the storm began
response        the client has the whole response to it
registration    the last of the 13 responses has arrived
server, client  processor time of the process, kernel included, for each reconnection
TLS             the server's in calls of TLS streams, the socket's own calls taken away; no ticket is issued
                meanwhile
heap            what all open connections hold; what the tickets made beforehand hold; counted by programs
                that are built with `--features heap`
memory          of one connection, by what allocated it: everything that was ever allocated, what was held
                when most was held, and what is held when it is idle; in the vault, for one client";
