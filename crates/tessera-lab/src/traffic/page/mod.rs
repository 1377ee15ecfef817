//! The page of the experiment `traffic`.

use super::report::{Confusion, ConfusionTable, Features, PaddingCost, Report};
use super::table::{accuracy, letter, padding, settings};
use crate::page::document::{Setting, contents, document, facts};
use crate::page::figure::{Figure, Strip};
use crate::page::strip::LaneData;
use crate::page::tables::{self, Row};
use crate::page::words::{NOTHING, escaped, plain};

/// Writes the page.
pub(super) fn render(report: &Report) -> serde_json::Result<String> {
    let body = [
        head(report),
        contents(&sections()),
        told(&report.confusion),
        confusions(&report.confusion),
        costs(&report.costs),
    ];
    document(&report.experiment, &body, report)
}

fn sections() -> Vec<(String, String)> {
    [
        ("told", "What distinguishes the ways"),
        ("confusion", "What was taken for what"),
        ("costs", "What padding costs"),
    ]
    .map(|(id, title)| (id.to_owned(), title.to_owned()))
    .to_vec()
}

fn head(report: &Report) -> String {
    let Report { seed, machine, link, flows, confusion, .. } = report;
    let of_first = |table: &ConfusionTable| table.matrix.first().map(|row| row.iter().sum());
    let repetitions = confusion.tables.first().and_then(of_first).unwrap_or(0);
    let more = vec![
        ("Connections", flows.len().to_string()),
        ("Parts of the cross-validation", confusion.folds.to_string()),
    ];
    format!(
        "<h1>Traffic: what sizes and times give away</h1>\n\
         <p>A client connects in one of six ways, and has one registration of a roaming subscriber, 13 \
         exchanges. An observer at the client's end of the link sees when TLS records pass, from which side \
         they come and how long they are. A decision tree, grown on other connections, guesses which way it was. \
         {OPTIONS}</p>\n\
         <p>An observer who also reads the ClientHello needs no classifier: a PSK and early data are offered in \
         plaintext (RFC 8446 §4.2.10, §4.2.11).</p>\n{}",
        facts(&Setting { machine, link, seed: *seed, repetitions }, more)
    )
}

/// The explanation of the letters.
const OPTIONS: &str = "(a) is a full handshake, (b) psk_ke, (c) psk_dhe_ke, (d) replayable early data, (d') \
                       the same with tickets of a single use, (e) forward-secret early data. (d) and (d') \
                       send the same, so that they can't be told apart. Key exchanges and kinds of \
                       one-time keys take turns within an option.";

/// Shows how well the options are distinguished.
fn told(confusion: &Confusion) -> String {
    let percent = |table: &ConfusionTable| LaneData::Bar(table.accuracy * 1e2);
    let strips = settings(confusion).filter_map(|tables| {
        let first = tables.first()?;
        Some(Strip {
            key: key(first.rtt_ms, first.padding),
            head: words(first.rtt_ms, first.padding),
            description: words(first.rtt_ms, first.padding),
            lanes: tables.iter().map(percent).collect(),
        })
    });
    let figure = Figure {
        title: "Connections that were classified right".to_owned(),
        unit: "% of the connections",
        note: "By the sizes of all records, of the protected ones alone, by times alone, and by all of \
               that. Padding can't reach hellos, which are not protected.",
        lanes: &Features::ALL.map(Features::name),
        strips: strips.collect(),
    };
    let rows: Vec<_> = settings(confusion)
        .filter_map(|tables| {
            let first = tables.first()?;
            let chance = plain(first.chance * 1e2);
            Some(Row {
                key: key(first.rtt_ms, first.padding),
                head: words(first.rtt_ms, first.padding),
                cells: [chance].into_iter().chain(tables.iter().map(accuracy)).collect(),
            })
        })
        .collect();
    let columns: Vec<_> =
        ["setting", "chance"].into_iter().chain(Features::ALL.map(Features::name)).collect();
    let caption = "Classified right, in %, below it the 95 % confidence interval";
    format!(
        "<section>\n<h2 id=\"told\">What distinguishes the ways</h2>\n{}{}</section>\n",
        figure.render(),
        tables::numbers(caption, &columns, &rows)
    )
}

/// One matrix for each setting and each choice of features.
fn confusions(confusion: &Confusion) -> String {
    let tables = confusion.tables.iter().map(|table| {
        let rows: Vec<_> = table
            .options
            .iter()
            .zip(&table.matrix)
            .map(|(option, counts)| Row {
                key: format!(
                    "{}/{}/{}",
                    key(table.rtt_ms, table.padding),
                    table.features.name(),
                    option.letter()
                ),
                head: letter(*option),
                cells: counts.iter().map(usize::to_string).collect(),
            })
            .collect();
        let taken_for: Vec<_> = table.options.iter().map(|option| letter(*option)).collect();
        let columns: Vec<_> =
            ["was"].into_iter().chain(taken_for.iter().map(String::as_str)).collect();
        let asked = table.first_question.as_deref().unwrap_or(NOTHING);
        let caption = format!(
            "Taken for, by {}; {}; asked first: {}",
            table.features.name(),
            words(table.rtt_ms, table.padding),
            escaped(asked)
        );
        tables::numbers(&caption, &columns, &rows)
    });
    format!(
        "<section>\n<h2 id=\"confusion\">What was taken for what</h2>\n<p>{SIGNS}</p>\n{}</section>\n",
        tables.collect::<String>()
    )
}

/// How the first question is to be read.
const SIGNS: &str = "A caption has what a tree grown on all flows asks first. What the server sends has sizes below 0: \
                     record 2 size &gt; -110 asks whether record 2 is the client's, or the server's and shorter than \
                     110 bytes.";

/// Shows the cost of padding.
fn costs(costs: &[PaddingCost]) -> String {
    let rows: Vec<_> = costs
        .iter()
        .map(|cost| Row {
            key: format!("{}/cost/{}", key(cost.rtt_ms, cost.padding), cost.option.letter()),
            head: format!("{} {}", letter(cost.option), words(cost.rtt_ms, cost.padding)),
            cells: vec![
                format!("{:.0}", cost.client_bytes),
                format!("{:.0}", cost.server_bytes),
                factor(cost, costs),
                plain(cost.duration_us / 1e3),
            ],
        })
        .collect();
    let columns = ["option", "client bytes", "server bytes", "times as many bytes", "whole, ms"];
    let caption = "A connection with one registration: medians; TCP and IP are not counted";
    format!(
        "<section>\n<h2 id=\"costs\">What padding costs</h2>\n{}</section>\n",
        tables::numbers(caption, &columns, &rows)
    )
}

/// Returns the ratio to the bytes of the same option without padding, if that was recorded.
fn factor(cost: &PaddingCost, costs: &[PaddingCost]) -> String {
    let bytes = |cost: &PaddingCost| cost.client_bytes + cost.server_bytes;
    let same = |other: &&PaddingCost| {
        (other.option, other.rtt_ms, other.padding) == (cost.option, cost.rtt_ms, None)
    };
    let unpadded = costs.iter().find(same);
    unpadded
        .map_or_else(|| NOTHING.to_owned(), |other| format!("{:.2}", bytes(cost) / bytes(other)))
}

/// Returns a setting as a key.
fn key(rtt_ms: f64, padded: Option<u16>) -> String {
    format!("{}/{}", plain(rtt_ms), padding(padded))
}

/// Describes a setting.
fn words(rtt_ms: f64, padded: Option<u16>) -> String {
    format!("{} ms, padding {}", plain(rtt_ms), padding(padded))
}

#[cfg(test)]
mod tests;
