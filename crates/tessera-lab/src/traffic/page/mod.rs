//! The page of the experiment `traffic`.

use super::report::{Confusion, ConfusionTable, Features, Report};
use super::table;
use crate::numbers::{count, percent};
use crate::page::document::{Page, Section, Setting, answer, facts};
use crate::page::figure::{Figure, Strip};
use crate::page::strip::LaneData;
use crate::table::html;

/// Writes the page.
pub(super) fn render(report: &Report) -> serde_json::Result<String> {
    let Report { confusion, costs, .. } = report;
    let told = figure(confusion) + &html::table(&table::accuracies(confusion));
    let confusions = confusion.tables.iter().map(|it| html::table(&table::confusion(it)));
    let page = Page {
        title: "Traffic: what sizes and times give away",
        answer: told_apart(confusion),
        introduction: introduction(report),
        sections: vec![
            Section::new("told", "What distinguishes the ways", told),
            Section::new("confusion", "What was taken for what", confusions.collect()),
            Section::new("costs", "What padding costs", html::table(&table::costs(costs))),
        ],
        legend: table::LEGEND,
    };
    page.with_report(&report.experiment, report)
}

/// Returns the answer: how often an observer of everything is right, at the best and at the worst.
fn told_apart(confusion: &Confusion) -> String {
    let whole = confusion.tables.iter().filter(|table| table.features == Features::Both);
    let by_accuracy = |a: &&ConfusionTable, b: &&ConfusionTable| a.accuracy.total_cmp(&b.accuracy);
    let ends = whole.clone().min_by(by_accuracy).zip(whole.max_by(by_accuracy));
    let Some((least, most)) = ends else { return answer("Nothing was recorded.", "") };
    let of = |table: &ConfusionTable| {
        let setting = table::setting(table.rtt_ms, table.padding).words();
        format!("{} ({setting})", percent(table.accuracy))
    };
    let to_most = if least == most { String::new() } else { format!(" to {}", of(most)) };
    let sentence = format!(
        "An observer of sizes and times recognises the way of {}{to_most} of the connections.",
        of(least)
    );
    answer(&sentence, &format!("Guessing would be right for {}.", percent(most.chance)))
}

fn introduction(report: &Report) -> String {
    let Report { seed, machine, link, flows, confusion, .. } = report;
    let of_first = |table: &ConfusionTable| table.matrix.first().map(|row| row.iter().sum());
    let repetitions = confusion.tables.first().and_then(of_first).unwrap_or(0);
    let more = vec![
        ("Connections", count(flows.len())),
        ("Parts of the cross-validation", confusion.folds.to_string()),
    ];
    format!(
        "<p>A client connects in one of six ways, and has one registration of a roaming subscriber, 13 \
         exchanges. An observer at the client's end of the link sees when TLS records pass, from which side \
         they come and how long they are. A decision tree, grown on other connections, guesses which way it \
         was.</p>\n{}",
        facts(&Setting { machine, link, seed: *seed, repetitions }, more)
    )
}

/// Shows how well the options are distinguished.
fn figure(confusion: &Confusion) -> String {
    let percent = |table: &ConfusionTable| LaneData::Bar(table.accuracy * 1e2);
    let strips = table::settings(confusion).filter_map(|tables| {
        let first = tables.first()?;
        let name = table::setting(first.rtt_ms, first.padding);
        Some(Strip { name, lanes: tables.iter().map(percent).collect() })
    });
    let figure = Figure {
        title: "Connections that were classified right".to_owned(),
        unit: "% of the connections",
        note: "By the sizes of all records, of the protected ones alone, by times alone, and by all of \
               that. Padding can't reach hellos, which are not protected.",
        lanes: &Features::ALL.map(Features::name),
        strips: strips.collect(),
    };
    figure.render()
}

#[cfg(test)]
mod tests;
