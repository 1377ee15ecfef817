//! The results, for people.

use std::fmt::Write;

use super::report::{Row, Sample, verdicts_by_way};
use crate::experiment::{number, spread};
use crate::statistics::Median;
use crate::ways::{Agreement, OneTimeKind, Way};

/// Formats the head of the table of costs at one round-trip time.
pub(crate) fn head(rtt_ms: f64) -> String {
    let rtt = format!("round-trip time {rtt_ms} ms");
    format!(
        "\n{rtt:<40} ms since connect(), median ±95 %                CPU µs cl/server  \
         first flight TLS bytes heap bytes\n{:<11} {:<6} {:<6} {:<10} {:<3} {:>5} {:>11} {:>11} {:>11} {:>9} {:>9} \
         {:>12} {:>9} {:>10}",
        "mode",
        "kx",
        "ticket",
        "continues",
        "TFO",
        "TCP",
        "first byte",
        "handshake",
        "response",
        "engine",
        "process",
        "/in SYN",
        "cl/server",
        "cl/server",
    )
}

/// Formats a row of the table of costs.
pub(crate) fn costs(row: &Row) -> String {
    let ms = |value: fn(&Sample) -> f64| {
        let median = Median::of(row.samples.iter().map(|sample| value(sample) / 1e3));
        median.map_or_else(String::new, |median| spread(&median))
    };
    let both = |client: fn(&Sample) -> f64, server: fn(&Sample) -> f64| {
        let median = |value: fn(&Sample) -> f64| {
            Median::of(row.samples.iter().map(value)).map_or(0.0, |median| median.value)
        };
        format!("{:.0}/{:.0}", median(client), median(server))
    };
    let tcp = Median::of(row.samples.iter().map(|sample| sample.tcp_us / 1e3));
    format!(
        "{} {:>5} {:>11} {:>11} {:>11} {:>9} {:>9} {:>12} {:>9} {:>10}",
        way(&row.way()),
        tcp.map_or_else(String::new, |tcp| number(tcp.value)),
        ms(|sample| sample.first_byte_us),
        ms(|sample| sample.handshake_us),
        ms(|sample| sample.response_us),
        both(|sample| sample.client_engine_us, |sample| sample.server_engine_us),
        both(|sample| sample.client_cpu_us, |sample| sample.server_cpu_us),
        row.fast_open.map_or_else(
            || row.first_flight.to_string(),
            |syn| format!("{}/{}", row.first_flight, syn.bytes),
        ),
        format!("{}/{}", row.bytes.client, row.bytes.server),
        row.heap.map_or_else(|| "-".to_owned(), |heap| format!("{}/{}", heap.client, heap.server)),
    )
}

/// Formats the table of what each way protects.
pub(crate) fn verdicts(rows: &[Row]) -> String {
    let mut table = format!(
        "\n{:<40} forward secrecy from                        executed   confidential against\n\
         {:<11} {:<6} {:<6} {:<10} {:<3} {:<21} {:<21} (replays)  quantum computers\n",
        "what it protects", "mode", "kx", "ticket", "continues", "TFO", "first byte", "session",
    );
    for (row_way, verdicts) in verdicts_by_way(rows) {
        // Writing to a string does not fail.
        let _ = writeln!(
            table,
            "{} {:<21} {:<21} {:<10} {}",
            way(&row_way),
            verdicts.first_byte_fs.name(),
            verdicts.session_fs.name(),
            format!("{}×", verdicts.replay_executions),
            if verdicts.pq_confidentiality { "yes" } else { "no" },
        );
    }
    table
}

/// The terms in the tables.
pub(crate) const LEGEND: &str = "\
kx, ticket   how the handshake agrees a key, and the kind of the ticket's one-time key;
             hybrid is X25519MLKEM768, psk a one-time PSK: forward-secret only as far as both
             ends really delete it
TFO          with TCP Fast Open the SYN carries the first flight, as much as fits; in SYN: how much
first byte   the server's application holds the first byte of the request (early data: accepted)
handshake    the client's handshake is complete; response: its first byte is at the client
engine       processor time inside the TLS engine; process: all of the endpoint, kernel included
             (both are higher where endpoints wait longer: meanwhile caches go cold)
heap         what an idle connection holds: what dropping it gives back, AWS-LC's part included;
             counted by programs that are built with `--features heap`
forward secrecy from
  handshake            a recording cannot be opened with any key that exists after the handshake
  from_take_or_expiry  … after the server took the one-time key, or the key expired untaken
  from_epoch_end       … after the end of the epoch under whose key the one-time key was stored
  from_deletion_by_both
                       … after the server took the one-time PSK and the client's storage and its
                       backups have forgotten it
  none                 an attacker who learns the ticket's keys later opens it
executed     how often the application executed one request whose first flight was recorded and
             sent 20 times again to the same server, to another that has the same ticket keys
             and stores of its own, and to one restarted; or which a copy of the flight outran,
             what the client sent again included; the worse of both. 1 is what it asked for";

/// Formats the columns that identify a row.
fn way(way: &Way) -> String {
    let columns = format!(
        "{:<11} {:<6} {:<6} {:<10} {:<3}",
        way.mode,
        way.kx.map_or("none", Agreement::short),
        way.ticket_key.map_or("-", OneTimeKind::short),
        way.continuation.map_or("-", |continuation| continuation.name()),
        if way.fast_open { "syn" } else { "-" },
    );
    // A long name only shifts its own columns.
    format!("{:<40}", columns.trim_end())
}
