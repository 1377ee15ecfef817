//! What both ends compute.

use crate::bithac::CertificateWay;
use crate::bithac::table::{mean, rate_words};
use crate::experiment;
use crate::results::bithac::input::Inputs;
use crate::results::bithac::targets::{median, ratio};
use crate::results::numbers::{nothing, short};
use crate::results::table::Table;
use crate::statistics::Median;

/// What both ends compute.
pub(in crate::results::bithac) fn work(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::new(
        "Connections in memory, with a message each way: signatures that each end checked, its CertificateVerify \
         included, and microseconds in calls of the engine, medians and how far they may be off (95 %). The shares \
         are of the full handshake.",
        &[
            "keys, chain, way",
            "checks, client",
            "checks, server",
            "client, µs",
            "of full",
            "server, µs",
            "of full",
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
        table.row(
            format!("{}, {}, {}", work.certificates, work.chain, work.way),
            [
                work.client_verifications.to_string(),
                work.server_verifications.to_string(),
                spread(&work.client_us),
                share(&work.client_us, full.map(|it| &it.client_us[..])),
                spread(&work.server_us),
                share(&work.server_us, full.map(|it| &it.server_us[..])),
            ],
        );
    }
    table.unless_empty()
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
