//! Requests on N32-f, by outcome.

use std::sync::OnceLock;

use http::StatusCode;
use tessera_proxy::admin::prometheus_client::metrics::counter::Counter;
use tessera_proxy::admin::{Counters, Label, Labels};

use super::Direction;
use crate::names::SERVICES;

/// The counters of one peer. A series is created on its first request; counting takes no lock.
pub(super) struct Requests {
    family: Counters,
    labels: Labels,
    /// By service, for both directions: those of roaming, and all others together.
    services: Box<[OnceLock<ServiceCounters>]>,
}

/// Indexed by direction and code.
type ServiceCounters = Box<[OnceLock<Counter>]>;

/// The codes of TS 29.500 table 5.2.7.1-1 and of proxies; all others are `other`, so that a peer can't create series.
const CODES: [u16; 39] = [
    200, 201, 202, 204, 206, 300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 406, 408,
    409, 410, 411, 412, 413, 414, 415, 416, 421, 422, 425, 426, 429, 431, 500, 501, 502, 503, 504,
    508,
];

const OTHER: &str = "other";

impl Requests {
    pub(super) fn new(family: &Counters, labels: Labels) -> Self {
        let services = (0..=SERVICES.len()).map(|_| OnceLock::new()).collect();
        Self { family: family.clone(), labels, services }
    }

    pub(super) fn count(&self, direction: Direction, service: &str, code: StatusCode) {
        let service = SERVICES.iter().position(|name| *name == service).unwrap_or(SERVICES.len());
        let code = CODES.binary_search(&code.as_u16()).unwrap_or(CODES.len());
        let Some(of_service) = self.services.get(service) else { return };
        let places = Direction::ALL.len() * (CODES.len() + 1);
        let of_service = of_service.get_or_init(|| (0..places).map(|_| OnceLock::new()).collect());
        let place = direction.index() * (CODES.len() + 1) + code;
        if let Some(counter) = of_service.get(place) {
            counter.get_or_init(|| self.series(direction, service, code)).inc();
        }
    }

    fn series(&self, direction: Direction, service: usize, code: usize) -> Counter {
        let service = SERVICES.get(service).copied().unwrap_or(OTHER);
        let code = CODES.get(code).map_or(OTHER.to_owned(), u16::to_string);
        let mut labels = self.labels.clone();
        labels.extend([
            (Direction::KEY, direction.name().to_owned()),
            ("code", code),
            ("service", service.to_owned()),
        ]);
        self.family.get_or_create_owned(&labels)
    }
}
