//! What an observer on the path learns from sizes and times.

use crate::page::words;
use crate::results::input::Inputs;
use crate::results::numbers;
use crate::results::table::Table;
use crate::traffic::report::{ConfusionTable, Features};

/// How often a classifier names the right option.
pub(super) fn accuracy(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::new(
        "How many flows a decision tree puts under the right option, by what it looks at; each flow is judged by \
         a tree that has not seen it. In its first question the size of a record or flight is in bytes, and its side \
         is a number, too: above 0 the client's, below 0 the server's, 0 where there is none.",
        &["setting", "right", "95 % confidence interval", "by chance", "first question"],
    );
    for confusion in confusions(inputs) {
        let (low, high) = confusion.interval;
        table.row(
            setting(confusion),
            [
                numbers::percent(confusion.accuracy),
                format!("{} to {}", numbers::percent(low), numbers::percent(high)),
                numbers::percent(confusion.chance),
                confusion.first_question.clone().unwrap_or_else(numbers::nothing),
            ],
        );
    }
    table.unless_empty()
}

/// The confusion matrices of an observer who uses everything.
pub(super) fn confusion(inputs: &Inputs) -> Option<Table> {
    let whole: Vec<_> =
        confusions(inputs).filter(|table| table.features == Features::Both).collect();
    let options = &whole.first()?.options;
    let heads: Vec<_> =
        options.iter().map(|letter| format!("taken for ({})", letter.letter())).collect();
    let columns: Vec<_> =
        ["flows of"].into_iter().chain(heads.iter().map(String::as_str)).collect();
    let mut table = Table::new("Flows of each option, and what they were taken for.", &columns);
    for confusion in whole.iter().filter(|table| table.options == *options) {
        for (letter, row) in options.iter().zip(&confusion.matrix) {
            let counts = row.iter().map(usize::to_string);
            table.row(format!("({}), {}", letter.letter(), setting(confusion)), counts);
        }
    }
    table.unless_empty()
}

/// The cost of padding.
pub(super) fn padding(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::new(
        "Bytes in TLS records of a connection with one registration, and how long it took, by padding: medians.",
        &["option, padding", "RTT, ms", "client", "server", "ms"],
    );
    for cost in inputs.traffic.iter().flat_map(|traffic| &traffic.costs) {
        table.row(
            format!("({}), {}", cost.option.letter(), padded(cost.padding)),
            [
                words::plain(cost.rtt_ms),
                numbers::bytes(Some(cost.client_bytes)),
                numbers::bytes(Some(cost.server_bytes)),
                numbers::short(Some(cost.duration_us / 1e3)),
            ],
        );
    }
    table.unless_empty()
}

fn confusions(inputs: &Inputs) -> impl Iterator<Item = &ConfusionTable> {
    inputs.traffic.iter().flat_map(|traffic| &traffic.confusion.tables)
}

fn setting(table: &ConfusionTable) -> String {
    let (rtt, features) = (words::plain(table.rtt_ms), table.features.name().replace('-', " "));
    format!("{features}, {rtt} ms, {}", padded(table.padding))
}

fn padded(padding: Option<u16>) -> String {
    padding.map_or_else(|| "not padded".to_owned(), |size| format!("padded to {size}"))
}
