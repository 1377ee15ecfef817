//! The page of the experiment `edge`.

use tessera_reports::KeyExchange;

use super::report::{Cell, Operations, Report, Sample};
use super::table::{self, group, median, name, place, share_of_full};
use super::way::EdgeWay;
use crate::certificates::Certificates;
use crate::numbers::{NOTHING, count, percent};
use crate::page::document::{Page, Section, answer, description_list};
use crate::page::figure::{Figure, Strip, on_one_axis};
use crate::page::strip::LaneData;
use crate::statistics::Median;
use crate::table::{Name, Table, html};

/// Writes the page.
pub(crate) fn render(report: &Report) -> serde_json::Result<String> {
    render_with(report, &[])
}

/// The same with the tables of `edge-gap.json`, if there are any.
pub(crate) fn render_with(report: &Report, gaps: &[Option<Table>]) -> serde_json::Result<String> {
    let sections = [
        (
            "bytes",
            "Bytes",
            "ClientHello, the proxy's flight, and tickets, as records. Bytes are the same each time, but for ECDSA's \
             signatures.",
            bytes(report),
        ),
        (
            "times",
            "Times",
            "From connect() on; medians with their 95 % confidence intervals. Over loopback each sample is the mean of \
             several connections.",
            times(report),
        ),
        (
            "operations",
            "Operations",
            "In memory; medians of the repetitions' means, with their 95 % confidence intervals.",
            operations(report),
        ),
        (
            "rate",
            "At a fixed rate",
            "The proxy's processor time for a connection over loopback; medians of the repetitions' means, with their \
             95 % confidence intervals.",
            rates(report),
        ),
        (
            "rotation",
            "While the ring rotates",
            "Tickets of one proxy, taken at another while both change their ticket keys in two acknowledged phases.",
            html_of(table::rotations().rows(report.rotations.iter().map(table::rotation))),
        ),
        (
            "gap",
            "The gap of a handover",
            "From the response that announces the next proxy to the first request that is executed there; the report is \
             <code>edge-gap.json</code>.",
            gaps.iter().flatten().map(html::table).collect(),
        ),
    ];
    let there = sections.into_iter().filter(|(.., content)| !content.is_empty());
    let sections = there.map(|(id, title, note, content)| {
        Section::new(id, title, format!("<p>{note}</p>\n{content}"))
    });
    let [sentence, rest] = saved(report);
    let page = Page {
        title: "A client that comes to another edge proxy",
        answer: answer(&sentence, &rest),
        introduction: introduction(report),
        sections: sections.collect(),
        legend: table::LEGEND,
    };
    page.with_report(&report.experiment, report)
}

/// Returns the answer, the sentence that matters first: what a ticket leaves of the bytes of both first flights, and what
/// of the computation.
pub(crate) fn saved(report: &Report) -> [String; 2] {
    let share = |kx| {
        let is_it = |cell: &&Cell| {
            let name = &cell.name;
            (name.way, name.kx, name.certificates) == (EdgeWay::Resumed, kx, Certificates::Rsa2048)
        };
        share_of_full(report.cells.iter().find(is_it)?, report)
    };
    let shares = KeyExchange::ALL.map(share);
    let [Some(classical), Some(hybrid)] = shares else {
        return [
            "Nothing was measured that compares resumed handshakes with full ones.".to_owned(),
            String::new(),
        ];
    };
    let sentence = format!(
        "A ticket leaves {} of the first flights of a full handshake with RSA-2048 and X25519, and {} with X25519MLKEM768.",
        percent(classical),
        percent(hybrid)
    );
    let work = |way, kx| {
        let is_it = |it: &&Operations| {
            (it.name.way, it.name.kx, it.name.certificates) == (way, kx, Certificates::Rsa2048)
        };
        let row = report.operations.iter().find(is_it)?;
        let engine = |us: &[f64]| Some(Median::of(us.iter().copied())?.value);
        Some(engine(&row.client.engine_us)? + engine(&row.server.engine_us)?)
    };
    let resumed = work(EdgeWay::Resumed, KeyExchange::X25519MlKem768);
    let rest = resumed.zip(work(EdgeWay::Full, KeyExchange::X25519)).map(|(resumed, full)| {
        format!(
            "Both ends together compute {} as long for a resumed hybrid handshake as for a full classical one.",
            percent(resumed / full)
        )
    });
    [sentence, rest.unwrap_or_default()]
}

fn introduction(report: &Report) -> String {
    let facts = [
        ("Machine", report.machine.to_string()),
        (
            "Load at the beginning",
            report.load.map_or_else(|| NOTHING.to_owned(), |it| it.to_string()),
        ),
        ("Link", report.link.clone().unwrap_or_else(|| "loopback".to_owned())),
        ("Connections", count(table::connections(report))),
        ("Connections a sample", count(report.connections)),
        ("Seed", report.seed.to_string()),
        ("Revision", report.revision.clone().unwrap_or_else(|| "unknown".to_owned())),
    ];
    format!(
        "<p>A client with a ticket of one proxy connects to another that has the same ticket keys.</p>\n{}",
        description_list(&facts)
    )
}

/// The cells of one link and kind of certificates replace each other.
fn is_one_figure(a: &Cell, b: &Cell) -> bool {
    (a.name.certificates, &a.name.link) == (b.name.certificates, &b.name.link)
}

