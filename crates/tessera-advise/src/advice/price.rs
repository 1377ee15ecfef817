//! What a reconnection is expected to cost in a way, from what was measured.

use crate::break_even::Curve;
use crate::evidence::{Cell, Evidence, Letter, Store, Through, Way};
use crate::facts::Facts;

use super::candidates::full;
use super::lifetimes::Lifetimes;

/// What was measured of a way, at the deployment's round-trip time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    /// From before connect() to the response, in microseconds.
    pub(super) response_us: f64,
    /// How far that may be off; `None` with too few samples to know it.
    pub(super) response_uncertainty_us: Option<f64>,
    /// Processor time of both ends, in microseconds.
    pub(super) processor_us: f64,
    /// How far that may be off.
    pub(super) processor_uncertainty_us: Option<f64>,
    /// Of that, the server's.
    pub(super) server_us: f64,
    /// Bytes of both ends.
    pub(super) bytes: Option<f64>,
    /// Of the client's first flight.
    pub(super) first_flight: Option<f64>,
    /// The fewest samples of a cell behind these.
    pub(super) samples: usize,
}

impl Measured {
    /// What it is of a way in a deployment; `None` if nothing measured it. A take in etcd waits for the way there, which
    /// the facts tell and no cell has: cells with etcd have it beside the server.
    pub(super) fn of(evidence: &Evidence, facts: &Facts, way: Way) -> Option<Self> {
        let in_cells = |way| Self::in_cells(evidence, way, facts.round_trip_ms);
        if way.store == Store::Memory {
            return in_cells(way);
        }
        let beside = in_cells(way).or_else(|| in_cells(way.with_store(Store::Memory)))?;
        let there_us = facts.store_round_trip_ms.unwrap_or_default() * 1e3;
        Some(Self { response_us: beside.response_us + there_us, ..beside })
    }

    fn in_cells(evidence: &Evidence, way: Way, rtt_ms: f64) -> Option<Self> {
        let cells: Vec<&Cell> = evidence.plain_cells(way, evidence.through()?).collect();
        let at = |value: &dyn Fn(&Cell) -> Option<f64>| {
            let points = cells.iter().filter_map(|cell| Some((cell.link.rtt_ms, value(cell)?)));
            Some(Curve::new(points.collect())?.at(rtt_ms))
        };
        // Not below zero beyond what was measured.
        let off = |value: &dyn Fn(&Cell) -> Option<f64>| at(value).map(|off| off.max(0.0));
        Some(Self {
            response_us: at(&|cell| Some(cell.response_us?.median))?,
            response_uncertainty_us: off(&|cell| cell.response_us?.uncertainty()),
            processor_us: at(&Cell::processor_us)?,
            processor_uncertainty_us: off(&Cell::processor_uncertainty_us),
            server_us: at(&Cell::server_us)?,
            bytes: at(&|cell| Some(cell.client_bytes? + cell.server_bytes?)),
            first_flight: at(&|cell| cell.first_flight),
            samples: cells.iter().filter_map(|cell| Some(cell.response_us?.samples)).min()?,
        })
    }

    /// Waiting and work of one reconnection, as waiting.
    fn price_us(&self, facts: &Facts) -> f64 {
        facts.waiting_requests * self.response_us + facts.processor_price * self.processor_us
    }

    fn uncertainty_us(&self, facts: &Facts) -> f64 {
        match (self.response_uncertainty_us, self.processor_uncertainty_us) {
            (Some(response), Some(processor)) => {
                facts.waiting_requests * response + facts.processor_price * processor
            }
            // Nothing is sure.
            _ => f64::INFINITY,
        }
    }
}

/// What a reconnection is expected to cost, in microseconds of waiting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Price {
    pub(super) expected_us: f64,
    /// How far it may be off.
    pub(super) uncertainty_us: f64,
}

impl Price {
    /// Of a way, with the share of reconnections that come too late for it: those go by the sealed ticket, or by a
    /// full handshake.
    pub(super) fn of(
        evidence: &Evidence,
        facts: &Facts,
        way: Way,
        lifetimes: &Lifetimes,
    ) -> Option<Self> {
        let measured = |way| Measured::of(evidence, facts, way);
        let kx = way.kx.or(full(facts).kx);
        let late = |option| measured(Way::plain(option, kx));
        let own = measured(way)?;
        let parts = match way.option {
            Letter::A => vec![(1.0, own)],
            Letter::E => {
                let [first, sealed, none] = lifetimes.shares(facts.reconnections_per_hour);
                vec![(first, own), (sealed, late(Letter::C)?), (none, late(Letter::A)?)]
            }
            _ => {
                let [first, sealed, none] = lifetimes.shares(facts.reconnections_per_hour);
                vec![(first + sealed, own), (none, late(Letter::A)?)]
            }
        };
        let sum = |value: &dyn Fn(&Measured) -> f64| {
            parts.iter().map(|(share, measured)| share * value(measured)).sum()
        };
        Some(Self {
            expected_us: sum(&|measured| measured.price_us(facts)),
            uncertainty_us: sum(&|measured| measured.uncertainty_us(facts)),
        })
    }

    /// Whether it is lower than another by more than chance explains.
    pub(super) fn is_surely_below(&self, other: &Self) -> bool {
        other.expected_us - self.expected_us > self.uncertainty_us + other.uncertainty_us
    }
}

impl Evidence {
    /// The way in which ends were joined that says most of a deployment: two processes over a link, then two SEPPs
    /// (whose own work is in the numbers), then engines alone.
    #[must_use]
    pub fn through(&self) -> Option<Through> {
        [Through::Endpoints, Through::Sepp, Through::Engine]
            .into_iter()
            .find(|through| self.cells.iter().any(|cell| cell.through == *through))
    }
}
