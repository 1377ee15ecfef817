//! Addresses that failed recently.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The addresses that failed recently: without it each connection would wait for a dead one again.
#[derive(Debug, Default)]
pub(super) struct Failures(Mutex<Vec<(SocketAddr, Instant)>>);

impl Failures {
    /// Moves those that failed recently to the end; the order is otherwise kept.
    pub(super) fn to_the_end(&self, addresses: &mut [SocketAddr]) {
        let failed = self.recent();
        addresses.sort_by_key(|address| failed.iter().any(|(other, _)| other == address));
    }

    pub(super) fn note(&self, address: SocketAddr) {
        let mut failed = self.recent();
        failed.retain(|(other, _)| *other != address);
        failed.push((address, Instant::now()));
    }

    /// Notes a failed address, unless this machine is at fault for want of files or memory.
    pub(super) fn note_if_its_own(&self, address: SocketAddr, error: &io::Error) {
        if matches!(
            error.kind(),
            ErrorKind::ConnectionRefused
                | ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::HostUnreachable
                | ErrorKind::NetworkUnreachable
                | ErrorKind::TimedOut
        ) {
            self.note(address);
        }
    }

    fn recent(&self) -> MutexGuard<'_, Vec<(SocketAddr, Instant)>> {
        let mut failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failed.retain(|(_, when)| when.elapsed() < LATELY);
        failed
    }
}

const LATELY: Duration = Duration::from_secs(10);