fn bytes(report: &Report) -> String {
    let bar = |cell: &Cell, value: fn(&Sample) -> u64| {
        let median = median(cell, |sample| value(sample) as f64);
        LaneData::Bar(median.map_or(0.0, |median| median.value))
    };
    // Bytes don't depend on the link.
    let first = report.cells.first().map(|cell| cell.name.link.clone());
    let cells: Vec<_> =
        report.cells.iter().filter(|cell| Some(&cell.name.link) == first.as_ref()).collect();
    let figures = cells.chunk_by(|a, b| is_one_figure(a, b)).map(|cells| Figure {
        title: format!("First flights: {}", cells[0].name.certificates),
        unit: "bytes",
        note: "",
        lanes: &["ClientHello", "flight", "tickets"],
        strips: cells
            .iter()
            .map(|cell| Strip {
                name: name(cell),
                lanes: vec![
                    bar(cell, |sample| sample.hello),
                    bar(cell, |sample| sample.of.server.handshake),
                    bar(cell, Sample::tickets),
                ],
            })
            .collect(),
    });
    on_one_axis(&figures.collect::<Vec<_>>()).concat()
}

fn times(report: &Report) -> String {
    let of_link = report.cells.chunk_by(|a, b| a.name.link == b.name.link).map(|cells| {
        let figures = cells.chunk_by(is_one_figure).map(|cells| {
            let CellLink { keys, place } = CellLink::of(&cells[0]);
            Figure {
                title: format!("Until the client has its response: {keys}, {place}"),
                unit: "ms",
                note: "",
                lanes: &["response"],
                strips: cells
                    .iter()
                    .map(|cell| Strip {
                        name: name(cell),
                        lanes: vec![LaneData::of(
                            cell.samples.iter().map(|it| it.of.response_us / 1e3),
                        )],
                    })
                    .collect(),
            }
        });
        on_one_axis(&figures.collect::<Vec<_>>()).concat()
    });
    let figures: String = of_link.collect();
    let rows = report.cells.iter().map(|cell| table::cell(cell, report));
    figures + &html_of(table::cells().rows(rows))
}

/// The words of a figure's title.
struct CellLink {
    keys: &'static str,
    place: String,
}

impl CellLink {
    fn of(cell: &Cell) -> Self {
        Self { keys: cell.name.certificates.name(), place: place(cell.name.link.as_ref()) }
    }
}

fn operations(report: &Report) -> String {
    let sums = |row: &Operations, of: &[tessera_observed::Operation]| {
        [&row.client, &row.server].map(|end| LaneData::of(end.sums(of)))
    };
    let figures = report.operations.chunk_by(|a, b| a.name.certificates == b.name.certificates);
    let figures = figures.map(|rows| Figure {
        title: format!("Key exchange, certificates and tickets: {}", rows[0].name.certificates),
        unit: "µs",
        note: "",
        lanes: &["client", "server"],
        strips: rows
            .iter()
            .map(|row| Strip {
                name: Name::new(row.key(), row.name.way.name()).with("", group(row.name.kx)),
                lanes: sums(row, &table::ALL).into(),
            })
            .collect(),
    });
    let figures = on_one_axis(&figures.collect::<Vec<_>>()).concat();
    let rows = report.operations.iter().flat_map(table::rows);
    figures + &html_of(table::operations().rows(rows))
}

fn rates(report: &Report) -> String {
    let figures = report.rates.chunk_by(|a, b| a.name.certificates == b.name.certificates);
    let figures = figures.map(|rows| Figure {
        title: format!("The proxy's processor time: {}", rows[0].name.certificates),
        unit: "µs",
        note: "",
        lanes: &["thread", "engine"],
        strips: rows
            .iter()
            .map(|row| Strip {
                name: Name::new(row.key(), row.name.way.name()).with("", group(row.name.kx)),
                lanes: [&row.server_cpu_us, &row.server_engine_us]
                    .map(|us| LaneData::of(us.iter().copied()))
                    .into(),
            })
            .collect(),
    });
    let figures = on_one_axis(&figures.collect::<Vec<_>>()).concat();
    figures + &html_of(table::rates().rows(report.rates.iter().map(table::rate)))
}

fn html_of(table: Table) -> String {
    table.unless_empty().as_ref().map_or_else(String::new, html::table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::samples;

    #[test]
    fn the_page_has_every_cell_and_its_answer_is_what_a_ticket_leaves() {
        let report = samples::report();
        let page = render(&report).unwrap();
        let has = |mark: &str, count| assert_eq!(page.matches(mark).count(), count, "{mark}");
        for cell in &report.cells {
            has(&format!("data-row=\"{}\"", cell.name.key()), 1);
        }
        has("data-row=\"operations/full/x25519/rsa-2048/client\"", 1);
        has("<h2 id=\"times\">", 1);
        has("data-row=\"rate/full/x25519/rsa-2048/100\"", 1);
        has("data-row=\"rotation/resumed/x25519/rsa-2048\"", 1);
        has("<b>", 0);
        has("NaN", 0);
        has("<strong>A ticket leaves 25\u{a0}% of the first flights", 1);
        let nothing = Report { cells: Vec::new(), operations: Vec::new(), ..report };
        let page = render(&nothing).unwrap();
        assert!(page.contains("<strong>Nothing was measured") && !page.contains("id=\"bytes\""));
    }
}
