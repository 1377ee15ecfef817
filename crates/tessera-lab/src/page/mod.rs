//! The report as one page for people: a view of what the JSON report holds, and the JSON itself.
//!
//! The page stands alone. It loads nothing, and everything on it is there without its script, which
//! only hands out the samples. Figures are HTML with small SVG strips, so that text stays as large
//! on a phone as on a desk; next to each figure is a table with its numbers.

mod axis;
mod figure;
mod sentences;
mod strip;
mod tables;
mod words;

use crate::report::{Report, Row};
use figure::{Figure, Lane, Mark};
use words::escaped;

const CSS: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// No request leaves the page, and the browser is told to see to it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";

const LATENCY: [Lane; 3] = [
    Lane { name: "first byte", value: |sample| sample.first_byte_us / 1e3 },
    Lane { name: "handshake", value: |sample| sample.handshake_us / 1e3 },
    Lane { name: "response", value: |sample| sample.response_us / 1e3 },
];

const ENGINE: [Lane; 2] = [
    Lane { name: "client", value: |sample| sample.client_engine_us },
    Lane { name: "server", value: |sample| sample.server_engine_us },
];

/// Writes the page.
pub(crate) fn render(report: &Report) -> serde_json::Result<String> {
    let links = links(&report.rows);
    let first_link = links.first().copied().unwrap_or_default();
    let body = [
        head(report),
        contents(&links),
        verdicts(report),
        links.iter().map(|rows| link(rows)).collect(),
        sizes(first_link),
        samples(report)?,
    ];
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <title>Tessera lab: {experiment}</title>\n<style>\n{CSS}</style>\n</head>\n\
         <body>\n<main>\n{}</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        body.concat(),
        experiment = report.experiment,
    ))
}

/// The rows of each link, in the order of the report.
fn links(rows: &[Row]) -> Vec<&[Row]> {
    rows.chunk_by(|a, b| a.rtt_ms == b.rtt_ms).collect()
}

/// What was measured, where, and how to repeat it.
fn head(report: &Report) -> String {
    let Report { seed, machine, link, rows, .. } = report;
    let repetitions = rows.first().map_or(0, |row| row.samples.len());
    let rate = link.rate_bps.map_or_else(|| "unlimited".to_owned(), words::rate);
    let facts = [
        ("Machine", machine.to_string()),
        ("Link", link.kind.clone()),
        ("Loss", format!("{} %", words::plain(link.loss * 100.0))),
        ("Jitter", format!("{} ms", words::plain(link.jitter_ms))),
        ("Rate", rate),
        ("MTU", format!("{} bytes", link.mtu)),
        ("Seed", seed.to_string()),
        ("Connections a row", repetitions.to_string()),
        ("Tessera", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    let facts = facts
        .map(|(name, value)| format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", escaped(&value)));
    format!(
        "<h1>Reconnecting: what each way costs and protects</h1>\n\
         <p>A client and a server, two processes, connected in every way over real TCP. A request \
         of 100 bytes goes out as early as the way allows, and a response of the same size comes \
         back.</p>\n<dl class=\"facts\">\n{}</dl>\n",
        facts.concat()
    )
}

/// The way to each section: the page is long on a phone.
fn contents(links: &[&[Row]]) -> String {
    let links = links.iter().map(|rows| {
        let rtt = rtt(rows);
        format!("<a href=\"#rtt-{rtt}\">Costs at {rtt} ms</a>\n")
    });
    format!(
        "<nav aria-label=\"Sections\">\n<a href=\"#protects\">What each way protects</a>\n{}\
         <a href=\"#sizes\">Bytes and memory</a>\n<a href=\"#samples\">Every sample</a>\n</nav>\n",
        links.collect::<String>()
    )
}

fn verdicts(report: &Report) -> String {
    format!(
        "<section aria-labelledby=\"protects\">\n<h2 id=\"protects\">What each way protects</h2>\n\
         <p>The first flight of a connection was recorded and sent again: to the same server, to \
         another that has the same ticket keys and stores of its own, and to one restarted; \
         of another, a copy was sent before the client's own. Then \
         everything that was left at both ends was stolen, and tried on the recording; then the \
         session that the client had used and deleted, as from a backup, too; then an \
         earlier dump of the server's vault.</p>\n\
         {}</section>\n",
        tables::verdicts(&report.rows)
    )
}

/// The costs on one link: figures, and the numbers.
fn link(rows: &[Row]) -> String {
    let rtt = rtt(rows);
    let latency = Figure {
        title: format!("Latency at {rtt} ms"),
        unit: "ms since connect()",
        note: "First byte: the server's application holds the first byte of the request. \
               Handshake: complete at the client. Response: its first byte is at the client.",
        mark: Mark::Samples,
        lanes: &LATENCY,
    };
    let engine = Figure {
        title: format!("Processor time in the engine at {rtt} ms"),
        unit: "µs a connection",
        note: "Inside the TLS engine alone. It is higher where endpoints wait longer: meanwhile \
               caches go cold.",
        mark: Mark::Samples,
        lanes: &ENGINE,
    };
    format!(
        "<section>\n<h2 id=\"rtt-{rtt}\">Costs at a round-trip time of {rtt} ms</h2>\n{}{}{}</section>\n",
        latency.render(rows),
        engine.render(rows),
        tables::costs(rows)
    )
}

/// The round-trip time of a link, in milliseconds.
fn rtt(rows: &[Row]) -> String {
    words::plain(rows.first().map_or(0.0, |row| row.rtt_ms))
}

/// Bytes and heap do not depend on the link, so that one link's say it all; the tables have them
/// for each.
fn sizes(rows: &[Row]) -> String {
    let bytes = Figure {
        title: "Bytes that each side sends".to_owned(),
        unit: "bytes a connection, TLS records and all in them",
        note: "Request, response, one new ticket and the goodbye included; TCP and IP not.",
        mark: Mark::Median(|row| &row.bytes),
        lanes: &ENGINE,
    };
    let heap = Figure {
        title: "Heap that an idle connection holds".to_owned(),
        unit: "bytes a connection",
        note: "What dropping it gives back, the part of the C library included.",
        mark: Mark::Median(|row| &row.heap),
        lanes: &ENGINE,
    };
    format!(
        "<section>\n<h2 id=\"sizes\">Bytes and memory</h2>\n{}{}</section>\n",
        bytes.render(rows),
        heap.render(rows)
    )
}

/// The JSON report, and a button that saves it.
fn samples(report: &Report) -> serde_json::Result<String> {
    // Nothing in it may end the element that holds it.
    let json = serde_json::to_string(report)?.replace('<', "\\u003c");
    Ok(format!(
        "<section>\n<h2 id=\"samples\">Every sample</h2>\n<p>This page holds the whole report as JSON, the same \
         as <code>--json</code> writes.</p>\n\
         <p><button id=\"save\" type=\"button\" hidden>Save reconnect.json</button></p>\n\
         <noscript><p>Without scripts: it is in this page's source, in the element \
         <code>report</code>.</p></noscript>\n\
         <script type=\"application/json\" id=\"report\">{json}</script>\n</section>\n"
    ))
}

#[cfg(test)]
mod tests;
