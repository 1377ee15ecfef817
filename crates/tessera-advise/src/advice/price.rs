//! The expected cost of a reconnection by a way, from measurements.

use serde::Serialize;

use crate::break_even::{Curve, ResponseCurve};
use crate::evidence::{Cell, Evidence, Letter, Setup, Store, Way};
use crate::facts::Facts;

use super::candidates::full;
use super::lifetimes::Lifetimes;

/// The measurements of a way, or of the same with another store, at the deployment's round-trip time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WayCost {
    /// From before connect() to the response, in microseconds.
    pub(super) response_us: f64,
    /// Its uncertainty; `None` with too few samples.
    pub(super) response_uncertainty_us: Option<f64>,
    /// Processor time of both ends, in microseconds.
    pub(super) processor_us: f64,
    /// Its uncertainty.
    pub(super) processor_uncertainty_us: Option<f64>,
    /// Of that, the server's.
    pub(super) server_us: f64,
    /// Bytes of both ends.
    pub(super) bytes: Option<f64>,
    /// Of the client's first flight.
    pub(super) first_flight: Option<f64>,
    /// The fewest samples of a cell used.
    pub(super) samples: usize,
    /// The most failed reconnections of a cell used.
    pub(super) failed: usize,
    /// Whether it was measured with one-time keys in memory although the way keeps them in etcd: the numbers exclude
    /// etcd's own work.
    pub(super) without_etcd: bool,
    /// Where it was measured, if far from the deployment's round-trip time.
    pub(super) outside: Option<Extrapolation>,
}

impl WayCost {
    /// Returns the measurements of a way for a deployment; `None` if there are none. A take in etcd waits for the round
    /// trip to it, which is a fact and in no cell: cells with etcd have it next to the server.
    pub(super) fn of(evidence: &Evidence, facts: &Facts, way: Way) -> Option<Self> {
        let in_cells = |way| Self::in_cells(evidence, way, facts.round_trip_ms);
        if way.store == Store::Memory {
            return in_cells(way);
        }
        let beside = in_cells(way).or_else(|| {
            let in_memory = in_cells(way.with_store(Store::Memory))?;
            Some(Self { without_etcd: true, ..in_memory })
        })?;
        let there_us = facts.store_round_trip_ms.unwrap_or_default() * 1e3;
        Some(Self { response_us: beside.response_us + there_us, ..beside })
    }

    fn in_cells(evidence: &Evidence, way: Way, rtt_ms: f64) -> Option<Self> {
        let cells: Vec<&Cell> = evidence.plain_cells(way, evidence.through(rtt_ms)?).collect();
        let at = |value: &dyn Fn(&Cell) -> Option<f64>| {
            let points = cells.iter().filter_map(|cell| Some((cell.link.rtt_ms, value(cell)?)));
            Some(Curve::new(points.collect())?.at(rtt_ms))
        };
        // If one cell has too few samples, the uncertainty is unknown.
        let off = |uncertainty: &dyn Fn(&Cell) -> Option<Option<f64>>| {
            let all_known =
                cells.iter().filter_map(|cell| uncertainty(cell)).all(|it| it.is_some());
            all_known.then(|| at(&|cell| uncertainty(cell)?))?
        };
        let responses = evidence.responses(way, evidence.through(rtt_ms)?);
        Some(Self {
            response_us: response_at(&responses, rtt_ms)?,
            response_uncertainty_us: off(&|cell| match cell.response_us {
                Some(response) => Some(response.uncertainty()),
                // All failed there.
                None => (cell.failed > 0).then_some(None),
            }),
            processor_us: at(&Cell::processor_us)?,
            processor_uncertainty_us: off(&|cell| {
                cell.processor_us().map(|_| cell.processor_uncertainty_us())
            }),
            server_us: at(&Cell::server_us)?,
            bytes: at(&|cell| Some(cell.client_bytes? + cell.server_bytes?)),
            first_flight: at(&|cell| cell.first_flight),
            samples: cells.iter().filter_map(|cell| Some(cell.response_us?.samples)).min()?,
            failed: cells.iter().map(|cell| cell.failed).max()?,
            without_etcd: false,
            outside: outside(&responses, rtt_ms),
        })
    }

    /// Whether there are enough samples to know the uncertainty.
    pub(super) fn is_certain(&self) -> bool {
        self.response_uncertainty_us.is_some() && self.processor_uncertainty_us.is_some()
    }

    /// Returns waiting and work of one reconnection, as waiting. The measured links were fast: on a slow one each
    /// request also waits for the bytes.
    fn price_us(&self, facts: &Facts) -> f64 {
        let bytes = self.bytes.unwrap_or_default();
        let on_the_link_us = facts.bandwidth.map_or(0.0, |bandwidth| bytes / bandwidth * 1e6);
        facts.waiting_requests * (self.response_us + on_the_link_us)
            + facts.processor_price * self.processor_us
    }

    fn uncertainty_us(&self, facts: &Facts) -> f64 {
        match (self.response_uncertainty_us, self.processor_uncertainty_us) {
            (Some(response), Some(processor)) => {
                facts.waiting_requests * response + facts.processor_price * processor
            }
            // Unknown uncertainty.
            _ => f64::INFINITY,
        }
    }
}

