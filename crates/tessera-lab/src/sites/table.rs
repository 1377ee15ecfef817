//! The results as tables, and the terms in them.

use super::path::Path;
use super::report::{Row, Sample};
use super::sentences;
use crate::control::EarlyDataOutcome;
use crate::numbers::plain;
use crate::statistics::Median;
use crate::table::{Cell, Name, Row as TableRow, Table, cells};

/// Returns the table of paths at one round-trip time to the sites, without rows.
pub(super) fn paths(rtt_ms: f64) -> Table {
    let columns = "path:16 | distance:24 || TCP, ms:12 | first byte, ms:12 | verdict, ms:12 | handshake, ms:12 | \
                   response, ms:12 | outcome:8 | executed:8";
    let rtt = plain(rtt_ms);
    let title = format!(
        "round-trip time {rtt} ms to each site; times since connect(), medians, and their 95 % intervals"
    );
    Table::new(title, columns)
}

/// Returns its row of a path.
pub(super) fn path(row: &Row) -> TableRow {
    let ms = |value: fn(&Sample) -> Option<f64>| {
        Median::of(row.samples.iter().filter_map(value).map(|us| us / 1e3))
    };
    TableRow::new(
        name(row),
        cells![
            ms(|it| Some(it.tcp_us)),
            ms(|it| it.first_byte_us),
            ms(|it| it.verdict_us),
            ms(|it| Some(it.handshake_us)),
            ms(|it| it.response_us),
            row.told.map(EarlyDataOutcome::name),
            executed(row.replay_executions),
        ],
    )
}

/// Returns the name of a row: its path, and how far the sites are from each other.
pub(super) fn name(row: &Row) -> Name {
    let key = format!("{}@{}/{}", row.path.name(), row.rtt_ms, row.site_rtt_ms);
    Name::new(key, row.path.name())
        .with("", format!("{} ms between the sites", plain(row.site_rtt_ms)))
}

/// Returns the table of what the client learns on each path, and of the most executions at any link and distance.
pub(super) fn told(rows: &[Row]) -> Table {
    let mut paths: Vec<(Path, Option<EarlyDataOutcome>, u32)> = Vec::new();
    for row in rows {
        match paths.iter_mut().find(|(path, ..)| *path == row.path) {
            Some((.., executions)) => *executions = row.replay_executions.max(*executions),
            None => paths.push((row.path, row.told, row.replay_executions)),
        }
    }
    let rows = paths.into_iter().map(|(path, told, executions)| TableRow {
        sentence: Some(sentences::of(told, executions)),
        ..TableRow::new(
            Name::new(path.name(), path.name()).with("", sentences::path(path)),
            cells![told.map(EarlyDataOutcome::name), executed(executions)],
        )
    });
    let columns = "path |  || verdict on its early data | executed under replay";
    Table::new("what the client learns", columns).rows(rows)
}

/// Formats how often one request was executed; more than once is bad.
fn executed(executions: u32) -> Cell {
    Cell::from(format!("{executions}×")).bad_if(executions > 1)
}

/// The terms in the tables.
pub(super) const LEGEND: &str = "
home              early data at the site that issued the ticket: accepted
away              at the other site, which has the key burned at home and answers when home has
                  acknowledged it; then the client sends its request again, in the same connection
away-home-silent  the same, but home's process is stopped and does not answer: after three round-trip
                  times between the sites, and 200 ms at least, the client gets `unknown`, and does not
                  send again
away-psk-dhe      at the other site without early data
away-guess        (only on request) the other site reports `burned` without asking: wrong
verdict           the client knows what became of its early data; outcome: what
first byte        a server's application holds the first byte of the request; handshake: complete at the
                  client; response: its first byte is at the client
executed          how often both sites together executed one request whose first flight was recorded and
                  sent to both sites 20 times each after the client had what it wanted; or which a copy
                  at home outran; the worse of both. 1 is what it asked for";
