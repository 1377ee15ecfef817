//! The results as tables, and the terms in them.

use tessera_reports::load::Kind;
use tessera_reports::{Summary, Variant};

use super::histogram::Histogram;
use super::report::{Cell, Growth, StormSummary};
use crate::components::{Components, Memory};
use crate::names;
use crate::numbers::{count, fixed, plain};
use crate::statistics::Median;
use crate::table::{Cell as Entry, Name, Row, Table, cells};

/// Returns the table of cells at one round-trip time, without rows.
pub(super) fn cells(rtt_ms: f64) -> Table {
    let columns = "row:52 | load:8 | users:6 || requests a second:8 | first accepted, ms: p50:8 | p99:7 | \
                   p99.9:7 | response, ms: p50:8 | p99:7 | p99.9:7 | registration, ms: p50:8 | server, µs:7 | \
                   TLS, µs:7 | client, µs:7 | open, bytes:10 | tickets, bytes:10 | failed:6";
    Table::new(format!("round-trip time {} ms", plain(rtt_ms)), columns)
}

/// Returns the name of a row, without what all rows share.
pub(super) fn name(variant: &Variant, kind: Kind, users: usize, round: usize) -> Name {
    let load = match kind {
        Kind::Users => kind.name().to_owned(),
        Kind::Storm => format!("{} {round}", kind.name()),
    };
    Name::new("", row(variant)).with("", load).with("", count(users))
}

fn row(variant: &Variant) -> String {
    let key = variant.key();
    let common = format!("/{}/{}", variant.store.name(), variant.suite.number());
    key.strip_suffix(&common).unwrap_or(&key).to_owned()
}

/// Returns its row of a cell.
pub(super) fn cell(cell: &Cell) -> Row {
    let ms = |times: &Histogram, share| times.quantile(share).map(|us| us / 1e3);
    let (first, response) = (&cell.first_accepted_us, &cell.response_us);
    Row::new(
        name(&cell.variant, cell.kind, cell.users, cell.round),
        cells![
            cell.requests_per_second,
            ms(first, 0.5),
            ms(first, 0.99),
            ms(first, 0.999),
            ms(response, 0.5),
            ms(response, 0.99),
            ms(response, 0.999),
            ms(&cell.registration_us, 0.5),
            fixed(cell.server_cpu_us_per_connection, 0),
            fixed(cell.server_tls_us_per_connection, 0),
            fixed(cell.client_cpu_us_per_connection, 0),
            cell.server_memory_bytes,
            cell.vault_bytes,
            Entry::from(cell.failed).bad_if(cell.failed > 0),
        ],
    )
}

/// Formats how many reconnections of a cell failed, and why, if any did.
pub(super) fn failures(cell: &Cell) -> Option<String> {
    let all = cell.users * cell.reconnections;
    let reasons = cell.why_failed.iter().map(|(why, count)| format!("\n    {count}: {why}"));
    let failed = format!("  {} of {all} reconnections failed:", cell.failed);
    (cell.failed > 0).then(|| failed + &reasons.collect::<String>())
}

/// Returns the table of growth.
pub(crate) fn growth(growth: &[Growth]) -> Table {
    let rows = growth.iter().map(|it| {
        let interval = it.interval.map(|(low, high)| format!("{low:.3} to {high:.3}"));
        let name = Name::new("", names::variant(&it.variant)).with("", plain(it.rtt_ms) + " ms");
        Row::new(name, cells![fixed(it.exponent, 3), interval])
    });
    let title = "growth of the server's processor time: exponent of the number of users";
    Table::new(title, "option | RTT || exponent | 95 % confidence interval").rows(rows)
}

/// Returns the table of storms that ran several times.
pub(crate) fn storms(storms: &[StormSummary]) -> Table {
    let ms = |us: Option<Summary>| us.map(|us| Median::from(us).divided_by(1e3));
    let several = storms.iter().filter(|it| it.rounds > 1);
    let rows = several.map(|it| {
        Row::new(
            Name::new("", names::variant(&it.variant)).with("", count(it.users)),
            cells![
                it.rounds,
                ms(it.first_accepted_us),
                ms(it.response_us),
                it.server_cpu_us_per_connection.map(Median::from),
                it.server_tls_us_per_connection.map(Median::from),
                it.tls_work_of_full.map(Median::from),
            ],
        )
    });
    let title = "storms: medians over the rounds";
    let columns = "option | connections || rounds | first accepted, ms | response, ms | server, µs | TLS, µs | \
                   TLS, share of (a)'s";
    Table::new(title, columns).rows(rows)
}

/// Returns the table of the memory of one connection.
pub(crate) fn memory(memory: &[Memory]) -> Table {
    let rows = memory.iter().map(|it| {
        let Components { certificates, key_exchange, signature, .. } = it.components;
        let Components { tickets_and_replay_state, buffers, rest, .. } = it.components;
        let name = Name::new("", names::variant(&it.variant))
            .with("", it.connection.name())
            .with("", it.side.name());
        let parts =
            [certificates, key_exchange, signature, tickets_and_replay_state, buffers, rest];
        Row::new(
            name,
            [&parts[..], &[it.total, it.peak.total, it.held.total, it.vault_bytes]].concat(),
        )
    });
    let columns = "option | connection | side || certificates | key exchange | signature | \
                   tickets and replay state | buffers | rest | all | most at once | idle | vault";
    Table::new("memory of one connection, bytes", columns).rows(rows)
}

/// The terms in the tables.
pub(super) const LEGEND: &str = "
row             the paper's letter, the mode, the key agreement of the handshake, the kind of the
                one-time key, and how the handshake goes on; d' are single-use tickets. All have the
                suite 0x1302 and one-time keys in the server's memory
users           reconnect repeatedly, each with a registration of 13 exchanges; storm: all had a
                connection, the server was replaced by another with the same stores, all reconnect at
                once; the number after it is that of the round
storms          over the rounds: the median, and the longer way to an end of its 95 % interval; the
                share of (a) is that in the same round, with the same key exchange
first accepted  the server's application has an accepted request, since the user or the storm began
response        the client has the whole response to it
registration    the last of the 13 responses has arrived
server, client  processor time of the process, kernel included, for each reconnection
TLS             the server's in calls of TLS streams, the socket's own calls taken away; no ticket is
                issued meanwhile
open, tickets   what all open connections hold on the server's heap; what the tickets made beforehand
                hold; only programs built with `--features heap` count it, others show –
memory          of one connection, by what allocated it: everything that was ever allocated, what was
                held when most was held, and what is held when it is idle; in the vault, for one client";
