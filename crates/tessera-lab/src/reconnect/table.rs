//! The results as tables, and the terms in them.

use tessera_reports::reconnect::Row;
use tessera_reports::{Continuation, ForwardSecrecy, KeyExchange, OneTimeKey, Sample};

use super::report::verdicts_by_way;
use super::sentences;
use crate::numbers::{NOTHING, plain};
use crate::statistics::Median;
use crate::table::{Cell, Name, Row as TableRow, Table, cells};
use crate::ways::Way;

/// Returns the table of costs at one round-trip time, without rows.
pub(super) fn costs(rtt_ms: f64) -> Table {
    let columns = "way:14 | kx:6 | ticket:6 | continues:10 | TFO:3 || TCP, ms:11 | first byte, ms:11 | \
                   handshake, ms:11 | response, ms:11 | client engine, µs:9 | server engine, µs:9 | \
                   client process, µs:9 | server process, µs:9 | first flight, bytes:6 | in the SYN, bytes:6 | \
                   client, bytes:6 | server, bytes:6 | client heap, bytes:6 | server heap, bytes:6";
    let title = format!(
        "costs at a round-trip time of {} ms: medians, and their 95 % intervals",
        plain(rtt_ms)
    );
    Table::new(title, columns)
}

/// Returns its row of a way.
pub(super) fn cost(row: &Row) -> TableRow {
    let us = |value: fn(&Sample) -> Option<f64>| row.samples.iter().filter_map(value);
    let median = |value| Median::of(us(value));
    let ms = |value| Median::of(us(value).map(|us| us / 1e3));
    let mut name = name(&Way::of_row(row));
    name.key = format!("{}@{}", name.key, row.rtt_ms);
    TableRow::new(
        name,
        cells![
            ms(|it| it.tcp_us),
            ms(|it| it.first_byte_us),
            ms(|it| it.handshake_us),
            ms(|it| it.response_us),
            median(|it| it.client_engine_us),
            median(|it| it.server_engine_us),
            median(|it| it.client_cpu_us),
            median(|it| it.server_cpu_us),
            row.first_flight,
            row.fast_open.map(|syn| syn.bytes),
            row.bytes.client,
            row.bytes.server,
            row.heap.map(|heap| heap.client),
            row.heap.map(|heap| heap.server),
        ],
    )
}

/// Returns the table of what each way protects: ways with the same verdicts share a row.
pub(super) fn verdicts(rows: &[Row]) -> Table {
    let mut groups: Vec<TableRow> = Vec::new();
    for (way, verdicts) in verdicts_by_way(rows) {
        let secrecy = [verdicts.first_byte_fs, verdicts.session_fs]
            .map(|from| Cell::from(from_when(from)).bad_if(from == ForwardSecrecy::None));
        let executions = verdicts.replay_executions;
        let others = cells![
            Cell::from(format!("{executions}×")).bad_if(executions > 1),
            Cell::from(if verdicts.pq_confidentiality { "yes" } else { "no" })
                .bad_if(!verdicts.pq_confidentiality),
        ];
        let cells = [&secrecy[..], &others].concat();
        match groups.iter_mut().find(|row| row.cells == cells) {
            Some(row) => row.names.push(name(&way)),
            None => {
                let sentence = Some(sentences::of(&verdicts));
                groups.push(TableRow { sentence, ..TableRow::new(name(&way), cells) });
            }
        }
    }
    let columns = "way | kx | ticket | continues | TFO || first byte forward-secret from | \
                   session forward-secret from | executed under replay | safe from quantum computers";
    Table::new("what it protects", columns).rows(groups)
}

/// Returns from when on it is forward-secret, in words.
fn from_when(secrecy: ForwardSecrecy) -> &'static str {
    match secrecy {
        ForwardSecrecy::Handshake => "the handshake",
        ForwardSecrecy::FromTakeOrExpiry => "take or expiry",
        ForwardSecrecy::FromEpochEnd => "the epoch's end",
        ForwardSecrecy::FromDeletionByBoth => "deletion by both",
        ForwardSecrecy::None => "never",
    }
}

/// Returns the name of a way.
pub(super) fn name(way: &Way) -> Name {
    let Way { mode, kx, ticket_key, continuation, fast_open } = *way;
    let [kx_key, ticket, goes_on] = [
        kx.map(KeyExchange::name),
        ticket_key.map(OneTimeKey::name),
        continuation.map(Continuation::name),
    ]
    .map(|name| name.unwrap_or("none"));
    let syn = if fast_open { "/syn" } else { "" };
    let key = [mode.name(), kx_key, ticket, goes_on].join("/") + syn;
    Name::new(key, mode.name())
        .with("key exchange", kx.map_or("none", KeyExchange::short))
        .with("one-time key", ticket_key.map_or(NOTHING, OneTimeKey::short))
        .with("", continuation.map_or(NOTHING, Continuation::name))
        .with("begun in the", if fast_open { "SYN" } else { NOTHING })
}

/// The terms in the tables.
pub(super) const LEGEND: &str = "
kx, ticket        how the handshake agrees a key, and the kind of the ticket's one-time key; hybrid is
                  X25519MLKEM768, psk a one-time PSK: forward-secret only as far as both ends really
                  delete it
TFO               with TCP Fast Open the SYN carries the first flight, as much as fits; in the SYN: how
                  much
first byte        the server's application holds the first byte of the request (early data: accepted)
handshake         the client's handshake is complete; response: its first byte is at the client
engine            processor time inside the TLS engine; process: all of the endpoint, kernel included
                  (both are higher where endpoints wait longer: meanwhile caches go cold)
heap              what an idle connection holds: what dropping it gives back, AWS-LC's part included;
                  only programs built with `--features heap` count it, others show –
forward-secret    from the handshake: a recording cannot be opened with any key that exists after the
                  handshake; from take or expiry: after the server took the one-time key, or the key
                  expired untaken; from the epoch's end: after the end of the epoch under whose key the
                  one-time key was stored
deletion by both  after the server took the one-time PSK and the client's storage and its backups have
                  forgotten it
never             an attacker who learns the ticket's keys later opens it
executed          how often the application executed one request whose first flight was recorded and
                  sent 20 times again to the same server, to another that has the same ticket keys and
                  stores of its own, and to one restarted; or which a copy of the flight outran, what
                  the client sent again included; the worse of both. 1 is what it asked for";
