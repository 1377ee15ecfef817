//! The results, for people.

use super::report::{
    Cell, CellName, Hits, Instructions, LargeCache, LinkName, Memory, Peak, Report, Sample, Work,
};
use super::way::CertificateWay;
use crate::experiment::{number, spread};
use crate::page::words::{self, NOTHING};
use crate::statistics::Median;

/// Formats the head of the cells' table.
pub(super) fn head() -> String {
    format!(
        "\n{:<34} {:<9} {:<13} {:>8} {:>7} {:>8} {:>7} {:>14} {:>14}",
        "link",
        "keys",
        "way",
        "TLS",
        "of full",
        "IP+TCP",
        "packets",
        "handshake, ms",
        "response, ms",
    )
}

/// Formats a cell; `cells` has the full handshake that it is compared with.
pub(super) fn row(cell: &Cell, cells: &[Cell]) -> String {
    let CellName { way, certificates, link, .. } = &cell.name;
    let bytes = |value: fn(&Sample) -> u64| {
        median(cell, |sample| value(sample) as f64).map_or(0.0, |median| median.value)
    };
    let times = |value: fn(&Sample) -> f64| {
        median(cell, value).map_or_else(String::new, |median| spread(&median))
    };
    let share = share_of_full(cell, cells).map_or_else(String::new, |share| format!("{share:.3}"));
    format!(
        "{:<34} {certificates:<9} {way:<13} {:>8.0} {share:>7} {:>8.0} {:>7.0} {:>14} {:>14}",
        link_words(link),
        bytes(Sample::handshake_bytes),
        bytes(Sample::ip_bytes),
        bytes(|sample| sample.client.packets + sample.server.packets),
        times(|sample| sample.handshake_us / 1e3),
        times(|sample| sample.response_us / 1e3),
    )
}

/// Formats the head of the work's table.
pub(super) fn work_head() -> String {
    format!(
        "\n{:<9} {:>5} {:<13} {:>13} {:>13} {:>12} {:>12} {:>14} {:>14}",
        "keys",
        "chain",
        "way",
        "checks client",
        "checks server",
        "client, us",
        "server, us",
        "client, instr.",
        "server, instr.",
    )
}

/// Formats the computation of a way.
pub(super) fn work(work: &Work) -> String {
    let median = |samples: &[f64]| {
        Median::of(samples.iter().copied()).map_or_else(String::new, |it| number(it.value))
    };
    let [client, server] = instructions(work);
    format!(
        "{:<9} {:>5} {:<13} {:>13} {:>13} {:>12} {:>12} {client:>14} {server:>14}",
        work.certificates,
        work.chain,
        work.way,
        work.client_verifications,
        work.server_verifications,
        median(&work.client_us),
        median(&work.server_us),
    )
}

/// Formats the instructions of each end, the client's first; or that they were not counted.
pub(crate) fn instructions(work: &Work) -> [String; 2] {
    match &work.instructions {
        Some(Instructions::Retired { client, server }) => [client.to_string(), server.to_string()],
        Some(Instructions::Uncounted(_)) => [(); 2].map(|()| "no counter".to_owned()),
        None => [(); 2].map(|()| NOTHING.to_owned()),
    }
}

/// Returns why instructions were not counted, if so.
pub(crate) fn why_uncounted(report: &Report) -> Option<&str> {
    report.work.iter().find_map(|work| match &work.instructions {
        Some(Instructions::Uncounted(reason)) => Some(reason.as_str()),
        _ => None,
    })
}

/// Formats the head of the hits' table.
pub(super) fn hits_head() -> String {
    format!(
        "\n{:<9} {:>10} {:>10} {:>12} {:>12} {:>12}",
        "keys", "of 100", "hits", "TLS, mean", "client, us", "server, us",
    )
}

/// Formats the savings of caches that know only some peers.
pub(super) fn hits(hits: &Hits) -> String {
    format!(
        "{:<9} {:>10} {:>10} {:>12.0} {:>12} {:>12}",
        hits.certificates,
        rate_words(hits.rate),
        format!("{} of {}", hits.hits, hits.client_us.len()),
        mean(hits.bytes.iter().map(|bytes| *bytes as f64)),
        number(mean(hits.client_us.iter().copied())),
        number(mean(hits.server_us.iter().copied())),
    )
}

/// Describes how many find caches filled.
pub(crate) fn rate_words(rate: Option<u32>) -> String {
    rate.map_or_else(|| "no caches".to_owned(), |rate| rate.to_string())
}

/// Returns the mean; 0 without any values.
pub(crate) fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

/// Formats the head of the memory's table.
pub(super) fn memory_head() -> String {
    format!("\n{:<9} {:<8} {:<8} {:>12}  bytes held", "keys", "way", "end", "a peer, bytes")
}

/// Formats the memory of peers.
pub(super) fn memory(memory: &Memory) -> String {
    let each = memory.per_entry().map_or_else(String::new, |bytes| format!("{bytes:.0}"));
    let held = memory.held.iter().map(|held| format!("{}: {}", held.entries, held.bytes));
    let held = held.collect::<Vec<_>>().join(", ");
    let (certificates, way, end) = (memory.certificates, memory.way, memory.end.name());
    format!("{certificates:<9} {way:<8} {end:<8} {each:>12}  {held}")
}

