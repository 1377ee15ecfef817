//! The pictures of suites: a client's time in parts, and the time over links.

use super::link::{OF_THE_THESIS, computing, times};
use super::report::Report;
use super::suite_tables::{of_the_thesis, waiting};
use super::suites::{BASELINE, METRICS, PARTS, Suite, SuiteName, known_key, with_chain};
use super::sweep;
use super::thesis::BEST;
use crate::page::figure::{Figure, Strip};
use crate::page::stacked::{Bar, Stacked};
use crate::page::strip::LaneData;

/// The modelled time of the suites of the thesis, in parts.
pub(super) fn parts(report: &Report) -> String {
    let bars: Vec<_> = of_the_thesis(report).flat_map(bars).collect();
    if bars.is_empty() {
        return String::new();
    }
    let figure = Stacked {
        title: "The time of a handshake, by what the client does".to_owned(),
        unit: "ms, modelled",
        note: "Instructions at 125 million a second, at opt-level 3; the link is the time in which the client waits, over 20 Mbit/s \
               with a round trip of 10 ms. No board takes these milliseconds; what a suite takes of another is to be read.",
        parts: &[&PARTS[..], &["link"]].concat(),
        bars,
    };
    figure.render()
}

/// Returns a bar for each metric, or one if both are the same.
fn bars(suite: &Suite) -> Vec<Bar> {
    let [first, explicit] = suite.last_steps();
    let is_one = first == explicit;
    let times = times(suite, &OF_THE_THESIS);
    let bars = suite.work().into_iter().zip(times).zip(METRICS).map(|((work, ms), metric)| {
        let mut values = work.parts().map(computing).to_vec();
        values.push(waiting(work.instructions, ms));
        let mut name = suite.name().row().with("", if is_one { "by both metrics" } else { metric });
        name.key = format!("{}/{metric}", name.key);
        Bar { name, values, most: None }
    });
    bars.take(if is_one { 1 } else { 2 }).collect()
}

/// The suites that are drawn over links, with their names.
const DRAWN: [(&str, SuiteName<'_>); 4] = [
    ("one-time ML-KEM-512, Falcon-512, leaf ML-KEM-512", BEST),
    ("ML-KEM-512, ML-DSA-44", with_chain("ML-KEM-512", "ML-DSA-44", "ML-DSA-44")),
    ("X25519MLKEM768, P-256", with_chain("X25519MLKEM768", "P-256", "P-256")),
    ("one-time ML-KEM-768, known key", known_key("one-time ML-KEM-768")),
];

/// The modelled time of some suites over links, by both metrics.
pub(super) fn links(report: &Report) -> String {
    let Some(base) = report.suite(BASELINE) else { return String::new() };
    let measured = DRAWN.into_iter().filter_map(|(name, it)| Some((name, report.suite(it)?)));
    let (names, suites): (Vec<_>, Vec<_>) = measured.unzip();
    if suites.is_empty() {
        return String::new();
    }
    METRICS
        .into_iter()
        .enumerate()
        .map(|(metric, what)| {
            let strips = sweep::links(1500).map(|(name, link)| {
                let of = times(base, &link)[metric];
                let lane = |suite: &&Suite| LaneData::Bar(times(suite, &link)[metric] / of);
                Strip { name, lanes: suites.iter().map(lane).collect() }
            });
            let figure = Figure {
                title: format!("The time {what} over links, of X25519 / Ed25519 / Ed25519 over the same link"),
                unit: "modelled, as a ratio",
                note: "Bars from top to bottom in the order of the legend; packets of up to 1,500 bytes.",
                lanes: &names,
                strips: strips.collect(),
            };
            figure.render()
        })
        .collect()
}
