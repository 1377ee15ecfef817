//! Limits of what a run can have measured, for reports and journals that may have been changed.

use std::ops::RangeInclusive;

/// No measured time is as long: connections have deadlines of minutes.
const HOUR_US: f64 = 3_600e6;
const HOUR_MS: f64 = HOUR_US / 1e3;

/// Nothing, or a description of what is wrong.
pub(crate) type CheckResult = Result<(), String>;

/// Each that failed has one reason.
pub(crate) fn reasons(failed: u64, counts: impl Iterator<Item = u64>) -> CheckResult {
    let sum: u128 = counts.map(u128::from).sum();
    if sum == u128::from(failed) {
        return Ok(());
    }
    Err(format!("{failed} reconnections failed, and there are reasons for {sum}"))
}

/// A count is possible.
pub(crate) fn counted(what: &str, count: u64, possible: RangeInclusive<u64>) -> CheckResult {
    if possible.contains(&count) {
        return Ok(());
    }
    let (least, most) = (possible.start(), possible.end());
    Err(format!("{count} {what}; by what was asked and failed there are {least} to {most}"))
}

/// A time in microseconds is possible.
pub(crate) fn time(what: &str, us: f64) -> CheckResult {
    if (0.0..=HOUR_US).contains(&us) {
        return Ok(());
    }
    Err(format!("{what} took {us} µs"))
}

/// A round-trip time in milliseconds is possible.
pub(crate) fn round_trip(ms: f64) -> CheckResult {
    within("the round-trip time in ms", ms, 0.0..=HOUR_MS)
}

/// A number is in its range.
pub(crate) fn within(what: &str, value: f64, possible: RangeInclusive<f64>) -> CheckResult {
    if possible.contains(&value) {
        return Ok(());
    }
    let (least, most) = (possible.start(), possible.end());
    Err(format!("{what} is {value}, and must be from {least} to {most}"))
}
