//! The page of the experiment `bithac`.

use super::kind::{self, Kind};
use super::report::{Cell, CellName, DatagramCell, End, Part, Report, Work};
use super::table::{self, connections, full, median, share_of_full, why_uncounted};
use super::way::CertificateWay;
use crate::numbers::{NOTHING, count, percent};
use crate::page::document::{Page, Section, answer, description_list};
use crate::page::figure::{Figure, Strip, on_one_axis};
use crate::page::strip::LaneData;
use crate::statistics::Median;
use crate::table::html::{self, escaped};
use crate::wired::{LinkName, Sample};

/// Writes the page.
pub(crate) fn render(report: &Report) -> serde_json::Result<String> {
    let sections = PARTS.iter().filter_map(|(part, title, note)| {
        let content = match part {
            Part::Datagrams => datagrams(report),
            Part::Work => work(report),
            Part::Hits => table_of(&report.hits, report),
            Part::Memory => {
                let memory = table_of(&report.memory, report) + &table_of(&report.peaks, report);
                memory + &table_of(&report.many, report)
            }
            _ => over_links(report, *part),
        };
        let content_with_note = format!("<p>{note}</p>\n{content}");
        (!content.is_empty()).then(|| Section::new(part.name(), *title, content_with_note))
    });
    let [sentence, rest] = saved(report);
    let page = Page {
        title: "Certificates that are sent once",
        answer: answer(&sentence, &rest),
        introduction: introduction(report),
        sections: sections.collect(),
        legend: table::LEGEND,
    };
    page.with_report(&report.experiment, report)
}

/// Each part, its title, and an explanation.
const PARTS: [(Part, &str, &str); 7] = [
    (
        Part::Bytes,
        "Bytes",
        "One connection per row, over links without loss or delay. Its times are this machine's, each \
         measured once.",
    ),
    (Part::Losses, "Losses", "Medians of several connections over links that lose packets."),
    (Part::Times, "Times", "From connect() on; medians with their 95 % confidence intervals."),
    (
        Part::Datagrams,
        "Datagrams",
        "Handshakes of DTLS 1.3 in virtual time over a link of 1 Mbit/s and a round-trip time of 50 ms: one without \
         losses, and medians of as many as there are over links that lose packets. Computation takes no time.",
    ),
    (
        Part::Work,
        "Work",
        "In memory, in calls of the engine; medians with their 95 % confidence intervals.",
    ),
    (Part::Hits, "Hits", "In memory, with chains of three; means, since they are mixtures."),
    (Part::Memory, "Memory", "What each remembered peer adds to the heap of an end."),
];

/// Returns the answer, the sentence that matters first: what is left of a full handshake where both ends know each
/// other's certificates.
pub(crate) fn saved(report: &Report) -> [String; 2] {
    let cached = || report.cells.iter().filter(|cell| cell.name.way == CertificateWay::Cached);
    let bytes = cached().filter(|cell| cell.name.part == Part::Bytes);
    let bytes = range(bytes.filter_map(|cell| share_of_full(cell, &report.cells)));
    let work = range(report.work.iter().filter_map(|own| {
        let us = |it: &Work| {
            let median = |end| Some(Median::of(it.us(end).iter().copied())?.value);
            Some(median(End::Client)? + median(End::Server)?)
        };
        let full = report.work(CertificateWay::Full, own.certificates, own.chain)?;
        if own.way == CertificateWay::Cached { Some(us(own)? / us(full)?) } else { None }
    }));
    let parts = [
        bytes.map(|range| format!("{range} of its bytes in TLS")),
        work.map(|range| format!("{range} of its computation")),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        let nothing =
            "Nothing was measured that compares cached certificates with full handshakes.";
        return [nothing.to_owned(), String::new()];
    }
    let sentence = format!(
        "If both ends name their certificates by hash, a full handshake takes {}.",
        parts.join(" and ")
    );
    let response = |cell: &Cell| Some(median(cell, |sample| sample.response_us)?.value);
    let times = cached().filter(|cell| cell.name.part == Part::Times).filter_map(|cell| {
        let share = response(cell)? / response(full(cell, &report.cells)?)?;
        Some((share, cell))
    });
    let rest = times.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(share, cell)| {
        // No line ends within a name.
        let keys = cell.name.certificates.name().replace('-', "\u{2011}");
        let link = cell.name.link.words();
        format!("Its response comes after {} of the time over {link}, with {keys}.", percent(share))
    });
    [sentence, rest.unwrap_or_default()]
}

