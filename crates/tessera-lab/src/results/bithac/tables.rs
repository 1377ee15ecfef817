//! What was measured, as tables.

use super::input::Inputs;
use super::targets::{median, ratio};
use crate::bithac::report::{Cell, LinkName, Part, Sample};
use crate::bithac::table::{link_words, mean, median as of_cell, rate_words};
use crate::bithac::{CertificateWay, Certificates};
use crate::experiment;
use crate::results::numbers::{nothing, short};
use crate::results::table::Table;
use crate::statistics::Median;

/// The ways that an observer can tell apart, in the order of columns.
const WAYS: [CertificateWay; 8] = [
    CertificateWay::Full,
    CertificateWay::Zlib,
    CertificateWay::Cached,
    CertificateWay::CachedFirst,
    CertificateWay::CachedMiss,
    CertificateWay::RawKeys,
    CertificateWay::PskDhe,
    CertificateWay::ZeroRttFs,
];

const MTUS: [u16; 3] = [1500, 576, 127];

/// The reports.
pub(super) fn setting(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::new(
        "What was recorded. Every number of bithac.json is made of its samples, but for the memory and the lengths of \
         chains, which have none.",
        &["report", "machine", "revision", "link", "cells", "samples"],
    );
    if let Some(report) = &inputs.bithac {
        let rows = report.cells.len() + report.work.len() + report.hits.len() + report.memory.len();
        let link = report.link.clone();
        table.file(
            "bithac.json",
            [
                report.machine.to_string(),
                report.revision.clone().unwrap_or_else(nothing),
                link.unwrap_or_else(nothing),
                rows.to_string(),
                crate::bithac::table::connections(report).to_string(),
            ],
        );
    }
    if let Some(report) = &inputs.tls12 {
        table.file(
            "tls12.json",
            [
                report.machine.to_string(),
                report.revision.clone().unwrap_or_else(nothing),
                "veth".to_owned(),
                report.cells.len().to_string(),
                (report.cells.len() * report.runs).to_string(),
            ],
        );
    }
    table.unless_empty()
}

/// The lengths of the certificates.
pub(super) fn chains(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::new(
        "Certificates as DER, in bytes: an end's own, and its authority's. The root is not sent.",
        &["keys", "client", "server"],
    );
    for chains in inputs.bithac.iter().flat_map(|report| &report.chains) {
        let lengths =
            |chain: &[usize]| chain.iter().map(usize::to_string).collect::<Vec<_>>().join(" + ");
        table.row(chains.certificates.name(), [lengths(&chains.client), lengths(&chains.server)]);
    }
    table.unless_empty()
}

/// Bytes of TLS by way.
pub(super) fn tls(inputs: &Inputs) -> Option<Table> {
    let mut table = by_way(
        "TLS records of a handshake, both directions, in bytes, and as a share of the full one's: neither data nor \
         tickets nor the alert at the end. MTU 1500; the others differ by nothing but the length of an ECDSA \
         signature.",
        "keys",
    );
    for certificates in of_report(inputs) {
        let of = |way| Some(inputs.bytes(way, certificates, 1500)?.handshake_bytes() as f64);
        table.row(certificates.name(), shares(of));
    }
    table.unless_empty()
}

/// Bytes of whole packets by way and MTU.
pub(super) fn ip(inputs: &Inputs) -> Option<Table> {
    let mut table = by_way(
        "IP packets of a connection, both directions, in bytes, and as a share of the full handshake's: from the SYN to \
         the end, with a message of 16 bytes each way, and a new ticket in psk-dhe and 0rtt-fs.",
        "keys, MTU",
    );
    for certificates in of_report(inputs) {
        for mtu in MTUS {
            let of = |way| Some(inputs.bytes(way, certificates, mtu)?.ip_bytes() as f64);
            if of(CertificateWay::Full).is_some() {
                table.row(format!("{certificates}, {mtu}"), shares(of));
            }
        }
    }
    table.unless_empty()
}

