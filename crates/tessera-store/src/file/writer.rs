//! The thread that changes a store: it writes the file, and then shows the change.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::disk::{ReplaceError, StoreFile};
use super::encoding::encode;
use super::error::with_advice;
use super::lease_ends::LeaseEnds;
use super::state::State;
use crate::store::StoreError;

/// Changes the state, and returns what answers the request once the new state is durable, or was not written.
pub(super) type Job = Box<dyn FnOnce(&mut State) -> Answer + Send>;

pub(super) type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Requests that arrive while the file is being written share the next writing of it.
pub(super) struct Writer {
    pub(super) file: StoreFile,
    /// What readers and watches see: always durable.
    pub(super) states: watch::Sender<Arc<State>>,
    pub(super) lease_ends: Arc<Mutex<LeaseEnds>>,
}

/// How many requests share one writing.
const MAX_BATCH: usize = 256;

/// How long to wait after the ends of leases could not be written.
const PAUSE: Duration = Duration::from_secs(1);

impl Writer {
    /// Runs until the store is dropped.
    pub(super) fn run(self, jobs: &Receiver<Job>) {
        let mut not_before = None;
        loop {
            let next_end = ends(&self.lease_ends).next().max(not_before);
            let first = match next_end {
                Some(at) => jobs.recv_timeout(at.saturating_duration_since(Instant::now())),
                None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let batch: Vec<_> = match first {
                Ok(first) => {
                    std::iter::once(first).chain(jobs.try_iter()).take(MAX_BATCH).collect()
                }
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            not_before = match self.write(batch) {
                Ok(()) => None,
                Err(error) => {
                    tracing::warn!("the store can't be written: {error}");
                    Some(Instant::now() + PAUSE)
                }
            };
        }
    }

    fn write(&self, batch: Vec<Job>) -> Result<(), StoreError> {
        let old = self.states.borrow().clone();
        let mut new = State::clone(&old);
        for lease in ends(&self.lease_ends).ended(Instant::now()) {
            new.end_lease(lease);
        }
        let answers: Vec<_> = batch.into_iter().map(|job| job(&mut new)).collect();
        let written = match new.is_same(&old) {
            true => Ok(()),
            false => self.replace(new),
        };
        for answer in answers {
            // If nothing was written: a refusal, or a condition that doesn't hold, may depend on a change before it.
            answer(written.clone());
        }
        written
    }

    fn replace(&self, new: State) -> Result<(), StoreError> {
        self.file.replace(&encode(&new)).map_err(|error| match error {
            ReplaceError::Unchanged(why) => StoreError::Refused(format!(
                "the store's file can't be written: {}",
                with_advice(&why)
            )),
            // Whatever the next writing replaces, no reader has seen it.
            ReplaceError::Unknown(why) => StoreError::Unknown(format!(
                "the directory of the store's file can't be synchronised: {}",
                with_advice(&why)
            )),
        })?;
        ends(&self.lease_ends).follow(&new.leases, Instant::now());
        self.states.send_replace(Arc::new(new));
        Ok(())
    }
}

pub(super) fn ends(lease_ends: &Mutex<LeaseEnds>) -> MutexGuard<'_, LeaseEnds> {
    lease_ends.lock().unwrap_or_else(PoisonError::into_inner)
}
