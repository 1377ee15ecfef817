//! The answer of the evaluation.

use tessera_reports::roaming::Setup;

use super::figures::LINES;
use crate::numbers::{compared, fixed};
use crate::results::input::Inputs;
use crate::results::numbers::{FIRST_BYTE_MS, median};
use crate::statistics::Median;
use crate::table::Table;
use crate::topology;

/// Returns it, the sentence that matters first: when each option's first byte is accepted on the longest link of the
/// paper, and how many targets are reached.
pub(in crate::results) fn of(inputs: &Inputs, tables: &[(&str, Option<Table>)]) -> [String; 2] {
    let far = &topology::ROAMING[2];
    let [full, psk_dhe, zero_rtt, forward_secret] = LINES.map(|(_, wanted)| {
        let mut cells = inputs.plain(Setup::Endpoints);
        let cell = cells.find(|it| it.name.link.name == far.name && wanted(&it.name.variant))?;
        median(cell, FIRST_BYTE_MS)
    });
    let beside = |name: &str, other: Option<Median>| {
        Some(compared(forward_secret.as_ref()?, other.as_ref()?, name))
    };
    let others = [
        beside("a resumption with a key exchange (c)", psk_dhe),
        beside("a full handshake (a)", full),
        beside("replayable early data (d)", zero_rtt),
    ];
    let others: Vec<_> = others.into_iter().flatten().collect();
    let sentence = match forward_secret {
        Some(own) if !others.is_empty() => format!(
            "At {} ms, forward-secret early data (e) is accepted after {} ms: {}.",
            far.rtt_ms,
            fixed(own.value, 1),
            others.join("; ")
        ),
        _ => format!(
            "No link of {} ms has both forward-secret early data and another option.",
            far.rtt_ms
        ),
    };
    let targets = tables.iter().find(|(name, _)| *name == "targets");
    let rows = targets.iter().flat_map(|(_, table)| table).flat_map(|table| &table.rows);
    let reached: Vec<_> = rows.filter_map(|row| row.cells.last()).map(|cell| cell.text()).collect();
    let count = |word: &str| reached.iter().filter(|it| *it == word).count();
    let [yes, no, unknown] = ["yes", "no", "undecided"].map(count);
    let rest = match yes + no + unknown {
        0 => String::new(),
        all => format!(
            "{yes} of {all} targets are reached; {no} are not, and {unknown} are undecided."
        ),
    };
    [sentence, rest.replace(", and 0 are undecided", "")]
}