/// Bytes by direction and layer.
pub(super) fn directions(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::new(
        "By direction, MTU 1500, in bytes: the records of the handshake, all records, all packets, and how many of \
         these.",
        &[
            "keys, way",
            "client: handshake",
            "TLS",
            "IP+TCP+TLS",
            "packets",
            "server: handshake",
            "TLS",
            "IP+TCP+TLS",
            "packets",
        ],
    );
    for certificates in of_report(inputs) {
        for way in WAYS {
            let Some(sample) = inputs.bytes(way, certificates, 1500) else { continue };
            let sides = [sample.client, sample.server];
            let cells = sides.map(|it| [it.handshake, it.tls, it.ip, it.packets]);
            let cells = cells.as_flattened().iter().map(u64::to_string);
            table.row(format!("{certificates}, {way}"), cells);
        }
    }
    table.unless_empty()
}

/// Times over named links.
pub(super) fn times(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::new(
        "Milliseconds from connect() until the client's handshake is complete, and until it has the server's message: \
         medians, and how far they may be off (95 %). The last column is the response's share of the full \
         handshake's.",
        &["link, keys, way", "connections", "handshake", "response", "of full"],
    );
    for cell in inputs.cells(Part::Times) {
        let name = &cell.name;
        let response = |sample: &Sample| sample.response_us;
        let own = inputs.median(name, name.way, response);
        let share = ratio(own, inputs.median(name, CertificateWay::Full, response));
        table.row(
            format!("{}, {}, {}", link_words(&name.link), name.certificates, name.way),
            [
                cell.samples.len().to_string(),
                spread(cell, |sample| sample.handshake_us / 1e3),
                spread(cell, |sample| sample.response_us / 1e3),
                share.map_or_else(nothing, |share| format!("{share:.3}")),
            ],
        );
    }
    table.unless_empty()
}

