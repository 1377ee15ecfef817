//! The page of the experiment `reconnect`.

mod sentences;
mod tables;
mod ways;

use crate::page::document::{Setting, contents, document, facts};
use crate::page::figure::{Figure, Strip};
use crate::page::strip::LaneData;
use crate::page::words;
use crate::reconnect::report::{Report, Row, Sample, Sides};

/// A line of a strip: its name, and its value in a sample.
type Lane = (&'static str, fn(&Sample) -> f64);

const LATENCY: [Lane; 3] = [
    ("first byte", |sample| sample.first_byte_us / 1e3),
    ("handshake", |sample| sample.handshake_us / 1e3),
    ("response", |sample| sample.response_us / 1e3),
];

const ENGINE: [Lane; 2] =
    [("client", |sample| sample.client_engine_us), ("server", |sample| sample.server_engine_us)];

/// Writes the page.
pub(crate) fn render(report: &Report) -> serde_json::Result<String> {
    let links = links(&report.rows);
    let first_link = links.first().copied().unwrap_or_default();
    let body = [
        head(report),
        contents(&sections(&links)),
        verdicts(report),
        links.iter().map(|rows| link(rows)).collect(),
        sizes(first_link),
    ];
    document(report.experiment, &body, report)
}

/// Returns the rows of each link, in the order of the report.
fn links(rows: &[Row]) -> Vec<&[Row]> {
    rows.chunk_by(|a, b| a.rtt_ms == b.rtt_ms).collect()
}

/// Describes the setting, and how to repeat the experiment.
fn head(report: &Report) -> String {
    let Report { seed, machine, link, rows, .. } = report;
    let repetitions = rows.first().map_or(0, |row| row.samples.len());
    format!(
        "<h1>Reconnecting: what each way costs and protects</h1>\n\
         <p>A client and a server, two processes, connected in every way over real TCP. A request \
         of 100 bytes goes out as early as the way allows, and a response of the same size comes \
         back.</p>\n{}{}",
        if rows.iter().any(|row| row.fast_open.is_some()) { FAST_OPEN } else { "" },
        facts(&Setting { machine, link, seed: *seed, repetitions }, Vec::new())
    )
}

/// The explanation of rows with TCP Fast Open.
const FAST_OPEN: &str = "<p>In rows with TCP Fast Open (RFC 7413) the client has the server's cookie, and \
                         TCP's SYN carries the first flight, as much of it as fits; what doesn't fit leaves \
                         after the server's answer. connect() returns at once there. The adversary's copies \
                         travel in SYNs too.</p>\n";

fn sections(links: &[&[Row]]) -> Vec<(String, String)> {
    let links = links.iter().map(|rows| {
        let rtt = rtt(rows);
        (format!("rtt-{rtt}"), format!("Costs at {rtt} ms"))
    });
    let named = |id: &str, title: &str| (id.to_owned(), title.to_owned());
    [named("protects", "What each way protects")]
        .into_iter()
        .chain(links)
        .chain([named("sizes", "Bytes and memory")])
        .collect()
}

fn verdicts(report: &Report) -> String {
    format!(
        "<section aria-labelledby=\"protects\">\n<h2 id=\"protects\">What each way protects</h2>\n\
         <p>The first flight of a connection was recorded and sent again: to the same server, to \
         another with the same ticket keys and its own stores, and to a restarted one; \
         of another, a copy was sent before the client's own. Then \
         everything that was left at both ends was stolen, and tried on the recording; then the \
         session that the client had used and deleted, as from a backup, too; then an \
         earlier dump of the server's vault.</p>\n\
         {}</section>\n",
        tables::verdicts(&report.rows)
    )
}

/// Formats the costs on one link: figures, and the numbers.
fn link(rows: &[Row]) -> String {
    let rtt = rtt(rows);
    let latency = Figure {
        title: format!("Latency at {rtt} ms"),
        unit: "ms since connect()",
        note: "First byte: the server's application holds the first byte of the request. \
               Handshake: complete at the client. Response: its first byte is at the client.",
        lanes: &LATENCY.map(|(name, _)| name),
        strips: samples(rows, &LATENCY),
    };
    let engine = Figure {
        title: format!("Processor time in the engine at {rtt} ms"),
        unit: "µs a connection",
        note: "Inside the TLS engine alone. It is higher where endpoints wait longer: meanwhile \
               caches go cold.",
        lanes: &ENGINE.map(|(name, _)| name),
        strips: samples(rows, &ENGINE),
    };
    format!(
        "<section>\n<h2 id=\"rtt-{rtt}\">Costs at a round-trip time of {rtt} ms</h2>\n{}{}{}</section>\n",
        latency.render(),
        engine.render(),
        tables::costs(rows)
    )
}

/// Formats the round-trip time of a link, in milliseconds.
fn rtt(rows: &[Row]) -> String {
    words::plain(rows.first().map_or(0.0, |row| row.rtt_ms))
}

/// Bytes and heap do not depend on the link, so those of one link suffice; the tables have all.
fn sizes(rows: &[Row]) -> String {
    let bytes = Figure {
        title: "Bytes that each side sends".to_owned(),
        unit: "bytes a connection, TLS records and all in them",
        note: "Request, response, one new ticket and the goodbye included; TCP and IP not. Medians.",
        lanes: &ENGINE.map(|(name, _)| name),
        strips: medians(rows, |row| Some(&row.bytes)),
    };
    let heap = Figure {
        title: "Heap that an idle connection holds".to_owned(),
        unit: "bytes a connection",
        note: "What dropping it gives back, the part of the C library included. Medians.",
        lanes: &ENGINE.map(|(name, _)| name),
        strips: medians(rows, |row| row.heap.as_ref()),
    };
    let is_counted = rows.iter().all(|row| row.heap.is_some());
    format!(
        "<section>\n<h2 id=\"sizes\">Bytes and memory</h2>\n{}{}</section>\n",
        bytes.render(),
        if is_counted { heap.render() } else { String::new() }
    )
}

/// Returns every sample of some lanes.
fn samples(rows: &[Row], lanes: &[Lane]) -> Vec<Strip> {
    strips(rows, |row| {
        let lanes = lanes.iter().map(|(_, value)| LaneData::of(row.samples.iter().map(value)));
        lanes.collect()
    })
}

/// Returns a median that the rows have already, for the client and the server.
fn medians(rows: &[Row], sides: fn(&Row) -> Option<&Sides<u64>>) -> Vec<Strip> {
    strips(rows, |row| {
        let bars =
            |sides: &Sides<u64>| [sides.client, sides.server].map(|it| LaneData::Bar(it as f64));
        sides(row).map(bars).map_or_else(Vec::new, Vec::from)
    })
}

fn strips(rows: &[Row], lanes: impl Fn(&Row) -> Vec<LaneData>) -> Vec<Strip> {
    let strip = |row: &Row| Strip {
        key: ways::key(&row.way()),
        head: ways::head(&row.way()),
        description: ways::description(&row.way()),
        lanes: lanes(row),
    };
    rows.iter().map(strip).collect()
}

#[cfg(test)]
mod tests;
