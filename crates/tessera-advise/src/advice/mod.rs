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
mod numbers;
mod others;
mod pays;
mod price;
mod refusal;
mod rules;
mod settings;
mod summary;
mod text;

use serde::Serialize;

use crate::evidence::{Evidence, Letter, Source, Way};
use crate::facts::{Application, Facts};

use self::lifetimes::Lifetimes;
pub(crate) use self::measurements::cost_of;
pub use self::measurements::{Measurement, Number, Unit};
pub use self::others::Other;
pub use self::price::Outside;
use self::price::Price;
pub use self::refusal::NoAdvice;
pub(crate) use self::text::paragraph;

/// What fits a deployment.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// The way.
    pub way: Way,
    /// The answer, what to set, what it saves and what it risks: a line each.
    pub summary: Vec<String>,
    /// Each choice, with its reason.
    pub lines: Vec<Line>,
    /// The other options, and why they are not the answer.
    pub others: Vec<Other>,
    /// What the settings are for.
    pub application: Application,
    /// What to set: lines of a SEPP's file (docs/sepp.md), or fields of the library's configurations (docs/library.md).
    pub settings: Vec<String>,
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

/// What fits a deployment, by this evidence.
///
/// # Errors
/// If the evidence has no numbers of a full handshake, which everything falls back to, at the deployment's round-trip
/// time; if it has too few samples for an answer; or if the server may compute for less than any way takes.
pub fn advise(evidence: &Evidence, facts: &Facts) -> Result<Advice, NoAdvice> {
    let lifetimes = Lifetimes::of(facts);
    let ruled_out = |way: &Way| rules::ruled_out(evidence, facts, *way);
    let (permitted, others): (Vec<_>, Vec<_>) =
        candidates::candidates(facts).into_iter().partition(|way| ruled_out(way).is_none());
    if permitted.is_empty() {
        let by_limit = |way: &Way| ruled_out(way).is_some_and(|it| it.fact == "server-processor");
        let only_limit: Vec<_> = others.into_iter().filter(by_limit).collect();
        return Err(NoAdvice::nothing_fits(evidence, facts, &only_limit));
    }
    let priced = permitted
        .iter()
        .filter_map(|way| Some((*way, Price::of(evidence, facts, *way, &lifetimes)?)));
    let best = priced.reduce(|best, other| match other.1.is_surely_below(&best.1) {
        true => other,
        false => best,
    });
    let Some((way, price)) = best else {
        return Err(NoAdvice::unmeasured(evidence, facts));
    };
    // It is the first one because nothing could be told of any, and not because it is the best.
    if !price.is_certain() && permitted.iter().any(|other| other.option != way.option) {
        return Err(NoAdvice::too_few(evidence, facts, &permitted));
    }
    let choice = Choice { evidence, facts, lifetimes, way };
    Ok(Advice {
        way,
        summary: choice.summary(),
        lines: choice.lines(),
        others: choice.others(),
        application: facts.application,
        settings: settings::settings(way, facts, &lifetimes),
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