/// Formats the least and the most of some shares.
fn range(shares: impl Iterator<Item = f64> + Clone) -> Option<String> {
    let ends = shares.clone().reduce(f64::min).zip(shares.reduce(f64::max));
    let (least, most) = ends.map(|(least, most)| (percent(least), percent(most)))?;
    Some(if least == most { least } else { format!("{least} to {most}") })
}

fn introduction(report: &Report) -> String {
    let revision =
        |revision: &Option<String>| revision.clone().unwrap_or_else(|| "unknown".to_owned());
    let facts = [
        ("Machine", report.machine.to_string()),
        ("Link", report.link.clone().unwrap_or_else(|| NOTHING.to_owned())),
        ("Connections", count(connections(report))),
        ("Seed", report.seed.to_string()),
        ("Revision", revision(&report.revision)),
        ("Revision of datagrams", revision(&report.datagrams_revision)),
    ];
    let is_one = report.datagrams.is_empty() || report.datagrams_revision == report.revision;
    let facts = if is_one { &facts[..facts.len() - 1] } else { &facts[..] };
    format!("<p>Two ends with certificates meet again.</p>\n{}", description_list(facts))
}

fn table_of<T: Kind>(results: &[T], report: &Report) -> String {
    let table = kind::table_of(results, report).unless_empty();
    table.as_ref().map_or_else(String::new, html::table)
}

fn over_links(report: &Report, part: Part) -> String {
    let cells = report.cells.iter().filter(|cell| cell.name.part == part);
    let cells: Vec<_> = cells.cloned().collect();
    let (what, unit, lanes) = match part {
        Part::Bytes => {
            ("Handshakes, and whole connections", "bytes, both directions", &["TLS", "IP+TCP"][..])
        }
        _ => ("Until the client has its response", "ms", &["response"][..]),
    };
    let strips: Vec<_> = cells.iter().map(|cell| (&cell.name, strip(cell, part))).collect();
    figures(&strips, what, unit, lanes) + &table_of(&cells, report)
}

fn datagrams(report: &Report) -> String {
    let strips = |lane: fn(&DatagramCell) -> Option<LaneData>| {
        let strip = move |cell: &DatagramCell| Strip {
            name: table::name(&cell.name),
            lanes: lane(cell).into_iter().collect(),
        };
        let drawn = report.datagrams.iter().map(move |cell| (&cell.name, strip(cell)));
        drawn.filter(|(_, strip)| !strip.lanes.is_empty()).collect::<Vec<_>>()
    };
    let bytes = strips(|cell| {
        let median = Median::of(cell.samples.bytes())?;
        (cell.name.link.loss == 0.0).then_some(LaneData::Bar(median.value))
    });
    let times = strips(|cell| {
        let is_losing = cell.name.link.loss > 0.0;
        is_losing.then(|| LaneData::of(cell.samples.complete_ms()))
    });
    figures(&bytes, "Handshakes", "bytes, both directions", &["IP+UDP"])
        + &figures(&times, "Until both ends are complete", "ms", &["complete"])
        + &table_of(&report.datagrams, report)
}

/// One figure per link and kind of certificates: only those ways replace each other. Figures of the same link, but for its
/// losses, have one axis, so that kinds of certificates can be compared.
fn figures(
    cells: &[(&CellName, Strip)],
    what: &str,
    unit: &'static str,
    lanes: &'static [&'static str],
) -> String {
    let is_one_link = |(a, _): &(&CellName, Strip), (b, _): &(&CellName, Strip)| {
        let loss = a.link.loss;
        a.link == LinkName { loss, ..b.link.clone() }
    };
    let is_one_figure = |(a, _): &(&CellName, Strip), (b, _): &(&CellName, Strip)| {
        (a.certificates, &a.link) == (b.certificates, &b.link)
    };
    let compared = cells.chunk_by(is_one_link).map(|cells| {
        let figures = cells.chunk_by(is_one_figure).filter_map(|cells| {
            let (name, _) = cells.first()?;
            let title = format!("{what}: {}, {}", name.certificates, name.link.words());
            let strips = cells.iter().map(|(_, strip)| strip.clone()).collect();
            Some(Figure { title, unit, note: "", lanes, strips })
        });
        on_one_axis(&figures.collect::<Vec<_>>()).concat()
    });
    compared.collect()
}

