//! The results as tables, and the terms in them.

use tessera_observed::Operation;
use tessera_reports::KeyExchange;

use super::FEWER_AT_RATE;
use super::report::{
    Cell, CellName, EndOperations, Operations, Rate, Report, Rotation, RowName, Sample,
};
use super::way::EdgeWay;
use crate::numbers::fixed;
use crate::statistics::{Median, quantile};
use crate::table::{Cell as Entry, Name, Row, Table, cells};
use crate::wired::LinkName;

/// Returns the table of cells, without rows.
pub(crate) fn cells() -> Table {
    let columns = "way:14 | group:6 | keys:9 | link:15 || ClientHello:6 | flight:6 | tickets:5 | both flights:6 | \
                   of full:7 | IP+TCP, bytes:7 | packets:7 | handshake, ms:13 | response, ms:13 | p95:8 | \
                   post-quantum:5";
    Table::new("handshakes: bytes and times", columns)
}

/// Returns the row of a cell; the report has the full handshake that it is compared with.
pub(crate) fn cell(of: &Cell, report: &Report) -> Row {
    let bytes = |value: fn(&Sample) -> u64| {
        median(of, |sample| value(sample) as f64).map(|median| fixed(median.value, 0))
    };
    let is_watched = of.name.link.is_some();
    let watched = |value: fn(&Sample) -> u64| bytes(value).filter(|_| is_watched);
    let response = |sample: &Sample| sample.of.response_us / 1e3;
    Row::new(
        name(of),
        cells![
            bytes(|sample| sample.hello),
            bytes(|sample| sample.of.server.handshake),
            bytes(Sample::tickets),
            bytes(|sample| sample.flights()).filter(|_| of.name.way != EdgeWay::Retry),
            share_of_full(of, report).map(|share| fixed(share, 3)),
            watched(|sample| sample.of.ip_bytes()),
            watched(|sample| sample.of.client.packets + sample.of.server.packets),
            median(of, |sample| sample.of.handshake_us / 1e3),
            median(of, response),
            quantile(of.samples.iter().map(response), 0.95).filter(|_| of.samples.len() > 20),
            if of.post_quantum { "yes" } else { "no" },
        ],
    )
}

/// Returns the name of a cell.
pub(crate) fn name(of: &Cell) -> Name {
    let CellName { way, kx, certificates, link } = &of.name;
    Name::new(of.name.key(), way.name())
        .with("", kx.short())
        .with("", certificates.name())
        .with("", place(link.as_ref()))
}

/// Describes a link.
pub(crate) fn place(link: Option<&LinkName>) -> String {
    let words = |LinkName { rtt_ms, loss, .. }: &LinkName| match loss {
        0.0 => format!("{rtt_ms} ms"),
        loss => format!("{rtt_ms} ms, loss {} %", loss * 1e2),
    };
    link.map_or_else(|| "loopback".to_owned(), words)
}

/// Returns the median of something of a cell.
pub(crate) fn median(cell: &Cell, value: impl Fn(&Sample) -> f64) -> Option<Median> {
    Median::of(cell.samples.iter().map(value))
}

/// Returns the ClientHello and the server's flight, as a share of the full handshake's with the same group. A retry has
/// two of each.
pub(crate) fn share_of_full(of: &Cell, report: &Report) -> Option<f64> {
    let full = report.instead(&of.name, EdgeWay::Full, of.name.kx)?;
    let bytes = |cell: &Cell| median(cell, |sample| sample.flights() as f64);
    (of.name.way != EdgeWay::Retry).then_some(bytes(of)?.value / bytes(full)?.value)
}

/// The operations of tables, in the order of columns, and their names there.
pub(crate) const COLUMNS: [(&str, &[Operation]); 11] = [
    ("key generation", &[Operation::KeyGeneration]),
    ("encapsulation", &[Operation::Encapsulation]),
    ("decapsulation", &[Operation::Decapsulation]),
    ("chain", &[Operation::Verification]),
    ("CertificateVerify", &[Operation::ProofVerification]),
    ("signature", &[Operation::Signature]),
    ("ticket sealing", &[Operation::TicketSealing]),
    ("ticket opening", &[Operation::TicketOpening]),
    ("one-time keys", &ONE_TIME_KEYS),
    ("vault", &[Operation::VaultPut, Operation::VaultTake]),
    ("HKDF and HMAC", &[Operation::KeyDerivation]),
];

