//! The page: the figures of the evaluation, with the tables next to them.

mod answer;
mod figures;

use super::input::Inputs;
use crate::page::document::{Page, Section};
use crate::table::{Table, html};

const TITLE: &str = "Roaming over TLS 1.3: the evaluation";

/// Makes the figures of a section.
type Figures = fn(&Inputs) -> String;

/// A part of the page: its id and title, its figures, and the tables below them, each with its title.
struct Part {
    id: &'static str,
    title: &'static str,
    figures: Figures,
    tables: &'static [(&'static str, &'static str)],
}

/// The title of a table begins with the word by which the text names it.
const PARTS: [Part; 9] = [
    Part {
        id: "setting",
        title: "What was to be reached",
        figures: none,
        tables: &[("setting", "Setting: the runs"), ("targets", "Targets")],
    },
    Part {
        id: "latency",
        title: "Sending and receiving (Table 5, Fig. 9)",
        figures: figures::latency,
        tables: &[
            ("table-5", "Table 5: sending and receiving"),
            ("engine", "Engine: when what was there, and the work of both ends"),
            ("suites", "Suites: 0x1302 and 0x1301"),
            ("stores", "Stores: one-time keys in memory and in etcd"),
        ],
    },
    Part {
        id: "costs",
        title: "Operations, bytes, tickets",
        figures: none,
        tables: &[
            ("operations", "Operations, by kind and side"),
            ("bytes", "Bytes on the way"),
            ("issuing", "Issuing: what a ticket costs"),
        ],
    },
    Part {
        id: "regions",
        title: "Between cities (Fig. 12)",
        figures: figures::regions,
        tables: &[
            ("seoul-tokyo", "Seoul and Tokyo"),
            ("tokyo-los-angeles", "Tokyo and Los Angeles"),
            ("seoul-los-angeles", "Seoul and Los Angeles"),
            ("distance", "Distance: first byte and response, by round-trip time"),
        ],
    },
    Part {
        id: "disturbed",
        title: "Loss and congestion",
        figures: figures::disturbed,
        tables: &[
            ("loss", "Loss between the cities"),
            ("congestion", "Congestion between the cities"),
        ],
    },
    Part {
        id: "sepp",
        title: "Two SEPPs",
        figures: figures::sepp,
        tables: &[("sepp", "SEPPs: first response and registration")],
    },
    Part {
        id: "load",
        title: "Memory (Fig. 10), load, storms",
        figures: figures::load,
        tables: &[
            ("memory", "Memory of a connection, by component (Fig. 10)"),
            ("load", "Load: users who come back again and again"),
            ("growth", "Growth of the server's work with the number of users"),
            ("storm", "Storms: all connections come back at once"),
        ],
    },
    Part {
        id: "pays",
        title: "Break-even",
        figures: none,
        tables: &[("break-even", "Break-even: from where on an option pays")],
    },
    Part {
        id: "traffic",
        title: "What an observer learns",
        figures: figures::traffic,
        tables: &[
            ("traffic", "Traffic: how many flows are told right"),
            ("confusion", "Confusion: what flows were taken for"),
            ("padding", "Padding: what it costs"),
            ("not-run", "Not run, and failed"),
        ],
    },
];

/// Writes the page. Its links lead to the reports that are there, and to the text, if there is one.
pub(super) fn render(inputs: &Inputs, tables: &[(&str, Option<Table>)], has_text: bool) -> String {
    let text =
        if has_text { "<a href=\"roaming.md\">the text</a>" } else { "the text, roaming.md" };
    let introduction = format!(
        "<p>Every table and figure of the roaming paper (Lastre et al., Sensors 2025, 25(19), 6144) that can be \
         measured, on real code and real links, next to the paper's numbers; what differs and why is in {text}.</p>\n"
    );
    let sections = PARTS.iter().map(|it| {
        let found = it.tables.iter().map(|(name, title)| {
            let found = tables.iter().find(|(known, _)| known == name);
            table(name, title, found.and_then(|(_, table)| table.as_ref()))
        });
        let content = [(it.figures)(inputs)].into_iter().chain(found).collect();
        Section::new(it.id, it.title, content)
    });
    let samples = Section::new("samples", "The samples", samples(inputs));
    let sections = sections.chain([samples]).collect();
    let targets = tables.iter().find(|(name, _)| *name == "targets");
    let answer = answer::of(inputs, targets.and_then(|(_, table)| table.as_ref()));
    Page { title: TITLE, answer, introduction, sections, legend: "" }.render(TITLE, "")
}

/// Links to the samples, which are next to the page.
fn samples(inputs: &Inputs) -> String {
    let links = inputs.there().map(|name| {
        let what = if name == "load.json" { "histograms" } else { "every sample" };
        format!("<li><a href=\"{name}\">{name}</a>: {what}</li>\n")
    });
    let links: String = links.collect();
    if links.is_empty() {
        return "<p>There are none yet.</p>\n".to_owned();
    }
    format!("<p>In the reports next to this page:</p>\n<ul>\n{links}</ul>\n")
}

fn table(name: &str, title: &str, table: Option<&Table>) -> String {
    let Some(table) = table else {
        return format!("<p data-table=\"{name}\">{title}: not recorded yet</p>\n");
    };
    let mut table = Table { title: title.to_owned(), ..table.clone() };
    for (index, row) in table.rows.iter_mut().enumerate() {
        for row_name in &mut row.names {
            row_name.key = format!("{name}/{index}");
        }
    }
    html::table(&table)
}

/// Formats a section without figures.
fn none(_: &Inputs) -> String {
    String::new()
}
