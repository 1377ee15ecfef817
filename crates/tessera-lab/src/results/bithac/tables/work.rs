//! The computation of both ends.

use crate::bithac::CertificateWay;
use crate::bithac::report::{End, Work};
use crate::bithac::table::{instructions, mean, rate_words, why_uncounted};
use crate::experiment;
use crate::results::bithac::input::Inputs;
use crate::results::bithac::targets::{median, ratio};
use crate::results::numbers::{nothing, short};
use crate::results::table::Table;
use crate::statistics::Median;

/// The computation of both ends.
pub(in crate::results::bithac) fn work(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::new(
        "Connections in memory, with a message each way: signatures that each end checked, its CertificateVerify \
         included, and microseconds in calls of the engine, medians and how far they may be off (95 %). The shares \
         are of the full handshake. Instructions are those that were retired in the same calls, in user space, where the \
         kernel counts them.",
        &[
            "keys, chain, way",
            "checks, client",
            "checks, server",
            "client, µs",
            "of full",
            "server, µs",
            "of full",
            "client, instructions",
            "server, instructions",
        ],
    );
    for work in inputs.bithac.iter().flat_map(|report| &report.work) {
        let full = inputs.work(CertificateWay::Full, work.certificates, work.chain);
        let share = |own: &[f64], full: Option<&[f64]>| {
            let share = ratio(median(own), full.and_then(median));
            share.map_or_else(nothing, |share| format!("{share:.3}"))
        };
        let spread = |samples: &[f64]| {
            let median = Median::of(samples.iter().copied());
            median.map_or_else(nothing, |median| experiment::spread(&median))
        };
        let [client, server] = instructions(work);
        table.row(
            format!("{}, {}, {}", work.certificates, work.chain, work.way),
            [
                work.client_verifications.to_string(),
                work.server_verifications.to_string(),
                spread(&work.client_us),
                share(&work.client_us, full.map(|it| &it.client_us[..])),
                spread(&work.server_us),
                share(&work.server_us, full.map(|it| &it.server_us[..])),
                client,
                server,
            ],
        );
    }
    table.unless_empty()
}

/// The computation of each end if it knows the other's chain, next to that if it doesn't.
pub(in crate::results::bithac) fn ends(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::new(
        "The same by end: microseconds, and as a share of the full handshake's; and how many signatures fewer an end checks \
         that knows the other's chain.",
        &["keys, chain, end", "full, µs", "known, µs", "cached, µs", "checks skipped"],
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
                let share = own.zip(ratio(own, whole));
                share.map_or_else(nothing, |(own, share)| format!("{own:.1} ({share:.3})"))
            };
            let skipped = cached.map(|it| full.checks(end).saturating_sub(it.checks(end)));
            table.row(
                format!("{certificates}, {chain}, {}", end.name()),
                [
                    whole.map_or_else(nothing, |us| format!("{us:.1}")),
                    beside(known),
                    beside(cached),
                    skipped.map_or_else(nothing, |skipped| skipped.to_string()),
                ],
            );
        }
    }
    table.unless_empty()
}

/// Why there are no instructions, if so.
pub(in crate::results::bithac) fn uncounted(inputs: &Inputs) -> Option<Table> {
    let report = inputs.bithac.as_ref()?;
    let mut table = Table::new(
        "Why instructions were not counted. No row: they were, or the record is of before they were.",
        &["instructions", "why not"],
    );
    if let Some(why) = why_uncounted(report) {
        table.row("of both ends", [why.to_owned()]);
    }
    Some(table)
}

/// Caches that know only some.
pub(in crate::results::bithac) fn hits(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::new(
        "Connections in memory with chains of three, of which so many should find both caches filled; the others find \
         them empty. Means of all bytes of TLS and of microseconds in calls of the engine.",
        &["keys, hits of 100", "connections", "hits", "TLS", "client, µs", "server, µs"],
    );
    for hits in inputs.hits() {
        let mean_of = |samples: &[f64]| short(Some(mean(samples.iter().copied())));
        table.row(
            format!("{}, {}", hits.certificates, rate_words(hits.rate)),
            [
                hits.bytes.len().to_string(),
                hits.hits.to_string(),
                format!("{:.0}", mean(hits.bytes.iter().map(|bytes| *bytes as f64))),
                mean_of(&hits.client_us),
                mean_of(&hits.server_us),
            ],
        );
    }
    table.unless_empty()
}
