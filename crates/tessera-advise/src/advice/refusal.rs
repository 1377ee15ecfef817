//! Why there is no advice.

use std::fmt;

use crate::evidence::{Evidence, Through, Way, how_to_measure, median_rank};
use crate::facts::Facts;

use super::candidates;
use super::measurements::count;
use super::numbers::milliseconds;
use super::price::Measured;
use super::rules::over_processor_limit;

/// Why there is no advice: what is missing, or which fact no way keeps.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NoAdvice {
    /// Nothing was measured that says what a way takes at the deployment's round-trip time.
    Unmeasured {
        /// A way that every deployment needs numbers of.
        way: Way,
        /// The deployment's round-trip time, in milliseconds.
        rtt_ms: f64,
        /// Where it was measured between two processes, in milliseconds: exactly one of these, or none.
        measured_ms: Vec<f64>,
    },
    /// Whether anything saves something isn't known.
    TooFewSamples {
        /// The way with too few samples, or too many failures.
        way: Way,
        /// How many it has.
        samples: usize,
        /// How many reconnections failed beside them.
        failed: usize,
        /// The deployment's round-trip time, in milliseconds.
        rtt_ms: f64,
    },
    /// `server-processor` is less than any permitted way takes.
    NoWayFits {
        /// The ways that nothing else rules out, and how much longer the server computes for each, in microseconds.
        over_us: Vec<(Way, f64)>,
    },
}

/// Why it isn't known how far medians may be off. It takes so many samples ([`crate::evidence::median_rank`]), and the
/// end of the interval must not be one that failed.
pub(super) fn why_unsure(samples: usize) -> &'static str {
    match median_rank(samples) {
        None => "six samples are needed before anything counts as sure",
        Some(_) => "too many failed for anything to count as sure",
    }
}

impl NoAdvice {
    /// Where each way is ruled out.
    pub(super) fn nothing_fits(evidence: &Evidence, facts: &Facts, only_limit: &[Way]) -> Self {
        let over = |way: &Way| Some((*way, over_processor_limit(evidence, facts, *way)?));
        let over_us: Vec<_> = only_limit.iter().filter_map(over).collect();
        match over_us.is_empty() {
            true => Self::unmeasured(evidence, facts),
            false => Self::NoWayFits { over_us },
        }
    }

    /// Where nothing that may be used has numbers.
    pub(super) fn unmeasured(evidence: &Evidence, facts: &Facts) -> Self {
        let way = candidates::full(facts);
        let mut measured_ms: Vec<f64> = evidence
            .cells
            .iter()
            .filter(|cell| cell.way == way && cell.link.is_plain() && cell.response_us.is_some())
            .filter(|cell| cell.through != Through::Engine)
            .map(|cell| cell.link.rtt_ms)
            .collect();
        measured_ms.sort_by(f64::total_cmp);
        measured_ms.dedup();
        Self::Unmeasured { way, rtt_ms: facts.round_trip_ms, measured_ms }
    }

    /// Where the answer would be one for want of samples: of it, or of what it falls back to.
    pub(super) fn too_few(evidence: &Evidence, facts: &Facts, ways: &[Way]) -> Self {
        let few = ways.iter().find_map(|way| {
            let measured = Measured::of(evidence, facts, *way)?;
            (!measured.is_certain()).then_some((*way, measured))
        });
        match few {
            Some((way, Measured { samples, failed, .. })) => {
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
                write!(f, "nothing tells what {way} takes at {rtt_ms} ms: ")?;
                match measured_ms.as_slice() {
                    [] => f.write_str(
                        "its responses and processor times weren't measured over a link",
                    )?,
                    [one] => write!(
                        f,
                        "it was measured at {one} ms alone, and a second round-trip time is needed"
                    )?,
                    _ => {
                        f.write_str("its processor times weren't measured, or nobody attacked it")?
                    }
                }
                write!(f, "; {}", how_to_measure(Some(*rtt_ms)))
            }
            Self::TooFewSamples { way, samples, failed, rtt_ms } => {
                let (n, why) = (count(*samples, *failed), why_unsure(*samples));
                write!(f, "{n} of {way}: {why}; {}", how_to_measure(Some(*rtt_ms)))
            }
            Self::NoWayFits { over_us } => {
                f.write_str("server-processor: no way fits that may be used; the server computes longer than it may by ")?;
                for (at, (way, over)) in over_us.iter().enumerate() {
                    let comma = if at == 0 { "" } else { "; " };
                    write!(f, "{comma}{} in {way}", milliseconds(*over))?;
                }
                f.write_str(". Give it more time, or leave the limit out")
            }
        }
    }
}

impl std::error::Error for NoAdvice {}
