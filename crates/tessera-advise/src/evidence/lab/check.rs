//! Rejects what no run of the lab writes: negative or excessive numbers, and duplicate cells.

use std::ops::RangeInclusive;

use tessera_reports::Sample;

use super::{Buckets, EvidenceError};
use crate::evidence::{Cell, IssuingCost, Link, Load};

/// Any time, in microseconds: all time limits of the lab are below an hour.
const TIME_US: RangeInclusive<f64> = 0.0..=3_600e6;
/// A round-trip time, in milliseconds.
const RTT_MS: RangeInclusive<f64> = 0.0..=3_600e3;
/// Any share of something.
const SHARE: RangeInclusive<f64> = 0.0..=1.0;
/// Any other number.
const NUMBER: RangeInclusive<f64> = 0.0..=1e12;

/// Rejects a cell that no run writes; `place` is its position, and `before` are the previous ones.
pub(super) fn cell(
    place: &str,
    cell: &Cell,
    samples: &[Sample],
    before: &[Cell],
) -> Result<(), EvidenceError> {
    let Link { rtt_ms, loss, loss_burst, congestion } = cell.link;
    let name = format!("{place}, {} at {rtt_ms} ms", cell.way);
    let issuing = |value: fn(IssuingCost<f64>) -> f64| cell.issuing.map(value);
    let numbers = [
        ("rtt_ms", Some(rtt_ms), RTT_MS),
        ("loss", Some(loss), SHARE),
        ("loss_burst", Some(loss_burst), NUMBER),
        ("congestion", Some(congestion), NUMBER),
        ("bytes.client", cell.client_bytes, NUMBER),
        ("bytes.server", cell.server_bytes, NUMBER),
        ("first_flight", cell.first_flight, NUMBER),
        ("issuing.server_us", issuing(|it| it.server_us), TIME_US),
        ("issuing.client_us", issuing(|it| it.client_us), TIME_US),
        ("issuing.bytes", issuing(|it| it.bytes), NUMBER),
    ];
    within(&name, numbers)?;
    for (at, sample) in samples.iter().enumerate() {
        let times = sample.times().map(|(what, time)| (what, time, TIME_US));
        within(&format!("{name}, sample {}", at + 1), times)?;
    }
    let key = |cell: &Cell| (cell.way, cell.suite.clone(), cell.through, cell.link);
    once(&name, before.iter().any(|other| key(other) == key(cell)))
}

/// Rejects a load that no run with this many reconnections writes.
pub(super) fn load(
    place: &str,
    load: &Load,
    reconnections: u64,
    accepted_us: &Buckets,
    before: &[Load],
) -> Result<(), EvidenceError> {
    let name = format!("{place}, {} of {} at {} ms", load.way, load.users, load.rtt_ms);
    let numbers = [
        ("rtt_ms", load.rtt_ms, RTT_MS),
        ("server_cpu_us_per_connection", load.server_us, TIME_US),
        ("server_tls_us_per_connection", load.server_tls_us, TIME_US),
        ("vault_bytes", load.held_bytes.unwrap_or_default(), NUMBER),
    ];
    let buckets = accepted_us.iter().map(|(bucket, _)| ("first_accepted_us", *bucket, TIME_US));
    let all = numbers.into_iter().chain(buckets);
    within(&name, all.map(|(what, number, limit)| (what, Some(number), limit)))?;
    let asked = (load.users as u64).checked_mul(reconnections).filter(|asked| *asked > 0);
    let asked = asked.ok_or_else(|| {
        let users = load.users;
        EvidenceError(format!(
            "{name}: no load has {users} users with {reconnections} reconnections"
        ))
    })?;
    if load.failed > asked {
        return Err(EvidenceError(format!("{name}: {} of {asked} failed", load.failed)));
    }
    let counts = accepted_us.iter().map(|(_, count)| *count);
    let accepted = counts.fold(0_u64, u64::saturating_add);
    if accepted > asked || !accepted_us.is_sorted_by(|(one, _), (other, _)| one < other) {
        return Err(EvidenceError(format!(
            "{name}: first_accepted_us has {accepted} of {asked}, or is not in order"
        )));
    }
    let key = |load: &Load| (load.way, load.suite.clone(), load.storm, load.users, load.rtt_ms);
    once(&name, before.iter().any(|other| key(other) == key(load)))
}

fn within<'a>(
    name: &str,
    numbers: impl IntoIterator<Item = (&'a str, Option<f64>, RangeInclusive<f64>)>,
) -> Result<(), EvidenceError> {
    for (what, number, limit) in numbers {
        if let Some(number) = number.filter(|number| !limit.contains(number)) {
            return Err(EvidenceError(format!(
                "{name}: {what} is {number}, and no run writes less than {} or more than {}",
                limit.start(),
                limit.end()
            )));
        }
    }
    Ok(())
}

fn once(name: &str, again: bool) -> Result<(), EvidenceError> {
    match again {
        true => Err(EvidenceError(format!("{name} occurs twice; a run has it once"))),
        false => Ok(()),
    }
}
