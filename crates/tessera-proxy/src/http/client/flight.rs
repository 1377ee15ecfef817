//! What is known of a connection's first flight, for those whose calls it carries.

use std::sync::{Mutex, OnceLock, PoisonError};

pub use tessera::Facts;
pub use tessera::resume::{FlightHandle, Verdict};
use tessera_tokio::{EarlyDataOutcome, FirstFlight, FirstFlightError};

use crate::socket::Socket;

/// Of a connection whose stream another task has.
#[derive(Default)]
pub(super) struct Flight {
    known: Mutex<Known>,
    facts: OnceLock<Facts>,
}

#[derive(Default)]
struct Known {
    outcome: EarlyDataOutcome,
    error: Option<FirstFlightError>,
}

/// How far a flight came.
pub(super) enum Progress {
    /// Nobody has answered.
    UnderWay,
    /// The handshake is complete, and nothing travels early any more.
    Settled,
    /// It doesn't go on.
    Failed,
}

impl Flight {
    /// Notes what a stream that was just used knows.
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

    fn with<T>(&self, look: impl FnOnce(&mut Known) -> T) -> T {
        look(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