/// Links that lose packets.
pub(super) fn losses(inputs: &Inputs) -> Option<Table> {
    let mut table = by_way(
        "Over links of 1 Mbit/s and a round-trip time of 50 ms that lose packets: milliseconds until the client has the \
         server's message, and in brackets the bytes of all packets, those that TCP sent again included. Medians.",
        "keys, loss, MTU",
    );
    let mut rows: Vec<(Certificates, LinkName)> = Vec::new();
    for cell in inputs.cells(Part::Losses) {
        let row = (cell.name.certificates, cell.name.link.clone());
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    for (certificates, link) in rows {
        let cells = WAYS.map(|way| {
            let cell = inputs.cells(Part::Losses).find(|cell| {
                (cell.name.way, cell.name.certificates) == (way, certificates)
                    && cell.name.link == link
            });
            let cell = cell.and_then(|cell| {
                let time = of_cell(cell, |sample| sample.response_us / 1e3)?.value;
                let bytes = of_cell(cell, |sample| sample.ip_bytes() as f64)?.value;
                Some(format!("{} ({bytes:.0})", experiment::number(time)))
            });
            cell.unwrap_or_else(nothing)
        });
        table.row(format!("{certificates}, {} %, {}", link.loss * 1e2, link.mtu), cells);
    }
    table.unless_empty()
}

/// What both ends compute.
pub(super) fn work(inputs: &Inputs) -> Option<Table> {
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
pub(super) fn hits(inputs: &Inputs) -> Option<Table> {
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

/// What peers take.
pub(super) fn memory(inputs: &Inputs) -> Option<Table> {
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
pub(super) fn peaks(inputs: &Inputs) -> Option<Table> {
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

/// What a radio takes to send and to receive a bit, in nanojoules: 4.8 mA and 4.6 mA at 3 V and 250 kbit/s, as an nRF52840
/// has them (Nordic Semiconductor, nRF52840 Product Specification: radio currents at 0 dBm with DC/DC).
const SENT_BIT_NJ: f64 = 4.8 * 3.0 / 250e3 * 1e6;
const RECEIVED_BIT_NJ: f64 = 4.6 * 3.0 / 250e3 * 1e6;
/// What its processor takes, in milliwatts: 3.3 mA at 3 V and 64 MHz.
const PROCESSOR_MW: f64 = 3.3 * 3.0;
/// How many times as long it computes as the machine of the measurement: an assumption.
const SLOWER: f64 = 1000.0;

/// A model of a device's energy.
pub(super) fn energy(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::new(
        format!(
            "A model, and no measurement: millijoules of a client for a connection over small packets (MTU 127, chains \
             of two). Its radio takes {SENT_BIT_NJ:.1} nJ for a bit that it sends and {RECEIVED_BIT_NJ:.1} nJ for one \
             that it receives (the radio of an nRF52840 at 3 V and 250 kbit/s by its product specification; no \
             preambles, no listening, no acknowledgements of the link). Its processor takes {PROCESSOR_MW:.1} mW for \
             {SLOWER:.0} times the time in calls of the engine here, which is assumed, and the largest unknown."
        ),
        &["keys, way", "radio, mJ", "processor, mJ", "together", "of full"],
    );
    for certificates in of_report(inputs) {
        let of = |way| {
            let sample = inputs.bytes(way, certificates, 127)?;
            let bits = |bytes: u64| bytes as f64 * 8.0;
            let radio =
                bits(sample.client.ip) * SENT_BIT_NJ + bits(sample.server.ip) * RECEIVED_BIT_NJ;
            let us = median(&inputs.work(way, certificates, 2)?.client_us)?;
            Some((radio / 1e6, us * SLOWER * PROCESSOR_MW / 1e6))
        };
        let sum = |(radio, processor): (f64, f64)| radio + processor;
        for way in WAYS {
            let Some((radio, processor)) = of(way) else { continue };
            let share = ratio(Some(radio + processor), of(CertificateWay::Full).map(sum));
            table.row(
                format!("{certificates}, {way}"),
                [
                    format!("{radio:.2}"),
                    format!("{processor:.2}"),
                    format!("{:.2}", radio + processor),
                    share.map_or_else(nothing, |share| format!("{share:.3}")),
                ],
            );
        }
    }
    table.unless_empty()
}

/// Connections that failed, and were made again.
pub(super) fn failed(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::new(
        "Connections that failed, by reason: they have no samples. No row: none failed.",
        &["cell, reason", "connections"],
    );
    for cell in inputs.bithac.iter().flat_map(|report| &report.cells) {
        for (reason, count) in &cell.why_failed {
            table.row(format!("{}: {reason}", cell.name.key()), [count.to_string()]);
        }
    }
    inputs.bithac.is_some().then_some(table)
}

fn by_way(caption: &str, first: &str) -> Table {
    let names = WAYS.map(CertificateWay::name);
    let columns: Vec<_> = [first].into_iter().chain(names).collect();
    Table::new(caption, &columns)
}

/// A number of each way, with its share of the full handshake's.
fn shares(of: impl Fn(CertificateWay) -> Option<f64>) -> [String; WAYS.len()] {
    let full = of(CertificateWay::Full);
    WAYS.map(|way| match (of(way), ratio(of(way), full)) {
        (Some(value), Some(share)) if way != CertificateWay::Full => {
            format!("{value:.0} ({share:.3})")
        }
        (Some(value), _) => format!("{value:.0}"),
        _ => nothing(),
    })
}

fn of_report(inputs: &Inputs) -> impl Iterator<Item = Certificates> {
    let is_there = |certificates: &Certificates| {
        inputs.cells(Part::Bytes).any(|cell| cell.name.certificates == *certificates)
    };
    Certificates::ALL.into_iter().filter(move |it| is_there(it))
}

fn spread(cell: &Cell, value: fn(&Sample) -> f64) -> String {
    of_cell(cell, value).map_or_else(nothing, |median| experiment::spread(&median))
}