fn strip(cell: &Cell, part: Part) -> Strip {
    let bar = |bytes: fn(&Sample) -> u64| {
        let median = median(cell, |sample| bytes(sample) as f64);
        LaneData::Bar(median.map_or(0.0, |median| median.value))
    };
    let lanes = match part {
        Part::Bytes => vec![bar(Sample::handshake_bytes), bar(Sample::ip_bytes)],
        _ => vec![LaneData::of(cell.samples.iter().map(|it| it.response_us / 1e3))],
    };
    Strip { name: table::name(&cell.name), lanes }
}

fn work(report: &Report) -> String {
    let why = why_uncounted(report).map_or_else(String::new, |why| {
        format!("<p class=\"note\">No counter of instructions: {}.</p>\n", escaped(why))
    });
    why + &table_of(&report.work, report)
}

#[cfg(test)]
mod tests {
    use tessera_reports::Machine;

    use super::*;
    use crate::bithac::report::Chains;
    use crate::bithac::samples;
    use crate::certificates::Certificates;

    fn report() -> Report {
        Report {
            experiment: "bithac".to_owned(),
            seed: 7,
            machine: Machine { cpu: "<b>".to_owned(), cores: 2, kernel: "Linux".to_owned() },
            revision: None,
            link: Some("tun".to_owned()),
            chains: vec![Chains {
                certificates: Certificates::P256,
                client: vec![500, 400],
                server: vec![500, 400],
            }],
            cells: vec![samples::cell(Part::Bytes, 1), samples::cell(Part::Times, 9)],
            work: vec![samples::work()],
            hits: vec![samples::hits(None), samples::hits(Some(90))],
            memory: vec![samples::memory()],
            peaks: vec![samples::peak()],
            many: vec![samples::many()],
            datagrams_revision: Some("later".to_owned()),
            datagrams: vec![samples::datagrams(0.0, 1), samples::datagrams(0.01, 9)],
        }
    }

    #[test]
    fn the_page_has_every_cell_and_no_part_that_was_not_measured() {
        let report = report();
        let page = render(&report).unwrap();
        let has = |mark: &str, count| assert_eq!(page.matches(mark).count(), count, "{mark}");
        for cell in &report.cells {
            has(&format!("data-way=\"{}\"", cell.name.key()), 1);
            has(&format!("data-row=\"{}\"", cell.name.key()), 1);
        }
        for cell in &report.datagrams {
            has(&format!("data-way=\"{}\"", cell.name.key()), 1);
            has(&format!("data-row=\"{}\"", cell.name.key()), 1);
        }
        has("Revision of datagrams", 1);
        has("data-row=\"work/full/p-256/2\"", 1);
        has("data-row=\"hits/p-256/90\"", 1);
        has("data-row=\"memory/cached/p-256/client\"", 1);
        has("data-row=\"peak/full/p-256\"", 1);
        has("data-row=\"many/certificates/p-256/1000000\"", 1);
        has(">1,200,000</td>", 1);
        has("<h2 id=\"times\">", 1);
        has("<h2 id=\"losses\">", 0);
        has("<b>", 0);
        has("NaN", 0);
    }

    #[test]
    fn the_answer_of_the_bithac_page_is_the_remaining_share_of_full_handshakes() {
        let full = samples::cell(Part::Bytes, 1);
        let mut cached = full.clone();
        cached.name.way = CertificateWay::Cached;
        cached.samples = vec![samples::sample(250, 500)];
        let mut report = report();
        report.cells = vec![full, cached];
        report.work.push(Work { way: CertificateWay::Cached, ..samples::work() });
        report.work[1].client_us = vec![50.0, 50.5];
        report.work[1].server_us = vec![55.0, 55.5];
        let page = render(&report).unwrap();
        let sentence = "<strong>If both ends name their certificates by hash, a full handshake takes 25\u{a0}% of its \
                        bytes in TLS and 50\u{a0}% of its computation.</strong>";
        assert!(page.contains(sentence));
        report.cells.truncate(1);
        report.work.truncate(1);
        assert!(render(&report).unwrap().contains("<strong>Nothing was measured that compares"));
    }
}
