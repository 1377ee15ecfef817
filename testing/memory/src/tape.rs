//! Records connections like an adversary on the path.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tessera_adversary::Capture;
use tessera_tokio::{StreamUse, Tracker};

/// A recording in progress.
#[derive(Clone, Default)]
pub struct Tape(Arc<Mutex<Capture>>);

impl Tape {
    /// Returns the recording of a connection that has ended.
    pub fn end(&self) -> Recording {
        let capture = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Recording { ended: Instant::now(), capture }
    }

    fn record(&self, by_server: bool, bytes: &[u8]) {
        let mut capture = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tape = if by_server { &mut capture.received } else { &mut capture.sent };
        let room = LENGTH.saturating_sub(tape.len());
        tape.extend(bytes.iter().take(room));
    }
}

/// The recording of a connection.
pub struct Recording {
    ended: Instant,
    capture: Capture,
}

/// Returns the recordings of the connections that ended last: their traces are on the threads' stacks.
pub fn last(mut recordings: Vec<Recording>) -> Vec<Capture> {
    recordings.sort_unstable_by_key(|recording| recording.ended);
    let first = recordings.len().saturating_sub(LAST);
    recordings.drain(first..).map(|recording| recording.capture).collect()
}

/// How many recordings to try.
const LAST: usize = 40;

/// Records a socket's bytes, at either end.
pub struct Tap {
    pub tape: Tape,
    /// Whether this end is the client.
    pub is_client: bool,
}

impl<S> Tracker<S> for Tap {
    fn record(&mut self, what: StreamUse, bytes: &[u8]) {
        let by_server = self.is_client == (what == StreamUse::Read);
        self.tape.record(by_server, bytes);
    }
}

/// How much is recorded of each direction, in bytes: the flights of a handshake and some data.
const LENGTH: usize = 16 * 1024;
