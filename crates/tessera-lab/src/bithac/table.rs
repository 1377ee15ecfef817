//! The results as tables, and the terms in them.

use super::report::{
    Cell, CellName, DatagramCell, End, Hits, Instructions, LargeCache, Memory, Peak, Report, Work,
};
use super::way::CertificateWay;
use crate::numbers::{NOTHING, count, fixed};
use crate::statistics::{Median, quantile};
use crate::table::{Cell as Entry, Name, Row, Table, cells};
use crate::wired::Sample;

/// Returns the table of cells over links, without rows.
pub(super) fn over_links() -> Table {
    let columns = "way:13 | keys:9 | link:32 || TLS, bytes:7 | of full:7 | its client:- | its server:- | \
                   IP+TCP, bytes:7 | its client:- | its server:- | packets:7 | handshake, ms:13 | response, ms:13";
    Table::new("connections over links", columns)
}

/// Returns its row of a cell; `all` has the full handshake that it is compared with.
pub(super) fn cell(of: &Cell, all: &[Cell]) -> Row {
    let bytes = |value: fn(&Sample) -> u64| {
        median(of, |sample| value(sample) as f64).map(|median| fixed(median.value, 0))
    };
    Row::new(
        name(&of.name),
        cells![
            bytes(Sample::handshake_bytes),
            of_full(share_of_full(of, all)),
            bytes(|sample| sample.client.handshake),
            bytes(|sample| sample.server.handshake),
            bytes(Sample::ip_bytes),
            bytes(|sample| sample.client.ip),
            bytes(|sample| sample.server.ip),
            bytes(|sample| sample.client.packets + sample.server.packets),
            median(of, |sample| sample.handshake_us / 1e3),
            median(of, |sample| sample.response_us / 1e3),
        ],
    )
}

/// Returns the name of a cell, for people.
pub(super) fn name(of: &CellName) -> Name {
    let CellName { way, certificates, link, .. } = of;
    Name::new(of.key(), way.name()).with("", certificates.name()).with("", link.words())
}

/// Returns the table of handshakes over datagrams, without rows.
pub(super) fn over_datagrams() -> Table {
    let columns = "way:13 | keys:9 | link:40 || IP+UDP, bytes:7 | of full:7 | its client:- | its server:- | \
                   packets:7 | its client:- | its server:- | complete, ms:13 | 95 %, ms:8 | sent again, bytes:7 | 95 %:7";
    Table::new("handshakes over datagrams", columns)
}

/// Returns its row of a cell; `all` has the full handshake that it is compared with.
pub(super) fn datagrams(of: &DatagramCell, all: &[DatagramCell]) -> Row {
    let samples = &of.samples;
    let whole = |column: &[u64]| whole(column.iter().map(|it| *it as f64));
    let high = |values: Vec<f64>| quantile(values, 0.95);
    Row::new(
        name(&of.name),
        cells![
            self::whole(samples.bytes()),
            of_full(datagram_share(of, all)),
            whole(&samples.client_bytes),
            whole(&samples.server_bytes),
            self::whole(samples.packets()),
            whole(&samples.client_packets),
            whole(&samples.server_packets),
            Median::of(samples.complete_ms()),
            high(samples.complete_ms().collect()),
            self::whole(samples.resent()),
            high(samples.resent().collect()).map(|bytes| fixed(bytes, 0)),
        ],
    )
}

/// Formats the median of whole numbers.
fn whole(values: impl Iterator<Item = f64>) -> Option<String> {
    Median::of(values).map(|median| fixed(median.value, 0))
}

/// Returns how much of the full handshake's bytes over datagrams a cell has.
pub(crate) fn datagram_share(of: &DatagramCell, all: &[DatagramCell]) -> Option<f64> {
    let name = CellName { way: CertificateWay::Full, ..of.name.clone() };
    let full = all.iter().find(|it| it.name == name)?;
    let bytes = |cell: &DatagramCell| Median::of(cell.samples.bytes());
    Some(bytes(of)?.value / bytes(full)?.value)
}

/// Returns the table of what both ends compute, without rows.
pub(super) fn works() -> Table {
    let columns = "way:13 | keys:9 | chain:5 || checks, client:7 | checks, server:7 | client, µs:12 | \
                   of full:7 | server, µs:12 | of full:7 | client, instructions:12 | server, instructions:12";
    Table::new("signatures checked, and computation", columns)
}

