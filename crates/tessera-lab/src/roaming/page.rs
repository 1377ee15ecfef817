//! The page of the experiment `roaming`.

use tessera_reports::Sample;
use tessera_reports::roaming::{Cell, Setup};

use super::report::Report;
use super::table::{self, carrier, factor, is_nearest, unit, whole};
use crate::numbers::fixed;
use crate::page::document::{Page, Section, answer, description_list};
use crate::page::figure::{Figure, Strip};
use crate::page::strip::LaneData;
use crate::table::html::{self, escaped};

/// A line of a strip: its name, and its value in a sample, in microseconds.
type Lane = (&'static str, fn(&Sample) -> Option<f64>);

const LATENCY: [Lane; 3] =
    [("send", |sample| sample.send_us), ("receive", |sample| sample.receive_us), ("whole", whole)];

/// Writes the page.
pub(super) fn render(report: &Report) -> serde_json::Result<String> {
    let groups = report.cells.chunk_by(|a, b| !table::is_under_another_head(&a.name, &b.name));
    let groups = groups.enumerate().filter_map(|(index, cells)| section(index, cells));
    let mut sections: Vec<_> = groups.collect();
    sections.extend(not_run(report));
    let page = Page {
        title: "Roaming: what each way of reconnecting costs",
        answer: factors(&report.cells),
        introduction: introduction(report),
        sections,
        legend: table::LEGEND,
    };
    page.with_report(&report.experiment, report)
}

/// Returns the answer: how long forward-secret early data takes, compared with replayable early data.
fn factors(cells: &[Cell]) -> String {
    let range = |setup: Setup, place: &str| {
        let own = cells.iter().filter(|cell| cell.name.through == setup && is_nearest(cell));
        let factors: Vec<_> = own.filter_map(|cell| factor(cell, cells)).collect();
        let least = factors.iter().copied().reduce(f64::min)?;
        let most = factors.iter().copied().reduce(f64::max)?;
        let [least, most] = [least, most].map(|factor| fixed(factor, 2));
        let times = if least == most { least } else { format!("{least} to {most}") };
        Some(format!("{times} times as long {place}"))
    };
    let ranges = [
        range(Setup::Endpoints, "between two processes"),
        range(Setup::Sepp, "through two SEPPs"),
        range(Setup::Engine, "in memory, where nothing waits"),
    ];
    let ranges: Vec<_> = ranges.into_iter().flatten().collect();
    if ranges.is_empty() {
        return answer(table::NO_FACTORS, "");
    }
    let sentence = format!(
        "To its response, forward-secret early data (e) takes {}, compared with replayable early data (d).",
        ranges.join(", and ")
    );
    answer(&sentence, "Both with X25519; (e) with psk_ke and its keys in memory; medians.")
}

fn introduction(report: &Report) -> String {
    let Report { machine, seed, link, revision, .. } = report;
    let facts = [
        ("Machine", machine.to_string()),
        ("Links", link.clone()),
        ("Seed", seed.to_string()),
        ("Tessera", env!("CARGO_PKG_VERSION").to_owned()),
        ("Revision", revision.clone().unwrap_or_else(|| "unknown".to_owned())),
    ];
    "<p>The options are those of a paper on TLS 1.3 between mobile networks, (a) to (e). Sending lasts from the \
     client's beginning of TLS until the server's application holds the request; receiving from the arrival of that \
     request's flight until the client's application holds the response; both have the server's work on that flight \
     in them, and the whole has it once.</p>\n"
        .to_owned()
        + &description_list(&facts)
}

/// Returns the section of the cells under one head.
fn section(index: usize, cells: &[Cell]) -> Option<Section> {
    let Cell { name, .. } = cells.first()?;
    let (title, (_, of_unit)) = (carrier(name), unit(name));
    let strips = cells.iter().map(|cell| {
        let lane = |value: &fn(&Sample) -> Option<f64>| {
            LaneData::of(cell.samples.iter().filter_map(value).map(|us| us / of_unit))
        };
        let lanes = LATENCY.iter().map(|(_, value)| lane(value)).collect();
        Strip { name: table::name(&cell.name), lanes }
    });
    let figure = Figure {
        title: format!("Latency {title}"),
        unit: match name.through {
            Setup::Engine => "µs since the client began",
            // Its TCP and TLS are within the SEPPs.
            Setup::Sepp => "ms since the first request, TCP included",
            Setup::Endpoints => "ms since TLS began",
        },
        note: "As the paper defines it, and the whole from the beginning to the response.",
        lanes: &LATENCY.map(|(name, _)| name),
        strips: strips.collect(),
    };
    let table = table::cells(name).rows(cells.iter().map(table::row));
    let content = figure.render() + &html::table(&table);
    Some(Section::new(format!("group-{index}"), title, content))
}

fn not_run(report: &Report) -> Option<Section> {
    let rows = report.not_run.iter().map(|it| {
        let words =
            format!("{}, {}: {}", carrier(&it.name), table::name(&it.name).words(), it.reason);
        format!("<li data-not-run=\"{}\">{}</li>\n", it.name.key(), escaped(&words))
    });
    let list = format!("<ul>\n{}</ul>\n", rows.collect::<String>());
    (!report.not_run.is_empty()).then(|| Section::new("not-run", "Not run", list))
}

#[cfg(test)]
mod tests {
    use tessera_reports::Machine;

    use super::*;
    use crate::roaming::report::SkippedCell;
    use crate::roaming::{grid, samples};

    fn report(cpu: &str) -> Report {
        let of = |through| grid::cells().into_iter().filter(move |it| it.through == through);
        let sample = Sample { send_us: Some(1.0), ..Sample::default() };
        let cell = |name| samples::cell(name, sample, 7);
        let not_run = |name| SkippedCell { name, reason: "<no link>".to_owned() };
        Report {
            experiment: "roaming".to_owned(),
            seed: 7,
            machine: Machine { cpu: cpu.to_owned(), cores: 2, kernel: "Linux".to_owned() },
            revision: None,
            link: "loopback".to_owned(),
            cells: of(Setup::Engine).map(cell).collect(),
            not_run: of(Setup::Sepp).map(not_run).collect(),
        }
    }

    /// Through two SEPPs the start of TLS is unknown.
    #[test]
    fn a_figure_states_where_its_time_begins() {
        for (through, unit) in [
            (Setup::Engine, "µs since the client began"),
            (Setup::Endpoints, "ms since TLS began"),
            (Setup::Sepp, "ms since the first request, TCP included"),
        ] {
            let mut report = report("CPU");
            report.cells.truncate(1);
            report.cells[0].name.through = through;
            let page = render(&report).unwrap();
            assert!(page.contains(&format!("<p class=\"unit\">{unit}</p>")), "{unit}");
        }
    }

    #[test]
    fn the_roaming_page_has_every_cell_of_the_report_and_what_did_not_run() {
        let report = report("CPU");
        let page = render(&report).unwrap();
        for cell in &report.cells {
            let key = cell.name.key();
            for mark in ["data-row", "data-way"] {
                let mark = format!("{mark}=\"{key}\"");
                assert_eq!(page.matches(&mark).count(), 1, "{mark}");
            }
        }
        for not_run in &report.not_run {
            let mark = format!("data-not-run=\"{}\"", not_run.name.key());
            assert_eq!(page.matches(&mark).count(), 1, "{mark}");
        }
        assert!(!page.contains("<no link>"));
        assert!(!page.contains("NaN"));
    }

    #[test]
    fn the_roaming_page_loads_nothing_and_nothing_in_it_becomes_markup() {
        let page = render(&report("</script><script>alert(1)</script>")).unwrap();
        for reference in ["http:", "https:", "src=", "url(", "@import", "<link", "<script>alert"] {
            assert!(!page.contains(reference), "{reference}");
        }
    }

    #[test]
    fn the_answer_of_the_roaming_page_is_how_many_times_0rtt_it_takes() {
        let mut report = report("CPU");
        for cell in &mut report.cells {
            let us = if is_nearest(cell) { 150.0 } else { 100.0 };
            cell.samples.iter_mut().for_each(|sample| sample.response_us = Some(us));
        }
        let page = render(&report).unwrap();
        assert!(page.contains("<strong>To its response, forward-secret early data (e) takes 1.50 times as long in memory"));
        report.cells.retain(is_nearest);
        assert!(render(&report).unwrap().contains("<strong>No factors: "));
    }
}
