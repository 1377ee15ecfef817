//! The page: the figures of the evaluation, with the tables next to them.

pub(super) mod answer;
mod figures;

use super::input::Inputs;
use super::tables;
use crate::page::document::{self, Page, Section};
use crate::table::{Table, html};

const TITLE: &str = "Roaming over TLS 1.3: the evaluation";

/// Makes the figures of a section.
type Figures = fn(&Inputs) -> String;

/// A part of the page: its id and title, its figures, and the tables below them.
type Part = (&'static str, &'static str, Figures, &'static [&'static str]);

const PARTS: [Part; 9] = [
    ("setting", "What was to be reached", none, &["answers", "setting", "targets"]),
    (
        "latency",
        "Sending and receiving (Table 5, Fig. 9)",
        figures::latency,
        &["table-5", "engine", "suites", "stores"],
    ),
    ("costs", "Operations, bytes, tickets", none, &["operations", "bytes", "issuing"]),
    (
        "regions",
        "Between cities (Fig. 12)",
        figures::regions,
        &["seoul-tokyo", "tokyo-los-angeles", "seoul-los-angeles", "distance"],
    ),
    ("disturbed", "Loss and congestion", figures::disturbed, &["loss", "congestion"]),
    ("sepp", "Two SEPPs", figures::sepp, &["sepp"]),
    (
        "load",
        "Memory (Fig. 10), load, storms",
        figures::load,
        &["memory", "load", "growth", "storm"],
    ),
    ("pays", "Break-even", none, &["break-even"]),
    (
        "traffic",
        "What an observer learns",
        figures::traffic,
        &["traffic", "confusion", "padding", "not-run"],
    ),
];

/// Writes the page. Its links lead to the reports that are there, and to the text, if there is one.
pub(super) fn render(inputs: &Inputs, tables: &[(&str, Option<Table>)], has_text: bool) -> String {
    let text =
        if has_text { "<a href=\"roaming.md\">the text</a>" } else { "the text, roaming.md" };
    let introduction = format!(
        "<p>Every table and figure of the roaming paper (Lastre et al., Sensors 2025, 25(19), 6144) that can be \
         measured, on real code and real links, next to the paper's numbers; what differs and why is in {text}.</p>\n"
    );
    let sections = PARTS.into_iter().map(|(id, title, figures, listed)| {
        let found = listed.iter().map(|name| {
            let found = tables.iter().find(|(known, _)| known == name);
            table(name, found.and_then(|(_, table)| table.as_ref()))
        });
        let content = [figures(inputs)].into_iter().chain(found).collect();
        Section::new(id, title, content)
    });
    let samples = Section::new("samples", "The samples", samples(inputs));
    let sections = sections.chain([samples]).collect();
    let [sentence, rest] = answer::of(inputs, tables);
    let answer = document::answer(&sentence, &rest);
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

fn table(name: &str, table: Option<&Table>) -> String {
    let Some(table) = table else {
        let title = tables::title(name);
        return format!("<p data-table=\"{name}\">{title}: not recorded yet</p>\n");
    };
    let mut table = table.clone();
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
