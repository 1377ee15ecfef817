//! The page of the experiment `roaming`.

use super::report::{Cell, CellName, Report, Sample, Setup};
use super::table::whole;
use crate::page::document::{contents, description_list, document};
use crate::page::figure::{Figure, Strip};
use crate::page::strip::LaneData;
use crate::page::tables::{self, Row, cell as median_cell};
use crate::page::words::{self, NOTHING, escaped};
use crate::statistics::Median;
use crate::variants::Variant;
use crate::ways::{Agreement, Continuation, OneTimeKind};

/// A line of a strip: its name, and its value in a sample, in microseconds.
type Lane = (&'static str, fn(&Sample) -> Option<f64>);

const LATENCY: [Lane; 3] =
    [("send", |sample| sample.send_us), ("receive", |sample| sample.receive_us), ("whole", whole)];

/// Writes the page.
pub(super) fn render(report: &Report) -> serde_json::Result<String> {
    let groups: Vec<_> = report.cells.chunk_by(|a, b| group(&a.name) == group(&b.name)).collect();
    let mut sections: Vec<_> = groups
        .iter()
        .enumerate()
        .filter_map(|(index, cells)| {
            Some((format!("group-{index}"), escaped(&group(&cells.first()?.name))))
        })
        .collect();
    if !report.not_run.is_empty() {
        sections.push(("not-run".to_owned(), "Not run".to_owned()));
    }
    let measured =
        groups.iter().zip(&sections).map(|(cells, (id, title))| section(id, title, cells));
    let body = [head(report), contents(&sections), measured.collect(), not_run(report)];
    document(&report.experiment, &body, report)
}

/// Returns the group of cells that are shown together.
fn group(name: &CellName) -> String {
    match name.through {
        Setup::Engine => "In memory".to_owned(),
        Setup::Endpoints => format!("Two processes, link {}", name.link),
        Setup::Sepp => format!("Two SEPPs, link {}", name.link),
    }
}

fn head(report: &Report) -> String {
    let Report { machine, seed, link, revision, .. } = report;
    let facts = vec![
        ("Machine", machine.to_string()),
        ("Links", link.clone()),
        ("Seed", seed.to_string()),
        ("Tessera", env!("CARGO_PKG_VERSION").to_owned()),
        ("Revision", revision.clone().unwrap_or_else(|| "unknown".to_owned())),
    ];
    format!(
        "<h1>Roaming: what each way of reconnecting costs</h1>\n\
         <p>The options are those of a paper on TLS 1.3 between mobile networks: (a) a full handshake, (b) a \
         ticket alone, (c) a ticket and a key exchange, (d) 0-RTT without a register, (d') the same with \
         tickets of a single use, (e) forward-secret 0-RTT. Tickets were made beforehand. Sending lasts from \
         the client's beginning of TLS until the server's application holds the request; receiving from the \
         arrival of that request's flight until the client's application holds the response; both have the \
         server's work on that flight in them, and the whole has it once.</p>\n{}",
        description_list(&facts)
    )
}

fn section(id: &str, title: &str, cells: &[Cell]) -> String {
    let through = cells.first().map(|cell| cell.name.through);
    let (unit, of_unit) = if through == Some(Setup::Engine) { ("µs", 1.0) } else { ("ms", 1e3) };
    let strips = cells.iter().map(|cell| Strip {
        key: cell.name.key(),
        head: row_head(&cell.name.variant),
        description: choices(&cell.name.variant).join(", "),
        lanes: LATENCY
            .iter()
            .map(|(_, value)| {
                LaneData::of(cell.samples.iter().filter_map(value).map(|us| us / of_unit))
            })
            .collect(),
    });
    let figure = Figure {
        title: format!("Latency: {title}"),
        unit: match through {
            Some(Setup::Engine) => "µs since the client began",
            // Its TCP and TLS are within the SEPPs.
            Some(Setup::Sepp) => "ms since the first request, TCP included",
            Some(Setup::Endpoints) | None => "ms since TLS began",
        },
        note: "As the paper defines it, and the whole from the beginning to the response.",
        lanes: &LATENCY.map(|(name, _)| name),
        strips: strips.collect(),
    };
    format!(
        "<section>\n<h2 id=\"{id}\">{title}</h2>\n{}{}</section>\n",
        figure.render(),
        numbers(title, unit, of_unit, cells)
    )
}

fn numbers(title: &str, unit: &str, of_unit: f64, cells: &[Cell]) -> String {
    let times = ["send", "receive", "TCP", "first byte", "handshake", "response"];
    let times = times.map(|name| format!("{name}, {unit}"));
    let others = [
        "client engine, µs",
        "server engine, µs",
        "client process, µs",
        "server process, µs",
        "round trips to first byte",
        "round trips to response",
        "first flight, bytes",
        "client bytes",
        "server bytes",
        "a ticket at the server, µs",
    ];
    let columns: Vec<_> = ["option", "samples", "failed"]
        .into_iter()
        .chain(times.iter().map(String::as_str))
        .chain(others)
        .collect();
    let caption = format!(
        "All numbers, {title}: medians, below them the 95 % confidence interval; TCP to response \
         are since the client began"
    );
    let rows: Vec<_> = cells
        .iter()
        .map(|cell| Row {
            key: cell.name.key(),
            head: row_head(&cell.name.variant),
            cells: row(cell, of_unit),
        })
        .collect();
    tables::numbers(&caption, &columns, &rows)
}

fn row(cell: &Cell, of_unit: f64) -> Vec<String> {
    let median = |value: fn(&Sample) -> Option<f64>, unit: f64| {
        median_cell(Median::of(cell.samples.iter().filter_map(value).map(|us| us / unit)))
    };
    let times: [fn(&Sample) -> Option<f64>; 6] = [
        |it| it.send_us,
        |it| it.receive_us,
        |it| it.tcp_us,
        |it| it.first_byte_us,
        |it| it.handshake_us,
        |it| it.response_us,
    ];
    let processor: [fn(&Sample) -> Option<f64>; 4] = [
        |it| it.client_engine_us,
        |it| it.server_engine_us,
        |it| it.client_cpu_us,
        |it| it.server_cpu_us,
    ];
    let round_trips = [cell.round_trips.first_byte, cell.round_trips.response];
    let bytes = [cell.bytes.first_flight, cell.bytes.client, cell.bytes.server];
    let number = |value: Option<f64>| value.map_or_else(|| NOTHING.to_owned(), words::short);
    let count = |value: Option<u64>| value.map_or_else(|| NOTHING.to_owned(), |it| it.to_string());
    [cell.samples.len().to_string(), cell.failed.to_string()]
        .into_iter()
        .chain(times.map(|value| median(value, of_unit)))
        .chain(processor.map(|value| median(value, 1.0)))
        .chain(round_trips.map(number))
        .chain(bytes.map(count))
        .chain([number(cell.issuing.map(|issuing| issuing.server_us))])
        .collect()
}

fn not_run(report: &Report) -> String {
    if report.not_run.is_empty() {
        return String::new();
    }
    let rows = report.not_run.iter().map(|it| {
        format!(
            "<li data-not-run=\"{}\">{}: {}</li>\n",
            it.name.key(),
            escaped(&format!("{}, {}", group(&it.name), choices(&it.name.variant).join(", "))),
            escaped(&it.reason)
        )
    });
    format!(
        "<section>\n<h2 id=\"not-run\">Not run</h2>\n<ul>\n{}</ul>\n</section>\n",
        rows.collect::<String>()
    )
}

/// Formats a variant as HTML: the option, and what else distinguishes it.
fn row_head(variant: &Variant) -> String {
    let choices = choices(variant);
    let (first, others) = choices.split_at(1);
    format!("<b>{}</b> <span>{}</span>", first.concat(), others.join(", "))
}

fn choices(variant: &Variant) -> Vec<String> {
    let Variant { option, mode, kx, ticket_key, continuation, store, suite } = *variant;
    [
        Some(format!("({}) {}", option.letter(), mode.name())),
        kx.map(|kx| format!("key exchange {}", Agreement::name(kx))),
        ticket_key.map(|key| format!("one-time key {}", OneTimeKind::name(key))),
        continuation.map(|it| Continuation::name(it).to_owned()),
        mode.has_one_time_key().then(|| format!("keys in {}", store.name())),
        Some(suite.number().to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
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
    fn a_figure_says_from_when_on_it_counts() {
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
}