/// Returns the share of the reconnections that reach the server with the one-time key: one in the number of servers,
/// unless they share a store or clients return to the same one. Elsewhere the sealed ticket resumes as in (c).
pub(super) fn at_home(facts: &Facts, way: Way) -> f64 {
    let is_anywhere = way.option == Letter::E && way.store == Store::Memory && !facts.same_server;
    if is_anywhere { facts.servers.recip() } else { 1.0 }
}

/// The expected cost of a reconnection, in microseconds of waiting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Price {
    pub(super) expected_us: f64,
    /// Its uncertainty.
    pub(super) uncertainty_us: f64,
}

impl Price {
    /// Computes it for a way. The share of reconnections that come too late uses the sealed ticket, or a full
    /// handshake.
    pub(super) fn of(
        evidence: &Evidence,
        facts: &Facts,
        way: Way,
        lifetimes: &Lifetimes,
    ) -> Option<Self> {
        let measured = |way| WayCost::of(evidence, facts, way);
        let kx = way.kx.or(full(facts).kx);
        let late = |option| measured(Way::plain(option, kx));
        let own = measured(way)?;
        let parts = match way.option {
            Letter::A => vec![(1.0, own)],
            Letter::E => {
                let [first, sealed, none] = lifetimes.shares(facts.reconnections_per_hour);
                let home = at_home(facts, way);
                let (found, elsewhere) = (first * home, first * (1.0 - home));
                vec![(found, own), (sealed + elsewhere, late(Letter::C)?), (none, late(Letter::A)?)]
            }
            _ => {
                let [first, sealed, none] = lifetimes.shares(facts.reconnections_per_hour);
                vec![(first + sealed, own), (none, late(Letter::A)?)]
            }
        };
        let sum = |value: &dyn Fn(&WayCost) -> f64| {
            // A zero share of an unknown cost costs nothing, but 0 · ∞ is NaN.
            let there = parts.iter().filter(|(share, _)| *share > 0.0);
            there.map(|(share, measured)| share * value(measured)).sum()
        };
        Some(Self {
            expected_us: sum(&|measured| measured.price_us(facts)),
            uncertainty_us: sum(&|measured| measured.uncertainty_us(facts)),
        })
    }

    /// Whether there are enough samples to know the uncertainty.
    pub(super) fn is_certain(&self) -> bool {
        self.uncertainty_us.is_finite()
    }

    /// Whether it is lower than another by more than chance explains.
    pub(super) fn is_surely_below(&self, other: &Self) -> bool {
        other.expected_us - self.expected_us > self.uncertainty_us + other.uncertainty_us
    }
}

impl Evidence {
    /// Returns the kind of measurement most relevant for a deployment with this round-trip time: two processes over a
    /// link, then two SEPPs (whose own work is included).
    ///
    /// Engines without sockets only apply if the round-trip time is zero. `None` if no measurement applies.
    #[must_use]
    pub fn through(&self, rtt_ms: f64) -> Option<Setup> {
        [Setup::Endpoints, Setup::Sepp, Setup::Engine].into_iter().find(|through| {
            let mut cells = self.cells.iter().filter(|cell| cell.through == *through);
            (*through != Setup::Engine || rtt_ms == 0.0)
                && cells
                    .any(|cell| response_at(&self.responses(cell.way, *through), rtt_ms).is_some())
        })
    }

    /// Returns the medians of a way's responses over plain links, in microseconds, each with its round-trip time.
    fn responses(&self, way: Way, through: Setup) -> Vec<(f64, f64)> {
        let cells = self.plain_cells(way, through);
        cells.filter_map(|cell| Some((cell.link.rtt_ms, cell.response_us?.median))).collect()
    }
}

/// Compares two round-trip times in milliseconds: a report's are converted from nanoseconds.
fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-6
}

/// Returns the response at this round-trip time: as measured there, or derived from two others.
fn response_at(responses: &[(f64, f64)], rtt_ms: f64) -> Option<f64> {
    let exact = responses.iter().find(|(rtt, _)| is_same(*rtt, rtt_ms)).map(|(_, us)| *us);
    exact.or_else(|| Some(ResponseCurve::new(responses.to_vec())?.at(rtt_ms)))
}

/// A round-trip time outside of the measured range.
///
/// There, responses change by whole round trips, and the rest stays as at the nearest measured one, which is in
/// milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Extrapolation {
    /// Longer than this one.
    Beyond(f64),
    /// Shorter than this one.
    Below(f64),
}

fn outside(responses: &[(f64, f64)], rtt_ms: f64) -> Option<Extrapolation> {
    let measured = || responses.iter().map(|(rtt, _)| *rtt);
    let (first, last) = (measured().reduce(f64::min)?, measured().reduce(f64::max)?);
    if rtt_ms > last && !is_same(rtt_ms, last) {
        Some(Extrapolation::Beyond(last))
    } else if rtt_ms < first && !is_same(rtt_ms, first) {
        Some(Extrapolation::Below(first))
    } else {
        None
    }
}
