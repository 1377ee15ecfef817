//! The results, for people.

use std::fmt::Write;

use super::report::{Confusion, ConfusionTable, Features, PaddingCost};
use crate::variants::PaperOption;

/// Formats how well the options are distinguished in each setting.
pub(super) fn accuracies(confusion: &Confusion) -> String {
    let mut table = format!(
        "\n{:<44} classified right, % (95 % interval)\n{:>8} {:>8} {:>7}",
        "what distinguishes the options", "RTT, ms", "padding", "chance",
    );
    for features in Features::ALL {
        // Writing to a string does not fail.
        let _ = write!(table, " {:>16}", features.name());
    }
    for setting in settings(confusion) {
        let Some(first) = setting.first() else { continue };
        let (rtt, padding) = (first.rtt_ms, padding(first.padding));
        let _ = write!(table, "\n{rtt:>8} {padding:>8} {:>7.1}", first.chance * 1e2);
        for told in setting {
            let _ = write!(table, " {:>16}", accuracy(told));
        }
    }
    table
}

/// Formats the confusions of an observer who uses sizes and times.
pub(super) fn confusions(confusion: &Confusion) -> String {
    let mut text = String::new();
    for table in confusion.tables.iter().filter(|table| table.features == Features::Both) {
        let _ = write!(
            text,
            "\nwhat was taken for what by sizes and times, at {} ms, padding {}\n{:>8}",
            table.rtt_ms,
            padding(table.padding),
            "",
        );
        for option in &table.options {
            let _ = write!(text, " {:>5}", letter(*option));
        }
        for (option, row) in table.options.iter().zip(&table.matrix) {
            let _ = write!(text, "\n{:>8}", letter(*option));
            for count in row {
                let _ = write!(text, " {count:>5}");
            }
        }
        let question = table.first_question.as_deref().unwrap_or("nothing");
        let _ = writeln!(text, "\nasked first: {question}");
    }
    text
}

/// Formats the cost of padding.
pub(super) fn costs(costs: &[PaddingCost]) -> String {
    let mut table = format!(
        "what a connection with a registration costs, medians\n{:>8} {:>8} {:>6} {:>12} {:>12} {:>12}",
        "RTT, ms", "padding", "option", "client bytes", "server bytes", "ms",
    );
    for cost in costs {
        let _ = write!(
            table,
            "\n{:>8} {:>8} {:>6} {:>12.0} {:>12.0} {:>12.2}",
            cost.rtt_ms,
            padding(cost.padding),
            letter(cost.option),
            cost.client_bytes,
            cost.server_bytes,
            cost.duration_us / 1e3,
        );
    }
    table
}

/// The terms in the tables.
pub(super) const LEGEND: &str = "
(a) full handshake  (b) psk_ke  (c) psk_dhe_ke  (d) replayable early data  (d') the same, tickets of a
single use  (e) forward-secret early data. (d) and (d') send the same: they can't be told apart
sizes            of TLS records, with their sides
protected-sizes  of the protected records alone: padding can't reach hellos
times            when records pass at the client's end, and from which side they come
both             all of that
classified right by a decision tree that has not seen the flow (cross-validation)
asked first      by a tree grown on all flows. What the server sends has sizes below 0: \"record 2 size > -110\"
                 asks whether record 2 is the client's, or the server's and shorter than 110 bytes
Key exchanges (X25519, X25519MLKEM768) and, in (e), kinds of one-time keys take turns within an option.
An observer who also reads the ClientHello needs no classifier: a PSK and
early data are offered in plaintext (RFC 8446 §4.2.10, §4.2.11).";

/// Returns the tables of one link and one padding.
pub(super) fn settings(confusion: &Confusion) -> impl Iterator<Item = &[ConfusionTable]> {
    confusion.tables.chunk_by(|a, b| a.rtt_ms == b.rtt_ms && a.padding == b.padding)
}

/// Describes the padding.
pub(super) fn padding(padding: Option<u16>) -> String {
    padding.map_or_else(|| "none".to_owned(), |padding| padding.to_string())
}

/// Formats an option as the paper writes it.
pub(super) fn letter(option: PaperOption) -> String {
    format!("({})", option.letter())
}

/// Formats a share with its interval, in percent.
pub(super) fn accuracy(table: &ConfusionTable) -> String {
    let (low, high) = table.interval;
    format!("{:.1} ({:.0}–{:.0})", table.accuracy * 1e2, low * 1e2, high * 1e2)
}