/// What a proxy does with one-time keys: it makes one for each ticket, and opens a flight with one.
const ONE_TIME_KEYS: [Operation; 3] =
    [Operation::OneTimeKeyGeneration, Operation::OneTimeKeyReading, Operation::OneTimeKeyOpening];

/// All operations of the paper's Fig. 2: the key exchange and certificates; and what it lacks: signature, tickets, and
/// one-time keys.
pub(crate) const ALL: [Operation; 13] = [
    Operation::KeyGeneration,
    Operation::Encapsulation,
    Operation::Decapsulation,
    Operation::Verification,
    Operation::ProofVerification,
    Operation::Signature,
    Operation::TicketSealing,
    Operation::TicketOpening,
    ONE_TIME_KEYS[0],
    ONE_TIME_KEYS[1],
    ONE_TIME_KEYS[2],
    Operation::VaultPut,
    Operation::VaultTake,
];

/// Returns the table of operations, without rows.
pub(crate) fn operations() -> Table {
    Table::new("operations of a connection, in µs", "way:14 | group:6 | keys:9 | end:6 || sum:11")
        .and(["engine"])
        .and(COLUMNS.map(|(name, _)| name))
}

/// Returns the rows of both ends.
pub(crate) fn rows(of: &Operations) -> [Row; 2] {
    [("client", &of.client), ("server", &of.server)].map(|(end, operations)| {
        let RowName { way, kx, certificates } = of.name;
        let name = Name::new(format!("{}/{end}", of.key()), way.name())
            .with("", kx.short())
            .with("", certificates.name())
            .with("", end);
        Row::new(name, entries(operations))
    })
}

fn entries(of: &EndOperations) -> Vec<Entry> {
    let each = |operations: &[Operation]| {
        let is_there = operations.iter().any(|operation| of.of(*operation).is_some());
        Median::of(of.sums(operations)).filter(|_| is_there)
    };
    let totals = cells![Median::of(of.sums(&ALL)), Median::of(of.engine_us.iter().copied())];
    let columns = COLUMNS.map(|(_, operations)| Entry::from(each(operations)));
    totals.into_iter().chain(columns).collect()
}

/// Returns the table of rates, without rows.
pub(crate) fn rates() -> Table {
    let columns = "way:14 | group:6 | keys:9 || a second:8 | held:8 | proxy, µs:11 | engine, µs:11 | of a processor:14";
    Table::new("connections at a fixed rate: the proxy's processor time", columns)
}

/// Returns the row of a rate.
pub(crate) fn rate(of: &Rate) -> Row {
    let cpu = Median::of(of.server_cpu_us.iter().copied());
    let share = cpu.map(|it| it.value * f64::from(of.per_second) / 1e4);
    let share = share.map(|it| format!("{} %", fixed(it, 1)));
    Row::new(
        row_name(of.key(), of.name),
        cells![
            of.per_second,
            fixed(of.held_per_second, 1),
            cpu,
            Median::of(of.server_engine_us.iter().copied()),
            share,
        ],
    )
}

/// Returns the table of moves while the ring rotates, without rows.
pub(crate) fn rotations() -> Table {
    let columns = "way:14 | group:6 | keys:9 || rotations:9 | moves:8 | resumed:8 | full:6 | failed:6 | share resumed:9 | moves a second:8";
    Table::new("moves while the ring rotates", columns)
}

/// Returns the row of moves.
pub(crate) fn rotation(of: &Rotation) -> Row {
    let moves = of.moves() as f64;
    Row::new(
        row_name(of.key(), of.name),
        cells![
            of.rotations,
            of.moves(),
            of.resumed,
            of.full,
            Entry::from(of.failed()).bad_if(of.failed() > 0),
            format!("{} %", fixed(of.resumed as f64 / moves * 1e2, 2)),
            fixed(moves / of.seconds, 0),
        ],
    )
}

fn row_name(key: String, name: RowName) -> Name {
    Name::new(key, name.way.name()).with("", name.kx.short()).with("", name.certificates.name())
}

