//! Derives the way that fits a deployment from its facts and from measurements, with a reason and a measured cost for
//! each line.
//!
//! The facts rule ways out ([`rules`]). Of the others the safest is chosen; a less safe way only if its saving, in
//! waiting and processor time together, exceeds the uncertainty of the measurement ([`price`]).

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
mod sentences;
mod settings;
mod summary;
mod text;

use serde::Serialize;

use crate::evidence::{Evidence, Letter, Source, Way};
use crate::facts::{Application, Facts};

use self::lifetimes::Lifetimes;
pub(crate) use self::measurements::cost_of;
pub use self::measurements::{Measurement, Number, Unit};
pub use self::others::Alternative;
pub use self::price::Extrapolation;
use self::price::Price;
pub use self::refusal::NoAdvice;
pub(crate) use self::text::paragraph;

/// The advice for a deployment.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// The way.
    pub way: Way,
    /// The answer, the settings, the saving and the risk, in a line each.
    pub summary: Vec<String>,
    /// Each choice, with its reason.
    pub lines: Vec<Line>,
    /// The other options, and why they were not chosen.
    pub others: Vec<Alternative>,
    /// The application that the settings are for.
    pub application: Application,
    /// The settings: lines of a SEPP's file (docs/sepp.md), or fields of the library's configurations
    /// (docs/library.md).
    pub settings: Vec<String>,
    /// The sources of the numbers.
    pub sources: Vec<Source>,
}

/// One choice.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The subject of the choice.
    pub about: &'static str,
    /// The choice.
    pub answer: String,
    /// Why.
    pub reason: String,
    /// The facts behind it.
    pub facts: Vec<&'static str>,
    /// Its measured cost.
    pub cost: Vec<Measurement>,
}

/// Returns the advice for a deployment, from this evidence.
///
/// # Errors
/// If the evidence has no numbers at the deployment's round-trip time for a full handshake, which every way falls back
/// to; if it has too few samples for an answer; or if every way exceeds the server's limit of processor time.
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
    // Without certain numbers, the first way is first only for lack of data, and not because it is the best.
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

/// The chosen way, and what it was chosen from.
struct Choice<'a> {
    evidence: &'a Evidence,
    facts: &'a Facts,
    lifetimes: Lifetimes,
    way: Way,
}

impl Choice<'_> {
    /// Returns the way to compare with: (c), which is the default of a SEPP; for (c) itself, (a).
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
