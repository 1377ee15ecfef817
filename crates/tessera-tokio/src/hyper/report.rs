//! What became of a connection's first flight, for the owner of its requests.

use std::error::Error;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use http::Extensions;
use hyper_util::client::legacy;

use crate::early_data::EarlyDataOutcome;
use crate::first_flight::FirstFlightError;

/// What is known of a connection's first flight; an extension of its responses:
///
/// ```
/// use hyper::Response;
/// use tessera_tokio::hyper::FlightReport;
///
/// /// Whether the connection's first request came a round trip earlier.
/// fn was_early<B>(response: &Response<B>) -> bool {
///     let report = response.extensions().get::<FlightReport>();
///     report.is_some_and(|report| report.early_data().accepted > 0)
/// }
/// ```
#[derive(Debug, Clone, Default)]
pub struct FlightReport(Arc<Mutex<FlightOutcome>>);

#[derive(Debug, Default)]
struct FlightOutcome {
    early_data: EarlyDataOutcome,
    error: Option<FirstFlightError>,
}

impl FlightReport {
    /// Returns what became of the early data. Until the server's answer is read, it reports nothing as sent.
    pub fn early_data(&self) -> EarlyDataOutcome {
        self.with(|known| known.early_data)
    }

    /// Returns why the flight failed, if it did.
    pub fn error(&self) -> Option<FirstFlightError> {
        self.with(|known| known.error.clone())
    }

    pub(super) fn answered(&self, early_data: EarlyDataOutcome) {
        self.with(|known| known.early_data = early_data);
    }

    pub(super) fn failed(&self, error: &io::Error, early_data: EarlyDataOutcome) {
        self.with(|known| {
            known.early_data = early_data;
            if let Some(error) = FirstFlightError::of(error) {
                known.error.get_or_insert_with(|| error.clone());
            }
        });
    }

    fn with<T>(&self, look: impl FnOnce(&mut FlightOutcome) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the [`FirstFlightError`] behind an error of hyper-util's client, with the verdict and the flight's
/// name. Also finds one behind errors that name it as their source.
///
/// Under HTTP/1.1 [`FirstFlightError::of`] finds it as well. Under HTTP/2 the crate `h2` keeps only an
/// error's text; but the client's error knows its connection, which has the original.
pub fn first_flight_error(error: &(dyn Error + 'static)) -> Option<FirstFlightError> {
    if let Some(found) = FirstFlightError::of(error) {
        return Some(found.clone());
    }
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(connected) = error.downcast_ref().and_then(legacy::Error::connect_info) {
            let mut extras = Extensions::new();
            connected.get_extras(&mut extras);
            return extras.get().and_then(FlightReport::error);
        }
        // An I/O error's `source` skips the error it wraps.
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => error.source(),
        };
    }
    None
}
