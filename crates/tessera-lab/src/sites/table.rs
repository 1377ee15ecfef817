//! The results of the experiment `sites`, for people.

use std::time::Duration;

use super::report::{Row, Sample};
use crate::control::EarlyDataOutcome;
use crate::experiment::spread;
use crate::statistics::Median;

/// Formats the head of the table at one pair of round-trip times.
pub(super) fn head(rtt: Duration, site_rtt: Duration) -> String {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    format!(
        "\nround-trip time {} ms to each site, {} ms between the sites; ms since connect(), median \
         ±95 %\n{:<16} {:<8} {:>12} {:>12} {:>12} {:>12}  {:<8} executed",
        ms(rtt),
        ms(site_rtt),
        "path",
        "mode",
        "first byte",
        "verdict",
        "handshake",
        "response",
        "told",
    )
}

/// Formats a row of the table.
pub(super) fn row(row: &Row) -> String {
    let ms = |value: fn(&Sample) -> Option<f64>| {
        let median = Median::of(row.samples.iter().filter_map(value).map(|us| us / 1e3));
        median.map_or_else(|| "-".to_owned(), |median| spread(&median))
    };
    format!(
        "{:<16} {:<8} {:>12} {:>12} {:>12} {:>12}  {:<8} {}×",
        row.path.name(),
        row.mode,
        ms(|sample| sample.first_byte_us),
        ms(|sample| sample.verdict_us),
        ms(|sample| Some(sample.handshake_us)),
        ms(|sample| sample.response_us),
        row.told.map_or("-", EarlyDataOutcome::name),
        row.replay_executions,
    )
}

/// The terms in the table.
pub(super) const LEGEND: &str = "
home              early data at the site that issued the ticket: accepted
away              at the other site, which has the key burned at home and answers when home has
                  acknowledged it; then the client sends its request again, in the same connection
away-home-silent  the same, but home's process is stopped and does not answer: after three
                  round-trip times between the sites, and 200 ms at least, the client gets
                  `unknown`, and does not send again
away-psk-dhe      at the other site without early data
away-guess        (only on request) the other site reports `burned` without asking: wrong
verdict           the client knows what became of its early data
executed          how often both sites together executed one request whose first flight was
                  recorded and sent to both sites 20 times each after the client had what it
                  wanted; or which a copy at home outran; the worse of both. 1 is what it asked for";
