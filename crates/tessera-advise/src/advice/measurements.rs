//! Numbers beside a reason.

use serde::Serialize;

use crate::evidence::{Evidence, Way};
use crate::facts::Facts;

use super::price::Measured;

/// Something that was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// Of which way; `None` where it is of none.
    pub way: Option<Way>,
    /// The way whose numbers were taken away from its numbers.
    pub against: Option<Way>,
    /// How many connections of a cell are behind it; `None` where it doesn't come from such samples.
    pub samples: Option<usize>,
    /// The numbers.
    pub numbers: Vec<Number>,
}

/// A number with its unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Number {
    /// Of what.
    pub what: String,
    /// It; of a difference negative where something is saved.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// How far it may be off, with 95 % confidence; `None` where that isn't known.
    pub uncertainty: Option<f64>,
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Microseconds.
    Us,
    /// Bytes.
    Bytes,
    /// How often one request was executed.
    Executions,
    /// Reconnections an hour.
    Reconnections,
}

impl Measurement {
    /// One number of a way.
    pub(super) fn of(way: Way, what: impl Into<String>, value: f64, unit: Unit) -> Self {
        let number = Number { what: what.into(), value, unit, uncertainty: None };
        Self { way: Some(way), against: None, samples: None, numbers: vec![number] }
    }

    /// The same as a difference to another way's.
    pub(super) fn against(self, other: Way) -> Self {
        Self { against: Some(other), ..self }
    }
}

/// What a way takes: the response, and the processor.
pub(crate) fn cost_of(evidence: &Evidence, facts: &Facts, way: Way) -> Option<Measurement> {
    let measured = Measured::of(evidence, facts, way)?;
    let mut numbers = vec![
        time("response", measured.response_us, measured.response_uncertainty_us),
        time("processor of both ends", measured.processor_us, measured.processor_uncertainty_us),
    ];
    numbers.extend(measured.bytes.map(|value| bytes("in all", value)));
    Some(Measurement { way: Some(way), against: None, samples: Some(measured.samples), numbers })
}

/// What a way takes more than another; what is saved is negative.
pub(super) fn against(
    evidence: &Evidence,
    facts: &Facts,
    way: Way,
    other: Way,
) -> Option<Measurement> {
    let one = Measured::of(evidence, facts, way)?;
    let two = Measured::of(evidence, facts, other)?;
    let mut numbers = vec![
        time(
            "response",
            one.response_us - two.response_us,
            sum(one.response_uncertainty_us, two.response_uncertainty_us),
        ),
        time(
            "processor of both ends",
            one.processor_us - two.processor_us,
            sum(one.processor_uncertainty_us, two.processor_uncertainty_us),
        ),
    ];
    for (what, one, two) in
        [("in all", one.bytes, two.bytes), ("first flight", one.first_flight, two.first_flight)]
    {
        numbers.extend(one.zip(two).map(|(one, two)| bytes(what, one - two)));
    }
    let samples = Some(one.samples.min(two.samples));
    Some(Measurement { way: Some(way), against: Some(other), samples, numbers })
}

fn time(what: &str, value: f64, uncertainty: Option<f64>) -> Number {
    Number { what: what.to_owned(), value, unit: Unit::Us, uncertainty }
}

fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some(one? + other?)
}

fn bytes(what: &str, value: f64) -> Number {
    Number { what: what.to_owned(), value, unit: Unit::Bytes, uncertainty: None }
}
