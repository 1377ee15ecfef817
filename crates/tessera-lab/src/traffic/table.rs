//! The results as tables, and the terms in them.

use tessera_reports::Letter;

use super::report::{Confusion, ConfusionTable, Features, PaddingCost};
use crate::numbers::{NOTHING, count, fixed, plain};
use crate::table::{Name, Row, Table, cells};

/// Returns how well the options are distinguished in each setting.
pub(super) fn accuracies(confusion: &Confusion) -> Table {
    let rows = settings(confusion).filter_map(|tables| {
        let first = tables.first()?;
        let chance = format!("{:.1}", first.chance * 1e2);
        let cells = [chance].into_iter().chain(tables.iter().map(accuracy));
        Some(Row::new(setting(first.rtt_ms, first.padding), cells))
    });
    let title = "what distinguishes the options: classified right, % (95 % interval)";
    Table::new(title, "RTT | padding || chance").and(Features::ALL.map(Features::name)).rows(rows)
}

/// Returns what was taken for what in one setting, by some features.
pub(super) fn confusion(table: &ConfusionTable) -> Table {
    let of_setting = setting(table.rtt_ms, table.padding);
    let features = table.features.name();
    let rows = table.options.iter().zip(&table.matrix).map(|(option, counts)| {
        let key = format!("{}/{features}/{}", of_setting.key, option.letter());
        Row::new(Name::new(key, letter(*option)), counts.iter().copied())
    });
    let title = format!(
        "what was taken for what by {}, at {}; asked first: {}",
        if table.features == Features::Both { "sizes and times" } else { features },
        of_setting.words(),
        table.first_question.as_deref().unwrap_or(NOTHING)
    );
    let options = table.options.iter().map(|option| letter(*option));
    Table::new(title, "was").and(options).rows(rows)
}

/// Returns the cost of padding.
pub(crate) fn costs(costs: &[PaddingCost]) -> Table {
    let bytes = |cost: &PaddingCost| cost.client_bytes + cost.server_bytes;
    let rows = costs.iter().map(|cost| {
        let of_setting = setting(cost.rtt_ms, cost.padding);
        let mut name = Name::new(
            format!("{}/cost/{}", of_setting.key, cost.option.letter()),
            letter(cost.option),
        );
        name = name.with("", of_setting.text);
        name.details.extend(of_setting.details);
        let plain = costs.iter().find(|other| {
            (other.option, other.rtt_ms, other.padding) == (cost.option, cost.rtt_ms, None)
        });
        let cells = cells![
            fixed(cost.client_bytes, 0),
            fixed(cost.server_bytes, 0),
            plain.map(|plain| format!("{:.2}", bytes(cost) / bytes(plain))),
            fixed(cost.duration_us / 1e3, 2),
        ];
        Row::new(name, cells)
    });
    let columns = "option | RTT | padding || client, bytes | server, bytes | of unpadded | ms";
    Table::new("what a connection with a registration costs, medians", columns).rows(rows)
}

/// Returns the tables of one link and one padding.
pub(super) fn settings(confusion: &Confusion) -> impl Iterator<Item = &[ConfusionTable]> {
    confusion.tables.chunk_by(|a, b| a.rtt_ms == b.rtt_ms && a.padding == b.padding)
}

/// Returns the name of a link and a padding.
pub(super) fn setting(rtt_ms: f64, padding: Option<u16>) -> Name {
    let key = padding.map_or_else(|| "none".to_owned(), |padding| padding.to_string());
    let words = padding.map_or_else(|| "none".to_owned(), count);
    Name::new(format!("{rtt_ms}/{key}"), format!("{} ms", plain(rtt_ms))).with("padding", words)
}

/// Formats an option as the paper writes it.
fn letter(option: Letter) -> String {
    format!("({})", option.letter())
}

/// Formats a share with its interval, in percent.
fn accuracy(table: &ConfusionTable) -> String {
    let (low, high) = table.interval;
    format!("{:.1} ({:.0}–{:.0})", table.accuracy * 1e2, low * 1e2, high * 1e2)
}

/// The terms in the tables.
pub(super) const LEGEND: &str = "
(a) to (e)        (a) full handshake, (b) psk_ke, (c) psk_dhe_ke, (d) replayable early data, (d') the
                  same with tickets of a single use, (e) forward-secret early data. (d) and (d') send
                  the same: they can't be distinguished. Key exchanges (X25519, X25519MLKEM768) and, in
                  (e), kinds of one-time keys take turns within an option
sizes             of TLS records, with their sides
protected-sizes   of the protected records alone: padding can't reach hellos
times             when records pass at the client's end, and from which side they come
both              all of that
classified right  by a decision tree that has not seen the flow (cross-validation). An observer who also
                  reads the ClientHello needs no classifier: a PSK and early data are offered in
                  plaintext (RFC 8446 §4.2.10, §4.2.11)
asked first       by a tree grown on all flows. What the server sends has sizes below 0: \"record 2 size
                  > -110\" asks whether record 2 is the client's, or the server's and shorter than 110
                  bytes";
