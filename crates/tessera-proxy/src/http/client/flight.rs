//! The state of a connection's first flight, shared with the calls that it carries.

use std::sync::{Mutex, OnceLock, PoisonError};

pub use tessera::Facts;
pub use tessera::resume::{FlightHandle, Verdict};
use tessera_tokio::{EarlyDataOutcome, FirstFlight, FirstFlightError};

use crate::socket::Socket;

/// The first flight of a connection whose stream belongs to another task.
#[derive(Default)]
pub(super) struct Flight {
    known: Mutex<FlightOutcome>,
    facts: OnceLock<Facts>,
}

#[derive(Default)]
struct FlightOutcome {
    outcome: EarlyDataOutcome,
    error: Option<FirstFlightError>,
}

/// The progress of a first flight.
pub(super) enum Progress {
    /// No answer yet.
    UnderWay,
    /// The handshake is complete; nothing travels as early data any more.
    Settled,
    /// The connection can't continue.
    Failed,
}

impl Flight {
    /// Copies the state of a stream that was just used.
    pub(super) fn look(&self, stream: &FirstFlight<Socket>) -> Progress {
        self.with(|known| known.outcome = stream.early_data());
        if stream.carries_early_data() {
            return Progress::UnderWay;
        }
        if let Some(error) = stream.failure() {
            self.with(|known| known.error = Some(error.clone()));
            return Progress::Failed;
        }
        if !stream.facts().handshake_complete {
            return Progress::Failed;
        }
        self.facts.get_or_init(|| stream.facts().clone());
        Progress::Settled
    }

    pub(super) fn outcome(&self) -> EarlyDataOutcome {
        self.with(|known| known.outcome)
    }

    pub(super) fn error(&self) -> Option<FirstFlightError> {
        self.with(|known| known.error.clone())
    }

    pub(super) fn facts(&self) -> Option<&Facts> {
        self.facts.get()
    }

    fn with<T>(&self, look: impl FnOnce(&mut FlightOutcome) -> T) -> T {
        look(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
