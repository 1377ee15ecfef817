//! Why there is no advice.

use std::fmt;

use tessera_reports::median_rank;

use crate::evidence::{Evidence, Setup, Way, how_to_measure};
use crate::facts::Facts;

use super::candidates;
use super::measurements::count;
use super::numbers::milliseconds;
use super::price::WayCost;
use super::rules::over_processor_limit;
use super::sentences::{self as say, fill};

/// Why there is no advice: what is missing, or which fact no way satisfies.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NoAdvice {
    /// No measurement covers the cost of a way at the deployment's round-trip time.
    Unmeasured {
        /// A way whose numbers every deployment needs.
        way: Way,
        /// The deployment's round-trip time, in milliseconds.
        rtt_ms: f64,
        /// Where it was measured between two processes, in milliseconds: at most one round-trip time.
        measured_ms: Vec<f64>,
    },
    /// The measurements can't show whether any way saves something.
    TooFewSamples {
        /// The way with too few samples, or too many failures.
        way: Way,
        /// Its number of samples.
        samples: usize,
        /// Its number of failed reconnections.
        failed: usize,
        /// The deployment's round-trip time, in milliseconds.
        rtt_ms: f64,
    },
    /// `server-processor` is less than any permitted way needs.
    NoWayFits {
        /// The ways that only this fact rules out, and by how many microseconds each exceeds it.
        over_us: Vec<(Way, f64)>,
    },
}

/// Explains why the uncertainty of medians is unknown: too few samples ([`median_rank`]), or an
/// interval that ends in a failure.
pub(super) fn why_unsure(samples: usize) -> &'static str {
    match median_rank(samples) {
        None => say::SIX_NEEDED,
        Some(_) => say::TOO_MANY_FAILED,
    }
}

impl NoAdvice {
    /// Returns the error when every way is ruled out.
    pub(super) fn nothing_fits(evidence: &Evidence, facts: &Facts, only_limit: &[Way]) -> Self {
        let over = |way: &Way| Some((*way, over_processor_limit(evidence, facts, *way)?));
        let over_us: Vec<_> = only_limit.iter().filter_map(over).collect();
        match over_us.is_empty() {
            true => Self::unmeasured(evidence, facts),
            false => Self::NoWayFits { over_us },
        }
    }

    /// Returns the error when no permitted way has numbers.
    pub(super) fn unmeasured(evidence: &Evidence, facts: &Facts) -> Self {
        let way = candidates::full(facts);
        let mut measured_ms: Vec<f64> = evidence
            .cells
            .iter()
            .filter(|cell| cell.way == way && cell.link.is_plain() && cell.response_us.is_some())
            .filter(|cell| cell.through != Setup::Engine)
            .map(|cell| cell.link.rtt_ms)
            .collect();
        measured_ms.sort_by(f64::total_cmp);
        measured_ms.dedup();
        Self::Unmeasured { way, rtt_ms: facts.round_trip_ms, measured_ms }
    }

    /// Returns the error when the answer, or what it falls back to, has too few samples.
    pub(super) fn too_few(evidence: &Evidence, facts: &Facts, ways: &[Way]) -> Self {
        let few = ways.iter().find_map(|way| {
            let measured = WayCost::of(evidence, facts, *way)?;
            (!measured.is_certain()).then_some((*way, measured))
        });
        match few {
            Some((way, WayCost { samples, failed, .. })) => {
                Self::TooFewSamples { way, samples, failed, rtt_ms: facts.round_trip_ms }
            }
            None => Self::unmeasured(evidence, facts),
        }
    }
}

impl fmt::Display for NoAdvice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unmeasured { way, rtt_ms, measured_ms } => {
                let why = match measured_ms.as_slice() {
                    [] => say::NOT_OVER_A_LINK.to_owned(),
                    [one] => fill(say::ONE_ROUND_TRIP_TIME, &[one]),
                    _ => say::NOT_ATTACKED_OR_TIMED.to_owned(),
                };
                f.write_str(&fill(
                    say::UNMEASURED,
                    &[way, rtt_ms, &why, &how_to_measure(Some(*rtt_ms))],
                ))
            }
            Self::TooFewSamples { way, samples, failed, rtt_ms } => {
                let (n, why) = (count(*samples, *failed), why_unsure(*samples));
                f.write_str(&fill(say::TOO_FEW, &[&n, way, &why, &how_to_measure(Some(*rtt_ms))]))
            }
            Self::NoWayFits { over_us } => {
                let over = |(way, us): &(Way, f64)| format!("{} in {way}", milliseconds(*us));
                let over: Vec<_> = over_us.iter().map(over).collect();
                f.write_str(&fill(say::NO_WAY_FITS, &[&over.join("; ")]))
            }
        }
    }
}

impl std::error::Error for NoAdvice {}
