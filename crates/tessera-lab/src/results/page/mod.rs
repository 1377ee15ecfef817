//! The page: the figures of the evaluation, and beside them the tables.

mod figures;

use super::input::Inputs;
use super::table::Table;
use crate::page::document::{contents, page};
use crate::page::tables::{self, Row};
use crate::page::words::escaped;

const TITLE: &str = "Roaming over TLS 1.3: the evaluation";

/// Makes the figures of a section.
type Figures = fn(&Inputs) -> String;

/// A part of the page: its id and title, its figures, and the tables below them.
struct Section {
    id: &'static str,
    title: &'static str,
    figures: Figures,
    tables: &'static [&'static str],
}

const SECTIONS: [Section; 9] = [
    Section {
        id: "setting",
        title: "What was to be reached",
        figures: none,
        tables: &["setting", "targets"],
    },
    Section {
        id: "latency",
        title: "Sending and receiving (Table 5, Fig. 9)",
        figures: figures::latency,
        tables: &["table-5", "engine", "suites", "stores"],
    },
    Section {
        id: "costs",
        title: "Operations, bytes, tickets",
        figures: none,
        tables: &["operations", "bytes", "issuing"],
    },
    Section {
        id: "regions",
        title: "Between cities (Fig. 12)",
        figures: figures::regions,
        tables: &["seoul-tokyo", "tokyo-los-angeles", "seoul-los-angeles", "distance"],
    },
    Section {
        id: "disturbed",
        title: "Loss and congestion",
        figures: figures::disturbed,
        tables: &["loss", "congestion"],
    },
    Section { id: "sepp", title: "Two SEPPs", figures: figures::sepp, tables: &["sepp"] },
    Section {
        id: "load",
        title: "Memory (Fig. 10), load, storms",
        figures: figures::load,
        tables: &["memory", "load", "growth", "storm"],
    },
    Section { id: "pays", title: "Break-even", figures: none, tables: &["break-even"] },
    Section {
        id: "traffic",
        title: "What an observer learns",
        figures: figures::traffic,
        tables: &["traffic", "confusion", "padding", "not-run"],
    },
];

/// Writes the page.
pub(super) fn render(inputs: &Inputs, tables: &[(&str, Option<Table>)]) -> String {
    let links: Vec<_> = SECTIONS.iter().map(|it| (it.id.to_owned(), it.title.to_owned())).collect();
    let mut body = format!(
        "<h1>{TITLE}</h1>\n<p>Every table and figure of the roaming paper (Lastre et al., Sensors 2025, 25(19), \
         6144) that can be measured, on real code and real links, the paper's numbers beside ours; what differs \
         and why is in <a href=\"roaming.md\">the text</a>.</p>\n{}",
        contents(&links)
    );
    for Section { id, title, figures, tables: names } in &SECTIONS {
        let found = names.iter().map(|name| {
            let made =
                tables.iter().find(|(known, _)| known == name).and_then(|(_, it)| it.as_ref());
            table(name, made)
        });
        body += &format!(
            "<section>\n<h2 id=\"{id}\">{title}</h2>\n{}{}</section>\n",
            figures(inputs),
            found.collect::<String>()
        );
    }
    page(TITLE, &(body + SAMPLES), "")
}

/// Where the samples are: beside the page.
const SAMPLES: &str = "<section>\n<h2 id=\"samples\">The samples</h2>\n<p>In the reports beside this page: \
                       every one in <a href=\"roaming.json\">roaming.json</a> and <a \
                       href=\"traffic.json\">traffic.json</a>, histograms in <a \
                       href=\"load.json\">load.json</a>.</p>\n</section>\n";

fn table(name: &str, table: Option<&Table>) -> String {
    let Some(Table { caption, columns, rows }) = table else {
        return format!("<p data-table=\"{name}\">{name}: not recorded yet</p>\n");
    };
    let columns: Vec<String> = columns.iter().map(|column| escaped(column)).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let rows: Vec<Row> = rows
        .iter()
        .enumerate()
        .map(|(index, row)| Row {
            key: format!("{name}/{index}"),
            head: linked(&row.name),
            cells: row.cells.iter().map(|cell| escaped(cell)).collect(),
        })
        .collect();
    // A caption inside would be as wide as the table: too wide on a phone, or too narrow.
    let caption = format!("<p class=\"note\">{}</p>\n", escaped(caption));
    caption + &tables::numbers(&name.replace('-', " "), &columns, &rows)
}

/// A name as HTML; one that is a link in Markdown is one here.
fn linked(name: &str) -> String {
    let link = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(')'));
    match link.and_then(|link| link.split_once("](")) {
        Some((text, target)) => format!("<a href=\"{}\">{}</a>", escaped(target), escaped(text)),
        None => escaped(name),
    }
}

/// A section without figures.
fn none(_: &Inputs) -> String {
    String::new()
}
