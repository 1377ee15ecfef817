//! The page of the experiment `bithac`.

use super::report::{Cell, Memory, Part, Peak, Report, Sample, Work};
use super::table::{
    connections, instructions, link_words, mean, median, rate_words, share_of_full, why_uncounted,
};
use crate::page::document::{contents, description_list, document};
use crate::page::figure::{Figure, Strip};
use crate::page::strip::LaneData;
use crate::page::tables::{self, Row, cell};
use crate::page::words::{NOTHING, escaped, short};
use crate::statistics::Median;

/// Writes the page.
pub(super) fn render(report: &Report) -> serde_json::Result<String> {
    let sections: Vec<_> = PARTS.iter().filter(|(part, ..)| is_there(report, *part)).collect();
    let titles =
        sections.iter().map(|(part, title, _)| (part.name().to_owned(), (*title).to_owned()));
    let titles = titles.collect::<Vec<_>>();
    let mut body = vec![head(report), contents(&titles)];
    body.extend(sections.iter().map(|(part, title, note)| {
        let content = match part {
            Part::Work => work(report),
            Part::Hits => hits(report),
            Part::Memory => memory(report),
            _ => over_links(report, *part),
        };
        let id = part.name();
        format!("<section>\n<h2 id=\"{id}\">{title}</h2>\n<p>{note}</p>\n{content}</section>\n")
    }));
    document(&report.experiment, &body, report)
}

/// Each part, its title, and an explanation.
const PARTS: [(Part, &str, &str); 6] = [
    (
        Part::Bytes,
        "Bytes",
        "One connection per row, over links without loss or delay. Its times are this machine's, each \
         measured once.",
    ),
    (Part::Losses, "Losses", "Medians of several connections over links that lose packets."),
    (Part::Times, "Times", "From connect() on; medians with their 95 % confidence intervals."),
    (
        Part::Work,
        "Work",
        "In memory, in calls of the engine; medians with their 95 % confidence intervals.",
    ),
    (Part::Hits, "Hits", "In memory, with chains of three; means, since they are mixtures."),
    (Part::Memory, "Memory", "What each remembered peer adds to the heap of an end."),
];

fn is_there(report: &Report, part: Part) -> bool {
    match part {
        Part::Work => !report.work.is_empty(),
        Part::Hits => !report.hits.is_empty(),
        Part::Memory => !report.memory.is_empty(),
        _ => of_part(report, part).next().is_some(),
    }
}

fn of_part(report: &Report, part: Part) -> impl Iterator<Item = &Cell> {
    report.cells.iter().filter(move |cell| cell.name.part == part)
}

