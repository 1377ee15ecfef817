//! From the facts of a deployment and from what was measured to the way that fits, with a reason and a measured cost
//! for each line.
//!
//! The facts rule ways out ([`rules`]). Of the others the safest is taken, and a way that is less safe only where what
//! it saves, waiting and processor time together, is more than the uncertainty of the measurement ([`price`]).

mod candidates;
mod lifetimes;
mod lines;
mod measurements;
mod memory;
mod others;
mod price;
mod rules;
mod settings;
mod text;

use std::fmt;

use serde::Serialize;

use crate::evidence::{Evidence, Letter, Source, Way};
use crate::facts::Facts;

use self::lifetimes::Lifetimes;
pub(crate) use self::measurements::cost_of;
pub use self::measurements::{Measurement, Number, Unit};
pub use self::others::Other;
use self::price::Price;
pub(crate) use self::text::paragraph;

/// What fits a deployment.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// The way.
    pub way: Way,
    /// Each choice, with its reason.
    pub lines: Vec<Line>,
    /// The other options, and why they are not the answer.
    pub others: Vec<Other>,
    /// `[peer.NAME.reconnection]` of a SEPP: docs/sepp.md.
    pub sepp: Vec<String>,
    /// Where the numbers come from.
    pub sources: Vec<Source>,
}

/// One choice.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// What is chosen.
    pub about: &'static str,
    /// The choice.
    pub answer: String,
    /// Why.
    pub reason: String,
    /// The facts behind it.
    pub facts: Vec<&'static str>,
    /// What it costs, as it was measured.
    pub cost: Vec<Measurement>,
}

/// Evidence without what advice needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmeasured {
    /// A way that every deployment needs numbers of.
    pub way: Way,
}

impl fmt::Display for Unmeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the evidence has no response and processor times of {}; run `tessera lab reconnect --json` or \
             `tessera lab roaming` with it",
            self.way
        )
    }
}

impl std::error::Error for Unmeasured {}

/// What fits a deployment, by this evidence.
///
/// # Errors
/// If the evidence has no numbers of a full handshake, which everything falls back to.
pub fn advise(evidence: &Evidence, facts: &Facts) -> Result<Advice, Unmeasured> {
    let lifetimes = Lifetimes::of(facts);
    let permitted = candidates::candidates(facts)
        .into_iter()
        .filter(|way| rules::ruled_out(evidence, facts, *way).is_none())
        .filter_map(|way| Some((way, Price::of(evidence, facts, way, &lifetimes)?)));
    let best = permitted.reduce(|best, other| match other.1.is_surely_below(&best.1) {
        true => other,
        false => best,
    });
    let Some((way, _)) = best else {
        return Err(Unmeasured { way: candidates::full(facts) });
    };
    let choice = Choice { evidence, facts, lifetimes, way };
    Ok(Advice {
        way,
        lines: choice.lines(),
        others: choice.others(),
        sepp: settings::sepp(way, &lifetimes),
        sources: evidence.sources.clone(),
    })
}

/// What was chosen, and from what.
struct Choice<'a> {
    evidence: &'a Evidence,
    facts: &'a Facts,
    lifetimes: Lifetimes,
    way: Way,
}

impl Choice<'_> {
    /// What the chosen way is compared with: (c), which is the default of a SEPP; and (c) with (a).
    fn baseline(&self) -> Way {
        let kx = self.way.kx.or(candidates::full(self.facts).kx);
        match self.way.option {
            Letter::C => Way::plain(Letter::A, kx),
            _ => Way::plain(Letter::C, kx),
        }
    }
}

#[cfg(test)]
mod tests;
