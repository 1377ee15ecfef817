//! The page of the experiment `sites`.

mod distance;
mod sentences;

use crate::control::EarlyDataOutcome;
use crate::page::chart::{Chart, Line};
use crate::page::document::{Setting, contents, document, facts};
use crate::page::figure::{Figure, Strip};
use crate::page::strip::LaneData;
use crate::page::tables::{self, Row as TableRow, cell};
use crate::page::words;
use crate::sites::path::{LEAST_PATIENCE_MS, PATIENCE_IN_RTTS, Path};
use crate::sites::report::{Report, Row, Sample};
use crate::statistics::Median;
use distance::Distance;

/// A line of a strip: its name, and its value in a sample.
type Lane = (&'static str, fn(&Sample) -> Option<f64>);

const LANES: [Lane; 4] = [
    ("first byte", |sample| sample.first_byte_us),
    ("handshake", |sample| Some(sample.handshake_us)),
    ("response", |sample| sample.response_us),
    ("verdict", |sample| sample.verdict_us),
];

const TCP: Lane = ("TCP", |sample| Some(sample.tcp_us));

/// Writes the page.
pub(crate) fn render(report: &Report) -> serde_json::Result<String> {
    let links: Vec<_> = report.rows.chunk_by(|a, b| a.rtt_ms == b.rtt_ms).collect();
    let mut sections = vec![
        ("worth".to_owned(), "Is early data worth it at the wrong site?".to_owned()),
        ("told".to_owned(), "What the client learns".to_owned()),
    ];
    sections.extend(links.iter().map(|rows| {
        let rtt = rtt(rows);
        (format!("rtt-{rtt}"), format!("Every path at {rtt} ms"))
    }));
    let body = [
        head(report),
        contents(&sections),
        worth(&links),
        told(&report.rows),
        links.iter().map(|rows| link(rows)).collect(),
    ];
    document(report.experiment, &body, report)
}

/// Describes the setting, and how to repeat the experiment.
fn head(report: &Report) -> String {
    let Report { seed, machine, link, between_sites, rows, .. } = report;
    let repetitions = rows.first().map_or(0, |row| row.samples.len());
    let more = vec![
        ("Between the sites", (*between_sites).to_owned()),
        (
            "A site waits for the other",
            format!(
                "{PATIENCE_IN_RTTS} round-trip times between them, {LEAST_PATIENCE_MS} ms at least"
            ),
        ),
    ];
    format!(
        "<h1>Two sites: what a client pays at the wrong one</h1>\n\
         <p>Two sites share their ticket keys, and each has its own vault for one-time keys. A \
         client with a ticket of one site, home, connects to either and sends a request of 100 bytes \
         as early data. The other site never accepts it: it has the key burned at home, and only then asks the client \
         to send again. What is measured, over real TCP, is when the request \
         and its response arrive. The sites are two processes, which ask each other over mutual TLS.</p>\n{}",
        facts(&Setting { machine, link, seed: *seed, repetitions }, more)
    )
}

/// Up to which distance early data at the wrong site is cheaper than none, at each link.
fn worth(links: &[&[Row]]) -> String {
    let answers = links.iter().map(|rows| {
        let (rtt, distances) = (rtt(rows), Distance::all(rows));
        format!(
            "<h3>With a round-trip time of {rtt} ms to each site</h3>\n<p data-answer=\"{rtt}\">{}\
             </p>\n{}{}",
            distance::answer(&distances),
            chart(&rtt, &distances),
            comparison(&rtt, &distances),
        )
    });
    format!(
        "<section aria-labelledby=\"worth\">\n<h2 id=\"worth\">Is early data worth it at the wrong \
         site?</h2>\n<p>What counts is when the server's application holds the first byte of the \
         request. The distance of the sites is the round-trip time between them.</p>\n{}</section>\n",
        answers.collect::<String>()
    )
}

/// Formats the first byte over the distance of the sites; one distance makes no line.
fn chart(rtt: &str, distances: &[Distance]) -> String {
    if distances.len() < 2 {
        return String::new();
    }
    let line = |path: Path, median: fn(&Distance) -> Median| Line {
        name: path.name(),
        points: distances.iter().map(|distance| (distance.ms, median(distance))).collect(),
    };
    let chart = Chart {
        title: format!("First byte of the request, at {rtt} ms to each site"),
        value: "ms since connect()",
        varied: "ms between the sites",
        note: "Where away is above away-psk-dhe, early data at the wrong site cost more than none.",
        lines: vec![
            line(Path::Home, |distance| distance.home),
            line(Path::Away, |distance| distance.away),
            line(Path::AwayPskDhe, |distance| distance.without),
        ],
    };
    chart.render()
}

fn comparison(rtt: &str, distances: &[Distance]) -> String {
    let rows: Vec<_> = distances
        .iter()
        .map(|distance| {
            let Distance { ms, home, away, without } = distance;
            let share = distance.share_at_home();
            TableRow {
                key: format!("distance@{rtt}/{ms}"),
                head: format!("{} ms", words::plain(*ms)),
                cells: [home, away, without]
                    .map(|median| cell(Some(*median)))
                    .into_iter()
                    .chain([
                        format!("{:+.2}", distance.later()),
                        share.map_or_else(|| words::NOTHING.to_owned(), distance::at_least),
                    ])
                    .collect(),
            }
        })
        .collect();
    let columns = [
        "between the sites",
        "home, ms",
        "away, ms",
        "away-psk-dhe, ms",
        "difference, ms",
        "at home, to pay",
    ];
    let caption = format!(
        "First byte at {rtt} ms to each site: medians, below them the 95 % confidence interval; \
         then how much later away is than away-psk-dhe, and which share of connections must come \
         home for early data to pay on average"
    );
    tables::numbers(&caption, &columns, &rows)
}

/// Lists the client's verdict, the executions of its request, and what that means.
fn told(rows: &[Row]) -> String {
    let rows: Vec<_> = worst(rows)
        .into_iter()
        .map(|(path, told, executions)| TableRow {
            key: path.name().to_owned(),
            head: head_of(path, sentences::path(path)),
            cells: vec![
                told.map_or_else(
                    || words::NOTHING.to_owned(),
                    |told| format!("<code>{}</code>", told.name()),
                ),
                format!("{executions}×"),
                sentences::of(told, executions),
            ],
        })
        .collect();
    format!(
        "<section aria-labelledby=\"told\">\n<h2 id=\"told\">What the client learns</h2>\n\
         <p>The first flight of a connection was recorded, and sent to both sites repeatedly after the client had \
         what it wanted; of another, a copy came home before the client's own \
         arrived anywhere. Counted is how often both sites together executed the one request; the \
         worse of both.</p>\n{}</section>\n",
        tables::sentences(
            &["path", "verdict on its early data", "executed under replay"],
            &["told", "executed"],
            &rows
        )
    )
}

/// Returns the verdict on each path, and the most executions at any link and distance.
fn worst(rows: &[Row]) -> Vec<(Path, Option<EarlyDataOutcome>, u32)> {
    let mut paths: Vec<(Path, Option<EarlyDataOutcome>, u32)> = Vec::new();
    for row in rows {
        match paths.iter_mut().find(|(path, ..)| *path == row.path) {
            Some((.., executions)) => *executions = row.replay_executions.max(*executions),
            None => paths.push((row.path, row.told, row.replay_executions)),
        }
    }
    paths
}

/// Returns every path at one link: a figure, and the numbers.
fn link(rows: &[Row]) -> String {
    let rtt = rtt(rows);
    let figure = Figure {
        title: format!("Latency at {rtt} ms to each site"),
        unit: "ms since connect()",
        note: "First byte: a server's application holds the first byte of the request. Handshake: \
               complete at the client. Response: its first byte is at the client. Verdict: the \
               client knows what became of its early data. A dash is what did not happen.",
        lanes: &LANES.map(|(name, _)| name),
        strips: rows.iter().map(strip).collect(),
    };
    format!(
        "<section>\n<h2 id=\"rtt-{rtt}\">Every path at a round-trip time of {rtt} ms to each \
         site</h2>\n{}{}</section>\n",
        figure.render(),
        numbers(&rtt, rows)
    )
}

fn strip(row: &Row) -> Strip {
    let between = between(row);
    Strip {
        key: key(row),
        head: head_of(row.path, &between),
        description: format!("{}, {between}", row.path.name()),
        lanes: LANES.map(|(_, value)| LaneData::of(ms(row, value))).into(),
    }
}

fn numbers(rtt: &str, rows: &[Row]) -> String {
    let lanes: Vec<_> = [TCP].into_iter().chain(LANES).collect();
    let rows: Vec<_> = rows
        .iter()
        .map(|row| TableRow {
            key: key(row),
            head: head_of(row.path, &between(row)),
            cells: lanes.iter().map(|(_, value)| cell(Median::of(ms(row, *value)))).collect(),
        })
        .collect();
    let columns: Vec<_> = lanes.iter().map(|(name, _)| format!("{name}, ms")).collect();
    let columns: Vec<_> = ["path"].into_iter().chain(columns.iter().map(String::as_str)).collect();
    let caption =
        format!("All numbers at {rtt} ms: medians, below them the 95 % confidence interval");
    tables::numbers(&caption, &columns, &rows)
}

/// Returns the value of a lane, in milliseconds, for the samples that have it.
fn ms(row: &Row, value: fn(&Sample) -> Option<f64>) -> impl Iterator<Item = f64> {
    row.samples.iter().filter_map(value).map(|us| us / 1e3)
}

/// Formats the round-trip time of a link, in milliseconds.
fn rtt(rows: &[Row]) -> String {
    words::plain(rows.first().map_or(0.0, |row| row.rtt_ms))
}

/// Returns a row as a key, for programs.
fn key(row: &Row) -> String {
    format!("{}@{}/{}", row.path.name(), words::plain(row.rtt_ms), words::plain(row.site_rtt_ms))
}

fn head_of(path: Path, more: &str) -> String {
    format!("<b>{}</b> <span>{more}</span>", path.name())
}

fn between(row: &Row) -> String {
    format!("{} ms between the sites", words::plain(row.site_rtt_ms))
}

#[cfg(test)]
mod tests;