/// Formats the head of the table of many clients.
pub(super) fn many_head() -> String {
    format!(
        "\n{:<9} {:<12} {:>8} {:>12} {:>12} {:>9} {:>8} {:>8} {:>9}",
        "keys", "kept", "clients", "held", "at most", "a client", "beside", "known, ns", "none, ns",
    )
}

/// Formats the memory of very many clients.
pub(super) fn many(many: &LargeCache) -> String {
    format!(
        "{:<9} {:<12} {:>8} {:>12} {:>12} {:>9.1} {:>8.1} {:>9.0} {:>8.0}",
        many.certificates,
        many.kept.name(),
        many.clients,
        many.held,
        many.most,
        many.per_client(),
        many.beside(),
        many.known_ns,
        many.unknown_ns,
    )
}

/// Formats the head of the peaks' table.
pub(super) fn peaks_head() -> String {
    format!("\n{:<9} {:<13} {:>13} {:>13}", "keys", "way", "peak, client", "peak, server")
}

/// Formats the peak memory of both ends.
pub(super) fn peak(peak: &Peak) -> String {
    let Peak { way, certificates, client, server, .. } = peak;
    format!("{certificates:<9} {way:<13} {client:>13} {server:>13}")
}

/// Returns the median of something of a cell.
pub(crate) fn median(cell: &Cell, value: impl Fn(&Sample) -> f64) -> Option<Median> {
    Median::of(cell.samples.iter().map(value))
}

/// Returns how much of the full handshake's bytes in TLS a cell has.
pub(crate) fn share_of_full(cell: &Cell, cells: &[Cell]) -> Option<f64> {
    let bytes = |cell: &Cell| median(cell, |sample| sample.handshake_bytes() as f64);
    let full = CellName { way: CertificateWay::Full, ..cell.name.clone() };
    let full = cells.iter().find(|it| it.name == full)?;
    Some(bytes(cell)?.value / bytes(full)?.value)
}

/// Describes a link: its rate, round-trip time and losses.
pub(crate) fn link_words(link: &LinkName) -> String {
    let LinkName { rtt_ms, rate_bps, mtu, loss } = *link;
    let parts = [
        rate_bps.map(words::rate),
        (rtt_ms > 0.0).then(|| format!("{} ms", words::plain(rtt_ms))),
        Some(format!("MTU {mtu}")),
        (loss > 0.0).then(|| format!("loss {} %", words::plain(loss * 1e2))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The terms in the tables.
pub(super) const LEGEND: &str = "
TLS              records of the handshake, both directions: neither data nor tickets nor the alert at the end
of full          that, as a share of the full handshake with the same keys over the same link
IP+TCP           whole IP packets of the whole connection: SYN, one message of 16 bytes each way, a ticket where
                 the way needs one for the next connection, and the end
handshake        from connect() until the client's is complete; response: until it has the server's message
±                how far a median may be off (95 %); without it there is one connection, whose time says little
full             both chains whole        zlib        both compressed (RFC 8879)
cached           both named by hash (BiTHaC over RFC 8879), and not checked again
paper            the same in the forms of RFC 7924 and BiTHaC; rfc7924: the server's chain alone
raw-keys         public keys, known beforehand (RFC 7250)
psk-dhe          a ticket's PSK and a key exchange        0rtt-fs        forward-secret early data
known            both chains whole, and not checked again
-first           where neither end knows anything yet; -miss: where all that they know of chains is of no use
checks           signatures that an end checked in a connection, the CertificateVerify included
client, server   in calls of the engine, in memory; instr.: instructions retired in them, by the processor's count
of 100           so many connections, with chains of three, should find both caches filled; hits did
a peer           what each peer takes on the heap, in the mean of all; beside: besides its certificate or hash
known, none      to look up the two tickets of a hello, of which one is known or none, in processor time";

/// Returns how many connections a report has.
pub(crate) fn connections(report: &Report) -> usize {
    let over_links = report.cells.iter().map(|cell| cell.samples.len());
    let work = report.work.iter().map(|work| work.client_us.len());
    let hits = report.hits.iter().map(|hits| hits.client_us.len());
    over_links.chain(work).chain(hits).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bithac::report::Part;
    use crate::bithac::samples;

    #[test]
    fn a_cell_stands_beside_the_full_handshake_over_its_link() {
        let full = samples::cell(Part::Bytes, 1);
        let mut cached = full.clone();
        cached.name.way = CertificateWay::Cached;
        cached.samples = vec![samples::sample(250, 500)];
        let mut elsewhere = full.clone();
        elsewhere.name.link.mtu = 576;
        elsewhere.samples = vec![samples::sample(1, 1)];
        let cells = [elsewhere, full, cached.clone()];
        assert_eq!(share_of_full(&cached, &cells), Some(0.25));
        let row = row(&cached, &cells);
        for part in ["MTU 1500 ", "p-256", "cached", " 750 ", " 0.250 ", " 1874 "] {
            assert!(row.contains(part), "no {part:?} in {row}");
        }
        assert_eq!(share_of_full(&cached, &cells[2..]), None);
    }

    #[test]
    fn a_link_is_told_in_words() {
        let link = LinkName { rtt_ms: 20.0, rate_bps: Some(250_000), mtu: 127, loss: 0.01 };
        assert_eq!(link_words(&link), "250 kbit/s, 20 ms, MTU 127, loss 1 %");
        let link = LinkName { rtt_ms: 0.0, rate_bps: None, mtu: 576, loss: 0.0 };
        assert_eq!(link_words(&link), "MTU 576");
    }
}
