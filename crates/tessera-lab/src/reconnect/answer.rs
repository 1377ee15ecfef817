//! The answer: when the request is at the server, and what becomes of it there.

use tessera_reports::Mode;
use tessera_reports::reconnect::Row;

use super::sentences::{secrecy, times};
use crate::numbers::{compared, number, plain};
use crate::page::document::answer;
use crate::statistics::Median;

/// Returns it for the longest of the links, comparing the fastest rows of each mode without TCP Fast Open.
pub(super) fn of(rows: &[Row]) -> String {
    let rtt_ms = rows.iter().map(|row| row.rtt_ms).fold(0.0, f64::max);
    let far = || rows.iter().filter(|row| row.rtt_ms == rtt_ms && row.fast_open.is_none());
    let fastest = |is_wanted: &dyn Fn(Mode) -> bool| {
        let rows = far().filter(|row| is_wanted(row.mode));
        let times = rows.filter_map(|row| Some((first_byte_ms(row)?, row)));
        times.min_by(|(one, _), (other, _)| one.value.total_cmp(&other.value))
    };
    let Some((own, row)) = fastest(&|mode| mode == Mode::ZeroRttFs) else {
        let sentence = fastest(&|_| true).map_or_else(
            || "Nothing was measured.".to_owned(),
            |(ms, row)| {
                let (mode, at, ms) = (row.mode.name(), plain(rtt_ms), number(ms.value));
                format!("At {at} ms, {mode} has its request at the server first, after {ms} ms.")
            },
        );
        return answer(&sentence, "Forward-secret early data was not measured.");
    };
    let others = [
        (fastest(&|mode| mode == Mode::PskDhe), "a resumption with a key exchange"),
        (fastest(&Mode::is_replayable), "replayable early data"),
    ];
    let compared = others
        .iter()
        .filter_map(|(other, name)| Some(compared(&own, &other.as_ref()?.0, name)))
        .collect::<Vec<_>>();
    let sentence = format!(
        "At {} ms, forward-secret early data is at the server after {} ms{}{}.",
        plain(rtt_ms),
        number(own.value),
        if compared.is_empty() { "" } else { ": " },
        compared.join(", and ")
    );
    let executed = |of: &Row| {
        let same = rows.iter().filter(|row| row.mode == of.mode);
        times(same.map(|row| row.verdicts.replay_executions).max().unwrap_or(0))
    };
    let mut rest = format!("Under replay its request was executed {}", executed(row));
    if let Some((_, other)) = &others[1].0 {
        rest += &format!(", that of replayable early data {}", executed(other));
    }
    rest += &format!(". Of a recording, {}.", secrecy("it", row.verdicts.first_byte_fs));
    answer(&sentence, &rest)
}

fn first_byte_ms(row: &Row) -> Option<Median> {
    Median::of(row.samples.iter().filter_map(|sample| Some(sample.first_byte_us? / 1e3)))
}
