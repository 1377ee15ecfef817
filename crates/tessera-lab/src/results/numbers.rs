//! Samples as the cells of tables.

use crate::experiment;
use crate::load::Histogram;
use crate::page::words::NOTHING;
use crate::roaming::report::{Cell, Sample};
use crate::statistics::{Median, quantile};

/// What is read of a sample, in the unit that it is shown in.
pub(super) type Field = fn(&Sample) -> Option<f64>;

/// The median of what the samples of a cell have.
pub(super) fn median(cell: &Cell, field: Field) -> Option<Median> {
    Median::of(cell.samples.iter().filter_map(field))
}

/// The largest of what the samples of a cell have.
pub(super) fn longest(cell: &Cell, field: Field) -> Option<f64> {
    quantile(cell.samples.iter().filter_map(field), 1.0)
}

/// A quantile that there are samples enough for: one of them at least is beyond it in the mean. Of fewer it would be
/// the largest under another name.
pub(super) fn known_quantile(times: &Histogram, share: f64) -> Option<f64> {
    let beyond = times.count() as f64 * (1.0 - share);
    // 1,000 · (1 - 0.999) is a little less than 1.
    (beyond > 1.0 - 1e-9).then(|| times.quantile(share)).flatten()
}

/// The median of a field, with how far it may be off.
pub(super) fn spread(cell: &Cell, field: Field) -> String {
    median(cell, field).map_or_else(nothing, |median| experiment::spread(&median))
}

/// A number that may be missing.
pub(super) fn short(value: Option<f64>) -> String {
    value.map_or_else(nothing, experiment::number)
}

/// A ratio.
pub(super) fn factor(value: Option<f64>) -> String {
    value.map_or_else(nothing, |value| format!("{value:.2}×"))
}

/// A share, in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A count of bytes.
pub(super) fn bytes(value: Option<f64>) -> String {
    value.map_or_else(nothing, |value| format!("{value:.0}"))
}

pub(super) fn nothing() -> String {
    NOTHING.to_owned()
}

/// Milliseconds until the server's application held the first byte of the request.
pub(super) const FIRST_BYTE_MS: Field = |sample| sample.first_byte_us.map(ms);
/// Milliseconds until the client's handshake was complete.
pub(super) const HANDSHAKE_MS: Field = |sample| sample.handshake_us.map(ms);
/// Milliseconds until the client's application held the response.
pub(super) const RESPONSE_MS: Field = |sample| sample.response_us.map(ms);
/// Milliseconds until TCP was connected.
pub(super) const TCP_MS: Field = |sample| sample.tcp_us.map(ms);

fn ms(us: f64) -> f64 {
    us / 1e3
}