/// Returns how many connections a report has.
pub(crate) fn connections(report: &Report) -> usize {
    let each = report.connections;
    let of_cell =
        |cell: &Cell| cell.samples.len() * if cell.name.link.is_none() { each } else { 1 };
    let over_links: usize = report.cells.iter().map(of_cell).sum();
    let in_memory: usize = report.operations.iter().map(|it| it.client.engine_us.len()).sum();
    let at_rate = |it: &Rate| it.server_cpu_us.len() * each.div_ceil(FEWER_AT_RATE);
    let at_rate: usize = report.rates.iter().map(at_rate).sum();
    // Each move has a connection that brings a ticket.
    let moves: u64 = report.rotations.iter().map(|it| 2 * it.moves()).sum();
    over_links + in_memory * each + at_rate + moves as usize
}

/// Returns the group's name in sentences.
pub(crate) fn group(kx: KeyExchange) -> &'static str {
    kx.registered_name()
}

/// The terms in the tables.
pub(crate) const LEGEND: &str = "
full             a full handshake; the client has no certificate, and the proxy two: its own, and an
                 authority's
full-signer      the same, where another process has the proxy's key: it signs over a link of the same
                 round-trip time without losses
resumed          with a ticket of another proxy with the same ticket keys, and a key exchange
inherited        the same with X25519, where the full handshake had X25519MLKEM768
retry            a full handshake whose ClientHello lacks the hybrid share: the proxy asks for it
0rtt-fs          with forward-secret early data, at the proxy that issued the ticket
0rtt-fs-moved    the same at another proxy, to which the one-time key has moved
0rtt-fs-burned   the same at another proxy, which has the key burned by the first: it asks over a link of the
                 same round-trip time without losses, and the client sends its data again
group            x25519, or hybrid: X25519MLKEM768, with a share for X25519 too
ClientHello      its record, in bytes; of a retry the first of two
flight           the proxy's records of the handshake, without tickets
tickets          the records with new tickets, of which there is one; forward-secret ones are pairs
both flights     ClientHello and the proxy's flight: the paper's sum
of full          that, as a share of the full handshake's with the same group
IP+TCP           whole packets of the connection, both directions, one message of 16 bytes each way included
handshake        from connect() until the client's is complete; response: until it has the proxy's message
±                how far a median may be off (95 %); over loopback each sample is the mean of several
                 connections
p95              of responses: 95 % of the samples are not above it
post-quantum     whether the engine counts all key exchanges since the full handshake as safe against a
                 quantum computer
sum              of the operations of a connection, but HKDF and HMAC; engine: all calls of the engine
key generation   of the client's shares; encapsulation: the proxy's key pair and secret in one
chain            a chain of two and the name; CertificateVerify: its signature
a second         connections, at most; held: those that began
proxy            processor time of a connection's thread, from accept() on, with the kernel's work in its calls;
                 engine: in calls of the engine
moves            connections to the second proxy with a ticket of the first, issued some rotations before
one-time keys    made for new tickets, and opened for early data; vault: put there and taken";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::samples;
    use crate::table::terminal;

    #[test]
    fn a_resumption_is_compared_with_the_full_handshake_with_its_group() {
        let mut report = samples::report();
        assert_eq!(share_of_full(&report.cells[1], &report), Some(0.25));
        let row = terminal::row(&cells(), &cell(&report.cells[1], &report));
        for part in ["resumed", "x25519", "rsa-2048", " 450 ", " 100 ", " 200 ", " 550 ", " 0.250 "]
        {
            assert!(row.contains(part), "no {part:?} in {row}");
        }
        report.cells.remove(0);
        assert_eq!(share_of_full(&report.cells[0], &report), None);
    }

    #[test]
    fn operations_add_up() {
        let [client, server] = rows(&samples::operations());
        let texts = |row: &Row| row.cells.iter().map(Entry::text).collect::<Vec<_>>();
        assert!(texts(&client)[0].starts_with("40.00") && texts(&client)[1].starts_with("100.0"));
        assert!(texts(&server)[0].starts_with("30.00"));
        assert_eq!(client.cells.len(), 2 + COLUMNS.len());
    }
}
