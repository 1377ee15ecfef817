//! What is held on the heap.

use crate::bithac::CertificateWay;
use crate::results::bithac::input::Inputs;
use crate::results::bithac::targets::ratio;
use crate::results::numbers::nothing;
use crate::results::table::Table;

/// What peers take.
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

/// What both ends hold when they hold most.
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
