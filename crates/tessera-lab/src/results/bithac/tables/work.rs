//! The computation of both ends.

use crate::bithac::CertificateWay;
use crate::bithac::kind::table_of;
use crate::bithac::report::{End, Work};
use crate::bithac::table::why_uncounted;
use crate::numbers::fixed;
use crate::results::bithac::input::Inputs;
use crate::results::bithac::targets::{median, ratio};
use crate::table::{Table, cells};

/// The computation of both ends.
pub(in crate::results::bithac) fn work(inputs: &Inputs) -> Option<Table> {
    let report = inputs.bithac.as_ref()?;
    let table = table_of(&report.work, report).note(
        "Connections in memory, with a message each way: signatures that each end checked, its CertificateVerify \
         included, and microseconds in calls of the engine, medians and how far they may be off (95 %). The shares \
         are of the full handshake. Instructions are those that were retired in the same calls, in user space, where the \
         kernel counts them.",
    );
    table.unless_empty()
}

/// The computation of each end if it knows the other's chain, next to that if it doesn't.
pub(in crate::results::bithac) fn ends(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "The same by end: microseconds, and as a share of the full handshake's; and how many signatures fewer an end checks \
         that knows the other's chain.",
        "keys, chain, end | full, µs | known, µs | cached, µs | checks skipped",
    );
    for full in inputs.bithac.iter().flat_map(|report| &report.work) {
        let Work { way, certificates, chain, .. } = *full;
        if way != CertificateWay::Full {
            continue;
        }
        let of = |way| inputs.work(way, certificates, chain);
        let [known, cached] = [CertificateWay::Known, CertificateWay::Cached].map(of);
        for end in [End::Client, End::Server] {
            let us = |work: &Work| median(work.us(end));
            let whole = us(full);
            let beside = |work: Option<&Work>| {
                let own = work.and_then(us);
                let (own, share) = own.zip(ratio(own, whole))?;
                Some(format!("{} ({share:.3})", fixed(own, 1)))
            };
            let skipped = cached.map(|it| full.checks(end).saturating_sub(it.checks(end)));
            table.row(
                format!("{certificates}, {chain}, {}", end.name()),
                cells![whole.map(|us| fixed(us, 1)), beside(known), beside(cached), skipped],
            );
        }
    }
    table.unless_empty()
}

/// Why there are no instructions, if so.
pub(in crate::results::bithac) fn uncounted(inputs: &Inputs) -> Option<Table> {
    let report = inputs.bithac.as_ref()?;
    let mut table = Table::with_note(
        "Why instructions were not counted. No row: they were, or the record is of before they were.",
        "instructions | why not",
    );
    if let Some(why) = why_uncounted(report) {
        table.row("of both ends", [why]);
    }
    Some(table)
}

/// Caches that know only some.
pub(in crate::results::bithac) fn hits(inputs: &Inputs) -> Option<Table> {
    let report = inputs.bithac.as_ref()?;
    let table = table_of(&report.hits, report).note(
        "Connections in memory with chains of three, of which so many should find both caches filled; the others find \
         them empty. Means of all bytes of TLS and of microseconds in calls of the engine.",
    );
    table.unless_empty()
}
