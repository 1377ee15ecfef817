//! The page of the experiment `reconnect`.

use tessera_reports::reconnect::Row;
use tessera_reports::{Sample, Sides};

use super::report::Report;
use super::{answer, table};
use crate::numbers::plain;
use crate::page::document::{Page, Section, Setting, facts};
use crate::page::figure::{Figure, Strip, on_one_axis};
use crate::page::strip::LaneData;
use crate::table::html;
use crate::ways::Way;

/// A line of a strip: its name, and its value in a sample.
type Lane = (&'static str, fn(&Sample) -> Option<f64>);

const LATENCY: [Lane; 3] = [
    ("first byte", |sample| Some(sample.first_byte_us? / 1e3)),
    ("handshake", |sample| Some(sample.handshake_us? / 1e3)),
    ("response", |sample| Some(sample.response_us? / 1e3)),
];

const ENGINE: [Lane; 2] =
    [("client", |sample| sample.client_engine_us), ("server", |sample| sample.server_engine_us)];

/// Writes the page.
pub(crate) fn render(report: &Report) -> serde_json::Result<String> {
    let links: Vec<_> = report.rows.chunk_by(|a, b| a.rtt_ms == b.rtt_ms).collect();
    // The engine's work is the same question at each distance.
    let engine: Vec<_> = links.iter().map(|rows| engine(rows)).collect();
    let costs = links.iter().zip(on_one_axis(&engine)).map(|(rows, engine)| {
        let rtt = rtt(rows);
        let content = latency(rows).render() + &engine + &numbers(rows);
        Section::new(format!("rtt-{rtt}"), format!("Costs at {rtt} ms"), content)
    });
    let protects = PROTECTS.to_owned() + &html::table(&table::verdicts(&report.rows));
    let sizes = sizes(links.first().copied().unwrap_or_default());
    let others = [
        Section::new("protects", "What each way protects", protects),
        Section::new("sizes", "Bytes and memory", sizes),
    ];
    let page = Page {
        title: "Reconnecting: what each way costs and protects",
        answer: answer::of(&report.rows),
        introduction: introduction(report),
        sections: costs.chain(others).collect(),
        legend: table::LEGEND,
    };
    page.with_report(report.experiment, report)
}

/// Describes the setting, and how to repeat the experiment.
fn introduction(report: &Report) -> String {
    let Report { seed, machine, link, rows, .. } = report;
    let repetitions = rows.first().map_or(0, |row| row.samples.len());
    format!(
        "<p>A client and a server, two processes, connected in every way over real TCP. A request \
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

const PROTECTS: &str = "<p>The first flight of a connection was recorded and sent again: to the same server, to \
                        another with the same ticket keys and its own stores, and to a restarted one; of another, \
                        a copy was sent before the client's own. Then everything that was left at both ends was \
                        stolen, and tried on the recording; then the session that the client had used and deleted, \
                        as from a backup, too; then an earlier dump of the server's vault.</p>\n";

fn latency(rows: &[Row]) -> Figure<'static> {
    Figure {
        title: format!("Latency at {} ms", rtt(rows)),
        unit: "ms since connect()",
        note: "First byte: the server's application holds the first byte of the request. \
               Handshake: complete at the client. Response: its first byte is at the client.",
        lanes: &["first byte", "handshake", "response"],
        strips: samples(rows, &LATENCY),
    }
}

fn engine(rows: &[Row]) -> Figure<'static> {
    Figure {
        title: format!("Processor time in the engine at {} ms", rtt(rows)),
        unit: "µs a connection",
        note: "Inside the TLS engine alone. It is higher where endpoints wait longer: meanwhile \
               caches go cold.",
        lanes: &["client", "server"],
        strips: samples(rows, &ENGINE),
    }
}

fn numbers(rows: &[Row]) -> String {
    let table = table::costs(rows.first().map_or(0.0, |row| row.rtt_ms));
    html::table(&table.rows(rows.iter().map(table::cost)))
}

/// Formats the round-trip time of a link, in milliseconds.
fn rtt(rows: &[Row]) -> String {
    plain(rows.first().map_or(0.0, |row| row.rtt_ms))
}

/// Bytes and heap do not depend on the link, so those of one link suffice; the tables have all.
fn sizes(rows: &[Row]) -> String {
    let bytes = Figure {
        title: "Bytes that each side sends".to_owned(),
        unit: "bytes a connection, TLS records and all in them",
        note: "Request, response, one new ticket and the goodbye included; TCP and IP not. Medians.",
        lanes: &["client", "server"],
        strips: medians(rows, |row| Some(&row.bytes)),
    };
    let heap = Figure {
        title: "Heap that an idle connection holds".to_owned(),
        unit: "bytes a connection",
        note: "What dropping it gives back, the part of the C library included. Medians.",
        lanes: &["client", "server"],
        strips: medians(rows, |row| row.heap.as_ref()),
    };
    let is_counted = rows.iter().all(|row| row.heap.is_some());
    bytes.render() + &if is_counted { heap.render() } else { String::new() }
}

/// Returns every sample of some lanes.
fn samples(rows: &[Row], lanes: &[Lane]) -> Vec<Strip> {
    strips(rows, |row| {
        let lanes =
            lanes.iter().map(|(_, value)| LaneData::of(row.samples.iter().filter_map(value)));
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
    rows.iter()
        .map(|row| Strip { name: table::name(&Way::of_row(row)), lanes: lanes(row) })
        .collect()
}

#[cfg(test)]
mod tests;