/// Returns its row of a way; the report has the full handshake that it is compared with.
pub(super) fn work(work: &Work, report: &Report) -> Row {
    let median = |of: &Work, end| Median::of(of.us(end).iter().copied());
    let full = report.work(CertificateWay::Full, work.certificates, work.chain);
    let share = |end| {
        let full = full.and_then(|full| median(full, end));
        of_full(median(work, end).zip(full).map(|(own, full)| own.value / full.value))
    };
    let [client, server] = instructions(work);
    let name = Name::new(work.key(), work.way.name())
        .with("", work.certificates.name())
        .with("chain of", work.chain.to_string());
    Row::new(
        name,
        cells![
            work.client_verifications,
            work.server_verifications,
            median(work, End::Client),
            share(End::Client),
            median(work, End::Server),
            share(End::Server),
            client,
            server,
        ],
    )
}

/// Formats the instructions of each end, the client's first; or that they were not counted.
pub(crate) fn instructions(work: &Work) -> [String; 2] {
    match &work.instructions {
        Some(Instructions::Retired { client, server }) => [*client, *server].map(count),
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

/// Returns the table of caches that know only some peers, without rows.
pub(super) fn all_hits() -> Table {
    let columns =
        "hits of a hundred:9 | keys:9 || hits:10 | TLS, bytes:9 | client, µs:9 | server, µs:9";
    Table::new("caches that know only some peers: means", columns)
}

/// Returns its row of a rate.
pub(super) fn hits(hits: &Hits) -> Row {
    let name = Name::new(hits.key(), rate_words(hits.rate)).with("", hits.certificates.name());
    Row::new(
        name,
        cells![
            format!("{} of {}", count(hits.hits), count(hits.client_us.len())),
            fixed(mean(hits.bytes.iter().map(|bytes| *bytes as f64)), 0),
            mean(hits.client_us.iter().copied()),
            mean(hits.server_us.iter().copied()),
        ],
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

/// Returns the table of the memory of remembered peers, without rows.
pub(super) fn memories() -> Table {
    let columns = "way:13 | keys:9 | end:6 | chain:5 || a peer, bytes:7 | peak, bytes:9 | bytes held, by peers:24";
    Table::new("what remembered peers take on the heap", columns)
}

/// Returns its row of an end.
pub(super) fn memory(memory: &Memory) -> Row {
    let held =
        memory.held.iter().map(|it| format!("{} for {}", count(it.bytes), count(it.entries)));
    let name = Name::new(memory.key(), memory.way.name())
        .with("", memory.certificates.name())
        .with("", memory.end.name())
        .with("chains of", memory.chain.to_string());
    Row::new(
        name,
        cells![
            memory.per_entry().map(|bytes| fixed(bytes, 0)),
            memory.held.last().and_then(|it| it.peak),
            held.collect::<Vec<_>>().join("; "),
        ],
    )
}

/// Returns the table of what both ends hold when they hold most, without rows.
pub(super) fn peaks() -> Table {
    let columns =
        "way:13 | keys:9 | chain:5 || client, bytes:10 | of full:7 | server, bytes:10 | of full:7";
    Table::new("what both ends hold when they hold most", columns)
}

/// Returns its row of a way; the report has the full handshake that it is compared with.
pub(super) fn peak(peak: &Peak, report: &Report) -> Row {
    let full = report.peak(CertificateWay::Full, peak.certificates);
    let share =
        |bytes: fn(&Peak) -> i64| of_full(full.map(|it| bytes(peak) as f64 / bytes(it) as f64));
    let name = Name::new(peak.key(), peak.way.name())
        .with("", peak.certificates.name())
        .with("chains of", peak.chain.to_string());
    Row::new(name, cells![peak.client, share(|it| it.client), peak.server, share(|it| it.server)])
}

/// Returns the table of very many clients, without rows.
pub(super) fn large_caches() -> Table {
    let columns = "kept:12 | keys:9 | clients:9 || its own, bytes:7 | held, bytes:11 | at most, bytes:11 | \
                   a client, bytes:8 | beyond its own:8 | learned, ns:8 | renewed, ns:8 | known, ns:8 | none, ns:8";
    Table::new("what very many clients take at a server, and a look-up", columns)
}

/// Returns its row of a cache.
pub(super) fn large_cache(many: &LargeCache) -> Row {
    let name = Name::new(many.key(), many.kept.name())
        .with("", many.certificates.name())
        .with("clients:", count(many.clients));
    Row::new(
        name,
        cells![
            many.own,
            many.held,
            many.most,
            fixed(many.per_client(), 1),
            fixed(many.beside(), 1),
            fixed(many.learned_ns, 0),
            fixed(many.renewed_ns, 0),
            fixed(many.known_ns, 0),
            fixed(many.unknown_ns, 0),
        ],
    )
}

/// Returns the median of something of a cell.
pub(crate) fn median(cell: &Cell, value: impl Fn(&Sample) -> f64) -> Option<Median> {
    Median::of(cell.samples.iter().map(value))
}

/// Returns the full handshake with the same keys over the same link.
pub(super) fn full<'c>(of: &Cell, all: &'c [Cell]) -> Option<&'c Cell> {
    let name = CellName { way: CertificateWay::Full, ..of.name.clone() };
    all.iter().find(|it| it.name == name)
}

/// Returns how much of the full handshake's bytes in TLS a cell has.
pub(crate) fn share_of_full(of: &Cell, all: &[Cell]) -> Option<f64> {
    let bytes = |cell: &Cell| median(cell, |sample| sample.handshake_bytes() as f64);
    Some(bytes(of)?.value / bytes(full(of, all)?)?.value)
}

/// Formats a share of the full handshake; more than that is bad.
pub(crate) fn of_full(share: Option<f64>) -> Entry {
    Entry::from(share.map(|share| fixed(share, 3))).bad_if(share.is_some_and(is_more))
}

/// Whether a share of the full handshake is more than all of it, by a hundredth or more.
pub(crate) fn is_more(share: f64) -> bool {
    share >= 1.01
}

/// Returns how many connections a report has.
pub(crate) fn connections(report: &Report) -> usize {
    let over_links = report.cells.iter().map(|cell| cell.samples.len());
    let work = report.work.iter().map(|work| work.client_us.len());
    let hits = report.hits.iter().map(|hits| hits.client_us.len());
    let datagrams = report.datagrams.iter().map(|cell| cell.samples.len());
    over_links.chain(work).chain(hits).chain(datagrams).sum()
}

/// The terms in the tables.
pub(super) const LEGEND: &str = "
TLS              records of the handshake, both directions: neither data nor tickets nor the alert at
                 the end
of full          that, as a share of the full handshake with the same keys over the same link: bad from
                 1.01 on
IP+TCP           whole IP packets of the whole connection: SYN, one message of 16 bytes each way, a
                 ticket where the way needs one for the next connection, and the end
IP+UDP           whole IP packets of a handshake of DTLS 1.3, both directions, lost ones included: until all of it
                 is acknowledged, with a ticket where the way needs one; the server asks for a cookie first,
                 unless the client has a ticket
complete         when both ends are; 95 %: of the handshakes, at most
sent again       bytes of handshake messages that either end sent again, without headers
handshake        from connect() until the client's is complete; response: until it has the server's
                 message
±                how far a median may be off (95 %); without it there is one connection, whose time is
                 weak evidence
full             sends both chains whole
zlib             compresses them (RFC 8879)
known            sends them whole, and does not check them again
cached           names them by their hashes, and does not check them again (BiTHaC over RFC 8879)
paper            does so in the forms of RFC 7924 and BiTHaC
rfc7924          does so with the server's chain alone
-first           as the way before the hyphen, where neither end knows anything yet
-miss            the same, where all that they know of chains is of no use
raw-keys         sends public keys that are known beforehand (RFC 7250)
psk-dhe          resumes with a ticket's PSK and a key exchange
0rtt-fs          resumes with a ticket, and sends forward-secret early data
checks           signatures that an end checked in a connection, the CertificateVerify included
client, server   in calls of the engine, in memory; instructions: retired in them, by the processor's
                 count
hits             how many connections found both caches filled, with chains of three, and how many of a
                 hundred should
a peer           what each peer takes on the heap, in the mean of all
beyond its own   a client's bytes besides its certificate or hash
learned          to learn a client; renewed: to take its ticket and learn new ones
known, none      to look up the two tickets of a hello, of which one is known or none, in processor time
peak             what is held on the heap when most is held in a connection: by an end that remembers as
                 many peers as there are at most, and by both ends";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bithac::report::Part;
    use crate::bithac::samples;
    use crate::table::terminal;

    #[test]
    fn a_cell_is_compared_with_the_full_handshake_over_its_link() {
        let full = samples::cell(Part::Bytes, 1);
        let mut cached = full.clone();
        cached.name.way = CertificateWay::Cached;
        cached.samples = vec![samples::sample(250, 500)];
        let mut elsewhere = full.clone();
        elsewhere.name.link.mtu = 576;
        elsewhere.samples = vec![samples::sample(1, 1)];
        let all = [elsewhere, full, cached.clone()];
        assert_eq!(share_of_full(&cached, &all), Some(0.25));
        let row = terminal::row(&over_links(), &cell(&cached, &all));
        for part in ["MTU 1,500 ", "p-256", "cached", " 750 ", " 0.250 ", " 1,874 "] {
            assert!(row.contains(part), "no {part:?} in {row}");
        }
        assert_eq!(share_of_full(&cached, &all[2..]), None);
        assert!(of_full(Some(1.01)).is_bad && !of_full(Some(1.009)).is_bad);
    }
}