fn head(report: &Report) -> String {
    let facts = [
        ("Machine", report.machine.to_string()),
        ("Link", report.link.clone().unwrap_or_else(|| NOTHING.to_owned())),
        ("Connections", connections(report).to_string()),
        ("Seed", report.seed.to_string()),
        ("Tessera", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    format!(
        "<h1>Certificates that are sent once</h1>\n\
         <p>Two ends with certificates meet again.</p>\n{}{}",
        description_list(&WAYS.map(|(way, words)| (way, words.to_owned()))),
        description_list(&facts)
    )
}

/// The ways to connect, explained.
const WAYS: [(&str, &str); 11] = [
    ("full", "sends both chains whole"),
    ("zlib", "compresses them (RFC 8879)"),
    ("known", "sends them whole, and does not check them again"),
    ("cached", "names them by their hashes, and does not check them again (BiTHaC over RFC 8879)"),
    ("paper", "does so in the forms of RFC 7924 and BiTHaC"),
    ("rfc7924", "does so with the server's chain alone"),
    ("-first", "as the way before the hyphen, where neither end knows the other yet"),
    ("-miss", "the same, where what they know is of no use"),
    ("raw-keys", "sends public keys that are known (RFC 7250)"),
    ("psk-dhe", "resumes with a ticket and a key exchange"),
    ("0rtt-fs", "resumes with a ticket, and sends forward-secret data in the first flight"),
];

fn over_links(report: &Report, part: Part) -> String {
    let figures = figures(report, part);
    let rows: Vec<_> = of_part(report, part).map(|it| row(it, &report.cells)).collect();
    let columns = [
        "connection",
        "TLS, client",
        "TLS, server",
        "of full",
        "IP+TCP, client",
        "IP+TCP, server",
        "packets",
        "handshake, ms",
        "response, ms",
    ];
    let caption = "TLS: bytes of the handshake; IP+TCP: bytes of the whole connection";
    figures + &tables::numbers(caption, &columns, &rows)
}

/// One per link and kind of certificates: only those ways are comparable.
fn figures(report: &Report, part: Part) -> String {
    let mut groups: Vec<(String, Vec<Strip>)> = Vec::new();
    for cell in of_part(report, part) {
        let title = format!("{}, {}", cell.name.certificates, link_words(&cell.name.link));
        if groups.last().is_none_or(|(last, _)| *last != title) {
            groups.push((title, Vec::new()));
        }
        if let Some((_, strips)) = groups.last_mut() {
            strips.push(strip(cell, part));
        }
    }
    let (what, unit, lanes) = match part {
        Part::Bytes => {
            ("Handshakes, and whole connections", "bytes, both directions", &["TLS", "IP+TCP"][..])
        }
        _ => ("Until the client has its response", "ms", &["response"][..]),
    };
    let render = |(title, strips)| {
        Figure { title: format!("{what}: {title}"), unit, note: "", lanes, strips }.render()
    };
    groups.into_iter().map(render).collect()
}

fn strip(cell: &Cell, part: Part) -> Strip {
    let bar = |bytes: fn(&Sample) -> u64| {
        let median = median(cell, |sample| bytes(sample) as f64);
        median.map_or(LaneData::Bar(0.0), |median| LaneData::Bar(median.value))
    };
    let lanes = match part {
        Part::Bytes => vec![bar(Sample::handshake_bytes), bar(Sample::ip_bytes)],
        _ => vec![LaneData::of(cell.samples.iter().map(|it| it.response_us / 1e3))],
    };
    Strip { key: cell.name.key(), head: cell.name.way.to_string(), description: name(cell), lanes }
}

fn name(cell: &Cell) -> String {
    let name = &cell.name;
    format!("{}, {}, {}", name.way, name.certificates, link_words(&name.link))
}

fn row(of: &Cell, cells: &[Cell]) -> Row {
    let bytes = |value: fn(&Sample) -> u64| {
        let median = median(of, |sample| value(sample) as f64);
        median.map_or_else(|| NOTHING.to_owned(), |median| format!("{:.0}", median.value))
    };
    let time = |value: fn(&Sample) -> f64| cell(median(of, value));
    let share = share_of_full(of, cells);
    let cells = vec![
        bytes(|sample| sample.client.handshake),
        bytes(|sample| sample.server.handshake),
        share.map_or_else(|| NOTHING.to_owned(), |share| format!("{share:.3}")),
        bytes(|sample| sample.client.ip),
        bytes(|sample| sample.server.ip),
        bytes(|sample| sample.client.packets + sample.server.packets),
        time(|sample| sample.handshake_us / 1e3),
        time(|sample| sample.response_us / 1e3),
    ];
    Row { key: of.name.key(), head: name(of), cells }
}

fn work(report: &Report) -> String {
    let rows = report.work.iter().map(|work| {
        let Work { way, certificates, chain, client_verifications, server_verifications, .. } =
            work;
        let median = |samples: &[f64]| cell(Median::of(samples.iter().copied()));
        let cells = vec![
            client_verifications.to_string(),
            server_verifications.to_string(),
            median(&work.client_us),
            median(&work.server_us),
        ];
        let cells = cells.into_iter().chain(instructions(work)).collect();
        Row { key: work.key(), head: format!("{way}, {certificates}, chain of {chain}"), cells }
    });
    let columns = [
        "connection",
        "checked by the client",
        "checked by the server",
        "client, µs",
        "server, µs",
        "client, instructions",
        "server, instructions",
    ];
    let caption =
        "Signatures that each end checked, what it computed, and the instructions that it retired";
    let why = why_uncounted(report).map_or_else(String::new, |why| {
        format!("<p class=\"note\">No counter of instructions: {}.</p>\n", escaped(why))
    });
    why + &tables::numbers(caption, &columns, &rows.collect::<Vec<_>>())
}

fn hits(report: &Report) -> String {
    let rows = report.hits.iter().map(|hits| {
        let mean = |samples: &[f64]| short(mean(samples.iter().copied()));
        let bytes = hits.bytes.iter().map(|bytes| *bytes as f64).collect::<Vec<_>>();
        let cells = vec![
            format!("{} of {}", hits.hits, hits.client_us.len()),
            mean(&bytes),
            mean(&hits.client_us),
            mean(&hits.server_us),
        ];
        let rate = rate_words(hits.rate) + if hits.rate.is_some() { " of 100" } else { "" };
        let head = format!("{}, {rate}", hits.certificates);
        Row { key: hits.key(), head, cells }
    });
    let columns = ["hits of a hundred", "hits", "TLS, bytes", "client, µs", "server, µs"];
    let caption = "What caches save that know only some of the peers";
    tables::numbers(caption, &columns, &rows.collect::<Vec<_>>())
}

fn memory(report: &Report) -> String {
    let rows = report.memory.iter().map(|memory| {
        let each = memory.per_entry().map_or_else(|| NOTHING.to_owned(), short);
        let most = memory.held.last();
        let most = most.map_or_else(String::new, |it| format!("{} for {}", it.bytes, it.entries));
        let peak = memory.held.last().and_then(|it| it.peak);
        let peak = peak.map_or_else(|| NOTHING.to_owned(), |peak| peak.to_string());
        let Memory { way, certificates, end, chain, .. } = memory;
        let head = format!("{way}, {certificates}, {}, chains of {chain}", end.name());
        Row { key: memory.key(), head, cells: vec![each, most, peak] }
    });
    let columns = ["what remembers", "a peer, bytes", "held, bytes", "peak, bytes"];
    let caption = "What remembered peers take on the heap";
    let remembered = tables::numbers(caption, &columns, &rows.collect::<Vec<_>>());
    let rows = report.peaks.iter().map(|peak| {
        let Peak { way, certificates, chain, client, server } = peak;
        let head = format!("{way}, {certificates}, chains of {chain}");
        Row { key: peak.key(), head, cells: vec![client.to_string(), server.to_string()] }
    });
    let columns = ["connection", "client, bytes", "server, bytes"];
    let caption = "What both ends hold when they hold most";
    remembered + &tables::numbers(caption, &columns, &rows.collect::<Vec<_>>()) + &many(report)
}

fn many(report: &Report) -> String {
    if report.many.is_empty() {
        return String::new();
    }
    let rows = report.many.iter().map(|many| {
        let bytes = |bytes: i64| bytes.to_string();
        let cells = vec![
            bytes(many.held),
            bytes(many.most),
            short(many.per_client()),
            short(many.beside()),
            short(many.known_ns),
            short(many.unknown_ns),
        ];
        let head =
            format!("{} of {} clients, {}", many.kept.name(), many.clients, many.certificates);
        Row { key: many.key(), head, cells }
    });
    let columns = [
        "what a server keeps",
        "held, bytes",
        "at most, bytes",
        "a client, bytes",
        "beyond its own",
        "known, ns",
        "unknown, ns",
    ];
    let caption = "What very many clients take at a server, and how long a look-up takes";
    tables::numbers(caption, &columns, &rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bithac::certificates::Certificates;
    use crate::bithac::report::Chains;
    use crate::bithac::samples;
    use crate::machine::Machine;

    #[test]
    fn the_page_has_every_cell_and_no_part_that_was_not_measured() {
        let report = Report {
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
        };
        let page = render(&report).unwrap();
        let has = |mark: &str, count| assert_eq!(page.matches(mark).count(), count, "{mark}");
        for cell in &report.cells {
            has(&format!("data-way=\"{}\"", cell.name.key()), 1);
            has(&format!("data-row=\"{}\"", cell.name.key()), 1);
        }
        has("data-row=\"work/full/p-256/2\"", 1);
        has("data-row=\"hits/p-256/90\"", 1);
        has("data-row=\"memory/cached/p-256/client\"", 1);
        has("data-row=\"peak/full/p-256\"", 1);
        has("data-row=\"many/certificates/p-256/1000000\"", 1);
        has(">1200000</td>", 1);
        has("<h2 id=\"times\">", 1);
        has("<h2 id=\"losses\">", 0);
        has("<b>", 0);
        has("NaN", 0);
    }
}
