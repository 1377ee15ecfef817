//! The options that were not chosen.

use serde::Serialize;

use crate::evidence::{Letter, Way};

use super::measurements::{self, Measurement};
use super::price::WayCost;
use super::refusal::why_unsure;
use super::rules::{Exclusion, ruled_out};
use super::sentences::{self as say, fill};
use super::{Choice, candidates};

/// An option that was not chosen.
#[derive(Clone, Debug, Serialize)]
pub struct Alternative {
    /// The option, in the most similar way.
    pub way: Way,
    /// The fact that rules it out; `None` if it is permitted, but saves nothing.
    pub ruled_out_by: Option<&'static str>,
    /// Why it was not chosen.
    pub reason: String,
    /// Its cost compared with that of the answer.
    pub cost: Vec<Measurement>,
}

impl Choice<'_> {
    /// Returns one entry for each other option.
    pub(super) fn others(&self) -> Vec<Alternative> {
        let options = Letter::ALL.into_iter().filter(|option| *option != self.way.option);
        options.filter_map(|option| self.other(option)).collect()
    }

    fn other(&self, option: Letter) -> Option<Alternative> {
        let Self { evidence, facts, way: chosen, .. } = *self;
        let ways: Vec<_> = candidates::candidates(facts)
            .into_iter()
            .filter(|way| way.option == option)
            .map(|way| (way, ruled_out(evidence, facts, way)))
            .collect();
        // Prefers a permitted way, if there is one.
        let permitted = ways.iter().find(|(_, ruled_out)| ruled_out.is_none());
        let (way, ruled_out) = permitted.or(ways.first())?.clone();
        let cost: Vec<_> =
            measurements::against(evidence, facts, way, chosen).into_iter().collect();
        let (ruled_out_by, reason) = match ruled_out {
            Some(Exclusion { fact, because }) => (Some(fact), because),
            None => (None, self.why_not(way)),
        };
        Some(Alternative { way, ruled_out_by, reason, cost })
    }

    /// Explains why a permitted way was not chosen.
    fn why_not(&self, way: Way) -> String {
        let Self { evidence, facts, .. } = *self;
        match WayCost::of(evidence, facts, way) {
            None => say::NO_TIMES.to_owned(),
            Some(measured) if !measured.is_certain() => {
                let WayCost { samples, failed, .. } = measured;
                let n = measurements::count(samples, failed);
                fill(say::MAY_BUT, &[&n, &why_unsure(samples)])
            }
            Some(_) => say::MAY_BUT_NO_SAVING.to_owned(),
        }
    }
}
