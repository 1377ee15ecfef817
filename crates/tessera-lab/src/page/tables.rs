//! The numbers, for whoever wants them exactly or cannot see figures.

use std::fmt::Write;

use super::{sentences, words};
use crate::report::{Row, Sample, verdicts_by_way};
use crate::statistics::Median;

const COLUMNS: [&str; 13] = [
    "way",
    "TCP, ms",
    "first byte, ms",
    "handshake, ms",
    "response, ms",
    "client engine, µs",
    "server engine, µs",
    "client process, µs",
    "server process, µs",
    "client bytes",
    "server bytes",
    "client heap, bytes",
    "server heap, bytes",
];

/// The costs of some rows at one link.
pub(super) fn costs(rows: &[Row]) -> String {
    let head: String = COLUMNS.map(|name| format!("<th scope=\"col\">{name}</th>")).concat();
    let rtt = words::plain(rows.first().map_or(0.0, |row| row.rtt_ms));
    let mut body = String::new();
    for row in rows {
        // Writing to a string does not fail.
        let _ = writeln!(
            body,
            "<tr data-row=\"{}@{rtt}\"><th scope=\"row\">{}</th>{}</tr>",
            words::key(&row.way()),
            words::way(&row.way()),
            cells(row)
        );
    }
    let caption =
        format!("All numbers at {rtt} ms: medians, below them the 95 % confidence interval");
    scrolling(&caption, &format!("<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>"))
}

fn cells(row: &Row) -> String {
    let ms: [fn(&Sample) -> f64; 4] =
        [|s| s.tcp_us, |s| s.first_byte_us, |s| s.handshake_us, |s| s.response_us];
    let us: [fn(&Sample) -> f64; 4] =
        [|s| s.client_engine_us, |s| s.server_engine_us, |s| s.client_cpu_us, |s| s.server_cpu_us];
    let median = |value: fn(&Sample) -> f64, unit: f64| {
        cell(Median::of(row.samples.iter().map(|sample| value(sample) / unit)))
    };
    let sizes = [row.bytes.client, row.bytes.server, row.heap.client, row.heap.server];
    let ms = ms.map(|value| median(value, 1e3)).concat();
    let us = us.map(|value| median(value, 1.0)).concat();
    let sizes = sizes.map(|size| format!("<td>{size}</td>")).concat();
    [ms, us, sizes].concat()
}

fn cell(median: Option<Median>) -> String {
    let Some(Median { value, interval }) = median else { return "<td></td>".to_owned() };
    let interval = interval.map_or_else(String::new, |(low, high)| {
        format!("<br><small>{}–{}</small>", words::short(low), words::short(high))
    });
    format!("<td>{}{interval}</td>", words::short(value))
}

/// What each way protects, with what that means. Not a wide table: it is to be read.
pub(super) fn verdicts(rows: &[Row]) -> String {
    let mut body = String::new();
    for (way, verdicts) in verdicts_by_way(rows) {
        // Writing to a string does not fail.
        let _ = writeln!(
            body,
            "<tr data-verdict=\"{}\"><th scope=\"row\">{}</th>\
             <td data-label=\"first byte\"><code>{}</code></td>\
             <td data-label=\"session\"><code>{}</code></td>\
             <td data-label=\"executed\">{}×</td>\
             <td data-label=\"quantum-safe\">{}</td>\
             <td class=\"sentence\">{}</td></tr>",
            words::key(&way),
            words::way(&way),
            words::breakable(verdicts.first_byte_fs.name()),
            words::breakable(verdicts.session_fs.name()),
            verdicts.replay_executions,
            if verdicts.pq_confidentiality { "yes" } else { "no" },
            sentences::of(&verdicts),
        );
    }
    let columns = [
        "way",
        "first byte forward-secret from",
        "session forward-secret from",
        "executed under replay",
        "quantum-safe",
        "in words",
    ];
    let head = columns.map(|name| format!("<th scope=\"col\">{name}</th>")).concat();
    format!(
        "<table class=\"verdicts\">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n\
         </table>\n"
    )
}

/// A table that scrolls by itself where it is wider than the page, by keyboard too.
fn scrolling(caption: &str, rows: &str) -> String {
    format!(
        "<div class=\"scrolls\" role=\"region\" tabindex=\"0\" aria-label=\"{caption}\">\n\
         <table>\n<caption>{caption}</caption>\n{rows}\n</table>\n</div>\n"
    )
}
