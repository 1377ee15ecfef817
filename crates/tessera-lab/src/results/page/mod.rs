//! The page: the figures of the evaluation, with the tables next to them.

mod figures;

use super::input::Inputs;
use super::table::{self, Table};
use crate::page::document::{contents, page};
use crate::page::tables::{self, Row};
use crate::page::words::escaped;

const TITLE: &str = "Roaming over TLS 1.3: the evaluation";

/// Makes the figures of a section.
type Figures = fn(&Inputs) -> String;

/// A part of the page: its id and title, its figures, and the tables below them, each with its title.
struct Section {
    id: &'static str,
    title: &'static str,
    figures: Figures,
    tables: &'static [(&'static str, &'static str)],
}

/// The title of a table begins with the word by which the text names it.
const SECTIONS: [Section; 9] = [
    Section {
        id: "setting",
        title: "What was to be reached",
        figures: none,
        tables: &[("setting", "Setting: the runs"), ("targets", "Targets")],
    },
    Section {
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
    Section {
        id: "costs",
        title: "Operations, bytes, tickets",
        figures: none,
        tables: &[
            ("operations", "Operations, by kind and side"),
            ("bytes", "Bytes on the way"),
            ("issuing", "Issuing: what a ticket costs"),
        ],
    },
    Section {
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
    Section {
        id: "disturbed",
        title: "Loss and congestion",
        figures: figures::disturbed,
        tables: &[
            ("loss", "Loss between the cities"),
            ("congestion", "Congestion between the cities"),
        ],
    },
    Section {
        id: "sepp",
        title: "Two SEPPs",
        figures: figures::sepp,
        tables: &[("sepp", "SEPPs: first response and registration")],
    },
    Section {
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
    Section {
        id: "pays",
        title: "Break-even",
        figures: none,
        tables: &[("break-even", "Break-even: from where on an option pays")],
    },
    Section {
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
    let links: Vec<_> = SECTIONS.iter().map(|it| (it.id.to_owned(), it.title.to_owned())).collect();
    let mut body = format!(
        "<h1>{TITLE}</h1>\n<p>Every table and figure of the roaming paper (Lastre et al., Sensors 2025, 25(19), \
         6144) that can be measured, on real code and real links, the paper's numbers beside ours; what differs \
         and why is in {text}.</p>\n{}",
        contents(&links)
    );
    for Section { id, title, figures, tables: listed } in &SECTIONS {
        let found = listed.iter().map(|(name, title)| {
            let made =
                tables.iter().find(|(known, _)| known == name).and_then(|(_, it)| it.as_ref());
            table(name, title, made)
        });
        body += &format!(
            "<section>\n<h2 id=\"{id}\">{title}</h2>\n{}{}</section>\n",
            figures(inputs),
            found.collect::<String>()
        );
    }
    page(TITLE, &(body + &samples(inputs)), "")
}

/// Links to the samples, which are next to the page.
fn samples(inputs: &Inputs) -> String {
    let links = inputs.there().map(|name| {
        let what = if name == "load.json" { "histograms" } else { "every sample" };
        format!("<li><a href=\"{name}\">{name}</a>: {what}</li>\n")
    });
    let links: String = links.collect();
    let list = if links.is_empty() {
        "<p>There are none yet.</p>\n".to_owned()
    } else {
        format!("<p>In the reports beside this page:</p>\n<ul>\n{links}</ul>\n")
    };
    format!("<section>\n<h2 id=\"samples\">The samples</h2>\n{list}</section>\n")
}

fn table(name: &str, title: &str, table: Option<&Table>) -> String {
    let Some(Table { caption, columns, rows }) = table else {
        return format!("<p data-table=\"{name}\">{title}: not recorded yet</p>\n");
    };
    let columns: Vec<String> = columns.iter().map(|column| escaped(column)).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let rows: Vec<Row> = rows
        .iter()
        .enumerate()
        .map(|(index, row)| Row {
            key: format!("{name}/{index}"),
            head: head(row),
            cells: row.cells.iter().map(|cell| escaped(cell)).collect(),
        })
        .collect();
    // A caption inside would be as wide as the table: too wide on a phone, or too narrow.
    let caption = format!("<p class=\"note\">{}</p>\n", escaped(caption));
    caption + &tables::numbers(title, &columns, &rows)
}

/// Formats a row's name as HTML.
fn head(row: &table::Row) -> String {
    let name = escaped(&row.name);
    if row.is_file { format!("<a href=\"{name}\">{name}</a>") } else { name }
}

/// Formats a section without figures.
fn none(_: &Inputs) -> String {
    String::new()
}
