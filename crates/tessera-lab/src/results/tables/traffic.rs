//! What an observer on the path learns from sizes and times.

use crate::numbers::plain;
use crate::results::input::Inputs;
use crate::results::numbers;
use crate::table::{Table, cells};
use crate::traffic::report::{ConfusionTable, Features};
use crate::traffic::table::costs;

/// How often a classifier names the right option.
pub(super) fn accuracy(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "How many flows a decision tree puts under the right option, by what it looks at; each flow is judged by \
         a tree that has not seen it. In its first question the size of a record or flight is in bytes, and its side \
         is a number, too: above 0 the client's, below 0 the server's, 0 where there is none.",
        "setting | right | 95 % confidence interval | by chance | first question",
    );
    for confusion in confusions(inputs) {
        let (low, high) = confusion.interval;
        table.row(
            setting(confusion),
            cells![
                numbers::percent(confusion.accuracy),
                format!("{} to {}", numbers::percent(low), numbers::percent(high)),
                numbers::percent(confusion.chance),
                confusion.first_question.clone(),
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
    let columns = options.iter().map(|letter| format!("taken for ({})", letter.letter()));
    let mut table =
        Table::with_note("Flows of each option, and what they were taken for.", "flows of")
            .and(columns);
    for confusion in whole.iter().filter(|table| table.options == *options) {
        for (letter, row) in options.iter().zip(&confusion.matrix) {
            let name = format!("({}), {}", letter.letter(), setting(confusion));
            table.row(name, row.iter().copied());
        }
    }
    table.unless_empty()
}

/// The cost of padding.
pub(super) fn padding(inputs: &Inputs) -> Option<Table> {
    let table = costs(&inputs.traffic.as_ref()?.costs).note(
        "Bytes in TLS records of a connection with one registration, and how long it took, by padding: medians.",
    );
    table.unless_empty()
}

fn confusions(inputs: &Inputs) -> impl Iterator<Item = &ConfusionTable> {
    inputs.traffic.iter().flat_map(|traffic| &traffic.confusion.tables)
}

fn setting(table: &ConfusionTable) -> String {
    let (rtt, features) = (plain(table.rtt_ms), table.features.name().replace('-', " "));
    format!("{features}, {rtt} ms, {}", padded(table.padding))
}

fn padded(padding: Option<u16>) -> String {
    padding.map_or_else(|| "not padded".to_owned(), |size| format!("padded to {size}"))
}
