//! The tables of the page.

use super::{sentences, ways};
use crate::page::tables::{self, Row as TableRow, cell};
use crate::page::words;
use crate::reconnect::report::{Row, Sample, verdicts_by_way};
use crate::statistics::Median;

const COLUMNS: [&str; 15] = [
    "way",
    "TCP, ms",
    "first byte, ms",
    "handshake, ms",
    "response, ms",
    "client engine, µs",
    "server engine, µs",
    "client process, µs",
    "server process, µs",
    "first flight, bytes",
    "in the SYN, bytes",
    "client bytes",
    "server bytes",
    "client heap, bytes",
    "server heap, bytes",
];

/// Formats the costs of some rows at one link.
pub(super) fn costs(rows: &[Row]) -> String {
    let rtt = words::plain(rows.first().map_or(0.0, |row| row.rtt_ms));
    let caption =
        format!("All numbers at {rtt} ms: medians, below them the 95 % confidence interval");
    let rows: Vec<_> = rows
        .iter()
        .map(|row| TableRow {
            key: format!("{}@{rtt}", ways::key(&row.way())),
            head: ways::head(&row.way()),
            cells: cells(row),
        })
        .collect();
    tables::numbers(&caption, &COLUMNS, &rows)
}

fn cells(row: &Row) -> Vec<String> {
    let ms: [fn(&Sample) -> f64; 4] =
        [|s| s.tcp_us, |s| s.first_byte_us, |s| s.handshake_us, |s| s.response_us];
    let us: [fn(&Sample) -> f64; 4] =
        [|s| s.client_engine_us, |s| s.server_engine_us, |s| s.client_cpu_us, |s| s.server_cpu_us];
    let median = |value: fn(&Sample) -> f64, unit: f64| {
        cell(Median::of(row.samples.iter().map(|sample| value(sample) / unit)))
    };
    let flight = [Some(row.first_flight), row.fast_open.map(|syn| syn.bytes)];
    let flight = flight.map(size);
    let [bytes, heap] = [Some(row.bytes), row.heap];
    let sizes = [bytes, heap]
        .into_iter()
        .flat_map(|sides| [sides.map(|it| it.client), sides.map(|it| it.server)].map(size));
    let ms = ms.into_iter().map(|value| median(value, 1e3));
    let us = us.into_iter().map(|value| median(value, 1.0));
    ms.chain(us).chain(flight).chain(sizes).collect()
}

fn size(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string())
}

/// Lists what each way protects, and what that means.
pub(super) fn verdicts(rows: &[Row]) -> String {
    let rows: Vec<_> = verdicts_by_way(rows)
        .into_iter()
        .map(|(way, verdicts)| {
            let secrecy = [verdicts.first_byte_fs, verdicts.session_fs]
                .map(|from| format!("<code>{}</code>", words::breakable(from.name())));
            let others = [
                format!("{}×", verdicts.replay_executions),
                if verdicts.pq_confidentiality { "yes" } else { "no" }.to_owned(),
                sentences::of(&verdicts),
            ];
            TableRow {
                key: ways::key(&way),
                head: ways::head(&way),
                cells: secrecy.into_iter().chain(others).collect(),
            }
        })
        .collect();
    let columns = [
        "way",
        "first byte forward-secret from",
        "session forward-secret from",
        "executed under replay",
        "quantum-safe",
    ];
    tables::sentences(&columns, &["first byte", "session", "executed", "quantum-safe"], &rows)
}
