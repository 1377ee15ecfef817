//! Heap memory.

use crate::bithac::CertificateWay;
use crate::results::bithac::input::Inputs;
use crate::results::bithac::targets::ratio;
use crate::results::numbers::nothing;
use crate::results::table::Table;

/// The memory of peers.
pub(in crate::results::bithac) fn memory(inputs: &Inputs) -> Option<Table> {
    let counts: Vec<_> = inputs.memory().next()?.held.iter().map(|held| held.entries).collect();
    let heads: Vec<_> = counts.iter().map(|count| format!("{count} peers")).collect();
    let columns: Vec<_> = ["what remembers, keys, end", "a peer"]
        .into_iter()
        .chain(heads.iter().map(String::as_str))
        .collect();
    let mut table = Table::new(
        "Bytes that an end holds more on the heap with so many peers, whose chains have three certificates each, by \
         the allocator's own count; and what one takes, in the mean of all. known: a \
         verifier that knows chains again, alone; cached: with it the cache that names them by hash.",
        &columns,
    );
    for memory in inputs.memory() {
        let each = memory.per_entry().map_or_else(nothing, |each| format!("{each:.0}"));
        let held = counts.iter().map(|count| {
            let held = memory.held.iter().find(|held| held.entries == *count);
            held.map_or_else(nothing, |held| held.bytes.to_string())
        });
        let name = format!("{}, {}, {}", memory.way, memory.certificates, memory.end.name());
        table.row(name, [each].into_iter().chain(held));
    }
    table.unless_empty()
}

/// The peak memory of an end that remembers this many peers.
pub(in crate::results::bithac) fn fullest(inputs: &Inputs) -> Option<Table> {
    let counts: Vec<_> = inputs.memory().next()?.held.iter().map(|held| held.entries).collect();
    let heads: Vec<_> = counts.iter().map(|count| format!("{count} peers")).collect();
    let columns: Vec<_> =
        ["what remembers, keys, end"].into_iter().chain(heads.iter().map(String::as_str)).collect();
    let mut table = Table::new(
        "Bytes that the same end holds when it holds most, beyond what it held before the first peer: what so many peers \
         take, and the most in a connection with one more.",
        &columns,
    );
    for memory in inputs.memory() {
        let peaks = counts.iter().map(|count| {
            let held = memory.held.iter().find(|held| held.entries == *count);
            held.and_then(|held| held.peak).map_or_else(nothing, |peak| peak.to_string())
        });
        table.row(format!("{}, {}, {}", memory.way, memory.certificates, memory.end.name()), peaks);
    }
    table.unless_empty()
}

/// The memory of very many clients.
pub(in crate::results::bithac) fn many(inputs: &Inputs) -> Option<Table> {
    inputs.bithac.as_ref()?;
    let mut table = Table::new(
        "A server's cache with very many clients, whose chains are made up from one and have the same issuers: certificates \
         are kept whole, beside their issuers once; of hashes, a verifier remembers the rest. Each client has been there \
         twice. Bytes by the allocator's own count; at most: the same when most was held, but for 64 KiB that it may \
         miss. Beside: beyond what the allocator gives for the certificate or the hash. Nanoseconds of this thread's \
         processor time: to learn a client, to take its ticket and learn new ones, and to look up the two tickets of a \
         hello, of which one is known or none.",
        &[
            "kept, keys, clients",
            "own bytes",
            "held, MiB",
            "at most, MiB",
            "a client, B",
            "beside, B",
            "learned, ns",
            "renewed, ns",
            "known, ns",
            "unknown, ns",
        ],
    );
    for many in inputs.many() {
        let mebibytes = |bytes: i64| format!("{:.1}", bytes as f64 / f64::from(1 << 20));
        let ns = |ns: f64| format!("{ns:.0}");
        table.row(
            format!("{}, {}, {}", many.kept.name(), many.certificates, many.clients),
            [
                many.own.to_string(),
                mebibytes(many.held),
                mebibytes(many.most),
                format!("{:.1}", many.per_client()),
                format!("{:.1}", many.beside()),
                ns(many.learned_ns),
                ns(many.renewed_ns),
                ns(many.known_ns),
                ns(many.unknown_ns),
            ],
        );
    }
    Some(table)
}

/// The peak memory of both ends.
pub(in crate::results::bithac) fn peaks(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::new(
        "Bytes that an end holds on the heap when it holds most in a connection with chains of three, what its cache \
         learns included; seen after each call of the engine and each operation of its provider; and how much more \
         that is than in a full handshake.",
        &["keys, way", "client", "beyond full", "server", "beyond full"],
    );
    for peak in inputs.peaks() {
        let full = inputs.peak(CertificateWay::Full, peak.certificates);
        let more = |own: i64, full: Option<i64>| {
            let share = ratio(Some(own as f64), full.map(|full| full as f64));
            share.map_or_else(nothing, |share| format!("{:+.2} %", 100.0 * (share - 1.0)))
        };
        table.row(
            format!("{}, {}", peak.certificates, peak.way),
            [
                peak.client.to_string(),
                more(peak.client, full.map(|it| it.client)),
                peak.server.to_string(),
                more(peak.server, full.map(|it| it.server)),
            ],
        );
    }
    table.unless_empty()
}
