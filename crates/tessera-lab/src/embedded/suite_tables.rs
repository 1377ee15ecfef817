//! The tables of suites: instructions, bytes and memory; the modelled time; and both by parts.

use super::link::{Link, OF_THE_THESIS, computing, times};
use super::report::Report;
use super::suites::{BASELINE, METRICS, PARTS, SMALL, Suite};
use super::thesis::HANDSHAKES;
use crate::numbers::{fixed, rate};
use crate::table::{Cell, Row, Table, cells};

const NAMES: &str = "key exchange | CA | leaf | mode ||";

/// What every text on the model repeats.
pub(super) const MODEL: &str = "Model: instructions at 125 million a second, a server that computes in no time, and a link without \
                                losses; the milliseconds are of no board.";

/// Returns what something is of what it is compared with, with three digits.
pub(super) fn ratio(value: f64, of: f64) -> String {
    fixed(value / of, 3)
}

/// Describes a link.
pub(super) fn words(link: &Link) -> String {
    format!("RTT {} ms, {}, MTU {}", link.rtt_ms, rate(link.bits_a_second as u64), link.mtu)
}

/// Instructions, bytes and memory by suite.
pub(super) fn suites(report: &Report) -> Table {
    let of_baseline = report.suite(BASELINE);
    let rows = report.suites_at(super::suites::FAST).iter().map(|suite| {
        let small = report.suites_at(SMALL).iter().find(|it| it.name() == suite.name());
        let mut cells = Vec::new();
        for metric in 0..METRICS.len() {
            let instructions = suite.work()[metric].instructions;
            let base = of_baseline.map(|it| it.work()[metric].instructions);
            cells.push(instructions.into());
            cells.push(base.map(|base| ratio(instructions as f64, base as f64)).into());
        }
        cells.extend(
            (0..METRICS.len())
                .map(|metric| Cell::from(small.map(|it| it.work()[metric].instructions))),
        );
        let memory = u64::from(suite.client.stack) + u64::from(suite.client.heap);
        cells.extend(cells![suite.client.sent, suite.server.sent, suite.chain, memory]);
        Row::new(suite.name().row(), cells)
    });
    Table::new(
        "a client's handshake, by suite",
        &format!(
            "{NAMES} first data | of X25519 | explicit | of X25519, explicit | first data, opt-level s | explicit, opt-level s | \
             client sends | server sends | chain | stack and heap"
        ),
    )
    .note(
        "Instructions of a client until it may send application data (first data), and until the server is authenticated \
         (explicit), at opt-level 3, and at s; of X25519 / Ed25519 / Ed25519. Bytes sent in the whole handshake, with \
         records; the chain as DER, without the root. Stack and heap of the client, in bytes, are the most at any time.",
    )
    .rows(rows)
}

/// The modelled time by suite.
pub(super) fn modelled(report: &Report) -> Table {
    let base = report.suite(BASELINE).map(|it| times(it, &OF_THE_THESIS));
    let rows = report.suites_at(super::suites::FAST).iter().map(|suite| {
        let cells =
            times(suite, &OF_THE_THESIS).into_iter().enumerate().flat_map(|(metric, ms)| {
                cells![fixed(ms, 1), base.map(|base| ratio(ms, base[metric]))]
            });
        Row::new(suite.name().row(), cells)
    });
    let columns = "first data, ms | of X25519 | explicit, ms | of X25519, explicit";
    Table::new("the time of a handshake, modelled", &format!("{NAMES} {columns}"))
        .note(format!("{MODEL} {}.", words(&OF_THE_THESIS)))
        .rows(rows)
}

/// The suites of the thesis in parts, by both metrics.
pub(super) fn parts(report: &Report) -> Table {
    let rows = of_the_thesis(report).flat_map(|suite| {
        let times = times(suite, &OF_THE_THESIS);
        let metrics = suite.work().into_iter().zip(times).zip(METRICS);
        metrics.map(move |((work, ms), metric)| {
            let counts =
                work.parts().into_iter().map(|part| Cell::from(fixed(part as f64 / 1e6, 3)));
            let waits = waiting(work.instructions, ms);
            let link = cells![fixed(waits, 1), format!("{} %", fixed(100.0 * waits / ms, 0))];
            let mut name = suite.name().row().with("", metric);
            name.key = format!("{}/{metric}", name.key);
            Row::new(name, counts.chain(link))
        })
    });
    let columns = format!(
        "key exchange | CA | leaf | mode | metric || {} | link, ms | share of the link",
        PARTS.join(" | ")
    );
    Table::new("a client's handshake, in parts", &columns)
        .note(format!(
            "Millions of instructions at opt-level 3; the protocol is messages, transcript and key schedule. The link is the \
             modelled time in which the client waits, and its share. {MODEL} {}.",
            words(&OF_THE_THESIS)
        ))
        .rows(rows)
}

/// Returns the modelled time in which a client doesn't compute.
pub(super) fn waiting(instructions: u64, ms: f64) -> f64 {
    (ms - computing(instructions)).max(0.0)
}

/// Returns the measured suites that the thesis has too, in its order.
pub(super) fn of_the_thesis(report: &Report) -> impl Iterator<Item = &Suite> {
    HANDSHAKES.iter().filter_map(|it| report.suite(it.suite))
}
