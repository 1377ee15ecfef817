//! Numbers that support a reason.

use serde::Serialize;

use crate::evidence::{Evidence, Way};
use crate::facts::Facts;

use super::price::{Extrapolation, WayCost};

/// The name of processor time.
pub(super) const PROCESSOR: &str = "processor of both ends";

/// The name of the sum of all bytes.
pub(super) const IN_ALL: &str = "in all";

/// The remark on numbers that exclude etcd's own work.
const WITHOUT_ETCD: &str = "measured with keys in memory; etcd's own work not measured";

/// A measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// The measured way; `None` if it concerns no single way.
    pub way: Option<Way>,
    /// The way whose numbers were subtracted.
    pub against: Option<Way>,
    /// The number of connections in its cell; `None` if it doesn't come from such samples.
    pub samples: Option<usize>,
    /// The most failed reconnections of a cell; no number includes them.
    pub failed: usize,
    /// The numbers.
    pub numbers: Vec<Number>,
    /// The case in which it applies; `None` for all.
    pub when: Option<&'static str>,
    /// Whether it was measured with one-time keys in memory although they are in etcd here: the numbers exclude etcd's
    /// own work.
    pub without_etcd: bool,
    /// Where its times were measured, if far from the deployment's round-trip time.
    pub outside: Option<Extrapolation>,
}

/// A number with its unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Number {
    /// What is counted.
    pub what: String,
    /// The value; in a difference, negative for a saving.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// The uncertainty, with 95 % confidence; `None` if unknown.
    pub uncertainty: Option<f64>,
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Microseconds.
    Us,
    /// The equivalent in microseconds of one request's waiting.
    #[serde(rename = "us_of_waiting")]
    UsOfWaiting,
    /// Bytes.
    Bytes,
    /// Executions of one request.
    Executions,
    /// Reconnections per hour.
    Reconnections,
}

impl Number {
    /// Returns the number times a share.
    pub(super) fn scaled(&self, share: f64) -> Self {
        let uncertainty = self.uncertainty.map(|off| off * share);
        Self { value: self.value * share, uncertainty, ..self.clone() }
    }
}

impl Measurement {
    /// Creates a measurement with one number of a way.
    pub(super) fn of(way: Way, what: impl Into<String>, value: f64, unit: Unit) -> Self {
        let number = Number { what: what.into(), value, unit, uncertainty: None };
        Self {
            way: Some(way),
            against: None,
            samples: None,
            failed: 0,
            numbers: vec![number],
            when: None,
            without_etcd: false,
            outside: None,
        }
    }

    /// Marks it as a difference to another way.
    pub(super) fn against(self, other: Way) -> Self {
        Self { against: Some(other), ..self }
    }

    /// Marks it as excluding etcd's own work.
    pub(super) fn without_etcd(self, without_etcd: bool) -> Self {
        Self { without_etcd, ..self }
    }

    /// Marks it as applying in one case.
    pub(super) fn when(self, case: &'static str) -> Self {
        Self { when: Some(case), ..self }
    }
}

/// Returns the cost of a way: response time and processor time.
pub(crate) fn cost_of(evidence: &Evidence, facts: &Facts, way: Way) -> Option<Measurement> {
    let measured = WayCost::of(evidence, facts, way)?;
    let mut numbers = vec![
        time("response", measured.response_us, measured.response_uncertainty_us),
        time(PROCESSOR, measured.processor_us, measured.processor_uncertainty_us),
    ];
    numbers.extend(measured.bytes.map(|value| bytes(IN_ALL, value)));
    Some(Measurement {
        way: Some(way),
        against: None,
        samples: Some(measured.samples),
        failed: measured.failed,
        numbers,
        when: None,
        without_etcd: measured.without_etcd,
        outside: measured.outside,
    })
}

/// Returns the cost of a way minus that of another; savings are negative.
pub(super) fn against(
    evidence: &Evidence,
    facts: &Facts,
    way: Way,
    other: Way,
) -> Option<Measurement> {
    let one = WayCost::of(evidence, facts, way)?;
    let two = WayCost::of(evidence, facts, other)?;
    let mut numbers = vec![
        time(
            "response",
            one.response_us - two.response_us,
            sum(one.response_uncertainty_us, two.response_uncertainty_us),
        ),
        time(
            PROCESSOR,
            one.processor_us - two.processor_us,
            sum(one.processor_uncertainty_us, two.processor_uncertainty_us),
        ),
    ];
    for (what, one, two) in
        [(IN_ALL, one.bytes, two.bytes), ("first flight", one.first_flight, two.first_flight)]
    {
        numbers.extend(one.zip(two).map(|(one, two)| bytes(what, one - two)));
    }
    Some(Measurement {
        way: Some(way),
        against: Some(other),
        samples: Some(one.samples.min(two.samples)),
        failed: one.failed.max(two.failed),
        numbers,
        when: None,
        without_etcd: one.without_etcd || two.without_etcd,
        outside: one.outside.or(two.outside),
    })
}

impl Measurement {
    /// Describes the basis of the numbers: the samples, and where they are from if not from a similar round-trip time.
    pub(super) fn behind(&self) -> String {
        let samples = self.samples.map(|samples| count(samples, self.failed));
        let outside = self.outside.map(|outside| match outside {
            Extrapolation::Beyond(last) => format!("beyond what was measured, up to {last} ms"),
            Extrapolation::Below(first) => format!("below what was measured, from {first} ms on"),
        });
        let store = self.without_etcd.then(|| WITHOUT_ETCD.to_owned());
        let words: Vec<_> = samples.into_iter().chain(store).chain(outside).collect();
        match words.is_empty() {
            true => String::new(),
            false => format!(" ({})", words.join("; ")),
        }
    }
}

/// Describes the number of samples, and of failed reconnections.
pub(super) fn count(samples: usize, failed: usize) -> String {
    match failed {
        0 => format!("n = {samples}"),
        _ => format!("n = {samples}, {failed} failed"),
    }
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
