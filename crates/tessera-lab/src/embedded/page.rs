//! The page of the experiment `embedded`.

use super::groups::{self, GROUPS};
use super::published::{Kind, PUBLISHED};
use super::report::{NAME, Report};
use super::table::{self, LEGEND};
use super::targets::{Quantity, most};
use super::{claims, pictures};
use crate::numbers::{count, fixed};
use crate::page::document::{Page, Section, answer, description_list};
use crate::page::stacked::{Bar, Stacked};
use crate::table::{Name, html};

/// Writes the page.
pub(crate) fn render(report: &Report) -> serde_json::Result<String> {
    let tables = table::all(report);
    let table = |name: &str| {
        let found = tables.iter().find(|(known, _)| *known == name);
        found.and_then(|(_, table)| table.as_ref()).map_or_else(String::new, html::table)
    };
    let parts: [(&str, &str, String, &[&str]); 12] = [
        ("ram", "Memory", ram(report), &["targets", "handshakes"]),
        ("flash", "Flash", flash(report), &["published", "sizes"]),
        ("thesis", "Suites, next to a thesis", pictures::parts(report), &["thesis", "claims"]),
        ("goals", "Goals of suites and KEMs", String::new(), &["goals"]),
        ("links", "Links", pictures::links(report), &["links", "links-256"]),
        ("kems", "KEMs alone", String::new(), &["kems", "one-time-kems"]),
        ("energy", "Energy", String::new(), &["energy"]),
        ("crates", "Flash, by crate", String::new(), &["crates"]),
        ("messages", "Messages", String::new(), &["messages"]),
        ("chains", "Chains", String::new(), &["chains"]),
        ("operations", "Operations", String::new(), &["operations"]),
        ("parts", "Suites in parts", String::new(), &["parts"]),
    ];
    let sections = parts.into_iter().filter_map(|(id, title, figure, names)| {
        let content = figure + &names.iter().map(|name| table(name)).collect::<String>();
        (!content.is_empty()).then(|| Section::new(id, title, content))
    });
    let all = ["suites", "times"].map(table).concat();
    let all = (!all.is_empty()).then(|| {
        let rows = format!("<details><summary>Hundreds of rows</summary>\n{all}</details>\n");
        Section::new("suites", "All suites", rows)
    });
    let [sentence, rest] = summary(report);
    let page = Page {
        title: "TLS 1.3 on a Cortex-M33",
        answer: answer(&sentence, &rest),
        introduction: introduction(report),
        sections: sections.chain(all).collect(),
        legend: LEGEND,
    };
    page.with_report(NAME, report)
}

/// Returns the answer, the sentences that matter first: what clients take, and both sides of the thesis' headline.
pub(crate) fn summary(report: &Report) -> [String; 2] {
    let takes = |kind: Kind| {
        let client = &report.image(kind)?.client;
        let [flash, ram] = [u64::from(client.flash), client.end.ram()].map(kilobytes);
        Some(format!("{} and {} ({})", fixed(flash, 1), fixed(ram, 1), kind.words()))
    };
    let taken: Vec<_> = Kind::ALL.into_iter().filter_map(takes).collect();
    let headline = claims::headline(report);
    if taken.is_empty() && headline.is_none() {
        return ["None of the known images was measured.".to_owned(), String::new()];
    }
    let taken = (!taken.is_empty())
        .then(|| format!("A client takes, in KB of flash and of RAM: {}.", taken.join(", ")));
    let sentences: Vec<_> = taken.into_iter().chain(headline).collect();
    [sentences.join(" "), table::method(report)]
}

fn introduction(report: &Report) -> String {
    let facts = [
        ("Compiler", report.compiler.clone()),
        ("Optimization level", report.opt_level.clone()),
        ("Made smaller", if report.small { "yes" } else { "no" }.to_owned()),
        ("Connections of each image", count(report.connections)),
        ("Revision", report.revision.clone()),
    ];
    format!(
        "<p>Images of <code>firmware/</code>, a client and a server in one emulated guest, and a client alone, whose \
         flash counts. Nothing here is of a network stack.</p>\n{}",
        description_list(&facts)
    )
}

/// Flash by group of crates, next to what others publish.
fn flash(report: &Report) -> String {
    let parts = [&GROUPS[..], &["published by others"]].concat();
    let known = |name: &str| Kind::ALL.into_iter().find(|kind| kind.image() == name);
    let bars = report.images.iter().flat_map(|image| {
        let kind = known(&image.image);
        let name = Name::new(
            &image.image,
            kind.map_or_else(|| image.image.clone(), |kind| kind.words().to_owned()),
        );
        let ours = Bar {
            name: name.with("", "Tessera"),
            values: groups::sums(&image.client.crates).map(|bytes| bytes / 1e3).to_vec(),
            most: most(&image.image, Quantity::Flash).map(|most| kilobytes(most.into())),
        };
        let others = PUBLISHED.iter().filter_map(move |published| {
            let (kind, bytes, _) = published.flash.iter().find(|(of, ..)| Some(*of) == kind)?;
            let name = Name::new(format!("{}/{}", kind.image(), published.name), published.name);
            let mut values = vec![0.0; GROUPS.len()];
            values.push(bytes / 1e3);
            Some(Bar { name: name.with("", kind.words()), values, most: None })
        });
        [ours].into_iter().chain(others)
    });
    let figure = Stacked {
        title: "Flash of a client, by what its crates are for".to_owned(),
        unit: "KB",
        note: "The line is the most that a client of ours is to take. Grey bars are published by others and not measured here; \
               their conditions differ.",
        parts: &parts,
        bars: bars.collect(),
    };
    figure.render()
}

/// RAM of clients, by kind.
fn ram(report: &Report) -> String {
    let bars = report.images.iter().map(|image| {
        let end = &image.client.end;
        Bar {
            name: Name::new(&image.image, &image.image),
            values: [end.stack, end.heap, end.buffers]
                .map(|bytes| kilobytes(bytes.into()))
                .to_vec(),
            most: most(&image.image, Quantity::Ram).map(|most| kilobytes(most.into())),
        }
    });
    let figure = Stacked {
        title: "RAM of a client in a handshake".to_owned(),
        unit: "KB",
        note: "The most of each at any time, added up. The line is the most that a client is to take, where there is a bound.",
        parts: &["stack", "heap", "buffers for records"],
        bars: bars.collect(),
    };
    figure.render()
}

fn kilobytes(bytes: u64) -> f64 {
    bytes as f64 / 1e3
}
