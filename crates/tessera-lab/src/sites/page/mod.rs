//! The page of the experiment `sites`.

mod distance;

use super::table;
use crate::numbers::plain;
use crate::page::chart::{Chart, Line};
use crate::page::document::{Page, Section, Setting, facts};
use crate::page::figure::{Figure, Strip, on_one_axis};
use crate::page::strip::LaneData;
use crate::sites::path::{LEAST_PATIENCE_MS, PATIENCE_IN_RTTS, Path};
use crate::sites::report::{Report, Row, Sample};
use crate::statistics::Median;
use crate::table::{Name, Row as TableRow, Table, cells, html};
use distance::Distance;

/// A line of a strip: its name, and its value in a sample.
type Lane = (&'static str, fn(&Sample) -> Option<f64>);

const LANES: [Lane; 4] = [
    ("first byte", |sample| sample.first_byte_us),
    ("handshake", |sample| Some(sample.handshake_us)),
    ("response", |sample| sample.response_us),
    ("verdict", |sample| sample.verdict_us),
];

/// Writes the page.
pub(crate) fn render(report: &Report) -> serde_json::Result<String> {
    let links: Vec<_> = report.rows.chunk_by(|a, b| a.rtt_ms == b.rtt_ms).collect();
    let answers = links.iter().map(|rows| {
        let (rtt, answer) = (rtt(rows), distance::answer(&Distance::all(rows)));
        format!("<p class=\"answer\" data-answer=\"{rtt}\">{answer} That is at {rtt} ms to each site.</p>\n")
    });
    let worth = links.iter().map(|rows| {
        let (rtt, distances) = (rtt(rows), Distance::all(rows));
        chart(&rtt, &distances) + &html::table(&comparison(&rtt, &distances))
    });
    let figures: Vec<_> = links.iter().map(|rows| figure(rows)).collect();
    let paths = links.iter().zip(on_one_axis(&figures)).map(|(rows, figure)| {
        let table = table::paths(rows.first().map_or(0.0, |row| row.rtt_ms));
        let content = figure + &html::table(&table.rows(rows.iter().map(table::path)));
        let rtt = rtt(rows);
        Section::new(format!("rtt-{rtt}"), format!("Every path at {rtt} ms"), content)
    });
    let told = TOLD.to_owned() + &html::table(&table::told(&report.rows));
    let first = [
        Section::new(
            "worth",
            "Is early data worth it at the wrong site?",
            WORTH.to_owned() + &worth.collect::<String>(),
        ),
        Section::new("told", "What the client learns", told),
    ];
    let page = Page {
        title: "Two sites: what a client pays at the wrong one",
        answer: answers.collect(),
        introduction: introduction(report),
        sections: first.into_iter().chain(paths).collect(),
        legend: table::LEGEND,
    };
    page.with_report(report.experiment, report)
}

/// Describes the setting, and how to repeat the experiment.
fn introduction(report: &Report) -> String {
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
        "<p>Two sites share their ticket keys, and each has its own vault for one-time keys. A \
         client with a ticket of one site, home, connects to either and sends a request of 100 bytes \
         as early data. The other site never accepts it: it has the key burned at home, and only then asks the client \
         to send again. What is measured, over real TCP, is when the request \
         and its response arrive. The sites are two processes, which ask each other over mutual TLS.</p>\n{}",
        facts(&Setting { machine, link, seed: *seed, repetitions }, more)
    )
}

const WORTH: &str = "<p>What counts is when the server's application holds the first byte of the request. The \
                     distance of the sites is the round-trip time between them.</p>\n";

const TOLD: &str = "<p>The first flight of a connection was recorded, and sent to both sites repeatedly after the \
                    client had what it wanted; of another, a copy came home before the client's own arrived \
                    anywhere. Counted is how often both sites together executed the one request; the worse of \
                    both.</p>\n";

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

fn comparison(rtt: &str, distances: &[Distance]) -> Table {
    let rows = distances.iter().map(|distance| {
        let Distance { ms, home, away, without } = distance;
        let name = Name::new(format!("distance@{rtt}/{ms}"), format!("{} ms", plain(*ms)));
        let later = format!("{:+.2}", distance.later());
        let share = distance.share_at_home().map(distance::at_least);
        TableRow::new(name, cells![*home, *away, *without, later, share])
    });
    let columns = "between the sites | home, ms | away, ms | away-psk-dhe, ms | difference, ms | at home, to pay";
    Table::new(format!("First byte at {rtt} ms to each site"), columns).rows(rows).note(
        "Medians, below them the 95 % confidence interval; then how much later away is than away-psk-dhe, and which \
         share of connections must come home for early data to pay on average.",
    )
}

/// Shows every path at one link.
fn figure(rows: &[Row]) -> Figure<'static> {
    Figure {
        title: format!("Latency at {} ms to each site", rtt(rows)),
        unit: "ms since connect()",
        note: "First byte: a server's application holds the first byte of the request. Handshake: \
               complete at the client. Response: its first byte is at the client. Verdict: the \
               client knows what became of its early data. A dash is what did not happen.",
        lanes: &["first byte", "handshake", "response", "verdict"],
        strips: rows.iter().map(strip).collect(),
    }
}

fn strip(row: &Row) -> Strip {
    let lane =
        |(_, value): Lane| LaneData::of(row.samples.iter().filter_map(value).map(|us| us / 1e3));
    Strip { name: table::name(row), lanes: LANES.map(lane).into() }
}

/// Formats the round-trip time of a link, in milliseconds.
fn rtt(rows: &[Row]) -> String {
    plain(rows.first().map_or(0.0, |row| row.rtt_ms))
}

#[cfg(test)]
mod tests;
